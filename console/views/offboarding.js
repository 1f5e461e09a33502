// Offboarding: all that gives a person access, in one page, and removed in one confirmed step.

import { repeatable } from "../api.js";
import { confirm } from "../dialog.js";
import { fill, focusOn, h, isAbort } from "../dom.js";
import { code, count, number, principal, relative, size, time } from "../format.js";
import {
  actionBadges,
  badge,
  button,
  card,
  disclosure,
  message,
  pageHead,
  problemBox,
  skeleton,
  tile,
} from "../parts.js";
import { address } from "../router.js";
import { commandLines } from "../shell.js";
import { showBlastRadius } from "../simulation.js";
import { columnsOf, dataTable } from "../table.js";
import { toast } from "../toast.js";
import { grantLine } from "../values.js";
import { askForm } from "./ask.js";

/** What an offboarding removes, in the order of the page. */
const removed = [
  { kind: "Grant", counts: "grants", title: "Grants" },
  { kind: "GroupMember", counts: "memberships", title: "Memberships" },
  { kind: "APIKey", counts: "apiKeys", title: "API keys" },
  { kind: "Ticket", counts: "tickets", title: "Tickets" },
  { kind: "Upload", counts: "uploads", title: "Multipart uploads" },
];

export function open(page) {
  const { principal: who } = page.query;
  const head = pageHead("Offboarding", {
    text: "Removes a person's grants, memberships, API keys, tickets and unfinished uploads as one change.",
  });
  const ask = askForm(
    page,
    {
      type: "object",
      required: ["principal"],
      properties: {
        principal: {
          ...page.contract.schema("UserPrincipal"),
          description: "The user who leaves, such as `user:alice`. Disable the user at the issuer first.",
        },
      },
    },
    { submit: "List what the user has" },
  );
  if (!who) return [head, ask];
  const place = h("div", { class: "stack" });
  page.title(`Offboarding ${who}`);
  list(page, who, place);
  return [head, ask, place];
}

/** Lists what would be removed. */
async function list(page, who, place, before) {
  fill(place, before, skeleton(6));
  if (place.contains(document.activeElement)) focusOn(before);
  try {
    const { data, etag } = await page.call("offboardPrincipal", { path: { principal: who }, body: { dryRun: true } });
    fill(place, before, shown(page, data, etag, place), stays(page, who));
  } catch (error) {
    if (!isAbort(error)) fill(place, before, problemBox(error, { retry: () => list(page, who, place, before) }));
  }
}

function shown(page, data, etag, place) {
  const who = data.principal;
  const once = repeatable();
  const act = data.count
    ? button(`Remove ${count(data.count, "row")}`, {
        tone: "danger",
        icon: "offboard",
        run: () => remove(page, data, etag, place, once),
      })
    : null;
  return [
    card(
      data.count ? "What gives access" : "Nothing gives access",
      {
        actions: act,
        text: data.count
          ? "All of it is removed at once. The audit has a row for each."
          : "No row gives this user access by itself.",
      },
      counts(data.counts),
      data.count ? rowLists(data) : null,
      data.isTruncated
        ? message("info", null, h("p", {}, "There are more rows than those listed. All of them are removed."))
        : null,
    ),
    card(
      "What nothing can revoke",
      { text: "Links, forms and temporary credentials that the user holds work until they expire." },
      data.alive
        ? showBlastRadius(data.alive)
        : h("p", {}, "The ledger cannot be read now. Look again later to see what works until it expires."),
      !data.alive || data.alive.count || data.alive.sessionCount
        ? h(
            "p",
            {},
            "To end links and forms earlier, replace the credential that signed them and remove its old key at the " +
              "store. To end temporary credentials, deny their role at the store. See ",
            h("a", { href: address("emergency", { principal: who }) }, "Emergency"),
            ".",
          )
        : null,
    ),
  ];
}

function counts(all) {
  return h(
    "div",
    { class: "tiles six" },
    removed.map(({ counts: name, title }) => tile(title, number(all[name] ?? 0), { tone: all[name] ? "warn" : null })),
  );
}

