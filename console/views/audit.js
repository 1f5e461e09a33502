// The audit: who changed what, as a difference, and how to undo it.

import { openDialog } from "../dialog.js";
import { fill, h, isAbort } from "../dom.js";
import { exportRows } from "../exports.js";
import { mergePatch } from "../form.js";
import { code, count, id as shortID, none, principal, time } from "../format.js";
import { badge, button, card, disclosure, facts, message, pageHead, problemBox, skeleton } from "../parts.js";
import { moment } from "../ranges.js";
import { address, go } from "../router.js";
import { commandLines } from "../shell.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { toast } from "../toast.js";
import { showValue } from "../values.js";

/** The operations for each kind of row, and the view that shows it. */
const kinds = {
  Grant: { view: "grants", get: "getGrant", patch: "patchGrant", create: "createGrant", remove: "deleteGrant" },
  Quota: { view: "quotas", get: "getQuota", patch: "patchQuota", create: "createQuota", remove: "deleteQuota" },
  Bucket: { view: "buckets", get: "getBucket", patch: "patchBucket", create: "createBucket", remove: "deleteBucket", path: (bucket) => ({ bucket }) },
  GroupMember: {
    get: "getGroupMember", create: "createGroupMember", remove: "deleteGroupMember",
    path: (id) => ({ group: id.split("\u001f")[0], member: id.split("\u001f")[1] }),
  },
  StorageCredential: { view: "credentials", get: "getStorageCredential", patch: "patchStorageCredential", remove: "deleteStorageCredential" },
  Issuer: { view: "issuers", get: "getIssuer", patch: "patchIssuer", create: "createIssuer", remove: "deleteIssuer" },
  APIKey: { view: "api-keys", get: "getAPIKey", patch: "patchAPIKey", remove: "deleteAPIKey" },
};

const operationTones = { create: "ok", update: "info", delete: "bad", reset: "warn", rotate: "warn" };

const pathOf = (record) => (kinds[record.kind]?.path ?? ((id) => ({ id })))(record.resourceID);

export function open(page) {
  const [request, id] = page.path;
  return id ? showChange(page, request, id) : showList(page);
}

/** Returns columns for changes. */
export function changeColumns(page) {
  return columnsOf(page.contract, "listAudit", {
    show: ["changedAt", "actor", "operation", "resourceID", "changes"], hide: ["requestId", "id"], omit: ["kind", "before", "after"],
    titles: { changedAt: "When", actor: "Who", operation: "What", resourceID: "Row", changes: "Difference" },
    cells: {
      changedAt: (row) => moment(row.changedAt),
      actor: (row) => (row.actor.includes(":") ? principal(row.actor) : code(row.actor)),
      operation: (row) => h("span", { class: "badges one-line" }, badge(row.operation, operationTones[row.operation]), h("span", { class: "nowrap" }, row.kind)),
      resourceID: rowName, changes: (row) => summary(page, row),
      requestId: (row) => h("a", { href: address("requests", {}, [row.requestId]) }, code(row.requestId)),
    },
  }).map((column) => (column.name === "changes" ? { ...column, sort: null, grow: true } : column));
}

function showList(page) {
  const table = dataTable({
    caption: "Changes", columns: changeColumns(page), remember: "audit",
    rows: page.pages("listAudit", { query: { ...page.query, pageSize: 50 } }),
    href: (row) => address("audit", {}, [row.requestId, row.id]),
    menu: (row) => [
      { label: "Difference", icon: "audit", href: address("audit", {}, [row.requestId, row.id]) },
      { label: "History of this row", icon: "clock", href: address("audit", { kind: row.kind, resourceID: row.resourceID }) },
      { label: "By this person", icon: "person", href: address("audit", { actor: row.actor }) },
      { label: "The request", icon: "terminal", href: address("requests", {}, [row.requestId]) },
      undoable(page, row).call && { label: "Undo", icon: "refresh", run: () => undo(page, row) },
    ],
    empty: Object.keys(page.query).length ? { icon: "audit", title: "No change matches", text: "Change or clear the filters." }
      : { icon: "audit", title: "No change yet", text: "Each change by an admin appears here with the row before and after, for ever." },
  });
  return [
    pageHead("Audit", {
      text: "What admins changed, newest first, with each row before and after. Secrets are left out.",
      actions: [button("Export", { icon: "download", run: () => { exportRows(page, "exportAudit", { query: page.query, name: "audit", text: "Exports the changes that match the filters, one JSON object a line." }); } })],
    }),
    filterBar(page, "listAudit"), table.element,
  ];
}

