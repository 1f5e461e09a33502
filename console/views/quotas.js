// Quotas: how much of each is used, by whom, and where its use leads until the period ends.

import { confirm } from "../dialog.js";
import { h } from "../dom.js";
import { bytes, code, count, duration, number, parseBytes, principal, relative, time } from "../format.js";
import { bindKey } from "../keys.js";
import { button, card, emptyState, facts, menuButton, message, meter, pageHead } from "../parts.js";
import { editRow } from "../resource.js";
import { address, go } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { toast } from "../toast.js";
import { showObject } from "../values.js";

export function open(page) {
  const [id] = page.path;
  return id ? showQuota(page, id) : showList(page);
}

const writer = (quota) => (quota.metric === "bytes" ? bytes : number);

/** Returns what a quota counts: `links in demo a day, for each member`. */
function covers(quota) {
  const what = quota.metric === "bytes" ? "bytes" : quota.action ? `links to ${quota.action.replace(/^(oss|s3):/, "").replace(/Object$/, "").toLowerCase()}` : "links";
  return h("span", {}, what, quota.bucket ? [" in ", code(quota.bucket)] : null, quota.period === "total" ? " in all" : ` a ${quota.period}`);
}

/** Whether one counter is shared by all whom the quota concerns. */
const isTogether = (quota) => quota.sharing === "shared" || quota.principal.startsWith("user:");

/** Returns a quota in a few words. */
export function quotaTitle(quota) {
  return h("span", {}, principal(quota.principal), h("span", { class: "faint" }, " · "), covers(quota));
}

/** Returns a bar with the largest use by one holder, and its numbers. */
export function quotaMeter(quota) {
  const write = writer(quota);
  const { highest, holders } = quota.use;
  const words = `${write(highest)} of ${write(quota.limit)}`;
  return h("div", { class: "quota-bar" }, meter(highest, quota.limit, { label: `${words} used` }),
    h("span", { class: "number" }, words, isTogether(quota) || holders < 2 ? null : h("span", { class: "faint" }, ` · highest of ${number(holders)}`)));
}

/**
 * Returns where the use leads if it goes on as it did since the period began: `{expected, fullAt}`; `null` where that
 * says nothing, such as for a total, or shortly after the beginning.
 */
export function projection(quota, now = Date.now()) {
  const { startsAt, resetsAt, highest } = quota.use;
  if (!startsAt || !resetsAt || quota.period === "minute") return null;
  const start = Date.parse(startsAt);
  const length = Date.parse(resetsAt) - start;
  const elapsed = now - start;
  if (elapsed < length * 0.05 || elapsed > length) return null;
  const expected = Math.round(highest * (length / elapsed));
  const isFull = highest >= quota.limit;
  return {
    expected, elapsed: elapsed / length, isFull,
    fullAt: !isFull && expected > quota.limit ? new Date(start + elapsed * (quota.limit / highest)).toISOString() : null,
  };
}

function projectionWords(quota) {
  const write = writer(quota);
  const found = projection(quota);
  if (!quota.use.resetsAt) return h("span", { class: "faint" }, "never resets");
  if (quota.use.highest >= quota.limit) return h("span", { class: "bad-text" }, "used up");
  if (!found) return h("span", { class: "faint" }, quota.period === "minute" ? "too short" : "too early to say");
  return found.fullAt ? h("span", { class: "warn-text" }, "full ", time(found.fullAt, { relative: true }))
    : h("span", { class: "number" }, `about ${write(found.expected)}`);
}

const share = (quota) => (quota.limit ? quota.use.highest / quota.limit : Number(quota.use.highest > 0));

