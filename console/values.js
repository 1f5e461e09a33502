// Shows values of rows as the contract describes them.

import { h } from "./dom.js";
import { code, duration, id, label, none, number, principal, size, text, time } from "./format.js";
import { actionBadges, badge, facts } from "./parts.js";
import { address } from "./router.js";

const tones = {
  allow: "ok",
  deny: "bad",
  allowed: "ok",
  denied: "bad",
  conditional: "warn",
  active: "ok",
  pending: "info",
  ended: null,
  landed: "ok",
  missing: "warn",
  mismatched: "bad",
  granted: "ok",
  failed: "bad",
};

/**
 * Returns an element for a value.
 *
 * @param {object} member As `Contract.members` describes it.
 * @param {*} value
 * @param {Contract} contract
 */
export function showValue(member, value, contract) {
  if (value === undefined || value === null) return none();
  switch (member.kind) {
    case "boolean":
      return value ? "Yes" : "No";
    case "bytes":
      return size(value);
    case "duration":
      return h("span", { class: "number", title: `${number(value)} seconds` }, duration(value));
    case "number":
      return h("span", { class: "number" }, number(value));
    case "time":
      return time(value);
    case "principal":
      return principal(value);
    case "bucket":
      return code(value);
    case "id":
      return id(value);
    case "enum":
      return badge(String(value), tones[value]);
    case "set":
      return /actions/i.test(member.name)
        ? actionBadges(value)
        : h(
            "span",
            { class: "badges" },
            value.map((item) => badge(item)),
          );
    case "list":
      return value.length
        ? h(
            "ul",
            { class: "plain" },
            value.map((item) => h("li", {}, code(item))),
          )
        : none();
    case "object":
      return showObject(member.schema, value, contract);
    case "rows":
      return value.length
        ? value.map((item) => showObject(contract.resolve(member.schema.items), item, contract))
        : none();
    case "map":
      return Object.keys(value).length
        ? facts(Object.entries(value).map(([name, item]) => [code(name), code(item)]))
        : none();
    case "text":
      return /note|name|detail|description|title/i.test(member.name) ? text(value) : code(value);
    default:
      return typeof value === "object" ? code(JSON.stringify(value)) : code(value);
  }
}

/** Returns the members of an object that have a value, by their labels. */
export function showObject(schema, value, contract) {
  const pairs = contract
    .members(schema)
    .filter((member) => value[member.name] !== undefined && value[member.name] !== null)
    .map((member) => [member.label, showValue(member, value[member.name], contract), member.help]);
  return pairs.length ? facts(pairs) : none();
}

/** Returns the conditions of a grant in short words, for a table. */
export function conditionWords(conditions = {}, contract) {
  const members = contract.members(contract.schema("GrantConditions"));
  const all = members.filter((member) => conditions[member.name] !== undefined && conditions[member.name] !== false);
  if (!all.length) return none();
  return h(
    "span",
    { class: "badges" },
    all.map((member) => badge([member.label, shortWord(member, conditions[member.name])].filter(Boolean).join(" "))),
  );
}

function shortWord(member, value) {
  if (value === true) return "";
  if (member.kind === "bytes") return `≤ ${size(value).textContent}`;
  if (member.kind === "duration") return `≤ ${duration(value)}`;
  if (Array.isArray(value))
    return value.length > 2 ? `${value.slice(0, 2).join(", ")} +${value.length - 2}` : value.join(", ");
  return String(value);
}

/** Returns the place of a grant: its prefix or its template, as text. */
export function placeOf(grant) {
  if (grant.template !== undefined) return h("span", {}, code(grant.template), " ", badge("template"));
  return grant.prefix === "" ? h("span", { class: "faint" }, "whole bucket") : code(grant.prefix);
}

/**
 * Returns the members in which two rows differ, with both values.
 *
 * @param {object|null|undefined} before Absent for a row that is new.
 * @param {object|null|undefined} after Absent for a row that is gone.
 * @param {object} [schema] The schema of the row. Without it, values are shown as JSON.
 */
export function showDifference(before, after, schema, contract) {
  const known = new Map((schema ? contract.members(schema) : []).map((member) => [member.name, member]));
  const names = [...new Set([...known.keys(), ...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const differing = names.filter((name) => written(before?.[name]) !== written(after?.[name]));
  if (!differing.length) return h("p", { class: "faint" }, "No difference.");
  return h(
    "div",
    { class: "diff" },
    differing.map((name) => {
      const member = known.get(name) ?? {
        name,
        label: label(name),
        kind: typeof (after ?? before)?.[name] === "string" ? "text" : "json",
      };
      const side = (tag, word, value) =>
        written(value) === ""
          ? null
          : h(tag, {}, h("span", { class: "unseen" }, word), plainValue(member, value, contract));
      return h(
        "div",
        {},
        h("span", { class: "faint" }, member.label),
        h("div", { class: "stack" }, side("del", "before: ", before?.[name]), side("ins", "after: ", after?.[name])),
      );
    }),
  );
}

/** Returns a value for comparison. An absent member says the same as an empty one. */
function written(value) {
  const isEmpty =
    value === undefined || value === null || value === "" || (typeof value === "object" && !Object.keys(value).length);
  return isEmpty ? "" : JSON.stringify(value);
}

function plainValue(member, value, contract) {
  if (member.kind === "set" || member.kind === "enum") return [value].flat().join(", ");
  return member.kind === "object" ? code(JSON.stringify(value)) : showValue(member, value, contract);
}

/** Returns a grant in one line: effect, actions, place and principal, with a link to it. */
export function grantLine(grant) {
  const content = [
    badge(grant.effect ?? "allow", tones[grant.effect ?? "allow"]),
    actionBadges(grant.actions),
    h("span", {}, code(grant.bucket), " / ", placeOf(grant)),
    h("span", { class: "faint" }, "to"),
    principal(grant.principal),
  ];
  return h(
    "span",
    { class: "grant-line" },
    content,
    grant.id ? grantLink(grant.id, "Open") : null,
  );
}

/** Returns a link to the page of a grant. */
export function grantLink(grantID, content = code(grantID)) {
  return h("a", { href: address("grants", {}, [grantID]) }, content);
}

/** Says how often a limit is given anew: `a day`, `in all`. */
export const eachPeriod = (period) => ({ total: "in all", hour: "an hour" })[period] ?? `a ${period}`;
