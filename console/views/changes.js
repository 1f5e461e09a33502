// Shows changes of the audit: what was changed, and how the row differs.

import { h, isObject } from "../dom.js";
import { code, count, id as shortID, none, principal, time } from "../format.js";
import { badge, disclosure } from "../parts.js";
import { moment } from "../ranges.js";
import { address } from "../router.js";
import { columnsOf } from "../table.js";
import { showValue } from "../values.js";

/** The operations for each kind of row, and the view that shows it. */
export const kinds = {
  Grant: { view: "grants", get: "getGrant", patch: "patchGrant", create: "createGrant", remove: "deleteGrant" },
  Quota: { view: "quotas", get: "getQuota", patch: "patchQuota", create: "createQuota", remove: "deleteQuota" },
  Bucket: {
    view: "buckets",
    get: "getBucket",
    patch: "patchBucket",
    create: "createBucket",
    remove: "deleteBucket",
    path: (bucket) => ({ bucket }),
  },
  GroupMember: {
    get: "getGroupMember",
    create: "createGroupMember",
    remove: "deleteGroupMember",
    path: (id, row) => {
      const end = id.indexOf("/user:");
      return { group: row?.group ?? id.slice(0, end), member: row?.member ?? id.slice(end + 1) };
    },
  },
  StorageCredential: {
    view: "credentials",
    get: "getStorageCredential",
    patch: "patchStorageCredential",
    remove: "deleteStorageCredential",
  },
  Issuer: { view: "issuers", get: "getIssuer", patch: "patchIssuer", create: "createIssuer", remove: "deleteIssuer" },
  APIKey: { view: "api-keys", get: "getAPIKey", patch: "patchAPIKey", remove: "deleteAPIKey" },
};

export const operationTones = { create: "ok", update: "info", delete: "bad", reset: "warn", rotate: "warn" };

export const pathOf = (record) =>
  (kinds[record.kind]?.path ?? ((id) => ({ id })))(record.resourceID, record.after ?? record.before);

/** Returns where a change is shown. The row is in it, because a request may have changed many. */
export const changeAddress = ({ requestID, id, resourceID }) => address("audit", { resourceID }, [requestID, id]);

/** Returns columns for changes. */
export function changeColumns(page) {
  return columnsOf(page.contract, "listAudit", {
    show: ["changedAt", "actor", "operation", "resourceID", "changes"],
    hide: ["credential", "requestID", "id"],
    omit: ["kind", "before", "after"],
    titles: { changedAt: "When", actor: "Who", operation: "What", resourceID: "Row", changes: "Difference" },
    cells: {
      changedAt: (row) => moment(row.changedAt),
      actor: (row) => (row.actor.includes(":") ? principal(row.actor) : code(row.actor)),
      operation: (row) =>
        h(
          "span",
          { class: "badges one-line" },
          badge(row.operation, operationTones[row.operation]),
          h("span", { class: "nowrap" }, row.kind),
        ),
      resourceID: rowName,
      changes: (row) => summary(page, row),
      requestID: (row) => page.link("getRequest", address("requests", {}, [row.requestID]), code(row.requestID)),
    },
  }).map((column) => (column.name === "changes" ? { ...column, sort: null, grow: true } : column));
}

/** Returns a name for the row of a change, as far as the record tells it. */
function rowName(record) {
  const row = record.after ?? record.before ?? {};
  if (record.kind === "GroupMember")
    return h(
      "span",
      {},
      principal(row.member ?? pathOf(record).member),
      " in ",
      principal(row.group ?? pathOf(record).group),
    );
  if (record.kind === "Grant" && row.principal)
    return h("span", {}, principal(row.principal), " ", code(`${row.bucket}/${row.prefix ?? ""}`));
  if (row.name && row.name !== record.resourceID)
    return h("span", {}, code(row.name), " ", h("span", { class: "faint" }, shortID(record.resourceID)));
  if (row.principal)
    return h("span", {}, principal(row.principal), " ", h("span", { class: "faint" }, shortID(record.resourceID)));
  return record.resourceID.length > 30 ? shortID(record.resourceID) : code(record.resourceID);
}

/** Flattens nested objects: `conditions.maxBytes`. Absent values are left out. */
function flat(row, prefix = "") {
  return Object.entries(row ?? {}).flatMap(([name, value]) => {
    if (value === null || value === undefined || value === "") return [];
    // The record of a grant keeps a template as its prefix.
    if (name === "isTemplate") return value ? [[name, value]] : [];
    return isObject(value) ? flat(value, `${prefix}${name}.`) : [[`${prefix}${name}`, value]];
  });
}

