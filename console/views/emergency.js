// Emergency: a person, a key or a prefix is in trouble. Shows what is alive, revokes it in one step, and says what
// nothing can revoke.

import { fill, h } from "../dom.js";
import { code, principal, time } from "../format.js";
import { actionBadges, badge, button, card, emptyState, message, pageHead, tabs } from "../parts.js";
import { address } from "../router.js";
import { columnsOf, dataTable } from "../table.js";
import { placeOf } from "../values.js";
import { askForm } from "./ask.js";
import { survivors } from "./emergency-links.js";
import { collect, lies, reaches } from "./emergency-rows.js";
import { revokePerson, revokePlace } from "./emergency-revoke.js";

export function open(page) {
  const { principal: who, bucket } = page.query;
  const isPlace = page.query.about === "place" || (!who && bucket !== undefined);
  const choice = tabs("Who or what is in trouble", [
    { label: "A person", href: address("emergency", { principal: who }), current: !isPlace },
    { label: "A key or prefix", href: address("emergency", { about: "place", bucket }), current: isPlace },
  ]);
  const head = pageHead("Emergency", {
    text: "Shows what is alive, revokes it in one confirmed step, and says what works until when.",
  });
  const schema = isPlace
    ? {
        type: "object",
        required: ["bucket", "prefix"],
        properties: {
          bucket: { ...page.contract.schema("BucketName"), description: "The bucket that is in trouble." },
          prefix: {
            type: "string",
            maxLength: 1023,
            description: "One whole key, a prefix that ends with `/`, or nothing for the whole bucket.",
          },
        },
      }
    : {
        type: "object",
        required: ["principal"],
        properties: {
          principal: {
            ...page.contract.schema("UserPrincipal"),
            description: "The user whose device or token is in wrong hands, such as `user:alice`.",
          },
        },
      };
  const ask = askForm(page, schema, { submit: "Show what is alive", keep: isPlace ? { about: "place" } : {} });
  if (isPlace && bucket) return [head, choice, ask, ...aboutPlace(page, bucket, page.query.prefix ?? "")];
  if (!isPlace && who) return [head, choice, ask, ...aboutPerson(page, who)];
  return [
    head,
    choice,
    ask,
    emptyState({
      icon: "emergency",
      title: isPlace ? "Which key or prefix?" : "Which person?",
      text: isPlace
        ? "For example, an object was published by mistake, or a prefix holds what nobody should fetch now."
        : "For example, a laptop was stolen, or a token appeared in a log.",
    }),
  ];
}

const again = (page) => page.setQuery({ at: String(Date.now()) }, { replace: true });

/** The person's rights, what it holds, and the step that ends what can be ended. */
function aboutPerson(page, who) {
  page.title(`Emergency: ${who}`);
  const canRevoke = page.may("offboardPrincipal");
  return [
    stepCard(
      "1. Stop new links",
      canRevoke
        ? "Removes grants, memberships, API keys, tickets and unfinished uploads, and denies the user everything."
        : "An admin can remove all of this in one step.",
      canRevoke
        ? button("Revoke all of it", {
            tone: "danger",
            icon: "emergency",
            run: async () => {
              if (await revokePerson(page, who)) again(page);
            },
          })
        : null,
    ),
    survivors(page, { principal: who }, "2. Know what still works"),
    h(
      "div",
      { class: "columns" },
      page.may("listAPIKeys")
        ? rows(page, "API keys", "listAPIKeys", {
            query: { principal: who, activeAt: new Date().toISOString() },
            columns: ["name", "roles", "expiresAt"],
            href: (row) => address("api-keys", {}, [row.id]),
            none: "No API key acts for this user",
          })
        : null,
      page.may("listAllTickets") ? ticketRows(page, { principal: who }) : null,
      page.may("listMultipartUploads") ? uploadRows(page, { principal: who }) : null,
      page.may("listGrants")
        ? rows(page, "Grants to the user", "listGrants", {
            query: { principal: who },
            columns: ["effect", "actions", "place"],
            cells: grantCells,
            href: (row) => address("grants", {}, [row.id]),
            none: "No grant names this user",
          })
        : null,
      page.may("listGroups")
        ? rows(page, "Groups", "listGroups", {
            query: { member: who },
            columns: ["group", "grantCount"],
            key: (row) => row.group,
            href: (row) => address("groups", {}, [row.group]),
            none: "No row puts the user in a group",
          })
        : null,
    ),
    message(
      "info",
      "Outside the gateway",
      h("p", {}, "Disable the user at the issuer: its tokens are accepted until they expire, and name groups."),
    ),
  ];
}

