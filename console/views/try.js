// Try as a user: asks what would be decided. On request it issues a link for real, uses it, and shows the answer.

import { repeatable } from "../api.js";
import { fill, h, isAbort, unique } from "../dom.js";
import { objectOf, showExplanation } from "../explanation.js";
import { schemaForm, segmented } from "../form.js";
import { bytes, code, duration, id as shortID, time, visible } from "../format.js";
import { badge, button, card, copyButton, facts, message, pageHead, problemBox, progressBar } from "../parts.js";
import { suggestions } from "../suggest.js";
import { toast } from "../toast.js";
import { showObject } from "../values.js";

/** Members of a request that the form shows at once. The others are below "More". */
const first = ["action", "bucket", "key"];

/** What using a link does, by its action. */
const verbs = {
  PutObject: "Upload the file",
  GetObject: "Download it",
  ListObjects: "List the keys",
  DeleteObject: "Delete the object",
};

/** Opens the view. */
export function open(page) {
  const { query } = page;
  const result = h("div", { class: "stack" });
  const schema = page.contract.bodyOf("issuePresignedURL");
  const place = { suggest: suggestions(page), showsJSON: false };
  const who = schemaForm(
    page.contract,
    {
      type: "object",
      required: ["principal", "action", "bucket", "key"],
      properties: {
        principal: { ...page.contract.schema("UserPrincipal"), description: "The user to try as, such as user:alice." },
        action: {
          type: "string",
          enum: page.contract.schema("Action").enum,
          description: "PutObject uploads, GetObject downloads, ListObjects lists, DeleteObject deletes.",
        },
        bucket: { ...page.contract.schema("BucketName"), description: "The bucket of the object." },
        key: {
          ...schema.properties.key,
          minLength: undefined,
          description: "The key of the object; to list, the prefix of the keys, empty for the whole bucket.",
        },
      },
    },
    {
      ...place,
      value: { principal: query.principal, action: query.action ?? "GetObject", bucket: query.bucket, key: query.key },
      onChange: () => changed(),
    },
  );
  who.element.firstElementChild.classList.add("form-grid");
  const { then: _, required, ...rest } = schema;
  const more = schemaForm(page.contract, rest, {
    ...place,
    omit: [...first, "prefix", "keyPrefix", "keyExtension"],
    onChange: () => changed(),
  });
  more.element.firstElementChild.classList.add("form-grid");
  const groups = schemaForm(
    page.contract,
    { type: "object", properties: { groups: page.contract.bodyOf("explain").properties.groups } },
    { ...place, onChange: () => changed() },
  );
  const file = h("input", { type: "file", id: unique("file"), on: { change: () => changed() } });
  const fileField = h(
    "div",
    { class: "field" },
    h("label", { for: file.id }, "File to upload"),
    file,
    h(
      "p",
      { class: "help" },
      "Its content type and length become part of the request. It is not sent before a link was issued.",
    ),
  );
  const form = h(
    "form",
    { class: "card", novalidate: true },
    h(
      "div",
      { class: "card-body" },
      who.element,
      fileField,
      h(
        "details",
        { class: "disclosure field" },
        h("summary", {}, "More about the request"),
        h("div", { class: "disclosure-body" }, groups.element, more.element),
      ),
      h("div", { class: "actions" }, button("Ask what would be decided", { tone: "primary", type: "submit" })),
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });

  // Changes and questions so far. What was asked before the last of them is not shown any more.
  let turn = 0;
  function changed() {
    turn += 1;
    fileField.hidden = who.value().action !== "PutObject";
    fill(result);
  }
  changed();

  /** The request for a link, as the user would send it. */
  function request() {
    const { principal, key, ...rest } = who.value();
    const named = { ...rest, ...objectOf({ ...rest, key }) };
    const chosen = named.action === "PutObject" ? file.files[0] : null;
    const ofFile = chosen ? { contentType: chosen.type || "application/octet-stream", contentLength: chosen.size } : {};
    return {
      principal,
      body: { ...named, ...ofFile, ...more.value() },
      file: chosen ?? null,
      groups: groups.value().groups ?? [],
    };
  }

  async function ask() {
    if (![who, groups, more].map((part) => part.check()).every(Boolean)) return;
    const asked = request();
    if (asked.body.key === "") {
      who.refuse({ field: "key", title: "This is required." });
      return;
    }
    const question = {
      principal: asked.principal,
      ...(asked.groups.length ? { groups: asked.groups } : {}),
      ...asked.body,
    };
    turn += 1;
    const mine = turn;
    try {
      const { data } = await page.call("explain", { body: question });
      if (mine !== turn) return;
      fill(result, showExplanation(page, data, question), data.permitted ? issueCard(page, asked) : null);
      result.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (mine !== turn || isAbort(error)) return;
      who.refuse(error);
      fill(result, problemBox(error));
    }
  }

  const isNamed = query.principal && query.bucket && (query.key || query.action === "ListObjects");
  if (isNamed && query.action !== "PutObject") setTimeout(ask);
  return [
    pageHead("Try as a user", {
      text: "First the gateway is only asked. Then you may issue a link for real, as that user, and use it.",
    }),
    form,
    result,
  ];
}

