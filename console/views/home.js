// Home: what the gateway did, who used it most, and what needs attention.

import { chart } from "../chart.js";
import { fill, h } from "../dom.js";
import { bytes, code, count, number, principal, relative, short, time } from "../format.js";
import { badge, button, card, emptyState, meter, pageHead, problemBox, skeleton, tile } from "../parts.js";
import { percent, rangeChoice, rangeOf, sumByPeriod } from "../ranges.js";
import { address } from "../router.js";
import { dataTable } from "../table.js";
import { attention } from "./attention.js";
import { quotaMeter, quotaTitle } from "./quota-parts.js";
import { stateBadge } from "./uploads.js";

/** Issuances that are summed up by caller. More would take the gateway too long. */
const maxCounted = 2_000_000;

/** Uploads whose states are read. */
const maxUploads = 5000;

export function open(page) {
  const names = ["tiles", "attention", "links", "refusals", "bytes", "principals", "quotas", "uploads", "gateways"];
  const places = Object.fromEntries(
    names.map((name) => [name, h("div", { class: "stack" }, skeleton(name === "tiles" ? 2 : 5))]),
  );
  const range = rangeOf(page.query.range);
  // Ends what a refresh has drawn, and what those before it have.
  let latest = new AbortController();
  const load = async () => {
    const before = latest;
    latest = new AbortController();
    latest.signal.addEventListener("abort", () => before.abort(), { once: true });
    await loadAll(page, rangeOf(page.query.range), places, AbortSignal.any([latest.signal, page.signal]));
    before.abort();
  };
  load();
  page.every(60, () => {
    // What a person reads or uses at this moment is left alone.
    const isUsed = Object.values(places).some(
      (place) => place.contains(document.activeElement) || place.querySelector("details[open]"),
    );
    if (!isUsed) load();
  });
  return [
    pageHead("Home", {
      text: `What this gateway decided in the last ${range.words}.`,
      actions: [rangeChoice(page, range.name), button("Refresh", { icon: "refresh", iconOnly: true, run: load })],
    }),
    places.tiles,
    h(
      "div",
      { class: "main-aside dashboard" },
      h(
        "div",
        {},
        card("Links and refusals", { text: "Each bar counts the requests that were decided." }, places.links),
        card("Refusals by code", { actions: [more("All refusals", "denials", { from: range.from })] }, places.refusals),
        card("Bytes of uploads", {}, places.bytes),
        page.may("listGateways") ? card("Gateways", { flush: true }, places.gateways) : null,
      ),
      h(
        "div",
        {},
        card("Needs attention", {}, places.attention),
        card("Top principals", { actions: [more("Ledger", "ledger", { from: range.from })] }, places.principals),
        card("Quotas near their limit", { actions: [more("All quotas", "quotas")] }, places.quotas),
        card(
          "What became of uploads",
          { actions: [more("All uploads", "uploads", { from: range.from })] },
          places.uploads,
        ),
      ),
    ),
  ];
}

function more(label, view, query) {
  return h("a", { class: "faint", href: address(view, query) }, label);
}