/** What reaches a key or a prefix. */
function aboutPlace(page, bucket, prefix) {
  page.title(`Emergency: ${bucket}/${prefix}`);
  const isFolder = prefix === "" || prefix.endsWith("/");
  const canRevoke = page.may("applyGrants");
  return [
    stepCard(
      "1. Stop new links",
      canRevoke
        ? "Denies everybody, ends the tickets that reach it, and aborts unfinished uploads to it."
        : "An admin can deny everybody in one step.",
      canRevoke
        ? button("Revoke all of it", {
            tone: "danger",
            icon: "emergency",
            run: async () => {
              if (await revokePlace(page, bucket, prefix)) again(page);
            },
          })
        : null,
      message(
        "info",
        null,
        h(
          "p",
          {},
          isFolder ? "This is about every key that begins with " : "This is about the one key ",
          prefix === "" ? "anything: the whole bucket" : code(prefix),
          ".",
        ),
      ),
    ),
    survivors(page, { bucket, prefix }, "2. Know what still works"),
    h(
      "div",
      { class: "columns" },
      page.may("reviewAccess")
        ? card(
            "Who may reach it",
            { flush: true, text: "Grants that permit something here." },
            dataTable({
              caption: "Who may reach it",
              key: (row) => row.grant?.id ?? row.principal,
              rows: page.pages("reviewAccess", {
                query: isFolder ? { bucket, prefix, pageSize: 20 } : { bucket, key: prefix, pageSize: 20 },
              }),
              columns: [
                {
                  name: "principal",
                  title: "Principal",
                  cell: (row) => principal(row.principal ?? row.grant?.principal),
                },
                {
                  name: "what",
                  title: "May",
                  cell: (row) =>
                    row.grant
                      ? h(
                          "span",
                          { class: "badges" },
                          row.grant.effect === "deny" ? badge("deny", "bad") : null,
                          actionBadges(row.grant.actions),
                        )
                      : verdictWords(row),
                },
              ],
              empty: { icon: "access", title: "No grant reaches it" },
            }).element,
          )
        : null,
      page.may("listAllTickets") ? ticketRows(page, { bucket }, (row) => reaches(row.prefix, prefix)) : null,
      page.may("listMultipartUploads") ? uploadRows(page, { bucket }, (row) => lies(row.key, prefix)) : null,
    ),
  ];
}

function verdictWords(row) {
  const all = row.verdicts ?? [];
  const tones = { allowed: "ok", conditional: "warn", denied: "bad" };
  return all.length
    ? h(
        "span",
        { class: "badges" },
        all.map((item) => badge(`${item.action.replace(/Object$/, "")} ${item.outcome}`, tones[item.outcome])),
      )
    : null;
}

function stepCard(title, text, action, ...children) {
  return card(title, { tone: "bad", text, actions: action }, children);
}

const grantCells = {
  effect: (row) => badge(row.effect, row.effect === "deny" ? "bad" : "ok"),
  place: (row) => h("span", {}, code(row.bucket), " / ", placeOf(row)),
  actions: (row) => actionBadges(row.actions),
};

/** How many rows are read to find those that concern a place, and how many of these are shown. */
const most = { read: 1000, shown: 200 };

/** Returns a card with the first rows of a list. */
function rows(page, title, operation, { query, columns, cells = {}, href, none, key, only, titles }) {
  const members = page.contract.members(page.contract.rowOf(operation)).map((member) => member.name);
  const empty = { icon: "check", title: none };
  const note = h("div", { class: "faint note-line", hidden: true });
  // What concerns the place, as one page.
  const chosen = {
    done: false,
    async next() {
      const found = await collect(page, operation, query, most.read, only);
      this.done = true;
      const isCut = found.rows.length > most.shown;
      if (found.isMore) Object.assign(empty, { icon: "info", title: "None of those that were read" });
      fill(note, found.isMore ? "There are more in this bucket than were read." : "There are more than these.");
      note.hidden = !found.isMore && !isCut;
      return found.rows.slice(0, most.shown);
    },
  };
  if (only) page.record(operation, { query });
  const table = dataTable({
    caption: title,
    key,
    rows: only ? chosen : page.pages(operation, { query: { ...query, pageSize: 20 } }),
    columns: columnsOf(page.contract, operation, {
      show: columns,
      omit: members.filter((name) => !columns.includes(name)),
      cells,
      titles: { place: "Place", ...titles },
    }),
    href,
    empty,
  });
  return card(title, { flush: true }, table.element, note);
}

function ticketRows(page, query, only) {
  return rows(page, "Tickets", "listAllTickets", {
    query: { ...query, activeAt: new Date().toISOString() },
    only,
    columns: ["name", "principal", "prefix", "expiresAt"],
    cells: { expiresAt: (row) => time(row.expiresAt, { relative: true }), prefix: (row) => code(row.prefix) },
    titles: { expiresAt: "Ends" },
    href: (row) => address("tickets", {}, [row.id]),
    none: "No ticket is alive",
  });
}

function uploadRows(page, query, only) {
  return rows(page, "Unfinished uploads in parts", "listMultipartUploads", {
    query: { ...query, state: "open" },
    only,
    columns: ["key", "principal", "createdAt"],
    cells: {
      key: (row) => h("span", {}, code(row.bucket), " / ", code(row.key)),
      createdAt: (row) => time(row.createdAt, { relative: true }),
    },
    href: (row) => address("multipart", {}, [row.id]),
    none: "No upload in parts is open",
  });
}