/** What a person may do once the decision is known: issue a link for real. */
function issueCard(page, asked) {
  const place = h("div", { class: "stack" });
  let once = repeatable();
  const mayMakeKey = page.may("createAPIKey") && page.may("deleteAPIKey");
  let makesKey = mayMakeKey;
  const credential = h("input", {
    type: "password",
    id: unique("credential"),
    autocomplete: "off",
    spellcheck: "false",
    class: "code",
  });
  const credentialField = h(
    "div",
    { class: "field", hidden: makesKey },
    h("label", { for: credential.id }, `An API key or a token of ${visible(asked.principal)}`),
    credential,
    h("p", { class: "help" }, "It is sent with this one request, and not kept."),
  );
  const keyText = h(
    "p",
    { class: "help", hidden: !makesKey },
    "Creates an API key for this user that lives for five minutes, issues the link with it, and deletes the key. " +
      "The audit has a row for each, in your name.",
  );
  const ways = mayMakeKey
    ? segmented(
        "Credential",
        ["With an API key of its own for a moment", "With a credential of the user"],
        0,
        (index) => {
          makesKey = index === 0;
          credentialField.hidden = makesKey;
          keyText.hidden = !makesKey;
        },
      )
    : null;

  async function issue() {
    fill(place);
    if (!makesKey && !credential.value.trim()) {
      credential.focus();
      return;
    }
    const bearer = credential.value.trim();
    credential.value = "";
    try {
      const answer = makesKey ? await withKey(page, asked, (key) => send(key)) : await send(bearer);
      fill(place, useCard(page, answer.data, asked));
      // Who has seen the link and presses again wants another one.
      once = repeatable();
    } catch (error) {
      if (page.signal.aborted) {
        toast.problem(error);
        return;
      }
      if (isAbort(error)) return;
      const isElsewhere = error.status === 404 && error.code === "NoSuchRoute";
      fill(
        place,
        problemBox(error),
        isElsewhere
          ? message(
              "info",
              "This listener serves no links",
              h(
                "p",
                {},
                "The gateway answers users elsewhere (SLUICE_ADMIN_LISTEN). “Show command” has the line for it.",
              ),
            )
          : null,
      );
    }
  }

  const send = (bearer) => page.call("issuePresignedURL", { ...once({ body: asked.body }), bearer });
  return card(
    "Issue a link for real",
    { text: "It is recorded in the ledger and counts against the quotas of the user." },
    ways,
    keyText,
    credentialField,
    h("div", { class: "actions" }, button("Issue the link", { tone: "primary", icon: "try", run: issue })),
    place,
  );
}

/** Runs an action with an API key of the user, and then deletes the key, whatever happens. */
async function withKey(page, { principal, groups }, action) {
  const { data } = await page.call("createAPIKey", {
    body: {
      name: "Console: try as a user",
      principal,
      ...(groups.length ? { groups } : {}),
      expiresAt: new Date(Date.now() + 300_000).toISOString(),
    },
  });
  try {
    // Nobody would see the link, which is recorded and counts against quotas.
    page.signal.throwIfAborted();
    return await action(data.key);
  } finally {
    // Also when the person has left the page. The key ends soon, so that a failure does not take the link's place.
    const gone = { path: { id: data.id } };
    await page.session.api.call("deleteAPIKey", gone).then(
      () => page.record("deleteAPIKey", gone),
      (error) => toast.problem(error),
    );
  }
}