const lines = {
  // The record of a grant keeps a template as its prefix.
  Grant: (row) => grantLine(row.isTemplate ? { ...row, template: row.prefix } : row),
  GroupMember: (row) => h("span", {}, principal(row.group), " since ", time(row.createdAt)),
  APIKey: (row) =>
    h(
      "span",
      { class: "grant-line" },
      code(row.name),
      code(row.prefix),
      (row.roles ?? []).map((role) => badge(role, "warn")),
      row.expiresAt ? h("span", { class: "faint" }, "ends ", time(row.expiresAt)) : badge("never ends"),
    ),
  Ticket: (row) =>
    h(
      "span",
      { class: "grant-line" },
      actionBadges(row.actions),
      h("span", {}, code(row.bucket), " / ", code(row.prefix)),
      h("span", { class: "faint" }, "ends ", relative(row.expiresAt)),
    ),
  Upload: (row) =>
    h(
      "span",
      { class: "grant-line" },
      badge(row.state ?? "open", "info"),
      h("span", {}, code(row.bucket), " / ", code(row.key)),
      row.contentLength === undefined ? null : size(row.contentLength),
      row.createdAt ? h("span", { class: "faint" }, "begun ", time(row.createdAt)) : null,
    ),
};

/** How many rows of a kind are shown at once. */
const atOnce = 50;

/** Returns the rows of an offboarding, by kind. */
function rowLists(data) {
  return removed
    .map(({ kind, title }) => ({ kind, title, rows: data.items.filter((item) => item.kind === kind) }))
    .filter(({ rows }) => rows.length)
    .map(({ kind, title, rows }) => {
      const items = (some) =>
        h(
          "ul",
          { class: "row-list" },
          some.map((item) => h("li", {}, lines[kind](item.row))),
        );
      return h(
        "section",
        { class: "stack" },
        h("h3", {}, title),
        items(rows.slice(0, atOnce)),
        rows.length > atOnce
          ? disclosure(`${number(rows.length - atOnce)} more`, {
              onOpen: (place) => fill(place, items(rows.slice(atOnce))),
            })
          : null,
      );
    });
}

/** Returns what an offboarding leaves, because it only limits. */
function stays(page, who) {
  const tables = [
    page.may("listQuotas")
      ? dataTable({
          caption: "Quotas",
          rows: page.pages("listQuotas", { query: { principal: who, pageSize: 20 } }),
          href: (row) => address("quotas", {}, [row.id]),
          columns: columnsOf(page.contract, "listQuotas", {
            show: ["metric", "limit", "period", "bucket"],
            omit: ["use", "id", "principal", "createdAt", "action", "sharing"],
          }),
          empty: { icon: "quota", title: "No quota is for this user by name" },
        }).element
      : null,
    page.may("listGrants")
      ? dataTable({
          caption: "Grants that deny",
          rows: page.pages("listGrants", { query: { principal: who, effect: "deny", pageSize: 20 } }),
          columns: [{ name: "grant", title: "Grant", cell: grantLine, grow: true }],
          empty: { icon: "denial", title: "No grant denies this user anything" },
        }).element
      : null,
  ];
  return [
    card(
      "What stays",
      {
        flush: true,
        text: "Quotas, and grants that deny, only limit what other grants allow.",
      },
      tables,
    ),
    message(
      "info",
      "Grants to everyone and to groups that tokens name stay",
      h("p", {}, "They hold for as long as the issuer gives the user tokens. To be sure, deny the user everything."),
      page.may("reviewAccess")
        ? h("p", {}, h("a", { href: address("access", { principal: who }) }, "See all that the user may do"))
        : null,
    ),
  ];
}

async function remove(page, data, etag, place, once) {
  const who = data.principal;
  const call = { path: { principal: who }, body: {}, ifMatch: etag };
  let answer;
  const done = await confirm(`Remove all access of this user?`, {
    danger: true,
    confirm: "Remove",
    typed: who,
    body: h(
      "div",
      { class: "stack" },
      h("p", {}, principal(who), ` loses ${count(data.count, "row")}. It cannot be undone in one step.`),
      counts(data.counts),
      commandLines(page.lines("offboardPrincipal", call)),
    ),
    run: async () => {
      try {
        answer = (await page.call("offboardPrincipal", once(call))).data;
      } catch (error) {
        if (error.status !== 412) throw error;
        answer = null;
      }
    },
  });
  if (!done) return;
  const words = answer ? `${count(answer.count, "row")} removed` : "This removed nothing";
  const note = answer
    ? "No gateway issues anything because of them. Stores discard parts of uploads in a few minutes."
    : "The rows changed since they were listed, perhaps by an attempt that was not answered. Look again.";
  if (page.signal.aborted) toast(words, { tone: answer ? "ok" : "bad", note });
  else await list(page, who, place, message(answer ? "ok" : "warn", words, h("p", {}, note)));
}
