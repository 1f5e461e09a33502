// API keys: for whom, with which roles, and until when. A key is shown once, when it is made or rotated.

import { confirmDelete } from "../dialog.js";
import { h } from "../dom.js";
import { code, principal, relative, time } from "../format.js";
import { bindKey } from "../keys.js";
import { badge, button, card, codeBlock, deletion, facts, message, moreMenu, pageHead } from "../parts.js";
import { editRow } from "../resource.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { showObject } from "../values.js";
import { rotateDialog, showOnce } from "./secrets.js";

export function open(page) {
  const [id] = page.path;
  return id ? showKey(page, id) : showList(page);
}

const hasEnded = (row) => row.expiresAt && Date.parse(row.expiresAt) <= Date.now();
const endsSoon = (row) => row.expiresAt && !hasEnded(row) && Date.parse(row.expiresAt) - Date.now() < 14 * 86_400_000;

function endCell(row) {
  if (!row.expiresAt) return badge("never");
  if (hasEnded(row)) return badge(`ended ${relative(row.expiresAt)}`);
  return endsSoon(row) ? badge(relative(row.expiresAt), "warn") : time(row.expiresAt);
}

const roleBadges = (row) =>
  row.roles?.length
    ? h(
        "span",
        { class: "badges" },
        row.roles.map((role) => badge(role, role === "admin" ? "warn" : "info")),
        row.adminScopes ? badge("limited", null, { title: "The roles are limited to some buckets or users." }) : null,
      )
    : null;