/** Returns what differs: `[{name, before, after}]`, where an absent value is `undefined`. */
function differences({ before, after }) {
  const one = new Map(flat(before));
  const other = new Map(flat(after));
  return [...new Set([...one.keys(), ...other.keys()])]
    .map((name) => ({ name, before: one.get(name), after: other.get(name) }))
    .filter((item) => JSON.stringify(item.before) !== JSON.stringify(item.after));
}

/** Describes a member of a row by the contract, so that sizes, times and durations are shown as such. */
function memberOf(page, kind, name) {
  const path = name.split(".");
  let schema = page.contract.has(kinds[kind]?.get) ? page.contract.schema(kind) : {};
  let found = null;
  for (const part of path) {
    found = page.contract.members(schema).find((member) => member.name === part) ?? null;
    schema = found?.schema ?? {};
  }
  return found;
}

function shown(page, kind, name, value) {
  if (value === undefined) return none();
  const member = memberOf(page, kind, name);
  // What is struck through or marked needs no second colour.
  if (member?.kind === "enum") return code(value);
  if (member) return showValue(member, value, page.contract);
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (/At$|Until$|notBefore|notAfter/.test(name) && typeof value === "string") return time(value);
  return code(typeof value === "string" ? value : JSON.stringify(value));
}

export const labelOf = (page, kind, name) => memberOf(page, kind, name)?.label ?? name;

/** Members that the name of a row says already, or that say nothing new. */
const said = ["id", "name", "principal", "bucket", "prefix", "createdAt", "createdBy", "createdByPrincipal"];

function summary(page, record) {
  const all = differences(record);
  if (!record.before || !record.after) {
    const row = record.after ?? record.before;
    if (!row) return none();
    if (row.items) return h("span", { class: "faint" }, count(row.items.length, "row"));
    const telling = flat(row)
      .filter(
        ([name, value]) =>
          ![...said, "group", "member"].includes(name) && value !== false && value !== "" && value?.length !== 0,
      )
      .slice(0, 4);
    return h(
      "span",
      { class: "faint" },
      telling.map(([name, value], index) => [
        index ? " · " : null,
        `${labelOf(page, record.kind, name)} `,
        shown(page, record.kind, name, value),
      ]),
    );
  }
  return h(
    "ul",
    { class: "plain" },
    all
      .slice(0, 3)
      .map((item) =>
        h(
          "li",
          { class: "change" },
          h("span", { class: "faint" }, `${labelOf(page, record.kind, item.name)}: `),
          beforeAfter(page, record.kind, item),
        ),
      ),
    all.length > 3 ? h("li", { class: "faint" }, `and ${all.length - 3} more`) : null,
  );
}

/** Returns a value before and after. Of lists of texts, only what was added and removed is marked. */
function beforeAfter(page, kind, { name, before, after }) {
  const [old, recent] = [before ?? [], after ?? []];
  if (Array.isArray(old) && Array.isArray(recent) && [...old, ...recent].every((item) => typeof item === "string")) {
    return h(
      "span",
      { class: "badges" },
      [...new Set([...old, ...recent])].map((item) =>
        old.includes(item) && recent.includes(item)
          ? h("span", {}, code(item))
          : h(old.includes(item) ? "del" : "ins", {}, code(item)),
      ),
    );
  }
  return h(
    "span",
    {},
    before === undefined ? null : h("del", {}, shown(page, kind, name, before)),
    before !== undefined && after !== undefined ? " → " : null,
    after === undefined ? null : h("ins", {}, shown(page, kind, name, after)),
  );
}

export function diffTable(page, record) {
  const changed = differences(record);
  const same = flat(record.after ?? record.before).filter(([name]) => !changed.some((item) => item.name === name));
  const line = (name, content) =>
    h("div", {}, h("dt", { class: "faint" }, labelOf(page, record.kind, name)), h("dd", {}, content));
  return h(
    "div",
    { class: "stack" },
    changed.length
      ? h(
          "dl",
          { class: "diff" },
          changed.map((item) => line(item.name, beforeAfter(page, record.kind, item))),
        )
      : h("p", { class: "faint" }, "The row is the same before and after."),
    same.length
      ? disclosure(
          `${count(same.length, "member")} did not change`,
          {},
          h(
            "dl",
            { class: "diff" },
            same.map(([name, value]) => line(name, shown(page, record.kind, name, value))),
          ),
        )
      : null,
  );
}

export function principalOrCommand(actor) {
  return actor.includes(":") ? principal(actor) : code(actor);
}
