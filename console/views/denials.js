// Refusals: how many, of whom and why, and what would permit them.

import { chart } from "../chart.js";
import { fill, h, isAbort } from "../dom.js";
import { choiceFilter } from "../filters.js";
import { code, number, principal, time } from "../format.js";
import { button, card, emptyState, message, pageHead, problemBox, skeleton } from "../parts.js";
import { rangeBetween, sumByPeriod } from "../ranges.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { codeHelp, refusalCodes, whyForm } from "../why.js";

export function open(page) {
  return page.path[0] === "why" ? showWhy(page) : showList(page);
}

/** The page that asks about one refusal: `#/denials/why?principal=…&bucket=…`. */
function showWhy(page) {
  page.title("Why was it refused?");
  const { principal: who, bucket, action, key, at, code: name } = page.query;
  // What a person asks stays in the address, without opening the view again.
  page.onQuery(() => {});
  return [
    pageHead("Why was it refused?", {
      back: { href: "#/denials", label: "Refusals" },
      text: "Counts of refusals hold no key. Name the object, and Sluice says what decides and what would permit it.",
    }),
    message(
      "info",
      "Do you have the identifier of the request?",
      h(
        "p",
        {},
        "It leads to the exact reason: paste it into ",
        page.link("getRequest", "#/requests", "Requests"),
        ". Every answer carries it in ",
        h("code", {}, "X-Request-Id"),
        ".",
      ),
    ),
    whyForm(page, {
      asked: { principal: who, bucket, action, key, at, code: name },
      starts: Boolean(who && bucket && (key || action === "ListObjects")),
      onAsk: (request) => page.setQuery(request, { replace: true }),
    }),
  ];
}

function showList(page) {
  const filters = pick(page.query, ["from", "to", "principal", "bucket", "code"]);
  const place = h("div", {}, skeleton(5));
  drawChart(page, filters, place);
  const table = dataTable({
    caption: "Refusals",
    remember: "denials",
    key: (row) => [row.startsAt, row.principal, row.bucket, row.code].join(" "),
    columns: columnsOf(page.contract, "listDenials", {
      show: ["startsAt", "code", "principal", "bucket", "count", "help"],
      titles: { startsAt: "Minute", help: "Remedy" },
      cells: {
        startsAt: (row) => time(row.startsAt),
        principal: (row) =>
          row.principal === "*"
            ? h("span", { class: "faint" }, "many callers")
            : h("a", { href: page.here({ principal: row.principal }) }, principal(row.principal)),
        code: (row) => h("a", { href: page.here({ code: row.code }) }, code(row.code)),
        help: (row) =>
          page.may("explain")
            ? h("a", { href: why(row), title: codeHelp(row.code) }, "What would permit this?")
            : h("span", { class: "faint" }, codeHelp(row.code) ?? ""),
        count: (row) => h("span", { class: "number" }, number(row.count)),
      },
    }).map((column) => (column.name === "help" ? { ...column, sort: null, grow: true } : column)),
    rows: page.pages("listDenials", { query: { ...filters, pageSize: 100 } }),
    menu: (row) => [
      row.code === "QuotaExceeded" && {
        label: "Quotas near their limit",
        icon: "quota",
        href: address("quotas", { nearLimit: "0.8" }),
      },
      row.principal?.startsWith("user:") &&
        page.may("reviewAccess") && {
          label: "What it may do",
          icon: "access",
          href: address("access", { principal: row.principal }),
        },
      row.principal?.startsWith("user:") && {
        label: "What it was issued",
        icon: "ledger",
        href: address("ledger", { principal: row.principal, from: filters.from }),
      },
    ],
    empty: Object.keys(filters).length
      ? { icon: "denial", title: "No refusal matches", text: "Without a start, the last 24 hours are searched." }
      : {
          icon: "check",
          title: "Nothing was refused in the last 24 hours",
          text:
            "Counts are written every few seconds, by caller, bucket, code and minute. Set a start to look " +
            "further back.",
        },
  });
  return [
    pageHead("Refusals", {
      text: "Counted by caller, bucket, code and minute. A single refusal is found by the identifier of its request.",
      actions: [
        page.may("getRequest") ? button("Find a request", { icon: "search", href: "#/requests" }) : null,
        page.may("explain") ? button("Why was it refused?", { icon: "access", href: why(page.query) }) : null,
      ],
    }),
    filterBar(page, "listDenials", {
      only: ["from", "to", "principal", "bucket"],
      extra: [choiceFilter(page, "code", "Code", refusalCodes)],
    }),
    card("By code", {}, place),
    table.element,
  ];
}

function why({ principal: who, bucket, code: name, startsAt }) {
  return address("denials", { principal: who === "*" ? "" : who, bucket, code: name, at: startsAt }, ["why"]);
}

function pick(object, names) {
  return Object.fromEntries(names.filter((name) => object[name]).map((name) => [name, object[name]]));
}

async function drawChart(page, filters, place) {
  const range = rangeBetween(filters.from ?? new Date(Date.now() - 86_400_000).toISOString(), filters.to);
  try {
    const rows = await page
      .pages("listDenials", { query: { ...filters, from: range.from, by: range.by, groupBy: "code", pageSize: 1000 } })
      .all(4000);
    const names = [...new Set(rows.map((row) => row.code))];
    const total = (name) => rows.reduce((all, row) => all + (row.code === name ? row.count : 0), 0);
    names.sort((one, other) => total(other) - total(one));
    const shown = names.slice(0, 5).map((name) => ({ label: name, codes: [name] }));
    if (names.length > 5) shown.push({ label: "Others", codes: names.slice(5) });
    fill(
      place,
      rows.length
        ? chart({
            title: "Refusals by code over time",
            labels: range.labels,
            kind: "stack",
            signal: page.signal,
            height: "11rem",
            series: shown.map(({ label, codes }) => ({
              label: `${label} ${number(codes.reduce((all, name) => all + total(name), 0))}`,
              values: sumByPeriod(
                range,
                rows.filter((row) => codes.includes(row.code)),
                (row) => row.count,
              ),
            })),
          })
        : emptyState({ icon: "check", title: "No refusal in this range" }),
    );
  } catch (error) {
    if (!isAbort(error)) fill(place, problemBox(error, { retry: () => drawChart(page, filters, place) }));
  }
}
