// The access explorer: may a principal reach a key, what may a principal do, and who may reach a key or a prefix.

import { h, isAbort, isObject } from "../dom.js";
import { grantColumns, objectOf, quotaList, showExplanation, verdictBadge } from "../explanation.js";
import { schemaForm } from "../form.js";
import { code, count, principal } from "../format.js";
import { badge, button, card, disclosure, emptyState, facts, pageHead, problemBox, tabs } from "../parts.js";
import { address } from "../router.js";
import { suggestions } from "../suggest.js";
import { dataTable } from "../table.js";
import { grantLink } from "../values.js";
import { askForm } from "./ask.js";

const questions = [
  { name: "may", label: "May it?", text: "Asks the function that decides about URLs, now or at a time in the past." },
  {
    name: "principal",
    label: "What may a principal do?",
    text: "Lists its grants, those of its groups and those of everyone.",
  },
  {
    name: "object",
    label: "Who may reach it?",
    text: "Lists who has a grant that covers a key, or something below a prefix.",
  },
];

/** The question that an address asks. */
function questionOf({ ask, principal: who, bucket, key, issuance }) {
  if (ask) return ask;
  if (issuance || (who && bucket && key)) return "may";
  return who ? "principal" : bucket ? "object" : "may";
}

/** Opens the view. */
export async function open(page) {
  const asked = questionOf(page.query);
  const { principal: who, bucket, key } = page.query;
  const parts = { may: mayIt, principal: whatMay, object: whoMay };
  const part = parts[asked] ?? mayIt;
  return [
    pageHead("Access explorer", { text: questions.find(({ name }) => name === asked)?.text }),
    tabs(
      "Questions",
      questions.map(({ name, label }) => ({
        label,
        current: name === asked,
        href: address("access", { ask: name, principal: who, bucket, key }),
      })),
    ),
    await part(page),
  ];
}

function schemaOf(page, id, name, changes = {}) {
  const known = page.contract.operation(id).body
    ? page.contract.bodyOf(id).properties[name]
    : { ...page.contract.operation(id).parameters.find((parameter) => parameter.name === name).schema };
  return { ...page.contract.resolve(known), ...changes };
}

const principalHelp = { description: "user:name, group:name, or *." };

async function mayIt(page) {
  const { query } = page;
  const isIssuance = query.issuance !== undefined;
  const request = isIssuance ? { issuanceID: query.issuance } : requestOf(query);
  const isComplete = isIssuance || ((request.principal || request.issuer) && request.bucket && request.action);
  const explain = async () => (await page.call("explain", { body: request })).data;
  if (isIssuance) return h("div", { class: "stack" }, showExplanation(page, await explain()));
  const shown = isComplete
    ? await explain().then(
        (data) => [showExplanation(page, data, request), request.principal ? nextSteps(request) : null],
        (error) => {
          if (isAbort(error)) throw error;
          return problemBox(error, { retry: () => page.setQuery({}, { replace: true }) });
        },
      )
    : emptyState({
        title: "Ask whether somebody may reach an object",
        text: "Name a user, a bucket and a key. The answer names the grant that decides, and near misses.",
        icon: "access",
      });
  const omitted = ["issuanceID", "principal", "action", "bucket", "key", "at"];
  const details = readJSON(query.more) ?? {};
  const more = schemaForm(page.contract, withoutChoices(page.contract.schema("ExplainRequest")), {
    value: details,
    omit: omitted,
    suggest: suggestions(page),
    showsJSON: false,
  });
  more.element.firstElementChild.classList.add("form-grid");
  const box = disclosure(
    "More about the request: content type, length, source address, groups, a token's claims",
    { open: Object.keys(details).length > 0 },
    more.element,
  );
  const form = askForm(
    page,
    {
      type: "object",
      required: ["bucket", "key"],
      properties: {
        principal: schemaOf(page, "explain", "principal", { description: "The user who asks, such as user:alice." }),
        bucket: schemaOf(page, "explain", "bucket", { "x-name": "BucketName", pattern: undefined }),
        key: schemaOf(page, "explain", "key", {
          description: "The key of the object; to list, the prefix of the keys, empty for the whole bucket.",
        }),
        action: {
          type: "string",
          enum: page.contract.schema("Action").enum,
          default: "GetObject",
          description: "What the request asks for.",
        },
        at: schemaOf(page, "explain", "at"),
      },
    },
    {
      submit: "Ask",
      more: {
        element: box,
        check: () => {
          if (more.check()) return true;
          // What is wrong gets the focus, for which it has to be in view.
          box.open = true;
          return more.check();
        },
      },
      ask: (asked) => {
        const extra = more.value();
        page.setQuery({
          ask: "may",
          principal: asked.principal,
          bucket: asked.bucket,
          key: asked.key,
          action: asked.action ?? "GetObject",
          at: asked.at,
          more: Object.keys(extra).length ? JSON.stringify(extra) : "",
        });
      },
    },
  );
  return h("div", { class: "stack" }, form, shown);
}