/** Fills the places, until the signal says that a later refresh has done so. The signal ends the charts as well. */
async function loadAll(page, range, places, signal) {
  const show = async (name, make) => {
    try {
      const content = await make();
      if (!signal.aborted) fill(places[name], content);
    } catch (error) {
      if (!signal.aborted) fill(places[name], problemBox(error, { retry: () => show(name, make) }));
    }
  };
  // An answer that several parts use is read once. A part that fails says so by itself.
  const shared = (promise) => {
    promise.catch(() => {});
    return promise;
  };
  const usage = shared(
    page.pages("getUsage", { query: { from: range.from, by: range.by, groupBy: "action", pageSize: 1000 } }).all(4000),
  );
  const denials = shared(
    page.pages("listDenials", { query: { from: range.from, by: range.by, groupBy: "code", pageSize: 1000 } }).all(4000),
  );
  const quotas = shared(page.call("listQuotas", { query: { nearLimit: 0.8, pageSize: 100 } }));
  // A delegated admin may not read these.
  const gateways = page.may("listGateways") ? shared(page.pages("listGateways", { query: { pageSize: 1000 } }).all()) : null;
  const backlog = page.may("getSettlingBacklog") ? shared(page.call("getSettlingBacklog")) : null;
  const uploads = shared(usage.then((rows) => fateOf(page, range, rows)));

  await Promise.all([
    show("tiles", async () => tiles(range, await usage, await denials, await backlog)),
    show("links", async () => linksChart(signal, range, await usage, await denials)),
    show("refusals", async () => refusalsChart(signal, range, await denials)),
    show("bytes", async () => bytesChart(signal, range, await usage)),
    show("principals", async () => topPrincipals(page, range, await usage)),
    show("quotas", async () => nearLimits((await quotas).data)),
    show("uploads", async () => fates(range, await uploads)),
    gateways ? show("gateways", async () => gatewayTable(await gateways)) : null,
    show("attention", () => attention(page, { quotas, gateways, backlog, uploads })),
  ]);
}

const isUpload = (row) => (row.actions ?? []).some((action) => action.endsWith("PutObject"));
const isDownload = (row) => (row.actions ?? []).some((action) => action.endsWith("GetObject"));
const isOther = (row) => !isUpload(row) && !isDownload(row);
const sum = (rows, value) => rows.reduce((total, row) => total + value(row), 0);

function tiles(range, usage, denials, backlog) {
  const links = sum(usage, (row) => row.urls);
  const refused = sum(denials, (row) => row.count);
  const bound = sum(usage, (row) => row.bytesBound);
  return h(
    "div",
    { class: "tiles six" },
    tile("Requests", short(links + refused), { text: "decided" }),
    tile("Links", short(links), {
      text: `${short(
        sum(
          usage.filter((row) => isDownload(row)),
          (row) => row.urls,
        ),
      )} to read, ${short(
        sum(
          usage.filter((row) => isUpload(row)),
          (row) => row.urls,
        ),
      )} to write`,
      href: address("ledger", { from: range.from }),
    }),
    tile("Refusals", short(refused), {
      text: `${percent(refused, links + refused)} of requests`,
      tone: refused > 20 && refused > links ? "warn" : null,
      href: address("denials", { from: range.from }),
    }),
    tile("Bytes issued", bytes(bound), { text: "with a stated length" }),
    tile("Bytes landed", bytes(sum(usage, (row) => row.bytesLanded)), { text: "of these links" }),
    backlog
      ? tile("Not settled", bytes(backlog.data.bytes), { text: `${count(backlog.data.reservations, "reservation")}` })
      : null,
  );
}

function linksChart(signal, range, usage, denials) {
  if (!usage.length && !denials.length) {
    return emptyState({
      icon: "ledger",
      title: `No request in the last ${range.words}`,
      text: "A link needs a bucket with its credential, and a grant for the user who asks. Then try it as that user.",
      actions: [
        button("Buckets", { href: "#/buckets" }),
        button("Grants", { href: "#/grants" }),
        button("Try as a user", { href: "#/try" }),
      ],
    });
  }
  const of = (test) => sumByPeriod(range, usage.filter(test), (row) => row.urls);
  const both = usage.some((row) => isUpload(row) && isDownload(row));
  return chart({
    title: "Links and refusals over time",
    labels: range.labels,
    kind: "stack",
    signal,
    height: "15rem",
    series: [
      { label: "Links to read", values: of((row) => isDownload(row) && !isUpload(row)) },
      { label: "Links to write", values: of((row) => isUpload(row) && !isDownload(row)) },
      both ? { label: "Both", values: of((row) => isUpload(row) && isDownload(row)) } : null,
      usage.some(isOther) ? { label: "Links to list or delete", values: of(isOther) } : null,
      { label: "Refusals", tone: "bad", values: sumByPeriod(range, denials, (row) => row.count) },
    ].filter(Boolean),
  });
}

