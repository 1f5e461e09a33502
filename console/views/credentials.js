// Storage credentials: which buckets depend on each, and how to replace a key without breaking a link.

import { confirmDelete } from "../dialog.js";
import { fill, h, isAbort } from "../dom.js";
import { code, number, relative, time } from "../format.js";
import { bindKey } from "../keys.js";
import {
  badge,
  button,
  card,
  deletion,
  facts,
  message,
  moreMenu,
  pageHead,
  problemBox,
  skeleton,
  tile,
} from "../parts.js";
import { editRow, formDialog } from "../resource.js";
import { address } from "../router.js";
import { blastRadiusCard } from "../simulation.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { showObject } from "../values.js";
import { withSecrets } from "./secrets.js";

export function open(page) {
  const [id] = page.path;
  return id ? showCredential(page, id) : showList(page);
}

const endsSoon = (row) => row.expiresAt && Date.parse(row.expiresAt) - Date.now() < 14 * 86_400_000;

function endCell(row) {
  if (!row.expiresAt) return null;
  return endsSoon(row) ? badge(relative(row.expiresAt), "warn") : time(row.expiresAt);
}

function showList(page) {
  const table = dataTable({
    caption: "Storage credentials",
    remember: "credentials",
    columns: columnsOf(page.contract, "listStorageCredentials", {
      show: ["name", "kind", "accessKeyID", "previousKey", "expiresAt"],
      hide: ["sessionRole", "hasSessionToken", "createdAt", "id"],
      titles: { previousKey: "Rotation", expiresAt: "Ends", accessKeyID: "Key" },
      cells: {
        name: (row) => code(row.name),
        accessKeyID: (row) => code(row.accessKeyID),
        previousKey: (row) => rotationBadge(row.previousKey),
        expiresAt: endCell,
        sessionRole: (row) => (row.sessionRole ? code(row.sessionRole.roleARN) : null),
      },
    }),
    rows: page.pages("listStorageCredentials", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("credentials", {}, [row.id]),
    tone: (row) => (endsSoon(row) ? "warn" : null),
    menu: (row) => [
      page.may("patchStorageCredential") && {
        label: "Rotate",
        icon: "refresh",
        href: address("credentials", { rotate: "1" }, [row.id]),
      },
      { label: "Its buckets", icon: "bucket", href: address("buckets", { credentialID: row.id }) },
      { label: "What it signed", icon: "ledger", href: address("ledger", { credentialID: row.id }) },
      deletion(page, "deleteStorageCredential", async () => {
        if (await remove(page, row)) table.remove(row);
      }),
    ],
    empty: Object.keys(page.query).length
      ? { icon: "credential", title: "No credential matches", text: "Change or clear the filters." }
      : {
          icon: "credential",
          title: "No credential yet",
          text: "A credential is the key with which Sluice signs links. The steps for a new bucket ask for one.",
          actions: page.may("createBucket")
            ? [button("New bucket", { tone: "primary", icon: "plus", href: address("buckets", { new: "1" }) })]
            : [],
        },
  });
  async function create() {
    const made = await editRow(withSecrets(page), {
      title: "New credential",
      create: "createStorageCredential",
      order: ["name", "accessKeyID", "secretAccessKey"],
      saved: "The credential is stored sealed",
    });
    if (made) page.go(address("credentials", {}, [made.data.id]));
  }
  const mayCreate = page.may("createStorageCredential");
  if (mayCreate) bindKey("n", "New credential", create, page.signal);
  return [
    pageHead("Credentials", {
      text: "The keys with which Sluice signs. Their secrets are stored sealed, and never shown.",
      actions: mayCreate ? [button("New credential", { tone: "primary", icon: "plus", run: create, title: "n" })] : [],
    }),
    filterBar(page, "listStorageCredentials"),
    table.element,
  ];
}

function rotationBadge(previous) {
  if (!previous) return null;
  const isOver = Date.parse(previous.removableAt) <= Date.now();
  return isOver
    ? badge("old key can be removed", "ok", { title: previous.accessKeyID })
    : badge(`old key can go ${relative(previous.removableAt)} at the latest`, "info");
}

function remove(page, row) {
  return confirmDelete("this credential", {
    typed: row.name,
    body: h("p", {}, "Sluice forgets the key. What it signed works until it expires, or until the store ends the key."),
    run: () => page.call("deleteStorageCredential", { path: { id: row.id } }),
  });
}

async function showCredential(page, id) {
  const read = () => page.call("getStorageCredential", { path: { id } });
  const { data: row } = await read();
  page.title(`Credential ${row.name}`);
  const again = () => page.go(address("credentials", { at: String(Date.now()) }, [id]), { replace: true });
  const mayChange = page.may("patchStorageCredential");
  const turn = async () => {
    const fresh = await read();
    if (await rotate(page, fresh.data, fresh.etag)) again();
  };
  if (mayChange && page.query.rotate) queueMicrotask(turn);
  return [
    pageHead(code(row.name), {
      back: { href: "#/credentials", label: "Credentials" },
      actions: [
        mayChange ? button("Rotate", { icon: "refresh", tone: "primary", run: turn }) : null,
        mayChange
          ? button("Change", {
              icon: "edit",
              run: async () => {
                const fresh = await read();
                const done = await editRow(withSecrets(page), {
                  title: "Change the credential",
                  patch: "patchStorageCredential",
                  row: fresh.data,
                  etag: fresh.etag,
                  path: { id },
                  omit: [
                    "kind",
                    "hasSessionToken",
                    "previousKey",
                    "accessKeyID",
                    "secretAccessKey",
                    "sessionToken",
                    "serviceAccount",
                    "keyPair",
                  ],
                });
                if (done) again();
              },
            })
          : null,
        moreMenu([
          deletion(page, "deleteStorageCredential", async () => {
            if (await remove(page, row)) page.go("#/credentials");
          }),
        ]),
      ],
    }),
    page.may("getStorageCredentialDependents") ? dependentsCard(page, row) : null,
    h(
      "div",
      { class: "columns" },
      card(
        "About this credential",
        {},
        showObject(
          page.contract.schema("StorageCredential"),
          { ...row, name: undefined, previousKey: undefined },
          page.contract,
        ),
      ),
      page.may("getBlastRadiusOfStorageCredential")
        ? blastRadiusCard(page, "getBlastRadiusOfStorageCredential", id, { title: "What lives because of it" })
        : null,
    ),
  ];
}

/** Returns what depends on a credential and on its previous key, counted again every ten seconds. */
function dependentsCard(page, row) {
  const place = h("div", { class: "stack" }, skeleton(3));
  const load = async () => {
    try {
      const { data } = await page.call("getStorageCredentialDependents", { path: { id: row.id } });
      fill(place, dependents(data));
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error, { retry: load }));
    }
  };
  load();
  page.every(10, load);
  return card("What depends on it", { text: "Counted again every ten seconds." }, place);
}

