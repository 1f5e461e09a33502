// The audit: who changed what, as a difference, and how to undo it.

import { h } from "../dom.js";
import { exportRows } from "../exports.js";
import { choiceFilter } from "../filters.js";
import { code, count, number, time } from "../format.js";
import { badge, button, card, facts, message, pageHead } from "../parts.js";
import { address } from "../router.js";
import { dataTable, filterBar } from "../table.js";
import { changeAddress, changeColumns, diffTable, kinds, operationTones, principalOrCommand } from "./changes.js";
import { undo, undoable } from "./undo.js";

export function open(page) {
  const [request, id] = page.path;
  return id ? showChange(page, request, id) : showList(page);
}

function showList(page) {
  const table = dataTable({
    caption: "Changes",
    columns: changeColumns(page),
    remember: "audit",
    rows: page.pages("listAudit", { query: { ...page.query, pageSize: 50 } }),
    href: changeAddress,
    menu: (row) => [
      { label: "Difference", icon: "audit", href: changeAddress(row) },
      {
        label: "History of this row",
        icon: "clock",
        href: address("audit", { kind: row.kind, resourceID: row.resourceID }),
      },
      { label: "By this person", icon: "person", href: address("audit", { actor: row.actor }) },
      page.may("getRequest") && {
        label: "The request",
        icon: "terminal",
        href: address("requests", {}, [row.requestID]),
      },
      undoable(page, row).call && { label: "Undo", icon: "refresh", run: () => undo(page, row) },
    ],
    empty: Object.keys(page.query).length
      ? { icon: "audit", title: "No change matches", text: "Change or clear the filters." }
      : {
          icon: "audit",
          title: "No change yet",
          text: "Each change by an admin appears here with the row before and after, for ever.",
        },
  });
  return [
    pageHead("Audit", {
      text: "What admins changed, newest first, with each row before and after. Secrets are left out.",
      actions: [
        button("Export", {
          icon: "download",
          run: () => {
            exportRows(page, "exportAudit", {
              query: page.query,
              name: "audit",
              text: "Exports the changes that match the filters, one JSON object a line.",
            });
          },
        }),
      ],
    }),
    filterBar(page, "listAudit", {
      omit: ["kind", "operation"],
      extra: [
        choiceFilter(page, "kind", "Kind", [...Object.keys(kinds), "EventSecret", "Upload", "Ticket"]),
        choiceFilter(page, "operation", "Operation", operations(page)),
      ],
    }),
    table.element,
  ];
}

/** The kinds of changes, as the contract names them. */
function operations(page) {
  return page.contract.members(page.contract.schema("AuditRecord")).find((member) => member.name === "operation")
    .choices;
}

async function showChange(page, request, id) {
  const query = { requestID: request, pageSize: 1000 };
  const find = (rows) => rows.find((row) => row.id === id);
  const pages = page.pages("listAudit", { query });
  const rows = await pages.next();
  let record = find(rows);
  // A request, such as an import, may have made many changes. The address tells the row of this one.
  if (!record && !pages.done)
    record = find(await page.pages("listAudit", { query: { ...query, resourceID: page.query.resourceID } }).all());
  page.title("Change");
  const back = { href: "#/audit", label: "Audit" };
  if (!record)
    return [
      pageHead("Change", { back }),
      message("warn", "This change was not found", h("p", {}, "The request made other changes, or none that is kept.")),
    ];
  const others = rows.filter((row) => row.id !== id);
  const now = undoable(page, record);
  const view = kinds[record.kind]?.view;
  return [
    pageHead("Change", {
      back,
      text: h(
        "span",
        {},
        principalOrCommand(record.actor),
        ` · ${record.operation} ${record.kind} · `,
        time(record.changedAt, { seconds: true }),
      ),
      actions: [
        now.call
          ? button("Undo", {
              icon: "refresh",
              run: () => {
                undo(page, record);
              },
            })
          : null,
        button("History of this row", {
          icon: "clock",
          href: address("audit", { kind: record.kind, resourceID: record.resourceID }),
        }),
        page.may("getRequest")
          ? button("The request", { icon: "terminal", href: address("requests", {}, [record.requestID]) })
          : null,
      ],
    }),
    now.reason ? h("p", { class: "faint" }, now.reason) : null,
    h(
      "div",
      { class: "main-aside" },
      h(
        "div",
        {},
        card(
          "Difference",
          {
            text:
              record.before && record.after
                ? null
                : record.after
                  ? "The row was not there before."
                  : "The row is not there after.",
          },
          diffTable(page, record),
        ),
      ),
      card(
        "Record",
        {},
        facts([
          ["Who", h("a", { href: address("audit", { actor: record.actor }) }, principalOrCommand(record.actor))],
          ["When", time(record.changedAt, { seconds: true })],
          [
            "What",
            h("span", { class: "badges" }, badge(record.operation, operationTones[record.operation]), record.kind),
          ],
          [
            "Row",
            view && record.operation !== "delete"
              ? h("a", { href: address(view, {}, [record.resourceID]) }, code(record.resourceID))
              : code(record.resourceID),
          ],
          ["Request", page.link("getRequest", address("requests", {}, [record.requestID]), code(record.requestID))],
        ]),
      ),
    ),
    others.length
      ? card(
          `${pages.done ? count(others.length, "other change") : `${number(others.length)} or more other changes`} ` +
            "of this request",
          { flush: true },
          dataTable({
            caption: "Other changes of this request",
            rows: others,
            columns: changeColumns(page),
            href: changeAddress,
          }).element,
        )
      : null,
  ];
}