function refusalsChart(signal, range, denials) {
  if (!denials.length) return emptyState({ icon: "check", title: "Nothing was refused" });
  const totals = new Map();
  for (const row of denials) totals.set(row.code, (totals.get(row.code) ?? 0) + row.count);
  const codes = [...totals].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  const shown = codes.slice(0, 5);
  const rest = codes.slice(5);
  return [
    chart({
      title: "Refusals by code over time",
      labels: range.labels,
      kind: "stack",
      signal,
      height: "12rem",
      series: [
        ...shown.map((name) => ({
          label: name,
          values: sumByPeriod(
            range,
            denials.filter((row) => row.code === name),
            (row) => row.count,
          ),
        })),
        ...(rest.length
          ? [
              {
                label: "Others",
                values: sumByPeriod(
                  range,
                  denials.filter((row) => rest.includes(row.code)),
                  (row) => row.count,
                ),
              },
            ]
          : []),
      ],
    }),
    h(
      "ul",
      { class: "code-counts" },
      codes.map((name) =>
        h(
          "li",
          {},
          h(
            "a",
            { href: address("denials", { from: range.from, code: name }) },
            code(name),
            " ",
            h("strong", { class: "number" }, short(totals.get(name))),
          ),
        ),
      ),
    ),
  ];
}

function bytesChart(signal, range, usage) {
  const issued = sumByPeriod(range, usage, (row) => row.bytesBound);
  const landed = sumByPeriod(range, usage, (row) => row.bytesLanded);
  if (!issued.some(Boolean) && !landed.some(Boolean)) {
    return emptyState({
      icon: "upload",
      title: "No upload with a stated length",
      text: "An app states the length when it asks for the link, with contentLength.",
    });
  }
  // Round numbers of a unit make round numbers at the axis.
  const power = Math.min(5, Math.floor(Math.log2(Math.max(1, ...issued, ...landed)) / 10));
  const scaled = (values) => values.map((value) => value / 1024 ** power);
  return [
    chart({
      title: "Bytes issued and landed over time",
      labels: range.labels,
      kind: "bar",
      format: (value) => bytes(value * 1024 ** power),
      signal,
      height: "12rem",
      series: [
        { label: "Issued", values: scaled(issued) },
        { label: "Landed", tone: "ok", values: scaled(landed) },
      ],
    }),
    h(
      "p",
      { class: "faint" },
      "Landed bytes count from the time when their link was issued. They are known where the store, the app or the " +
        "settling told.",
    ),
  ];
}

async function topPrincipals(page, range, usage) {
  const totals = sumByPeriod(range, usage, (row) => row.urls);
  let at = totals.length;
  let counted = 0;
  while (at > 0 && counted + totals[at - 1] <= maxCounted) {
    at -= 1;
    counted += totals[at];
  }
  const from =
    at < totals.length ? new Date(range.starts[at]).toISOString() : new Date(Date.now() - 3_600_000).toISOString();
  const { data } = await page.call("getUsage", { query: { from, by: "range", groupBy: "principal", pageSize: 8 } });
  if (!data.items.length) return emptyState({ icon: "person", title: "Nobody was issued a link" });
  const largest = data.items[0].urls;
  return [
    at > 0
      ? h("p", { class: "faint" }, `Since ${relative(from)}: there are too many links to count all of the range.`)
      : null,
    h(
      "ol",
      { class: "rank" },
      data.items.map((row) =>
        h(
          "li",
          {},
          h("a", { href: address("ledger", { principal: row.principal, from }) }, principal(row.principal)),
          h(
            "span",
            { class: "number" },
            short(row.urls),
            row.bytesBound ? h("span", { class: "faint" }, ` · ${bytes(row.bytesBound)}`) : null,
          ),
          meter(row.urls, largest, { label: count(row.urls, "link"), tone: "plain" }),
        ),
      ),
    ),
  ];
}