function withoutChoices(schema) {
  return { ...schema, if: undefined, then: undefined, required: [] };
}

function requestOf(query) {
  const more = readJSON(query.more) ?? {};
  return Object.fromEntries(
    Object.entries({
      principal: query.principal,
      action: query.action ?? (query.bucket ? "GetObject" : undefined),
      bucket: query.bucket,
      ...objectOf(query),
      at: query.at,
      ...more,
    }).filter(([name, value]) => value !== undefined && (value !== "" || name === "prefix")),
  );
}

function readJSON(text) {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function nextSteps({ principal: who, bucket, key: object, prefix, action }) {
  const key = object ?? prefix;
  return h(
    "div",
    { class: "actions" },
    button("Try as this user", { icon: "try", href: address("try", { principal: who, bucket, key, action }) }),
    button("All it may do", { href: address("access", { principal: who }) }),
    button(`Who else may reach this ${key ? "key" : "bucket"}?`, { href: address("access", { bucket, key }) }),
  );
}

const relations = { caller: "its own", membership: "by membership", everyone: "" };

function standing(row) {
  return row.standing && row.standing !== "active"
    ? badge(row.standing === "pending" ? "not yet valid" : "ended", "warn")
    : null;
}

async function whatMay(page) {
  const { principal: who, bucket } = page.query;
  const form = askForm(
    page,
    {
      type: "object",
      required: ["principal"],
      properties: {
        principal: schemaOf(page, "reviewAccess", "principal", principalHelp),
        bucket: schemaOf(page, "reviewAccess", "bucket", { description: "Only grants in this bucket." }),
      },
    },
    { submit: "List", ask: (asked) => page.setQuery({ ask: "principal", key: "", bucket: "", ...asked }) },
  );
  if (!who)
    return h(
      "div",
      { class: "stack" },
      form,
      emptyState({ title: "Name a principal", text: "user:alice, group:staff, or * for everyone.", icon: "access" }),
    );
  const pages = page.pages("reviewAccess", { query: { principal: who, bucket: bucket || undefined } });
  const rows = await pages.next();
  const { members = [], quotas = [] } = pages.first;
  const table = dataTable({
    caption: "Grants",
    rows: rest(rows, pages),
    key: (row) => `${row.grant.id}${row.principal}`,
    columns: [
      {
        name: "via",
        title: "Through",
        cell: (row) =>
          h(
            "span",
            {},
            principal(row.principal),
            " ",
            h("span", { class: "faint" }, row.principal === who ? "" : (relations[row.origin] ?? row.origin ?? "")),
            standing(row),
          ),
      },
      ...grantColumns(page)
        .filter(({ name }) => !["principal", "place"].includes(name))
        .toSpliced(1, 0, {
          name: "place",
          title: "Place",
          grow: true,
          cell: (row) =>
            h(
              "span",
              {},
              code(row.grant.bucket),
              " / ",
              row.prefix === undefined
                ? [code(row.grant.template), " ", badge("depends on the token", "warn")]
                : row.prefix === ""
                  ? h("span", { class: "faint" }, "whole bucket")
                  : code(row.prefix),
            ),
        }),
    ],
    tone: (row) => (row.grant.effect === "deny" ? "bad" : null),
    empty: {
      title: "No grant",
      icon: "grant",
      text: "No grant names this principal, a group that rows put it in, or everyone.",
      actions: page.may("createGrant")
        ? [
            button("Draft a grant", {
              icon: "plus",
              tone: "primary",
              href: address("grants", { new: JSON.stringify({ principal: who, bucket }) }),
            }),
          ]
        : null,
    },
  });
  return h(
    "div",
    { class: "stack" },
    form,
    card(
      null,
      {},
      facts([
        [
          "Acts as",
          h(
            "ul",
            { class: "plain inline" },
            members.map((member) =>
              h(
                "li",
                {},
                principal(member.principal),
                " ",
                h(
                  "span",
                  { class: "faint" },
                  { caller: "itself", membership: "by membership", everyone: "" }[member.origin] ?? "",
                ),
              ),
            ),
          ),
        ],
      ]),
      h(
        "p",
        { class: "help" },
        "Groups and claims that only tokens or API keys name are not known here; ask “May it?” about these.",
      ),
    ),
    table.element,
    quotas.length ? card("Quotas that apply", {}, quotaList(quotas)) : null,
  );
}

/** Returns pages that begin with rows that were read already. */
function rest(rows, pages) {
  if (pages.done) return rows;
  let first = rows;
  return {
    get done() {
      return pages.done;
    },
    async next() {
      const now = first ?? (await pages.next());
      first = null;
      return now;
    },
  };
}

async function whoMay(page) {
  const { bucket, key = "" } = page.query;
  const isPrefix = key === "" || key.endsWith("/");
  const expands = page.query.expandGroups === "true";
  const form = askForm(
    page,
    {
      type: "object",
      required: ["bucket"],
      properties: {
        bucket: schemaOf(page, "reviewAccess", "bucket", { description: "The bucket of the object." }),
        key: { type: "string", description: "A key, or a prefix that ends with `/`. Empty: the whole bucket." },
        expandGroups: schemaOf(page, "reviewAccess", "expandGroups", {
          description: "Lists the members of groups as well. For a key only.",
        }),
      },
    },
    {
      submit: "List",
      value: { bucket, key, expandGroups: expands },
      ask: (asked) =>
        page.setQuery({
          ask: "object",
          principal: "",
          bucket: asked.bucket,
          key: asked.key ?? "",
          expandGroups: asked.expandGroups ? "true" : "",
        }),
    },
  );
  if (!bucket)
    return h(
      "div",
      { class: "stack" },
      form,
      emptyState({
        title: "Name a bucket, and a key or a prefix",
        text: "The answer lists everyone with a grant that covers it.",
        icon: "access",
      }),
    );
  const query = isPrefix ? { bucket, prefix: key } : { bucket, key, expandGroups: expands ? "true" : undefined };
  const rows = page.pages("reviewAccess", { query });
  return h(
    "div",
    { class: "stack" },
    form,
    (isPrefix ? prefixTable(page, rows) : keyTable(page, rows, bucket, key)).element,
  );
}

function keyTable(page, rows, bucket, key) {
  return dataTable({
    caption: "Who may reach the key",
    rows,
    key: (row) => row.principal,
    columns: [
      {
        name: "principal",
        title: "Principal",
        sort: (row) => row.principal,
        cell: (row) =>
          h(
            "span",
            {},
            principal(row.principal),
            " ",
            row.memberCount === undefined ? null : h("span", { class: "faint" }, count(row.memberCount, "member")),
          ),
      },
      { name: "verdicts", title: "May", cell: (row) => h("span", { class: "badges" }, row.verdicts.map(verdictBadge)) },
      { name: "decidedBy", title: "Decided by", cell: (row) => decided(row) },
      {
        name: "grants",
        title: "Grants that cover it",
        cell: (row) =>
          h(
            "ul",
            { class: "plain" },
            row.grants
              .slice(0, 4)
              .map((grant) =>
                h("li", {}, badge(grant.effect, grant.effect === "deny" ? "bad" : "ok"), " ", placeLink(grant)),
              ),
            row.grants.length > 4 ? h("li", { class: "faint" }, `and ${row.grants.length - 4} more`) : null,
          ),
      },
    ],
    menu: (row) => [
      row.principal.startsWith("user:") && {
        label: "Explain",
        icon: "access",
        href: address("access", { ask: "may", principal: row.principal, bucket, key, action: row.verdicts[0]?.action }),
      },
      { label: "All it may do", icon: "grant", href: address("access", { principal: row.principal }) },
      row.principal.startsWith("user:") && {
        label: "Try as this user",
        icon: "try",
        href: address("try", { principal: row.principal, bucket, key }),
      },
    ],
    empty: {
      title: "Nobody may reach it",
      text: "No grant covers this key. If somebody should, draft a grant.",
      icon: "access",
      actions: page.may("createGrant")
        ? [
            button("Draft a grant", {
              icon: "plus",
              tone: "primary",
              href: address("grants", { new: JSON.stringify({ bucket, prefix: key }) }),
            }),
          ]
        : null,
    },
  });
}

function decided(row) {
  const grants = new Map(
    row.verdicts.filter((verdict) => verdict.decidedBy).map((verdict) => [verdict.decidedBy.id, verdict.decidedBy]),
  );
  if (!grants.size) return null;
  return h(
    "ul",
    { class: "plain" },
    [...grants.values()].map((grant) => h("li", {}, principal(grant.principal), " ", placeLink(grant))),
  );
}

/** Returns a link to a grant, with the place that it covers. */
function placeLink(grant) {
  const place = grant.template ?? grant.prefix;
  return grantLink(grant.id, place === "" ? "whole bucket" : code(place));
}

function prefixTable(page, rows) {
  return dataTable({
    caption: "Who may reach something below the prefix",
    rows,
    key: (row) => row.grant.id,
    tone: (row) => (row.grant.effect === "deny" ? "bad" : null),
    columns: [
      {
        name: "relation",
        title: "Covers",
        cell: (row) =>
          h(
            "span",
            { class: "badges" },
            row.relation === "covers" ? badge("all of it", "info") : badge("places below"),
            standing(row),
          ),
      },
      ...grantColumns(page),
    ],
    empty: {
      title: "Nobody may reach anything below it",
      text: "No grant covers the prefix or a place below it.",
      icon: "access",
    },
  });
}
