// Tickets: which of them are alive, whom they act for, and how to end them.

import { repeatable } from "../api.js";
import { confirm, confirmEach } from "../dialog.js";
import { h } from "../dom.js";
import { code, count, number, principal, relative, time } from "../format.js";
import { actionBadges, badge, button, card, message, pageHead } from "../parts.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { toast } from "../toast.js";
import { showObject } from "../values.js";

export function open(page) {
  const [id] = page.path;
  return id ? showTicket(page, id) : showList(page);
}

const hasEnded = (row) => Date.parse(row.expiresAt) <= Date.now();

function showList(page) {
  const { principal: who } = page.query;
  const table = dataTable({
    caption: "Tickets",
    remember: "tickets",
    columns: columnsOf(page.contract, "listAllTickets", {
      show: ["name", "principal", "place", "actions", "maxUses", "expiresAt"],
      hide: ["createdAt", "encryptsResponses", "id"],
      omit: ["bucket", "prefix"],
      titles: { place: "Place", expiresAt: "Ends", maxUses: "Uses" },
      cells: {
        name: (row) => code(row.name),
        place: (row) => h("span", {}, code(row.bucket), " / ", code(row.prefix)),
        maxUses: (row) => (row.maxUses ? h("span", { class: "number" }, number(row.maxUses)) : "any"),
        expiresAt: (row) =>
          hasEnded(row) ? badge(`ended ${relative(row.expiresAt)}`) : time(row.expiresAt, { relative: true }),
      },
    }),
    rows: page.pages("listAllTickets", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("tickets", {}, [row.id]),
    menu: (row) => [
      { label: "Tickets of this user", icon: "person", href: address("tickets", { principal: row.principal }) },
      page.may("revokeAnyTicket") && {
        label: "Revoke",
        icon: "trash",
        tone: "danger",
        run: async () => {
          await revoke(page, [row], table.remove);
        },
      },
    ],
    bulk: page.may("revokeAnyTicket")
      ? (rows) => [
          button("Revoke", {
            tone: "danger",
            small: true,
            icon: "trash",
            run: async () => {
              await revoke(page, rows, table.remove);
            },
          }),
        ]
      : undefined,
    empty: Object.keys(page.query).length
      ? { icon: "ticket", title: "No ticket matches", text: "Change or clear the filters." }
      : {
          icon: "ticket",
          title: "No ticket yet",
          text: "Users make tickets for devices and apps that cannot hold a token. Each is for one place.",
        },
  });
  return [
    pageHead("Tickets", {
      text: "Tickets let a device or an app fetch temporary credentials for one place, without a token.",
      actions:
        page.may("revokeTicketsOfUser") && who?.startsWith("user:")
          ? [button("Revoke all of this user", { tone: "danger", run: () => revokeAll(page, who, table) })]
          : [],
    }),
    filterBar(page, "listAllTickets"),
    table.element,
  ];
}

async function revoke(page, rows, ended) {
  const title = rows.length === 1 ? "Revoke this ticket?" : `Revoke ${number(rows.length)} tickets?`;
  const done = await confirmEach(title, {
    confirm: "Revoke",
    body: h("p", {}, "No gateway accepts it any longer. Temporary credentials that it fetched work until they expire."),
    rows,
    call: (row) => page.call("revokeAnyTicket", { path: { id: row.id } }),
    ended,
  });
  // After the dialog has closed, so that the view that follows comes at once.
  if (done) toast(`${count(rows.length, "ticket")} revoked`);
  return done;
}

function revokeAll(page, who, table) {
  const once = repeatable();
  return confirm("Revoke all tickets of this user?", {
    danger: true,
    confirm: "Revoke all",
    body: [
      h("p", {}, "Ends the tickets of ", principal(who), " in every bucket."),
      message("info", null, h("p", {}, "The user can make new ones for as long as it has a token.")),
    ],
    run: async () => {
      const { data } = await page.call("revokeTicketsOfUser", once({ body: { principal: who } }));
      toast(`${count(data.revoked, "ticket")} revoked`);
      table.load(page.pages("listAllTickets", { query: { ...page.query, pageSize: 100 } }));
    },
  });
}

async function showTicket(page, id) {
  const { data: row } = await page.call("getAnyTicket", { path: { id } });
  page.title("Ticket");
  return [
    pageHead(code(row.name), {
      back: { href: "#/tickets", label: "Tickets" },
      text: h("span", {}, "Acts for ", principal(row.principal)),
      actions: page.may("revokeAnyTicket")
        ? [
            button("Revoke", {
              tone: "danger",
              icon: "trash",
              run: async () => {
                if (await revoke(page, [row])) page.go("#/tickets");
              },
            }),
          ]
        : [],
    }),
    hasEnded(row) ? message("info", null, h("p", {}, `It ended ${relative(row.expiresAt)}.`)) : null,
    card(
      "About this ticket",
      {},
      showObject(page.contract.schema("Ticket"), { ...row, name: undefined, actions: undefined }, page.contract),
      h("dl", { class: "facts" }, h("div", {}, h("dt", {}, "Actions"), h("dd", {}, actionBadges(row.actions)))),
    ),
  ];
}