function showList(page) {
  const own = page.session.caller?.credential?.id;
  const table = dataTable({
    caption: "API keys",
    remember: "api-keys",
    columns: columnsOf(page.contract, "listAPIKeys", {
      show: ["name", "prefix", "principal", "roles", "expiresAt"],
      hide: ["groups", "createdAt", "id"],
      omit: ["adminScopes", "previousKey"],
      titles: { prefix: "Begins with", principal: "Acts for", expiresAt: "Ends" },
      cells: {
        name: (row) => h("span", {}, code(row.name), row.id === own ? [" ", badge("in use here", "info")] : null),
        prefix: (row) => code(`sluice_${row.prefix}_…`),
        roles: roleBadges,
        expiresAt: endCell,
      },
    }),
    rows: page.pages("listAPIKeys", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("api-keys", {}, [row.id]),
    tone: (row) => (endsSoon(row) ? "warn" : null),
    menu: (row) => [
      page.may("rotateAPIKey") && {
        label: "Rotate",
        icon: "refresh",
        run: async () => {
          const data = await rotate(page, row);
          if (data) table.replace(data);
        },
      },
      { label: "What it was issued", icon: "ledger", href: address("ledger", { principal: row.principal }) },
      deletion(page, "deleteAPIKey", async () => {
        if (await remove(page, row)) table.remove(row);
      }),
    ],
    empty: Object.keys(page.query).length
      ? { icon: "key", title: "No API key matches", text: "Change or clear the filters." }
      : {
          icon: "key",
          title: "No API key yet",
          text: "Programs that have no token of an issuer use an API key. It acts for one user.",
          actions: page.may("createAPIKey")
            ? [button("New API key", { tone: "primary", icon: "plus", run: create })]
            : [],
        },
  });
  async function create() {
    const made = await editRow(page, {
      title: "New API key",
      create: "createAPIKey",
      order: ["name", "principal", "expiresAt", "groups", "roles"],
      value: page.query.principal ? { principal: page.query.principal } : {},
      saved: "The key is in force on every gateway",
    });
    if (!made) return;
    const { key, ...row } = made.data;
    table.insert(row);
    await showKeyOnce("The new API key", key, row);
  }
  if (page.may("createAPIKey")) bindKey("n", "New API key", create, page.signal);
  return [
    pageHead("API keys", {
      text: "Keys for programs, and for admins without an issuer. Sluice keeps a hash of each.",
      actions: page.may("createAPIKey")
        ? [button("New API key", { tone: "primary", icon: "plus", run: create, title: "n" })]
        : [],
    }),
    filterBar(page, "listAPIKeys"),
    table.element,
  ];
}

function showKeyOnce(title, key, row) {
  const name = row.roles?.length ? "SLUICE_ADMIN_KEY" : "SLUICE_KEY";
  return showOnce(title, {
    secret: key,
    text: h("span", {}, "It acts for ", principal(row.principal), "."),
    more: codeBlock(`export ${name}=${key}`, { label: "Copy the line" }),
  });
}

async function rotate(page, row) {
  const isOwn = row.id === page.session.caller?.credential?.id;
  const made = await rotateDialog(page, {
    title: "Rotate this API key",
    operation: "rotateAPIKey",
    path: { id: row.id },
    intro: [
      h("p", {}, "The key ", code(row.name), " of ", principal(row.principal), " receives a new secret."),
      isOwn
        ? message("warn", "You are signed in with this key", h("p", {}, "Without an overlap, you are signed out."))
        : null,
    ],
  });
  if (!made) return null;
  const { key, ...rest } = made;
  await showKeyOnce("The rotated API key", key, rest);
  return rest;
}

function remove(page, row) {
  const isOwn = row.id === page.session.caller?.credential?.id;
  return confirmDelete("this API key", {
    body: [
      h("p", {}, code(row.name), " of ", principal(row.principal), " is refused at once, on every gateway."),
      isOwn ? message("warn", "You are signed in with this key", h("p", {}, "You are signed out.")) : null,
    ],
    run: () => page.call("deleteAPIKey", { path: { id: row.id } }),
  });
}

async function showKey(page, id) {
  const { data: row } = await page.call("getAPIKey", { path: { id } });
  page.title("API key");
  const again = () => page.go(address("api-keys", { at: String(Date.now()) }, [id]), { replace: true });
  const scopes = row.adminScopes ?? [];
  return [
    pageHead(code(row.name), {
      back: { href: "#/api-keys", label: "API keys" },
      actions: [
        page.may("rotateAPIKey")
          ? button("Rotate", {
              icon: "refresh",
              tone: "primary",
              run: async () => {
                if (await rotate(page, row)) again();
              },
            })
          : null,
        page.may("patchAPIKey")
          ? button("Change", {
              icon: "edit",
              run: async () => {
                const fresh = await page.call("getAPIKey", { path: { id } });
                const done = await editRow(page, {
                  title: "Change the API key",
                  patch: "patchAPIKey",
                  row: fresh.data,
                  etag: fresh.etag,
                  path: { id },
                  omit: ["prefix", "previousKey", "principal"],
                  order: ["name", "principal", "expiresAt", "groups", "roles"],
                });
                if (done) again();
              },
            })
          : null,
        moreMenu([
          deletion(page, "deleteAPIKey", async () => {
            if (await remove(page, row)) page.go("#/api-keys");
          }),
        ]),
      ],
    }),
    row.previousKey && Date.parse(row.previousKey.expiresAt) > Date.now()
      ? message(
          "info",
          "The previous secret still works",
          h(
            "p",
            {},
            code(`sluice_${row.previousKey.prefix}_…`),
            " ends ",
            relative(row.previousKey.expiresAt),
            ", at ",
            time(row.previousKey.expiresAt),
            ".",
          ),
        )
      : null,
    h(
      "div",
      { class: "columns" },
      card(
        "About this key",
        {},
        facts([
          ["Begins with", code(`sluice_${row.prefix}_`)],
          ["Acts for", principal(row.principal)],
          ["Roles", roleBadges(row)],
          ["Groups", row.groups.length ? h("span", { class: "badges" }, row.groups.map(principal)) : null],
          ["Ends", endCell(row)],
          ["Made", time(row.createdAt)],
        ]),
      ),
      scopes.length
        ? card(
            "What the roles are limited to",
            { text: "Whoever uses the key sees and changes only what lies in one of these." },
            scopes.map((scope) =>
              showObject(page.contract.resolve(page.contract.schema("AdminScopes").items), scope, page.contract),
            ),
          )
        : null,
      card(
        "What it did",
        {},
        h(
          "ul",
          { class: "plain" },
          h("li", {}, h("a", { href: address("ledger", { principal: row.principal }) }, "What the user was issued")),
          h("li", {}, h("a", { href: address("denials", { principal: row.principal }) }, "What the user was refused")),
          row.roles?.length
            ? h("li", {}, h("a", { href: address("audit", { actor: row.principal }) }, "What the user changed"))
            : null,
          h("li", {}, h("a", { href: address("audit", { resourceID: row.id }) }, "Who changed this key")),
        ),
      ),
    ),
  ];
}
