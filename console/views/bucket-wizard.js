// Adds a bucket step by step: its provider, its credential, the bucket itself, and a test at the store.

import { repeatable } from "../api.js";
import { fill, h } from "../dom.js";
import { schemaForm } from "../form.js";
import { code } from "../format.js";
import { button, card, disclosure, message, pageHead, problemBox } from "../parts.js";
import { editRow } from "../resource.js";
import { address } from "../router.js";
import { commandLines } from "../shell.js";
import { suggestions } from "../suggest.js";
import { toast } from "../toast.js";
import { testCard } from "./bucket-test.js";
import { corsRules } from "./cors.js";
import { callWithSecret, withSecrets } from "./secrets.js";

const providers = [
  { name: "aws", title: "Amazon S3", text: "Buckets of AWS. Sluice knows the endpoints." },
  { name: "s3", title: "S3-compatible", text: "MinIO, Ceph, Garage, R2 and others: you name the endpoint." },
  { name: "oss", title: "Alibaba Cloud OSS", text: "Signed as OSS does, with its own headers." },
  { name: "gcs", title: "Google Cloud Storage", text: "With a service account or an HMAC key." },
];

const titles = ["Provider", "Credential", "Bucket", "Test"];

/** Returns the pages of the wizard. */
export function bucketWizard(page) {
  page.title("New bucket");
  let at = 0;
  let provider = null;
  let credential = null;
  let bucket = null;
  const marks = h("ol", { class: "steps", "aria-label": "Steps" });
  const place = h("div", { class: "stack" });
  const steps = [chooseProvider, chooseCredential, writeBucket, test];

  async function show(index) {
    at = index;
    fill(
      marks,
      titles.map((title, step) =>
        h("li", { class: step < at ? "ok" : null, "aria-current": step === at ? "step" : null }, title),
      ),
    );
    fill(place, await steps[at]());
    if (at < 3) place.querySelector("button, input, select, textarea")?.focus();
  }

  const footer = (...more) =>
    h("div", { class: "actions" }, at > 0 && !bucket ? button("Back", { run: () => show(at - 1) }) : null, more);

  function chooseProvider() {
    return card(
      "Where is the bucket?",
      {},
      h(
        "div",
        { class: "choices" },
        providers.map(({ name, title, text }) =>
          h(
            "button",
            {
              type: "button",
              class: "choice",
              "aria-pressed": String(provider === name),
              on: {
                click: () => {
                  provider = name;
                  show(1);
                },
              },
            },
            h("strong", {}, title),
            h("span", { class: "faint" }, text),
          ),
        ),
      ),
    );
  }

  async function chooseCredential() {
    const list = h("div", { class: "choices" });
    const trouble = h("div");
    let next = null;
    const offer = (row) =>
      h(
        "button",
        {
          type: "button",
          class: "choice",
          "aria-pressed": String(credential?.id === row.id),
          on: {
            click: () => {
              credential = row;
              show(2);
            },
          },
        },
        h("strong", {}, code(row.name)),
        h("span", { class: "faint" }, row.kind === "service-account" ? "Service account" : code(row.accessKeyID)),
      );
    if (page.may("listStorageCredentials")) {
      const query = provider === "gcs" ? { pageSize: 50 } : { pageSize: 50, kind: "access-key" };
      const { data } = await page.call("listStorageCredentials", { query });
      next = data.nextPageToken;
      fill(list, data.items.filter((row) => row.kind !== "key-pair").map(offer));
      if (!data.items.length) fill(list, h("p", { class: "faint" }, "There is no credential yet: enter one."));
    }
    return card(
      "Which credential signs for it?",
      { text: "It needs this one bucket alone: to read, write, list and delete objects, to list the parts of uploads, and to abort these uploads. 'Stores' in the documentation has the policy to paste." },
      list,
      next ? h("p", { class: "faint" }, "The newest 50 are shown.") : null,
      trouble,
      footer(
        page.may("createStorageCredential")
          ? button("Enter a credential", {
              icon: "plus",
              tone: "primary",
              run: async () => {
                const made = await editRow(withSecrets(page), {
                  title: "New credential",
                  create: "createStorageCredential",
                  order: ["name", "accessKeyID", "secretAccessKey"],
                  saved: "The credential is stored sealed",
                });
                if (made) {
                  credential = { ...made.data, isNew: true };
                  await show(2);
                }
              },
            })
          : null,
      ),
    );
  }

  function writeBucket() {
    const { properties, required, ...schema } = page.contract.bodyOf("createBucket");
    const { provider: _, credentialID: __, ...rest } = properties;
    const first = ["name", "endpoint", "region", "addressing", "scheme", "allowedOrigins"];
    if (credential.isNew) delete rest.secretAccessKey;
    else first.push("secretAccessKey");
    if (provider !== "oss") {
      delete rest.callback;
      delete rest.callbackVar;
    }
    if (provider === "gcs") delete rest.encryption;
    const schemes = { aws: /^aws/, s3: /^aws/, oss: /^oss/, gcs: /^gcs/ }[provider];
    rest.scheme = { ...rest.scheme, enum: rest.scheme.enum.filter((name) => schemes.test(name)) };
    const must = ["name", provider === "s3" && "endpoint", provider !== "gcs" && "region"].filter(Boolean);
    // Whether these may be empty depends on the provider.
    for (const name of ["endpoint", "region"]) if (must.includes(name)) rest[name] = { ...rest[name], minLength: 1 };
    const pick = (names) => Object.fromEntries(names.filter((name) => rest[name]).map((name) => [name, rest[name]]));
    const others = Object.keys(rest).filter((name) => !first.includes(name));
    const commands = h("div", { class: "stack" });
    const trouble = h("div");
    const once = repeatable();
    const body = () => ({ provider, credentialID: credential.id, ...main.value(), ...more.value() });
    const common = { suggest: suggestions(page), showsJSON: false, onChange: () => showCommands() };
    const main = schemaForm(page.contract, { ...schema, required: must, properties: pick(first) }, common);
    const more = schemaForm(page.contract, { ...schema, required: [], properties: pick(others) }, common);
    for (const part of [main, more]) part.element.firstElementChild.classList.add("form-grid");
    function showCommands() {
      fill(commands, commandLines(page.lines("createBucket", { body: body() })));
    }
    showCommands();
    const create = button("Create and test", { tone: "primary", type: "submit" });
    const form = h(
      "form",
      { class: "stack", novalidate: true },
      main.element,
      h(
        "details",
        { class: "disclosure field" },
        h("summary", {}, "More about the bucket"),
        h("div", { class: "disclosure-body" }, more.element),
      ),
      disclosure("Show command", {}, commands),
      trouble,
      footer(create),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      fill(trouble);
      if (![main, more].map((part) => part.check()).every(Boolean)) return;
      create.setAttribute("aria-busy", "true");
      try {
        bucket = (await callWithSecret(page, "createBucket", once({ body: body() }))).data;
        toast("The bucket is in force on every gateway");
        await show(3);
      } catch (error) {
        if (page.signal.aborted) {
          toast.problem(error);
          return;
        }
        if (!main.refuse(error)) more.refuse(error);
        fill(trouble, problemBox(error));
      } finally {
        create.removeAttribute("aria-busy");
      }
    });
    return card(
      "Which bucket?",
      {
        text: h(
          "span",
          {},
          providers.find(({ name }) => name === provider).title,
          ", signed with ",
          code(credential.name),
        ),
      },
      form,
    );
  }

  function test() {
    const tested = testCard(page, bucket);
    if (page.may("validateBucket")) tested.run();
    return [
      tested.element,
      card(
        "Rules for pages (CORS)",
        { text: "Only if browsers use links to this bucket: paste the rules at the store." },
        corsRules(bucket),
      ),
      message(
        "info",
        "Next: who may use it?",
        h("p", {}, "Nobody may reach the bucket before a grant says so."),
        h(
          "div",
          { class: "actions" },
          page.may("createGrant")
            ? button("Write a grant", {
                icon: "grant",
                href: address("grants", { new: JSON.stringify({ bucket: bucket.name, prefix: "" }) }),
              })
            : null,
          button("Open the bucket", { icon: "bucket", href: address("buckets", {}, [bucket.name]) }),
        ),
      ),
    ];
  }

  show(0);
  return [
    pageHead("New bucket", {
      back: { href: "#/buckets", label: "Buckets" },
      text: "Four steps: the provider, its credential, the bucket, and a test.",
    }),
    marks,
    place,
  ];
}