/** Returns a name for the row of a change, as far as the record tells it. */
function rowName(record) {
  const row = record.after ?? record.before ?? {};
  if (record.kind === "GroupMember") return h("span", {}, principal(row.member ?? pathOf(record).member), " in ", principal(row.group ?? pathOf(record).group));
  if (record.kind === "Grant" && row.principal) return h("span", {}, principal(row.principal), " ", code(`${row.bucket}/${row.prefix ?? ""}`));
  if (row.name && row.name !== record.resourceID) return h("span", {}, code(row.name), " ", h("span", { class: "faint" }, shortID(record.resourceID)));
  if (row.principal) return h("span", {}, principal(row.principal), " ", h("span", { class: "faint" }, shortID(record.resourceID)));
  return record.resourceID.length > 30 ? shortID(record.resourceID) : code(record.resourceID);
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Flattens nested objects: `conditions.maxBytes`. Absent values are left out. */
function flat(row, prefix = "") {
  return Object.entries(row ?? {}).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
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
  if (member) return showValue(member, value, page.contract);
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (/At$|Until$|notBefore|notAfter/.test(name) && typeof value === "string") return time(value);
  return code(typeof value === "string" ? value : JSON.stringify(value));
}

const labelOf = (page, kind, name) => memberOf(page, kind, name)?.label ?? name;

/** Members that the name of a row says already, or that say nothing new. */
const said = ["id", "name", "principal", "bucket", "prefix", "createdAt", "createdBy", "createdByPrincipal"];

function summary(page, record) {
  const all = differences(record);
  if (!record.before || !record.after) {
    const row = record.after ?? record.before;
    if (!row) return none();
    if (row.items) return h("span", { class: "faint" }, count(row.items.length, "row"));
    const telling = flat(row).filter(([name, value]) => ![...said, "group", "member"].includes(name) && value !== false && value !== "" && value?.length !== 0).slice(0, 4);
    return h("span", { class: "faint" }, telling.map(([name, value], index) => [index ? " · " : null, `${labelOf(page, record.kind, name)} `, shown(page, record.kind, name, value)]));
  }
  return h("ul", { class: "plain" }, all.slice(0, 3).map((item) => h("li", { class: "change" }, h("span", { class: "faint" }, `${labelOf(page, record.kind, item.name)}: `), beforeAfter(page, record.kind, item))),
    all.length > 3 ? h("li", { class: "faint" }, `and ${all.length - 3} more`) : null);
}

/** Returns a value before and after. Of lists of texts, only what was added and removed is marked. */
function beforeAfter(page, kind, { name, before, after }) {
  if (Array.isArray(before) && Array.isArray(after) && [...before, ...after].every((item) => typeof item === "string")) {
    return h("span", { class: "badges" }, [...new Set([...before, ...after])].map((item) => (before.includes(item) === after.includes(item) ? h("span", {}, code(item))
      : h(before.includes(item) ? "del" : "ins", {}, code(item)))));
  }
  return h("span", {}, before === undefined ? null : h("del", {}, shown(page, kind, name, before)), before !== undefined && after !== undefined ? " → " : null,
    after === undefined ? null : h("ins", {}, shown(page, kind, name, after)));
}

function diffTable(page, record) {
  const changed = differences(record);
  const same = flat(record.after ?? record.before).filter(([name]) => !changed.some((item) => item.name === name));
  const line = (name, content) => h("div", {}, h("dt", { class: "faint" }, labelOf(page, record.kind, name)), h("dd", {}, content));
  return h("div", { class: "stack" },
    changed.length ? h("dl", { class: "diff" }, changed.map((item) => line(item.name, beforeAfter(page, record.kind, item)))) : h("p", { class: "faint" }, "The row is the same before and after."),
    same.length ? disclosure(`${count(same.length, "member")} did not change`, {}, h("dl", { class: "diff" }, same.map(([name, value]) => line(name, shown(page, record.kind, name, value))))) : null);
}

async function showChange(page, request, id) {
  const rows = [];
  const pages = page.pages("listAudit", { query: { requestId: request, pageSize: 1000 } });
  // A request, such as an import, may have made many changes.
  for (let turn = 0; turn < 5 && !pages.done && !rows.some((row) => row.id === id); turn += 1) rows.push(...await pages.next());
  const record = rows.find((row) => row.id === id);
  page.title("Change");
  const back = { href: "#/audit", label: "Audit" };
  if (!record) return [pageHead("Change", { back }), message("warn", "This change was not found", h("p", {}, "The request made other changes, or none that is kept."))];
  const others = rows.filter((row) => row.id !== id);
  const now = undoable(page, record);
  const view = kinds[record.kind]?.view;
  return [
    pageHead("Change", {
      back, text: h("span", {}, principalOrCommand(record.actor), ` · ${record.operation} ${record.kind} · `, time(record.changedAt, { seconds: true })),
      actions: [
        now.call ? button("Undo", { icon: "refresh", run: () => { undo(page, record); } }) : null,
        button("History of this row", { icon: "clock", href: address("audit", { kind: record.kind, resourceID: record.resourceID }) }),
        button("The request", { icon: "terminal", href: address("requests", {}, [record.requestId]) }),
      ],
    }),
    now.reason ? h("p", { class: "faint" }, now.reason) : null,
    h("div", { class: "columns" },
      h("div", { class: "twice" }, card("Difference", { text: record.before && record.after ? null : record.after ? "The row was not there before." : "The row is not there after." }, diffTable(page, record))),
      card("Record", {}, facts([
        ["Who", h("a", { href: address("audit", { actor: record.actor }) }, principalOrCommand(record.actor))], ["When", time(record.changedAt, { seconds: true })],
        ["What", h("span", { class: "badges" }, badge(record.operation, operationTones[record.operation]), record.kind)],
        ["Row", view && record.operation !== "delete" ? h("a", { href: address(view, {}, [record.resourceID]) }, code(record.resourceID)) : code(record.resourceID.replace("\u001f", " "))],
        ["Request", h("a", { href: address("requests", {}, [record.requestId]) }, code(record.requestId))],
      ]))),
    others.length ? card(`${count(others.length, "other change")} of this request`, { flush: true }, dataTable({
      caption: "Other changes of this request", rows: others, columns: changeColumns(page), href: (row) => address("audit", {}, [row.requestId, row.id]),
    }).element) : null,
  ];
}

function principalOrCommand(actor) {
  return actor.includes(":") ? principal(actor) : code(actor);
}

/**
 * Says how a change can be undone: `{call}` is the operation that does it, `{reason}` why there is none.
 */
function undoable(page, { operation, kind, before, after }) {
  const known = kinds[kind];
  const call = !known ? null : { create: after && known.remove, update: before && after && known.patch, delete: before && !before.items && known.create }[operation];
  if (call && page.may(call)) return { call };
  if (call || !page.may("createGrant")) return {};
  if (operation === "delete" && known) return { reason: "This cannot be undone: the secret of the row is gone. Make a new one." };
  if (operation === "rotate") return { reason: "This cannot be undone: a secret that was replaced does not come back." };
  if (operation === "reset") return { reason: "This cannot be undone: what was counted before is gone." };
  if (operation === "import" || before?.items) return { reason: "This changed many rows at once. Import the earlier state to undo it." };
  return {};
}

/** Returns a row of the audit as the contract writes it: without absent members, with times in UTC. */
function contractRow(page, schema, kind, row) {
  const source = { ...row };
  if (kind === "Grant") {
    if (source.isTemplate) {
      source.template = source.prefix;
      delete source.prefix;
    }
    if (source.note === "") delete source.note;
  }
  const result = {};
  for (const member of page.contract.members(schema)) {
    const value = source[member.name];
    if (value === null || value === undefined || ["id", "createdAt", "createdBy", "use"].includes(member.name)) continue;
    result[member.name] = member.kind === "time" ? new Date(value).toISOString() : value;
  }
  return result;
}

/** Works out the call that undoes a change, from the row as it is now. */
async function prepare(page, record) {
  const { kind, operation, before, after } = record;
  const { get, patch, create, remove } = kinds[kind];
  const path = pathOf(record);
  const read = () => page.session.api.call(get, { path, signal: page.signal });
  if (operation === "create") {
    const { etag } = await read();
    return { id: remove, call: { path, ifMatch: page.contract.operation(remove).takes("If-Match") ? etag : undefined }, words: "The row is removed.", difference: { kind, before: after, after: null }, danger: true };
  }
  if (operation === "delete") {
    const schema = page.contract.bodyOf(create);
    const body = contractRow(page, schema, kind, before);
    const target = kind === "GroupMember" ? { path: { group: path.group } } : {};
    return { id: create, call: { ...target, body }, words: "The row is made again. It gets a new identifier.", difference: { kind, before: null, after: body } };
  }
  const { data: now, etag } = await read();
  const schema = page.contract.bodyOf(patch);
  const [old, recent, present] = [before, after, now].map((row) => contractRow(page, schema, kind, row));
  // Only what this change changed goes back. What others changed since stays.
  const names = [...new Set([...Object.keys(old), ...Object.keys(recent)])].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(recent[name]));
  const wanted = { ...present };
  const since = [];
  for (const name of names) {
    if (!sameValue(present[name], recent[name])) since.push(name);
    if (old[name] === undefined) delete wanted[name]; else wanted[name] = old[name];
  }
  const body = mergePatch(present, wanted);
  return { id: patch, call: { path, body, ifMatch: etag }, words: "The members go back to what they were.", difference: { kind, before: present, after: wanted }, since, isDone: !body };
}

