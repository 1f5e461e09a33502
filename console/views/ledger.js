// The ledger: what was issued, to whom, by which grant, and what became of it.

import { h, isAbort } from "../dom.js";
import { showExplanation } from "../explanation.js";
import { exportRows } from "../exports.js";
import { bytes, code, count, number, principal, relative, size, time, utc } from "../format.js";
import { icon } from "../icons.js";
import { bindKey } from "../keys.js";
import { actionBadges, badge, button, card, copyButton, facts, menuButton, pageHead, problemBox, skeleton } from "../parts.js";
import { moment } from "../ranges.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { toast } from "../toast.js";
import { showObject } from "../values.js";
import { stateBadge } from "./uploads.js";

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
    hide: ["contentLength", "contentType", "matchedPrincipal", "grantID", "credentialID", "method", "contentMD5", "requestId", "policySequence", "id"],
    omit: ["bucket", "key", "charges"], titles: { object: "Object", issuedAt: "Issued", expiresAt: "Expires" },
    cells: {
      issuedAt: (row) => moment(row.issuedAt),
      object: (row) => h("span", {}, code(row.bucket), h("span", { class: "faint" }, " / "), row.key === "" ? h("span", { class: "faint" }, "whole bucket") : code(row.key), row.delivery === "sts" && row.key ? h("span", { class: "faint" }, " …") : null),
      delivery: (row) => h("span", { class: "nowrap" }, row.delivery),
      expiresAt: lifeBadge,
      requestId: (row) => h("a", { href: address("requests", {}, [row.requestId]) }, code(row.requestId)),
      grantID: (row) => h("a", { href: address("grants", {}, [row.grantID]) }, code(row.grantID)),
    },
  });
}

function lifeBadge(row) {
  const isAlive = Date.parse(row.expiresAt) > Date.now();
  return h("span", { title: utc(row.expiresAt) }, isAlive ? badge(`ends ${relative(row.expiresAt)}`, "info") : h("span", { class: "faint number" }, relative(row.expiresAt)));
}

function showList(page) {
  const names = page.contract.filters("listIssuances").map((member) => member.name);
  const filters = Object.fromEntries(names.filter((name) => page.query[name]).map((name) => [name, page.query[name]]));
  const isLive = page.query.live === "true";
  const fresh = new Set();
  const table = dataTable({
    caption: "Issuances", columns: issuanceColumns(page), remember: "ledger",
    rows: page.pages("listIssuances", { query: { ...filters, pageSize: isLive ? tailLength : 100 } }),
    href: (row) => address("ledger", {}, [row.id]),
    tone: (row) => (fresh.has(row.id) ? "fresh" : null),
    menu: (row) => [
      { label: "Its life and decision", icon: "clock", href: address("ledger", {}, [row.id]) },
      { label: "Only this principal", icon: "person", href: page.here({ principal: row.principal }) },
      { label: "Only this bucket", icon: "bucket", href: page.here({ bucket: row.bucket }) },
      { label: "Only this grant", icon: "grant", href: page.here({ grantID: row.grantID }) },
      { label: "The request", icon: "terminal", href: address("requests", {}, [row.requestId]) },
      page.may("reviewAccess") && { label: "Who may reach the object", icon: "access", href: row.delivery === "sts" ? address("access", { bucket: row.bucket, prefix: row.key || "*" }) : address("access", { bucket: row.bucket, key: row.key }) },
    ],
    empty: Object.keys(filters).length ? { icon: "ledger", title: "No issuance matches", text: filters.from ? "Change or clear the filters." : "Without a start, the last 24 hours are searched. Set one to look further back." } : {
      icon: "ledger", title: "Nothing was issued in the last 24 hours", text: "Each link, form, part, redirect, session and signature appears here. Try one as a user, or set a start to look further back.",
      actions: page.may("explain") ? [button("Try as a user", { href: "#/try", icon: "try" })] : [],
    },
  });
  const status = h("span", { class: "live-status", role: "status" });
  if (isLive) follow(page, filters, table, fresh, status);
  const toggle = () => page.setQuery({ live: isLive ? "" : "true", ...(isLive ? {} : { from: "", to: "" }) });
  bindKey("v", isLive ? "Stop the live view" : "Follow the ledger live", toggle, page.signal);
  const live = button(isLive ? "Live" : "Follow live", { icon: isLive ? "check" : "clock", run: toggle, title: "v", attributes: { "aria-pressed": String(isLive) } });
  live.classList.toggle("is-live", isLive);
  const since = (seconds) => () => page.setQuery({ from: new Date(Date.now() - seconds * 1000).toISOString(), to: "", live: "" });
  return [
    pageHead("Ledger", {
      text: "Everything that was issued, newest first. The links themselves are not kept.",
      actions: [
        live, menuButton("Range", [{ label: "Last hour", run: since(3600) }, { label: "Last 24 hours", run: since(86_400) }, { label: "Last 7 days", run: since(7 * 86_400) }, { label: "Last 30 days", run: since(30 * 86_400) }],
          { icon: "clock", small: false }),
        button("Export", { icon: "download", run: () => { exportRows(page, "exportIssuances", { query: filters, name: "issuances", text: filters.from ? "Exports the rows that match the filters." : "Exports the rows of the last 24 hours that match the filters." }); } }),
      ],
    }),
    isLive ? filterBar(page, "listIssuances", { omit: ["from", "to"], extra: [status] }) : filterBar(page, "listIssuances"), table.element,
  ];
}

