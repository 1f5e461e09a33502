// Buckets: where they are, whether they work, the rules their stores need, and the secrets of their notifications.

import { confirmDelete } from "../dialog.js";
import { fill, h, isAbort } from "../dom.js";
import { code, time } from "../format.js";
import { bindKey } from "../keys.js";
import { button, card, deletion, emptyState, facts, moreMenu, pageHead, problemBox } from "../parts.js";
import { editRow } from "../resource.js";
import { address, go } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { showObject } from "../values.js";
import { testCard } from "./bucket-test.js";
import { bucketWizard } from "./bucket-wizard.js";
import { corsRules } from "./cors.js";
import { rotateDialog, showOnce, withSecrets } from "./secrets.js";

export function open(page) {
  const [name] = page.path;
  if (name) return showBucket(page, name);
  return page.query.new && page.may("createBucket") ? bucketWizard(page) : showList(page);
}

const wizard = address("buckets", { new: "1" });

function showList(page) {
  const { new: _, ...filters } = page.query;
  const add = page.may("createBucket") ? button("New bucket", { tone: "primary", icon: "plus", href: wizard }) : null;
  const table = dataTable({
    caption: "Buckets",
    remember: "buckets",
    key: (row) => row.name,
    columns: columnsOf(page.contract, "listBuckets", {
      show: ["name", "provider", "endpoint", "scheme", "maxTTL", "allowedOrigins"],
      hide: ["region", "addressing", "credentialID", "defaultTTL", "maxSessionTTL", "createdAt", "externalDeletions"],
      omit: [
        "allowsUnenforcedSize",
        "allowsRedirects",
        "honoursUnsignedHeaders",
        "permitsSymlinks",
        "callback",
        "callbackVar",
        "encryption",
        "publicEndpoints",
        "stableLinkWindow",
        "protocols",
      ],
      titles: { maxTTL: "Links live up to", allowedOrigins: "Pages" },
      cells: {
        allowedOrigins: (row) =>
          row.allowedOrigins.length
            ? h("span", { title: row.allowedOrigins.join(" ") }, code(row.allowedOrigins[0]))
            : null,
        credentialID: (row) =>
          page.link("getStorageCredential", address("credentials", {}, [row.credentialID]), "Open"),
      },
    }),
    rows: page.pages("listBuckets", { query: { ...filters, pageSize: 100 } }),
    href: (row) => address("buckets", {}, [row.name]),
    menu: (row) => [
      page.may("validateBucket") && {
        label: "Test it",
        icon: "check",
        href: address("buckets", { test: "1" }, [row.name]),
      },
      { label: "Its grants", icon: "grant", href: address("grants", { bucket: row.name }) },
      page.may("reviewAccess") && {
        label: "Who may reach it",
        icon: "access",
        href: address("access", { ask: "object", bucket: row.name }),
      },
      page.may("getStorageCredential") && {
        label: "Its credential",
        icon: "credential",
        href: address("credentials", {}, [row.credentialID]),
      },
      deletion(page, "deleteBucket", async () => {
        if (await remove(page, row.name)) table.remove(row);
      }),
    ],
    empty: Object.keys(filters).length
      ? { icon: "bucket", title: "No bucket matches", text: "Change or clear the filters." }
      : {
          icon: "bucket",
          title: "No bucket yet",
          text: "Begin here: name the store, its credential and the bucket. Then test it, and write a grant.",
          actions: page.may("createBucket")
            ? [button("New bucket", { tone: "primary", icon: "plus", href: wizard })]
            : [],
        },
  });
  if (page.may("createBucket")) bindKey("n", "New bucket", () => go(wizard), page.signal);
  return [
    pageHead("Buckets", { text: "Buckets at stores, and how Sluice signs links for them.", actions: [add] }),
    filterBar(page, "listBuckets"),
    table.element,
  ];
}