/** Compares values whatever the order of their members. */
function sameValue(one, other) {
  const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : isObject(value) ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])])) : value);
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

async function undo(page, record) {
  const done = await openDialog("Undo this change?", { side: true, label: `${record.operation} ${record.kind}` }, (close) => {
    const place = h("div", { class: "stack" }, skeleton(4));
    const trouble = h("div");
    const act = button("Undo", { tone: "primary", disabled: true });
    const load = async () => {
      try {
        const plan = await prepare(page, record);
        if (plan.isDone) {
          fill(place, message("info", "Nothing to undo", h("p", {}, "The row already is as it was before this change.")));
          return;
        }
        fill(place,
          h("p", {}, plan.words, " This is a new change, with a record of its own."),
          plan.since?.length ? message("warn", "It was changed again since", h("p", {}, `Somebody changed ${plan.since.map((name) => labelOf(page, record.kind, name).toLowerCase()).join(", ")} after this. Undoing replaces that, too.`)) : null,
          card("What changes now", {}, diffTable(page, plan.difference)), h("div", { class: "stack" }, commandLines(page.lines(plan.id, plan.call))));
        act.classList.toggle("danger", Boolean(plan.danger));
        act.disabled = false;
        act.addEventListener("click", async () => {
          act.setAttribute("aria-busy", "true");
          fill(trouble);
          try {
            close({ plan, answer: await page.call(plan.id, plan.call) });
          } catch (error) {
            if (!isAbort(error)) fill(trouble, problemBox(error));
          } finally {
            act.removeAttribute("aria-busy");
          }
        });
      } catch (error) {
        if (isAbort(error)) return;
        fill(place, error.status === 404 ? message("info", "The row is not there any more", h("p", {}, "It was removed after this change, so there is nothing to undo.")) : problemBox(error, { retry: load }));
      }
    };
    load();
    return { body: [place, trouble], footer: [button("Cancel", { run: () => close() }), act] };
  });
  if (!done) return;
  const id = done.answer.requestId;
  toast("Undone", { action: id ? { label: "Show", run: () => go(address("audit", { requestId: id })) } : undefined });
  if (page.path.length === 0) go(page.here(), { replace: true });
}