function nearLimits({ items, nextPageToken }) {
  if (!items.length) return emptyState({ icon: "quota", title: "None has reached 80 % of its limit" });
  const all = [...items].sort((one, other) => shareOf(other) - shareOf(one));
  return [
    h(
      "ul",
      { class: "rank" },
      all
        .slice(0, 8)
        .map((quota) =>
          h(
            "li",
            { class: "quota-near" },
            h("a", { href: address("quotas", {}, [quota.id]) }, quotaTitle(quota)),
            quotaMeter(quota),
          ),
        ),
    ),
    all.length > 8 || nextPageToken
      ? h(
          "p",
          {},
          h(
            "a",
            { href: address("quotas", { nearLimit: "0.8" }) },
            nextPageToken ? "Show all" : `Show all ${all.length}`,
          ),
        )
      : null,
  ];
}

function shareOf({ use, limit }) {
  return limit ? use.highest / limit : use.highest ? Infinity : 0;
}

/** Reads the states of uploads: all of the range, or the last ones that had time to land. */
async function fateOf(page, range, usage) {
  const total = sum(
    usage.filter((row) => isUpload(row)),
    (row) => row.urls,
  );
  const isWhole = total <= maxUploads;
  const to = isWhole ? undefined : new Date(Date.now() - 3_600_000).toISOString();
  const rows = total
    ? await page.pages("listUploads", { query: { from: range.from, to, pageSize: 1000 } }).all(maxUploads)
    : [];
  const counts = {};
  for (const row of rows) counts[row.state] = (counts[row.state] ?? 0) + 1;
  return { rows, counts, total, isWhole };
}

const tones = { landed: "ok", unverified: "info", issued: "none", mismatched: "bad", expired: "warn" };

function fates(range, { rows, counts, isWhole }) {
  if (!rows.length) {
    return emptyState(
      isWhole
        ? { icon: "upload", title: "No upload in this range" }
        : {
            icon: "upload",
            title: "No upload in this range is older than an hour",
            text: `Of more than ${number(maxUploads)} uploads, those that had less time to land are not counted.`,
          },
    );
  }
  const states = Object.keys(tones).filter((state) => counts[state]);
  const from = isWhole ? range.from : rows.at(-1).issuedAt;
  return [
    isWhole
      ? null
      : h("p", { class: "faint" }, `The last ${number(rows.length)} that were issued more than an hour ago.`),
    h(
      "div",
      { class: "shares", role: "img", "aria-label": states.map((state) => `${state}: ${counts[state]}`).join(", ") },
      states.map((state) => h("span", { class: tones[state], style: { "--share": String(counts[state]) } })),
    ),
    h(
      "ul",
      { class: "rank states" },
      states.map((state) =>
        h(
          "li",
          {},
          h("a", { href: address("uploads", { state, from }) }, stateBadge(state)),
          h(
            "span",
            { class: "number" },
            number(counts[state]),
            h("span", { class: "faint" }, ` · ${percent(counts[state], rows.length)}`),
          ),
        ),
      ),
    ),
  ];
}

function gatewayTable(rows) {
  return dataTable({
    caption: "Gateways",
    rows,
    tone: (row) => (row.live ? null : "warn"),
    columns: [
      { name: "live", title: "State", cell: (row) => badge(row.live ? "live" : "gone", row.live ? "ok" : "warn") },
      { name: "version", title: "Version", cell: (row) => code(row.version) },
      {
        name: "clock",
        title: "Clock",
        align: "end",
        help: "How far it is ahead of PostgreSQL's clock.",
        cell: (row) => clockWords(row.clockAheadMilliseconds),
      },
      { name: "startedAt", title: "Started", cell: (row) => time(row.startedAt, { relative: true }) },
      { name: "lastSeenAt", title: "Last seen", cell: (row) => time(row.lastSeenAt, { relative: true }) },
    ],
    empty: { title: "No gateway has registered" },
  }).element;
}

function clockWords(milliseconds) {
  const far = Math.abs(milliseconds) >= 1000;
  return h(
    "span",
    { class: ["number", far && "warn-text"] },
    `${milliseconds > 0 ? "+" : ""}${number(milliseconds)} ms`,
  );
}
