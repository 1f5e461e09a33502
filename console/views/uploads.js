// Uploads: what became of them.

import { h } from "../dom.js";
import { code, principal, time } from "../format.js";
import { badge, pageHead, tabs } from "../parts.js";
import { moment } from "../ranges.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { toast } from "../toast.js";
import { views } from "../views.js";

const states = {
  issued: ["waiting", "info"],
  landed: ["landed", "ok"],
  mismatched: ["differs", "bad"],
  unverified: ["not verified", "warn"],
  expired: ["never landed", "warn"],
};

/** Returns the state of an upload as a badge. */
export function stateBadge(state) {
  const [words, tone] = states[state] ?? [state];
  return badge(words, tone, { title: state });
}

/** Returns the tabs of uploads: by state, and uploads in parts. */
function uploadTabs(page) {
  const keep = { ...page.query, state: "" };
  const parts = views.find((view) => view.name === "multipart");
  return tabs(
    "Uploads",
    [
      { label: "All", href: address("uploads", keep), current: !page.query.state },
      ...Object.entries(states).map(([state, [words]]) => ({
        label: words[0].toUpperCase() + words.slice(1),
        href: address("uploads", { ...keep, state }),
        current: page.query.state === state,
      })),
      parts && page.may(parts.needs) ? { label: "In parts", href: address("multipart") } : null,
    ].filter(Boolean),
  );
}

export function open(page) {
  const table = dataTable({
    caption: "Uploads",
    remember: "uploads",
    columns: columnsOf(page.contract, "listUploads", {
      show: ["issuedAt", "state", "object", "size", "principal", "expiresAt"],
      hide: ["foundAt", "delivery", "source", "contentType", "etag", "id"],
      omit: ["bucket", "key", "mismatches"],
      titles: { object: "Object", issuedAt: "Issued", expiresAt: "Link expires", foundAt: "Found" },
      cells: {
        issuedAt: (row) => moment(row.issuedAt),
        state: (row) =>
          h(
            "span",
            { class: "badges" },
            stateBadge(row.state),
            (row.mismatches ?? []).map((item) => badge(item, "bad")),
          ),
        object: (row) => h("span", {}, code(row.bucket), h("span", { class: "faint" }, " / "), code(row.key)),
        principal: (row) => h("a", { href: address("ledger", { principal: row.principal }) }, principal(row.principal)),
        expiresAt: (row) => time(row.expiresAt, { relative: true }),
      },
    }),
    rows: page.pages("listUploads", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("ledger", {}, [row.id]),
    tone: (row) => ({ mismatched: "bad", expired: "warn" })[row.state] ?? null,
    menu: (row) => [
      { label: "Its life in the ledger", icon: "ledger", href: address("ledger", {}, [row.id]) },
      page.may("confirmAnyUpload") && { label: "Ask the store", icon: "bucket", run: () => ask(row) },
      {
        label: "Who may reach the object",
        icon: "access",
        href: address("access", { bucket: row.bucket, key: row.key }),
      },
    ],
    empty:
      page.query.state || page.query.bucket || page.query.principal
        ? { icon: "upload", title: "No upload matches", text: "Without a start, the last 24 hours are searched." }
        : {
            icon: "upload",
            title: "No upload in the last 24 hours",
            text:
              "Links that permit an upload appear here as soon as they are issued. Set a start to look further " +
              "back.",
          },
  });
  async function ask(row) {
    const { data } = await page.call("confirmAnyUpload", { path: { id: row.id } });
    table.replace({ ...row, ...data });
    toast(
      data.state === row.state
        ? `The store knows nothing new: ${states[data.state]?.[0] ?? data.state}`
        : `The upload ${states[data.state]?.[0] ?? data.state}`.replace("upload waiting", "upload is waiting"),
    );
  }
  return [
    pageHead("Uploads", {
      text: "What became of each upload: whether an object arrived, and whether it is the one that was permitted.",
    }),
    uploadTabs(page),
    filterBar(page, "listUploads", { omit: ["state"] }),
    table.element,
  ];
}
