// The ledger: what was issued, to whom, and by which grant.

import { h, isAbort } from "../dom.js";
import { exportRows } from "../exports.js";
import { code, count, number, relative, utc } from "../format.js";
import { bindKey } from "../keys.js";
import { badge, button, liveStatus, menuButton, pageHead } from "../parts.js";
import { moment } from "../ranges.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { grantLink } from "../values.js";
import { reachAddress, reachesMany, showIssuance } from "./issuance.js";

/** Rows that the live tail keeps. */
const tailLength = 200;

/** Seconds that a row may appear after others with later identifiers. */
const overlap = 20;

export function open(page) {
  const [id] = page.path;
  return id ? showIssuance(page, id) : showList(page);
}

/** Returns columns for issuances. */
export function issuanceColumns(page) {
  return columnsOf(page.contract, "listIssuances", {
    show: ["issuedAt", "principal", "actions", "object", "delivery", "expiresAt"],
    hide: [
      "contentLength",
      "contentType",
      "matchedPrincipal",
      "grantID",
      "credentialID",
      "method",
      "contentMD5",
      "requestID",
      "policySequence",
      "id",
    ],
    omit: ["bucket", "key", "charges"],
    titles: { object: "Object", issuedAt: "Issued", expiresAt: "Expires" },
    cells: {
      issuedAt: (row) => moment(row.issuedAt),
      object: (row) =>
        h(
          "span",
          {},
          code(row.bucket),
          h("span", { class: "faint" }, " / "),
          row.key === "" ? h("span", { class: "faint" }, "whole bucket") : code(row.key),
          reachesMany(row) && row.key ? h("span", { class: "faint" }, " …") : null,
        ),
      delivery: (row) => h("span", { class: "nowrap" }, row.delivery),
      expiresAt: lifeBadge,
      requestID: (row) => page.link("getRequest", address("requests", {}, [row.requestID]), code(row.requestID)),
      grantID: (row) => grantLink(row.grantID),
    },
  });
}

function lifeBadge(row) {
  const isAlive = Date.parse(row.expiresAt) > Date.now();
  return h(
    "span",
    { title: utc(row.expiresAt) },
    isAlive
      ? badge(`ends ${relative(row.expiresAt)}`, "info")
      : h("span", { class: "faint number" }, relative(row.expiresAt)),
  );
}

function showList(page) {
  const names = page.contract.filters("listIssuances").map((member) => member.name);
  const filters = Object.fromEntries(names.filter((name) => page.query[name]).map((name) => [name, page.query[name]]));
  const isLive = page.query.live === "true";
  const fresh = new Set();
  const table = dataTable({
    caption: "Issuances",
    columns: issuanceColumns(page),
    remember: "ledger",
    rows: page.pages("listIssuances", { query: { ...filters, pageSize: isLive ? tailLength : 100 } }),
    href: (row) => address("ledger", {}, [row.id]),
    tone: (row) => (fresh.has(row.id) ? "fresh" : null),
    menu: (row) => [
      { label: "Its life and decision", icon: "clock", href: address("ledger", {}, [row.id]) },
      { label: "Only this principal", icon: "person", href: page.here({ principal: row.principal }) },
      { label: "Only this bucket", icon: "bucket", href: page.here({ bucket: row.bucket }) },
      { label: "Only this grant", icon: "grant", href: page.here({ grantID: row.grantID }) },
      page.may("getRequest") && {
        label: "The request",
        icon: "terminal",
        href: address("requests", {}, [row.requestID]),
      },
      page.may("reviewAccess") && {
        label: "Who may reach the object",
        icon: "access",
        href: reachAddress(row),
      },
    ],
    empty: Object.keys(filters).length
      ? {
          icon: "ledger",
          title: "No issuance matches",
          text: filters.from
            ? "Change or clear the filters."
            : "Without a start, the last 24 hours are searched. Set one to look further back.",
        }
      : {
          icon: "ledger",
          title: "Nothing was issued in the last 24 hours",
          text:
            "Each link, form, part, redirect, session and signature appears here. Try one as a user, or set a " +
            "start to look further back.",
          actions: page.may("explain") ? [button("Try as a user", { href: "#/try", icon: "try" })] : [],
        },
  });
  const status = liveStatus();
  if (isLive) follow(page, filters, table, fresh, status);
  const toggle = () => page.setQuery({ live: isLive ? "" : "true", ...(isLive ? {} : { from: "", to: "" }) });
  bindKey("v", isLive ? "Stop the live view" : "Follow the ledger live", toggle, page.signal);
  const live = button(isLive ? "Live" : "Follow live", {
    icon: isLive ? "check" : "try",
    run: toggle,
    title: "v",
    attributes: { "aria-pressed": String(isLive) },
  });
  live.classList.toggle("is-live", isLive);
  const since = (seconds) => () =>
    page.setQuery({ from: new Date(Date.now() - seconds * 1000).toISOString(), to: "", live: "" });
  return [
    pageHead("Ledger", {
      text: "Everything that was issued, newest first. The links themselves are not kept.",
      actions: [
        live,
        menuButton(
          "Range",
          [
            { label: "Last hour", run: since(3600) },
            { label: "Last 24 hours", run: since(86_400) },
            { label: "Last 7 days", run: since(7 * 86_400) },
            { label: "Last 30 days", run: since(30 * 86_400) },
          ],
          { icon: "clock", iconOnly: false, tone: undefined, small: false },
        ),
        button("Export", {
          icon: "download",
          run: () => {
            exportRows(page, "exportIssuances", {
              query: filters,
              name: "issuances",
              text: filters.from
                ? "Exports the rows that match the filters."
                : "Exports the rows of the last 24 hours that match the filters.",
            });
          },
        }),
      ],
    }),
    isLive
      ? filterBar(page, "listIssuances", { omit: ["from", "to"], extra: [status.element] })
      : filterBar(page, "listIssuances"),
    table.element,
  ];
}

/** Reads what was issued since the last look, every two seconds. */
function follow(page, filters, table, fresh, status) {
  const started = new Date(Date.now() - overlap * 1000).toISOString();
  let isBusy = false;
  let total = 0;
  // The newest rows. The table does not show them while it is in use.
  let rows = [];
  let isShown = true;
  status.say("Following");
  page.every(2, async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      if (isShown) rows = table.rows;
      const newest = rows[0]?.issuedAt;
      const from = newest ? new Date(Date.parse(newest) - overlap * 1000).toISOString() : started;
      const { data } = await page.session.api.call("listIssuances", {
        query: { ...filters, from, to: undefined, pageSize: tailLength },
        signal: page.signal,
      });
      const known = new Set(rows.map((row) => row.id));
      const arrived = data.items.filter((row) => !known.has(row.id));
      if (arrived.length) {
        if (isShown) fresh.clear();
        for (const row of arrived) fresh.add(row.id);
        total += arrived.length;
        rows = [...arrived, ...rows].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, tailLength);
        isShown = false;
      }
      // A menu or a link that is in use stays where it is until it is left.
      if (!isShown && !table.element.contains(document.activeElement)) {
        await table.load(rows);
        isShown = true;
      }
      const skipped = data.nextPageToken && arrived.length === data.items.length;
      const missed = skipped ? `, and more than ${number(tailLength)} at once` : "";
      status.say(`${count(total, "new row")}${missed}`);
    } catch (error) {
      if (!isAbort(error)) status.say(error.title ?? error.message, { isBad: true });
    } finally {
      isBusy = false;
    }
  });
}