function showList(page) {
  const columns = columnsOf(page.contract, "listQuotas", {
    show: ["principal", "covers", "use", "projection", "resets", "sharing"],
    hide: ["bucket", "action", "metric", "period", "limit", "createdAt", "id"],
    titles: { covers: "Counts", use: "Used", projection: "At the end of the period", resets: "Resets", sharing: "Limit is for" },
    cells: {
      covers, use: quotaMeter, projection: projectionWords,
      resets: (row) => (row.use.resetsAt ? time(row.use.resetsAt, { relative: true }) : null),
      limit: (row) => h("span", { class: "number" }, writer(row)(row.limit)),
      sharing: (row) => (row.principal.startsWith("user:") ? "the user" : row.sharing === "shared" ? "all together" : "each member"),
    },
  });
  const sorts = { use: share, projection: (row) => projection(row)?.expected / row.limit, resets: (row) => row.use.resetsAt, limit: (row) => row.limit, covers: (row) => `${row.bucket ?? ""} ${row.metric}` };
  for (const column of columns) column.sort = sorts[column.name] ?? column.sort;
  const table = dataTable({
    caption: "Quotas", columns, remember: "quotas",
    rows: page.pages("listQuotas", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("quotas", {}, [row.id]),
    tone: (row) => (share(row) >= 1 ? "bad" : share(row) >= 0.8 ? "warn" : null),
    menu: (row) => [
      { label: "Who used most", icon: "person", href: address("quotas", {}, [row.id]) },
      page.may("patchQuota") && { label: "Change the limit", icon: "edit", run: async () => { if (await edit(page, row.id)) refresh(row.id); } },
      page.may("resetQuota") && { label: "Reset", icon: "refresh", run: async () => { if (await reset(page, row)) refresh(row.id); } },
      page.may("deleteQuota") && "-",
      page.may("deleteQuota") && { label: "Delete", icon: "trash", tone: "danger", run: async () => { if (await remove(page, row)) table.remove(row); } },
    ],
    empty: Object.keys(page.query).length ? { icon: "quota", title: "No quota matches", text: "Change or clear the filters." } : {
      icon: "quota", title: "No quota yet", text: "A quota limits the links, or the uploaded bytes, of a user, a group or everybody in a period. Without one, grants alone decide.",
      actions: page.may("createQuota") ? [button("New quota", { tone: "primary", icon: "plus", run: create })] : [],
    },
  });
  async function refresh(id) {
    const { data } = await page.session.api.call("getQuota", { path: { id }, signal: page.signal });
    table.replace(data);
  }
  async function create() {
    const made = await editRow(page, { title: "New quota", create: "createQuota", value: quotaFrom(page.query), labels, saved: "The quota counts from now on" });
    if (made) go(address("quotas", {}, [made.data.id]));
  }
  if (page.may("createQuota")) bindKey("n", "New quota", create, page.signal);
  return [
    pageHead("Quotas", {
      text: "A quota limits links or uploaded bytes. Bars show the holder who used most in the present period.",
      actions: page.may("createQuota") ? [button("New quota", { tone: "primary", icon: "plus", run: create, title: "n" })] : [],
    }),
    filterBar(page, "listQuotas", { extra: [nearChoice(page)], omit: ["nearLimit"] }),
    table.element,
  ];
}

const labels = { urls: "Links" };

/** Begins a quota with what the list is filtered by. */
function quotaFrom({ principal: who, bucket, action, metric, period }) {
  return Object.fromEntries(Object.entries({ principal: who, bucket, action, metric, period }).filter(([, value]) => value));
}

function nearChoice(page) {
  const choices = [["", "Any"], ["0.5", "50 % or more"], ["0.8", "80 % or more"], ["1", "Used up"]];
  const select = h("select", { id: "near-limit", on: { change: () => page.setQuery({ nearLimit: select.value }, { replace: true }) } },
    choices.map(([value, words]) => h("option", { value, selected: (page.query.nearLimit ?? "") === value }, words)));
  return page.contract.operation("listQuotas").takes("nearLimit") ? h("div", { class: "filter enum" }, h("label", { for: "near-limit" }, "Used"), select) : null;
}

async function edit(page, id) {
  const { data, etag } = await page.call("getQuota", { path: { id } });
  return editRow(page, {
    title: "Change the limit", patch: "patchQuota", row: data, etag, path: { id }, omit: ["principal", "bucket", "action", "metric", "period", "sharing", "use"],
    intro: h("p", {}, quotaTitle(data)), saved: "The limit is in force", finish: readBytes(data),
  });
}

/** A limit of bytes may be written in words; the contract only knows it as a number. */
function readBytes(quota) {
  return (body) => (quota.metric === "bytes" && typeof body.limit === "string" ? { ...body, limit: parseBytes(body.limit) } : body);
}

async function reset(page, quota, holder) {
  const write = writer(quota);
  let answer;
  const done = await confirm(holder ? "Reset this holder?" : "Reset this quota?", {
    confirm: "Reset",
    body: h("div", { class: "stack" }, h("p", {}, quotaTitle(quota)),
      holder ? facts([["Holder", principal(holder.holder)], ["Used", write(holder.used)]])
        : facts([["Holders", number(quota.use.holders)], ["Used by all", write(quota.use.used)]]),
      h("p", {}, "The use in the present period becomes zero. Bytes that are reserved for uploads at this moment are released, too. It cannot be undone.")),
    run: async () => {
      const call = { path: { id: quota.id }, body: holder ? { holder: holder.holder } : { all: true } };
      answer = (await page.call("resetQuota", call)).data;
    },
  });
  if (done) toast(`Reset ${count(answer.holders, "counter")}`, { note: `${write(answer.released)} released` });
  return done;
}

async function remove(page, quota) {
  const done = await confirm("Delete this quota?", {
    confirm: "Delete", danger: true, body: h("div", { class: "stack" }, h("p", {}, quotaTitle(quota)), h("p", {}, "It limits nothing any more, at once. What it has counted is gone.")),
    run: () => page.call("deleteQuota", { path: { id: quota.id } }),
  });
  if (done) toast("Deleted");
  return done;
}

async function showQuota(page, id) {
  const { data: quota } = await page.call("getQuota", { path: { id } });
  page.title("Quota");
  const write = writer(quota);
  const again = () => go(page.here(), { replace: true });
  const table = dataTable({
    caption: "Use by holder", key: (row) => row.holder,
    columns: columnsOf(page.contract, "listQuotaUsage", {
      show: ["holder", "share", "used", "reserved", "remaining"], titles: { share: "Share of the limit" },
      cells: {
        share: (row) => meter(row.used, quota.limit, { label: `${write(row.used)} of ${write(quota.limit)}` }),
        used: (row) => h("span", { class: "number" }, write(row.used)), reserved: (row) => h("span", { class: "number" }, write(row.reserved)),
        remaining: (row) => h("span", { class: "number" }, write(row.remaining)),
      },
    }).map((column) => (column.name === "share" ? { ...column, sort: null, grow: true } : column)),
    rows: page.pages("listQuotaUsage", { path: { id }, query: { ...page.query, pageSize: 100 } }),
    tone: (row) => (row.used >= quota.limit ? "bad" : row.used >= quota.limit * 0.8 ? "warn" : null),
    menu: (row) => [
      row.holder.startsWith("user:") && page.may("listIssuances") && { label: "What it was issued", icon: "ledger", href: address("ledger", { principal: row.holder, from: quota.use.startsAt }) },
      page.may("reviewAccess") && { label: "What it may do", icon: "access", href: address("access", { principal: row.holder }) },
      page.may("resetQuota") && { label: "Reset this holder", icon: "refresh", run: async () => { if (await reset(page, quota, row)) again(); } },
    ],
    empty: page.query.holder ? { title: "This holder used nothing in the period" } : { icon: "quota", title: "Nobody used anything in this period", text: "Holders appear with their first link that this quota counts." },
  });
  return [
    pageHead("Quota", {
      back: { href: "#/quotas", label: "Quotas" }, text: quotaTitle(quota),
      actions: [
        page.may("patchQuota") ? button("Change the limit", { icon: "edit", run: async () => { if (await edit(page, id)) again(); } }) : null,
        page.may("resetQuota") ? button("Reset", { icon: "refresh", run: async () => { if (await reset(page, quota)) again(); } }) : null,
        page.may("deleteQuota") ? menuButton("More", [{ label: "Delete", icon: "trash", tone: "danger", run: async () => { if (await remove(page, quota)) go("#/quotas"); } }], { small: false }) : null,
      ],
    }),
    h("div", { class: "columns" }, periodCard(quota), card("About this quota", {}, showObject(page.contract.schema("Quota"), { ...quota, limit: undefined, use: undefined }, page.contract),
      facts([["Limit", h("span", { class: "number", title: number(quota.limit) }, write(quota.limit))], ["Limit is for", isTogether(quota) ? "all together" : "each member by itself"]]))),
    filterBar(page, "listQuotaUsage"),
    card("Who used most", { text: "Holders in the present period, the largest use first.", flush: true }, table.element),
  ];
}

function periodCard(quota) {
  const write = writer(quota);
  const { use, limit } = quota;
  const found = projection(quota);
  const scale = Math.max(limit, use.highest, found && !found.isFull ? Math.min(found.expected, limit * 1.5) : 0) || 1;
  const part = (value) => `${Math.min(100, (value / scale) * 100)}%`;
  const who = isTogether(quota) ? "used" : "used by the holder who used most";
  return card("This period", {},
    h("p", { class: "big-number" }, write(use.highest), h("span", { class: "faint" }, ` of ${write(limit)} ${who}`)),
    h("div", {
      class: ["projection", use.highest >= limit ? "bad" : share(quota) >= 0.8 || found?.fullAt ? "warn" : null], role: "img",
      "aria-label": `${write(use.highest)} of ${write(limit)} used${found && !found.isFull ? `, about ${write(found.expected)} expected` : ""}`,
    },
    found && !found.isFull ? h("span", { class: "expected", style: { "--share": part(found.expected) } }) : null,
    h("span", { class: "used", style: { "--share": part(use.highest) } }), h("span", { class: "limit", style: { "--share": part(limit) } })),
    use.highest >= limit ? message("bad", "Used up", h("p", {}, use.resetsAt ? ["New links are refused until ", time(use.resetsAt), `, ${relative(use.resetsAt)}.`] : "New links are refused: a total does not reset by itself."))
      : found?.fullAt ? message("warn", null, h("p", {}, "At the present rate it is used up at ", time(found.fullAt), `, ${relative(found.fullAt)}.`))
        : found ? h("p", {}, `At the present rate it ends at about ${write(found.expected)}, ${Math.round((found.expected / (limit || 1)) * 100)} % of the limit.`)
          : use.resetsAt ? h("p", { class: "faint" }, "It is too early to say where this leads.") : null,
    facts([
      ["Period", use.startsAt ? h("span", {}, time(use.startsAt), " to ", time(use.resetsAt)) : "since the beginning"],
      ["Time left", use.resetsAt ? duration((Date.parse(use.resetsAt) - Date.now()) / 1000) : null],
      ["Used by all", h("span", { class: "number" }, write(use.used))],
      ["Holders", number(use.holders)],
    ]));
}