function dependents(data) {
  const { accessKeyID, previousKey: old, buckets, alive } = data;
  return [
    old
      ? message(
          old.isRemovable ? "ok" : "warn",
          old.isRemovable ? "The previous key can be removed at the store" : "Keep the previous key at the store",
          h(
            "p",
            {},
            // The keys of a service account have the same name.
            old.accessKeyID === accessKeyID ? "The older key of " : null,
            code(old.accessKeyID),
            old.isRemovable
              ? " signed nothing that is alive."
              : [
                  ` signed ${number(old.alive.count)} that are alive. It can be removed `,
                  `${relative(old.alive.lastExpiresAt)}, at `,
                  time(old.alive.lastExpiresAt),
                  ".",
                ],
          ),
        )
      : null,
    h(
      "div",
      { class: "tiles" },
      tile("Buckets", number(buckets.length)),
      tile("Alive, signed with this key", number(alive.count), {
        text: alive.lastExpiresAt ? `the last ends ${relative(alive.lastExpiresAt)}` : null,
      }),
      old
        ? tile("Alive, signed with the previous key", number(old.alive.count), {
            tone: old.alive.count ? "warn" : "ok",
            text: old.isRemovable ? "remove it now" : `the last ends ${relative(old.alive.lastExpiresAt)}`,
          })
        : null,
    ),
    buckets.length
      ? facts([
          [
            "Signs for",
            h(
              "ul",
              { class: "plain inline" },
              buckets
                .slice(0, 50)
                .map((name) => h("li", {}, h("a", { href: address("buckets", {}, [name]) }, code(name)))),
              buckets.length > 50 ? h("li", {}, `and ${number(buckets.length - 50)} more`) : null,
            ),
          ],
        ])
      : h("p", { class: "faint" }, "No bucket uses it. It can be deleted once nothing that it signed is alive."),
  ];
}

/** Asks for a new key, and sends it. The secret is not kept. */
function rotate(page, row, etag) {
  const whole = { "service-account": "serviceAccount", "key-pair": "keyPair" }[row.kind];
  const must = whole ? [whole] : ["accessKeyID", "secretAccessKey"];
  const names = whole ? [whole, "expiresAt"] : [...must, "sessionToken", "expiresAt"];
  const { properties, if: _, then: __, ...schema } = page.contract.bodyOf("createStorageCredential");
  const own = Object.fromEntries(names.map((name) => [name, properties[name]]));
  return formDialog(withSecrets(page), "Rotate the key", {
    schema: { ...schema, required: must, properties: own },
    intro: h(
      "ol",
      { class: "plain" },
      h("li", {}, "1. Make a second key for the same user at the provider."),
      h("li", {}, "2. Enter it here. The next link is signed with it."),
      h("li", {}, "3. Test a bucket of this credential."),
      h("li", {}, "4. Remove the old key at the provider, once this page says that nothing needs it."),
    ),
    side: true,
    operation: "patchStorageCredential",
    call: (written) => {
      // A time at which the old key ended says nothing about the new one.
      const end = row.expiresAt && !written.expiresAt ? { expiresAt: null } : {};
      return { path: { id: row.id }, body: { ...written, ...end }, ifMatch: etag };
    },
    word: "Sign with the new key",
    saved: "The next link is signed with the new key",
  });
}