/** Shows the link, and uses it. */
function useCard(page, link, asked) {
  const said = h("div", { class: "stack", "aria-live": "polite" });
  const isUpload = link.method === "PUT";
  const shown = h(
    "bdi",
    { class: "code", dir: "ltr" },
    `${new URL(link.url).origin}${visible(decodeURI(new URL(link.url).pathname))}?…`,
  );
  const headers = Object.entries(link.headers);
  const use = async () => {
    const bar = progressBar(isUpload ? "Uploading" : "Downloading");
    fill(said, bar.element);
    try {
      const answer = await transfer(link, isUpload ? asked.file : null, bar, page.signal);
      fill(said, await storeAnswer(page, answer, link, isUpload));
    } catch (error) {
      if (!isAbort(error)) fill(said, problemBox(error));
    }
  };
  const isMissing = isUpload && !asked.file;
  return card(
    "The link",
    { tone: "ok" },
    facts([
      [
        "Issuance",
        h(
          "span",
          {},
          h("a", { href: `#/ledger/${encodeURIComponent(link.id)}` }, shortID(link.id)),
          " ",
          copyButton(link.id),
        ),
      ],
      ["Method", badge(link.method, "info")],
      ["Address", h("span", {}, shown, " ", copyButton(link.url, "Copy the link"))],
      [
        "Headers to send",
        headers.length
          ? h(
              "ul",
              { class: "plain" },
              headers.map(([name, value]) => h("li", {}, code(`${name}: ${value}`))),
            )
          : "none",
      ],
      [
        "Works until",
        h(
          "span",
          {},
          time(link.expiresAt, { seconds: true }),
          h("span", { class: "faint" }, ` (for ${duration(link.expiresIn)})`),
        ),
      ],
      ["Size enforced by", link.enforcedBy],
    ]),
    message("warn", null, h("p", {}, "Anyone who holds the link can use it until then. It cannot be taken back.")),
    isMissing ? message("info", "Choose a file above and ask again to upload it from here.") : null,
    h(
      "div",
      { class: "actions" },
      button(verbs[asked.body.action] ?? "Ask the store", {
        tone: asked.body.action === "DeleteObject" ? "danger" : "primary",
        icon: isUpload ? "upload" : "download",
        disabled: isMissing,
        run: use,
      }),
    ),
    said,
  );
}

/** Headers that a browser sends by itself and lets no page set. */
const forbidden = /^(host|content-length|connection|origin|referer)$/i;

/** Sends the request of the link to the store. */
function transfer(link, file, bar, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(link.method, link.url);
    request.responseType = "blob";
    for (const [name, value] of Object.entries(link.headers))
      if (!forbidden.test(name)) request.setRequestHeader(name, value);
    const watched = file ? request.upload : request;
    watched.addEventListener("progress", (event) =>
      bar.show(
        event.lengthComputable ? event.loaded / event.total : null,
        `${bytes(event.loaded)}${event.lengthComputable ? ` of ${bytes(event.total)}` : ""}`,
      ),
    );
    signal.addEventListener("abort", () => request.abort(), { once: true });
    const began = performance.now();
    request.addEventListener("loadend", () => {
      if (signal.aborted) reject(signal.reason);
      else
        resolve({
          status: request.status,
          headers: request.getAllResponseHeaders(),
          body: request.response,
          milliseconds: performance.now() - began,
        });
    });
    request.send(file);
  });
}

async function storeAnswer(page, answer, link, isUpload) {
  if (answer.status === 0) {
    return message(
      "warn",
      "The browser shows no answer of the store",
      h(
        "p",
        {},
        "Either the store cannot be reached from here, or it does not permit this page to read its answer (CORS), or " +
          "the policy of this page does not list the store. The link itself works outside of a browser.",
      ),
    );
  }
  const isGood = answer.status >= 200 && answer.status < 300;
  const isText = answer.body && /xml|json|text/.test(answer.body.type) && answer.body.size < 16_384;
  const isListing = link.prefix !== undefined;
  const words = (!isGood || isListing) && isText ? await answer.body.text() : null;
  const state = h("div", { class: "stack" });
  const confirmUpload = async () => {
    const { data } = await page.call("confirmAnyUpload", { path: { id: link.id } });
    fill(state, showObject(page.contract.schema("ManagedUpload"), data, page.contract));
  };
  const save =
    isGood && !isUpload && answer.body?.size
      ? h(
          "a",
          {
            class: "button",
            href: URL.createObjectURL(answer.body),
            download: link.key?.split("/").at(-1) ?? "keys.xml",
          },
          "Save the file",
        )
      : null;
  if (save) page.signal.addEventListener("abort", () => URL.revokeObjectURL(save.href), { once: true });
  return [
    message(
      isGood ? "ok" : "bad",
      `The store answered ${answer.status}`,
      h("p", {}, `After ${Math.round(answer.milliseconds)} ms.`),
    ),
    facts(
      answer.headers
        .trim()
        .split(/\r?\n/)
        .filter(Boolean)
        .map((line) => {
          const at = line.indexOf(":");
          return [line.slice(0, at), code(line.slice(at + 1).trim())];
        }),
    ),
    words ? h("pre", { class: "json", tabindex: "0" }, words.split("\n").map(visible).join("\n")) : null,
    h(
      "div",
      { class: "actions" },
      save,
      isUpload && isGood && page.may("confirmAnyUpload")
        ? button("Ask the store what arrived", { small: true, run: confirmUpload })
        : null,
    ),
    state,
  ];
}