async function showBucket(page, name) {
  const { data: bucket } = await page.call("getBucket", { path: { bucket: name } });
  page.title(name);
  const again = () => page.go(address("buckets", { at: String(Date.now()) }, [name]), { replace: true });
  const signer = h("span", {}, code(bucket.credentialID));
  const credential = page.link("getStorageCredential", address("credentials", {}, [bucket.credentialID]), signer);
  if (page.may("getStorageCredential"))
    page.session.api.call("getStorageCredential", { path: { id: bucket.credentialID }, signal: page.signal }).then(
      ({ data }) => fill(signer, code(data.name), " ", h("span", { class: "faint" }, code(data.accessKeyID))),
      () => null,
    );
  const test = testCard(page, bucket);
  return [
    pageHead(code(name), {
      back: { href: "#/buckets", label: "Buckets" },
      actions: [
        page.may("validateBucket")
          ? button("Test it", { icon: "check", tone: "primary", run: () => test.run() })
          : null,
        page.may("patchBucket")
          ? button("Change", {
              icon: "edit",
              run: async () => {
                const fresh = await page.call("getBucket", { path: { bucket: name } });
                const done = await editRow(withSecrets(page), {
                  title: "Change the bucket",
                  patch: "patchBucket",
                  row: fresh.data,
                  etag: fresh.etag,
                  path: { bucket: name },
                  omit: ["name", "provider"],
                  order: ["endpoint", "region", "credentialID", "secretAccessKey"],
                  saved: "In force on every gateway",
                });
                if (done) again();
              },
            })
          : null,
        moreMenu([
          { label: "Its grants", icon: "grant", href: address("grants", { bucket: name }) },
          { label: "What was issued", icon: "ledger", href: address("ledger", { bucket: name }) },
          { label: "Emergency", icon: "emergency", href: address("emergency", { about: "place", bucket: name }) },
          deletion(page, "deleteBucket", async () => {
            if (await remove(page, name)) page.go("#/buckets");
          }),
        ]),
      ],
    }),
    test.element,
    h(
      "div",
      { class: "columns" },
      card(
        "About this bucket",
        {},
        facts([["Credential", credential]]),
        showObject(
          page.contract.schema("Bucket"),
          { ...bucket, credentialID: undefined, name: undefined },
          page.contract,
        ),
      ),
      page.may("getEventSecret") ? eventSecretCard(page, bucket) : null,
    ),
    card(
      "Rules for pages (CORS)",
      {
        text: "Browsers ask the store, not the gateway, whether a page may use a link. Paste these rules at the store.",
      },
      corsRules(bucket),
    ),
  ];
}

/** Returns a card about the secret with which the store sends its notifications. */
function eventSecretCard(page, bucket) {
  const place = h("div", { class: "stack" });
  const path = { bucket: bucket.name };
  async function load() {
    let secret = null;
    try {
      secret = (await page.call("getEventSecret", { path })).data;
    } catch (error) {
      if (isAbort(error)) return;
      if (error.status !== 404) {
        fill(place, problemBox(error, { retry: load }));
        return;
      }
    }
    const { previousExpiresAt } = secret ?? {};
    const overlaps = previousExpiresAt && Date.parse(previousExpiresAt) > Date.now();
    fill(
      place,
      secret
        ? facts([
            ["Public part", code(secret.name)],
            ["Made", time(secret.createdAt)],
            ["Previous one ends", overlaps ? time(previousExpiresAt) : null],
          ])
        : emptyState({
            icon: "clock",
            title: "No event secret yet",
            text: "Make one, and have the store report uploads at once. Without it, Sluice asks the store.",
          }),
      h(
        "div",
        { class: "actions" },
        page.may("rotateEventSecret")
          ? button(secret ? "Rotate" : "Make a secret", {
              icon: secret ? "refresh" : "plus",
              run: () => rotate(page, path, Boolean(secret), bucket).then((done) => done && load()),
            })
          : null,
        secret && page.may("deleteEventSecret")
          ? button("Delete", {
              icon: "trash",
              tone: "quiet",
              run: async () => {
                const done = await confirmDelete("the event secret", {
                  body: h("p", {}, "Notifications of the store are refused from now on."),
                  run: () => page.call("deleteEventSecret", { path }),
                });
                if (done) load();
              },
            })
          : null,
      ),
    );
  }
  load();
  return card("Notifications of the store", { text: "The secret that the store sends with each notification." }, place);
}

async function rotate(page, path, hasOne, bucket) {
  const made = await rotateDialog(page, {
    title: hasOne ? "Rotate the event secret" : "Make an event secret",
    operation: "rotateEventSecret",
    path,
    hasOverlap: hasOne,
    word: hasOne ? "Rotate" : "Make",
  });
  if (!made) return false;
  const kind = bucket.provider === "oss" ? "oss" : "s3";
  await showOnce("The event secret", {
    secret: made.secret,
    text: "Configure the store to send it with its notifications.",
    more: [
      h("p", {}, "Post notifications to this path of the gateway, or send the secret as a bearer token:"),
      code(`/v1/events/${kind}?secret=${made.secret}`),
    ],
  });
  return true;
}

function remove(page, name) {
  return confirmDelete("this bucket", {
    typed: name,
    body: h(
      "p",
      {},
      "Sluice forgets it. Objects at the store stay, and links that were issued work until they expire.",
    ),
    run: () => page.call("deleteBucket", { path: { bucket: name } }),
  });
}
