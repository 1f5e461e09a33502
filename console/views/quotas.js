// Quotas: how much of each is used, by whom, and where its use leads until the period ends.

import { h } from "../dom.js";
import { choiceFilter } from "../filters.js";
import { duration, number, relative, time } from "../format.js";
import { bindKey } from "../keys.js";
import { button, card, deletion, facts, message, meter, moreMenu, pageHead } from "../parts.js";
import { editRow } from "../resource.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { showObject } from "../values.js";
import { edit, remove, reset } from "./quota-changes.js";
import {
  covers,
  isTogether,
  projection,
  projectionWords,
  quotaMeter,
  quotaTitle,
  share,
  writer,
} from "./quota-parts.js";

export function open(page) {
  const [id] = page.path;
  return id ? showQuota(page, id) : showList(page);
}

function showList(page) {
  const columns = columnsOf(page.contract, "listQuotas", {
    show: ["principal", "covers", "use", "projection", "resets", "sharing"],
    hide: ["bucket", "action", "metric", "period", "limit", "createdAt", "id"],
    titles: {
      covers: "Counts",
      use: "Used",
      projection: "At the end of the period",
      resets: "Resets",
      sharing: "Limit is for",
    },
    cells: {
      covers,
      use: quotaMeter,
      projection: projectionWords,
      resets: (row) => (row.use.resetsAt ? time(row.use.resetsAt, { relative: true }) : null),
      limit: (row) => h("span", { class: "number" }, writer(row)(row.limit)),
      sharing: (row) =>
        row.principal.startsWith("user:") ? "the user" : row.sharing === "shared" ? "all together" : "each member",
    },
  });
  const sorts = {
    use: share,
    projection: (row) => projection(row)?.expected / row.limit,
    resets: (row) => row.use.resetsAt,
    limit: (row) => row.limit,
    covers: (row) => `${row.bucket ?? ""} ${row.metric}`,
  };
  for (const column of columns) column.sort = sorts[column.name] ?? column.sort;
  const table = dataTable({
    caption: "Quotas",
    columns,
    remember: "quotas",
    rows: page.pages("listQuotas", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("quotas", {}, [row.id]),
    tone: (row) => (share(row) >= 1 ? "bad" : share(row) >= 0.8 ? "warn" : null),
    menu: (row) => [
      { label: "Who used most", icon: "person", href: address("quotas", {}, [row.id]) },
      page.may("patchQuota") && {
        label: "Change the limit",
        icon: "edit",
        run: async () => {
          if (await edit(page, row.id)) refresh(row.id);
        },
      },
      page.may("resetQuota") && {
        label: "Reset",
        icon: "refresh",
        run: async () => {
          if (await reset(page, row)) refresh(row.id);
        },
      },
      deletion(page, "deleteQuota", async () => {
        if (await remove(page, row)) table.remove(row);
      }),
    ],
    empty: Object.keys(page.query).length
      ? { icon: "quota", title: "No quota matches", text: "Change or clear the filters." }
      : {
          icon: "quota",
          title: "No quota yet",
          text:
            "A quota limits the links, or the uploaded bytes, of a user, a group or everybody in a period. " +
            "Without one, grants alone decide.",
          actions: page.may("createQuota") ? [button("New quota", { tone: "primary", icon: "plus", run: create })] : [],
        },
  });
  async function refresh(id) {
    const { data } = await page.session.api.call("getQuota", { path: { id }, signal: page.signal });
    table.replace(data);
  }
  async function create() {
    const made = await editRow(page, {
      title: "New quota",
      create: "createQuota",
      value: quotaFrom(page.query),
      labels,
      saved: "The quota counts from now on",
    });
    if (made) page.go(address("quotas", {}, [made.data.id]));
  }
  if (page.may("createQuota")) bindKey("n", "New quota", create, page.signal);
  return [
    pageHead("Quotas", {
      text: "A quota limits links or uploaded bytes. Bars show the holder who used most in the present period.",
      actions: page.may("createQuota")
        ? [button("New quota", { tone: "primary", icon: "plus", run: create, title: "n" })]
        : [],
    }),
    filterBar(page, "listQuotas", {
      extra: [
        choiceFilter(page, "nearLimit", "Used", [
          ["0.5", "50 % or more"],
          ["0.8", "80 % or more"],
          ["1", "Used up"],
        ]),
      ],
      omit: ["nearLimit"],
    }),
    table.element,
  ];
}

const labels = { limit: "Limit, a number of links or bytes" };

/** Begins a quota with what the list is filtered by. */
function quotaFrom({ principal: who, bucket, action, metric, period }) {
  return Object.fromEntries(
    Object.entries({ principal: who, bucket, action, metric, period }).filter(([, value]) => value),
  );
}

async function showQuota(page, id) {
  const { data: quota } = await page.call("getQuota", { path: { id } });
  page.title("Quota");
  const write = writer(quota);
  const again = () => page.go(page.here(), { replace: true });
  return [
    pageHead("Quota", {
      back: { href: "#/quotas", label: "Quotas" },
      text: quotaTitle(quota),
      actions: [
        page.may("patchQuota")
          ? button("Change the limit", {
              icon: "edit",
              run: async () => {
                if (await edit(page, id)) again();
              },
            })
          : null,
        page.may("resetQuota")
          ? button("Reset", {
              icon: "refresh",
              run: async () => {
                if (await reset(page, quota)) again();
              },
            })
          : null,
        moreMenu([
          deletion(page, "deleteQuota", async () => {
            if (await remove(page, quota)) page.go("#/quotas");
          }),
        ]),
      ],
    }),
    h(
      "div",
      { class: "columns" },
      periodCard(quota),
      card(
        "About this quota",
        {},
        showObject(page.contract.schema("Quota"), { ...quota, limit: undefined, use: undefined }, page.contract),
        facts([
          ["Limit", h("span", { class: "number", title: number(quota.limit) }, write(quota.limit))],
          ["Limit is for", isTogether(quota) ? "all together" : "each member by itself"],
        ]),
      ),
    ),
    page.may("listQuotaUsage") ? [filterBar(page, "listQuotaUsage"), holders(page, quota)] : null,
  ];
}

/** Returns the holders of a quota with what they used. */
function holders(page, quota) {
  const write = writer(quota);
  const again = () => page.go(page.here(), { replace: true });
  const table = dataTable({
    caption: "Use by holder",
    key: (row) => row.holder,
    columns: columnsOf(page.contract, "listQuotaUsage", {
      show: ["holder", "share", "used", "reserved", "remaining"],
      titles: { share: "Share of the limit" },
      cells: {
        share: (row) => meter(row.used, quota.limit, { label: `${write(row.used)} of ${write(quota.limit)}` }),
        used: (row) => h("span", { class: "number" }, write(row.used)),
        reserved: (row) => h("span", { class: "number" }, write(row.reserved)),
        remaining: (row) => h("span", { class: "number" }, write(row.remaining)),
      },
    }).map((column) => (column.name === "share" ? { ...column, sort: null, grow: true } : column)),
    rows: page.pages("listQuotaUsage", { path: { id: quota.id }, query: { ...page.query, pageSize: 100 } }),
    tone: (row) => (row.used >= quota.limit ? "bad" : row.used >= quota.limit * 0.8 ? "warn" : null),
    menu: (row) => [
      row.holder.startsWith("user:") &&
        page.may("listIssuances") && {
          label: "What it was issued",
          icon: "ledger",
          href: address("ledger", { principal: row.holder, from: quota.use.startsAt }),
        },
      page.may("reviewAccess") && {
        label: "What it may do",
        icon: "access",
        href: address("access", { principal: row.holder }),
      },
      page.may("resetQuota") && {
        label: "Reset this holder",
        icon: "refresh",
        run: async () => {
          if (await reset(page, quota, row)) again();
        },
      },
    ],
    empty: page.query.holder
      ? { title: "This holder used nothing in the period" }
      : {
          icon: "quota",
          title: "Nobody used anything in this period",
          text: "Holders appear with their first link that this quota counts.",
        },
  });
  return card(
    "Who used most",
    { text: "Holders in the present period, the largest use first.", flush: true },
    table.element,
  );
}

function periodCard(quota) {
  const write = writer(quota);
  const { use, limit } = quota;
  const found = projection(quota);
  const scale = Math.max(limit, use.highest, found && !found.isFull ? Math.min(found.expected, limit * 1.5) : 0) || 1;
  const part = (value) => `${Math.min(100, (value / scale) * 100)}%`;
  const who = isTogether(quota) ? "used" : "used by the holder who used most";
  return card(
    "This period",
    {},
    h("p", { class: "big-number" }, write(use.highest), h("span", { class: "faint" }, ` of ${write(limit)} ${who}`)),
    h(
      "div",
      {
        class: ["projection", use.highest >= limit ? "bad" : share(quota) >= 0.8 || found?.fullAt ? "warn" : null],
        role: "img",
        "aria-label":
          `${write(use.highest)} of ${write(limit)} ` +
          `used${found && !found.isFull ? `, about ${write(found.expected)} expected` : ""}`,
      },
      found && !found.isFull ? h("span", { class: "expected", style: { "--share": part(found.expected) } }) : null,
      h("span", { class: "used", style: { "--share": part(use.highest) } }),
      h("span", { class: "limit", style: { "--share": part(limit) } }),
    ),
    use.highest >= limit
      ? message(
          "bad",
          "Used up",
          h(
            "p",
            {},
            use.resetsAt
              ? ["New links are refused until ", time(use.resetsAt), `, ${relative(use.resetsAt)}.`]
              : "New links are refused: a total does not reset by itself.",
          ),
        )
      : found?.fullAt
        ? message(
            "warn",
            null,
            h("p", {}, "At the present rate it is used up at ", time(found.fullAt), `, ${relative(found.fullAt)}.`),
          )
        : found
          ? h(
              "p",
              {},
              `At the present rate it ends at about ${write(found.expected)}, ` +
                `${Math.round((found.expected / (limit || 1)) * 100)} % of the limit.`,
            )
          : use.resetsAt
            ? h("p", { class: "faint" }, "It is too early to say where this leads.")
            : null,
    facts([
      ["Period", use.startsAt ? h("span", {}, time(use.startsAt), " to ", time(use.resetsAt)) : "since the beginning"],
      ["Time left", use.resetsAt ? duration((Date.parse(use.resetsAt) - Date.now()) / 1000) : null],
      ["Used by all", h("span", { class: "number" }, write(use.used))],
      ["Holders", number(use.holders)],
    ]),
  );
}