/** Reads what was issued since the last look, every two seconds. */
function follow(page, filters, table, fresh, status) {
  const started = new Date(Date.now() - overlap * 1000).toISOString();
  let isBusy = false;
  let total = 0;
  status.textContent = "Following";
  page.every(2, async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      const newest = table.rows[0]?.issuedAt;
      const from = newest ? new Date(Date.parse(newest) - overlap * 1000).toISOString() : started;
      const { data } = await page.session.api.call("listIssuances", { query: { ...filters, from, to: undefined, pageSize: tailLength }, signal: page.signal });
      const known = new Set(table.rows.map((row) => row.id));
      const arrived = data.items.filter((row) => !known.has(row.id));
      if (arrived.length) {
        fresh.clear();
        for (const row of arrived) fresh.add(row.id);
        total += arrived.length;
        const rows = [...arrived, ...table.rows].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, tailLength);
        // A menu or a link that is in use stays where it is until it is left.
        if (!table.element.contains(document.activeElement)) await table.load(rows);
      }
      const skipped = data.nextPageToken && arrived.length === data.items.length;
      status.textContent = `${count(total, "new row")}${skipped ? `, and more than ${number(tailLength)} at once` : ""}`;
    } catch (error) {
      if (!isAbort(error)) status.textContent = `Not reached: ${error.title ?? error.message}`;
    } finally {
      isBusy = false;
    }
  });
}

const isWrite = (row) => row.actions.some((action) => action.endsWith("PutObject"));
const uploadDeliveries = new Set(["presigned-url", "post-policy", "multipart-start", "remote-signature"]);

async function showIssuance(page, id) {
  const { data: row } = await page.call("getIssuance", { path: { id } });
  page.title("Issuance");
  const life = h("div", {}, skeleton(3));
  const decision = h("div", {}, skeleton(5));
  const fill = (place, ...content) => place.replaceChildren(...content);
  const load = async (place, make) => {
    try {
      fill(place, await make());
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error, { retry: () => load(place, make) }));
    }
  };
  const showLife = () => load(life, async () => lifeOf(page, row, await findUpload(page, row), await findReservation(page, row)));
  showLife();
  load(decision, async () => showExplanation(page, (await page.call("explain", { body: { issuanceID: id } })).data));
  const isAlive = Date.parse(row.expiresAt) > Date.now();
  const canAsk = isWrite(row) && uploadDeliveries.has(row.delivery) && page.may("confirmAnyUpload");
  const schema = page.contract.schema("Issuance");
  return [
    pageHead("Issuance", {
      back: { href: "#/ledger", label: "Ledger" },
      text: h("span", {}, principal(row.principal), ` got a ${deliveries[row.delivery] ?? row.delivery} for `, code(row.bucket), " / ", code(row.key)),
      actions: [
        canAsk ? button("Ask the store", {
          icon: "bucket", run: async () => {
            const { data } = await page.call("confirmAnyUpload", { path: { id } });
            toast(data.state === "issued" ? "Nothing has landed yet" : `The store was asked: ${data.state}`);
            await showLife();
          },
        }) : null,
        button("The request", { icon: "terminal", href: address("requests", {}, [row.requestId]) }),
        menuButton("More", [
          { label: "Others of this principal", icon: "person", href: address("ledger", { principal: row.principal }) },
          { label: "Others of this grant", icon: "grant", href: address("ledger", { grantID: row.grantID }) },
          page.may("reviewAccess") && { label: "Who may reach the object now", icon: "access", href: row.delivery === "sts" ? address("access", { bucket: row.bucket, prefix: row.key || "*" }) : address("access", { bucket: row.bucket, key: row.key }) },
          isAlive && { label: "It must not be used any more", icon: "emergency", href: address("emergency", { principal: row.principal }) },
        ], { small: false }),
      ],
    }),
    card("Life", { text: isAlive ? "It can be used until it expires: a link cannot be taken back." : null }, life),
    h("div", { class: "columns" },
      card("What was bound", {}, facts([
        ["Actions", actionBadges(row.actions)], ["Method", code(row.method)], ["Bucket", h("a", { href: address("buckets", {}, [row.bucket]) }, code(row.bucket))],
        ["Key", h("span", {}, code(row.key), " ", copyButton(row.key, "Copy the key"))],
        ["Content type", row.contentType === undefined ? null : code(row.contentType)], ["Length", row.contentLength === undefined ? null : size(row.contentLength)],
        ["MD5", row.contentMD5 === undefined ? null : code(row.contentMD5)], ["Delivery", row.delivery],
      ])),
      card("Record", {}, facts([
        ["Identifier", h("span", {}, code(row.id), " ", copyButton(row.id, "Copy the identifier"))],
        ["Request", h("a", { href: address("requests", {}, [row.requestId]) }, code(row.requestId))],
        ["Grant", h("span", {}, h("a", { href: address("grants", {}, [row.grantID]) }, code(row.grantID)), " for ", principal(row.matchedPrincipal))],
        ["Credential", h("a", { href: address("credentials", {}, [row.credentialID]) }, code(row.credentialID))],
        ["State of policy", `change ${number(row.policySequence)}`],
        ["Charges", row.charges.length ? h("ul", { class: "plain" }, row.charges.map((charge) => h("li", {}, h("span", { class: "number" }, number(charge.amount)), " to ", h("a", { href: address("quotas", {}, [charge.quotaID]) }, code(charge.quotaID))))) : null],
      ]), showUnnamed(page, schema, row))),
    h("h2", { class: "section-title" }, "Why it was permitted"), decision,
  ];
}

