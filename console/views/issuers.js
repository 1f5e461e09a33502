// Issuers: whose tokens are accepted and what they mean; and a page that decodes and judges a token.

import { confirmDelete } from "../dialog.js";
import { fill, h, isAbort } from "../dom.js";
import { code, count } from "../format.js";
import { bindKey } from "../keys.js";
import { badge, button, card, deletion, moreMenu, pageHead, problemBox } from "../parts.js";
import { editRow } from "../resource.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { showObject } from "../values.js";
import { stepList, testing, verdict } from "./checks.js";
import { withSecrets } from "./secrets.js";
import { stepTitles, tokenCard, tokenPage } from "./token.js";

export function open(page) {
  const [id] = page.path;
  if (id === "token") return tokenPage(page);
  return id ? showIssuer(page, id) : showList(page);
}

function keysWords({ keys }) {
  if (keys.url) return code(keys.url);
  if (keys.inline) return badge(count(keys.inline.keys?.length ?? 0, "key"));
  return keys.hasSecret ? badge("shared secret") : null;
}

const options = {
  order: ["issuer", "audiences", "keys", "algorithms", "principalPrefix", "groupPrefix"],
  labels: { keys: "Where its keys are" },
};

const standard = { algorithms: ["RS256", "ES256"], principalPrefix: "", groupPrefix: "" };

function showList(page) {
  const table = dataTable({
    caption: "Issuers",
    remember: "issuers",
    columns: columnsOf(page.contract, "listIssuers", {
      show: ["issuer", "audiences", "keys", "algorithms", "rolesClaim"],
      hide: ["principalPrefix", "groupPrefix", "subjectClaim", "groupsClaim", "usableClaims", "createdAt", "id"],
      omit: ["roles"],
      titles: { keys: "Keys", rolesClaim: "Roles from" },
      cells: { issuer: (row) => code(row.issuer), keys: keysWords },
    }),
    rows: page.pages("listIssuers", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("issuers", {}, [row.id]),
    menu: (row) => [
      page.may("validateIssuer") && {
        label: "Test it",
        icon: "check",
        href: address("issuers", { test: "1" }, [row.id]),
      },
      deletion(page, "deleteIssuer", async () => {
        if (await remove(page, row)) table.remove(row);
      }),
    ],
    empty: {
      icon: "issuer",
      title: "No issuer yet",
      text: "Name the OpenID Connect provider of your organisation, so that its tokens are accepted.",
      actions: page.may("createIssuer") ? [button("New issuer", { tone: "primary", icon: "plus", run: create })] : [],
    },
  });
  async function create() {
    const made = await editRow(withSecrets(page), {
      ...options,
      title: "New issuer",
      create: "createIssuer",
      value: standard,
      saved: "Its tokens are accepted from now on",
    });
    if (made) page.go(address("issuers", page.may("validateIssuer") ? { test: "1" } : {}, [made.data.id]));
  }
  if (page.may("createIssuer")) bindKey("n", "New issuer", create, page.signal);
  return [
    pageHead("Issuers", {
      text: "Whose tokens are accepted, and what their claims mean here.",
      actions: [
        page.may("listIssuers")
          ? button("Judge a token", { icon: "search", href: address("issuers", {}, ["token"]) })
          : null,
        page.may("createIssuer")
          ? button("New issuer", { tone: "primary", icon: "plus", run: create, title: "n" })
          : null,
      ],
    }),
    page.contract.filters("listIssuers").length ? filterBar(page, "listIssuers") : null,
    table.element,
  ];
}

function remove(page, row) {
  return confirmDelete("this issuer", {
    typed: row.issuer,
    body: h("p", {}, "Tokens of ", code(row.issuer), " are refused at once. Grants to its users stay."),
    run: () => page.call("deleteIssuer", { path: { id: row.id } }),
  });
}

async function showIssuer(page, id) {
  const { data: row } = await page.call("getIssuer", { path: { id } });
  page.title("Issuer");
  const again = () => page.go(address("issuers", { at: String(Date.now()) }, [id]), { replace: true });
  const test = keysCard(page, row);
  return [
    pageHead(code(row.issuer), {
      back: { href: "#/issuers", label: "Issuers" },
      actions: [
        page.may("validateIssuer")
          ? button("Test its keys", { icon: "check", tone: "primary", run: () => test.run() })
          : null,
        page.may("patchIssuer")
          ? button("Change", {
              icon: "edit",
              run: async () => {
                const { data: now, etag } = await page.call("getIssuer", { path: { id } });
                const done = await editRow(withSecrets(page), {
                  ...options,
                  title: "Change the issuer",
                  patch: "patchIssuer",
                  row: { ...now, keys: withoutSecret(now.keys) },
                  etag,
                  path: { id },
                  // It never changes.
                  omit: ["issuer"],
                  saved: "In force on every gateway",
                });
                if (done) again();
              },
            })
          : null,
        moreMenu([
          deletion(page, "deleteIssuer", async () => {
            if (await remove(page, row)) page.go("#/issuers");
          }),
        ]),
      ],
    }),
    test.element,
    h(
      "div",
      { class: "columns" },
      card(
        "About this issuer",
        {},
        showObject(page.contract.schema("Issuer"), { ...row, keys: undefined, id: undefined }, page.contract),
        h("dl", { class: "facts" }, h("div", {}, h("dt", {}, "Keys"), h("dd", {}, keysWords(row)))),
      ),
      tokenCard(page, { issuer: row }),
    ),
  ];
}

/** The row says only that there is a shared secret. */
function withoutSecret({ hasSecret, ...keys }) {
  return hasSecret ? {} : keys;
}

/** Returns a card that tests the discovery document and the keys of an issuer. */
function keysCard(page, row) {
  const place = h("div", { class: "stack" });
  const element = card("Test of the issuer", { text: "Reads its discovery document and its keys." }, place);
  element.hidden = true;
  async function run() {
    element.hidden = false;
    fill(place, testing("The issuer is being asked. This takes up to 5 seconds."));
    try {
      const { data } = await page.call("validateIssuer", { path: { id: row.id }, body: {} });
      fill(
        place,
        verdict(data, { good: "Tokens of this issuer can be verified", bad: "Something is wrong with this issuer" }),
        stepList(data.steps, stepTitles),
        data.keys.length ? keyTable(data.keys) : null,
        h("div", { class: "actions" }, button("Test again", { icon: "refresh", run })),
      );
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error, { retry: run }));
    }
  }
  if (page.query.test && page.may("validateIssuer")) run();
  return { element, run };
}

function keyTable(keys) {
  return dataTable({
    caption: "Keys of the issuer",
    rows: keys.map((key, index) => ({ ...key, id: index })),
    columns: [
      { name: "kid", title: "Key", cell: (row) => (row.kid === undefined ? null : code(row.kid)) },
      {
        name: "kty",
        title: "Kind",
        cell: (row) => [row.kty, row.crv, row.bits ? `${row.bits} bits` : null].filter(Boolean).join(" "),
      },
      {
        name: "usableWith",
        title: "Used with",
        cell: (row) =>
          row.usableWith.length
            ? h(
                "span",
                { class: "badges" },
                row.usableWith.map((name) => badge(name, "ok")),
              )
            : badge("not used", "warn"),
      },
      { name: "advice", title: "Why", cell: (row) => row.advice ?? null, grow: true },
    ],
  }).element;
}