const named = ["id", "issuedAt", "expiresAt", "delivery", "principal", "matchedPrincipal", "grantID", "credentialID", "actions", "method", "bucket", "key", "contentType", "contentMD5",
  "contentLength", "requestId", "policySequence", "charges"];

/** Shows members that the contract has added since. */
function showUnnamed(page, schema, row) {
  const rest = Object.fromEntries(Object.entries(row).filter(([name]) => !named.includes(name)));
  return Object.keys(rest).length ? showObject(schema, rest, page.contract) : null;
}

const deliveries = {
  "presigned-url": "link", "post-policy": "form", "multipart-start": "start of an upload in parts", "multipart-part": "link for a part", "multipart-complete": "completion of an upload in parts",
  redirect: "redirect", sts: "session with temporary credentials", "remote-signature": "signature",
};

/** Finds what became of an upload: there is a list of uploads, and the row's time narrows it to a moment. */
async function findUpload(page, row) {
  if (!isWrite(row) || !uploadDeliveries.has(row.delivery)) return null;
  const to = new Date(Date.parse(row.issuedAt) + 1000).toISOString();
  const pages = page.pages("listUploads", { query: { from: row.issuedAt, to, principal: row.principal, bucket: row.bucket, pageSize: 1000 } });
  return (await pages.next()).find((upload) => upload.id === row.id) ?? null;
}

/** Finds the bytes that were reserved, if this is the only row of the caller in its millisecond. */
async function findReservation(page, row) {
  if (!isWrite(row)) return null;
  const to = new Date(Date.parse(row.issuedAt) + 1).toISOString();
  const { data } = await page.call("getUsage", { query: { from: row.issuedAt, to, principal: row.principal, bucket: row.bucket, by: "range" } });
  const [found] = data.items;
  return found?.urls === 1 && found.bytesReserved > 0 ? found : null;
}

function lifeOf(page, row, upload, reservation) {
  const isAlive = Date.parse(row.expiresAt) > Date.now();
  const steps = [{ title: "Issued", tone: "ok", text: time(row.issuedAt, { seconds: true }) }];
  if (upload) steps.push(landing(upload));
  steps.push({ title: isAlive ? "Alive" : "Expired", tone: isAlive ? "info" : "done", text: h("span", {}, isAlive ? "until " : null, time(row.expiresAt, { seconds: true }), h("span", { class: "faint" }, ` ${relative(row.expiresAt)}`)) });
  if (reservation) {
    const isSettled = reservation.bytesUnsettled === 0;
    steps.push({
      title: isSettled ? "Settled" : "Not settled", tone: isSettled ? "ok" : "info",
      text: h("span", {}, isSettled ? `${bytes(reservation.bytesReserved)} were reserved` : `${bytes(reservation.bytesUnsettled)} are reserved until it is known what arrived`),
    });
  }
  return h("ol", { class: "life" }, steps.map((step) => h("li", { class: step.tone }, h("span", { class: "dot" }, step.tone === "ok" || step.tone === "done" ? icon("check") : step.tone === "bad" ? icon("close") : icon("clock")),
    h("div", {}, h("p", { class: "message-title" }, step.title), h("p", {}, step.text)))));
}

function landing(upload) {
  const found = upload.foundAt ? time(upload.foundAt, { seconds: true }) : null;
  const about = upload.size === undefined ? null : h("span", {}, " ", size(upload.size), upload.source ? h("span", { class: "faint" }, `, told by ${upload.source}`) : null);
  switch (upload.state) {
    case "landed": return { title: "Landed", tone: "ok", text: h("span", {}, found, about) };
    case "mismatched": return { title: "Landed, but differs", tone: "bad", text: h("span", {}, found, about, ` in ${upload.mismatches.join(", ")}`) };
    case "unverified": return { title: "Landed, not verified", tone: "info", text: h("span", {}, found, about, " The store does not report its SHA-256.") };
    case "expired": return { title: "Never landed", tone: "bad", text: "as far as Sluice knows" };
    default: return { title: "Nothing landed yet", tone: "info", text: stateBadge(upload.state) };
  }
}
