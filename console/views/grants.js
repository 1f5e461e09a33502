// Grants: search, one grant with its life, and the actions on them.

import { chart } from "../chart.js";
import { confirmDelete } from "../dialog.js";
import { fill, h, isAbort, saveFile } from "../dom.js";
import { bytes, code, id as shortID, number, principal, text, time, timeText } from "../format.js";
import { bindKey } from "../keys.js";
import { badge, button, card, copyButton, deletion, facts, menuButton, pageHead, problemBox } from "../parts.js";
import { address } from "../router.js";
import { blastRadiusCard, simulationCard } from "../simulation.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { toast } from "../toast.js";
import { conditionWords, placeOf, showDifference, showObject } from "../values.js";
import { bulkChange, bulkDelete, contentOf, editGrant, importGrants } from "./grant-changes.js";

/** Opens the list, or the grant that the address names. */
export function open(page) {
  const [id] = page.path;
  return id ? showGrant(page, id) : showList(page);
}

function filtersOf(query) {
  const { new: draft, pageSize, ...filters } = query;
  return filters;
}

function showList(page) {
  const filters = filtersOf(page.query);
  const query = () => ({ ...filters, pageSize: 100 });
  const isFiltered = Object.keys(filters).length > 0;
  const create = async (value) => {
    const saved = await editGrant(page, { value });
    if (saved) table.insert(saved.data);
  };
  const mayApply = page.may("applyGrants");
  const table = dataTable({
    caption: "Grants",
    remember: "grants",
    rows: page.pages("listGrants", { query: query() }),
    columns: columnsOf(page.contract, "listGrants", {
      show: ["principal", "effect", "bucket", "prefix", "actions", "conditions", "note"],
      hide: ["notBefore", "notAfter", "createdAt", "createdBy", "id"],
      omit: ["template"],
      titles: { prefix: "Place" },
      cells: {
        prefix: (row) => h("span", {}, placeOf(row), " ", validity(row)),
        conditions: (row) => conditionWords(row.conditions, page.contract),
        createdBy: (row) => principal(row.createdBy),
        note: (row) => text(row.note),
      },
    }),
    href: (row) => address("grants", {}, [row.id]),
    tone: (row) => (row.effect === "deny" ? "bad" : null),
    menu: (row) => [
      page.may("patchGrant") && { label: "Edit", icon: "edit", run: () => edit(row) },
      page.may("createGrant") && { label: "Copy as a new grant", icon: "copy", run: () => create(contentOf(row)) },
      {
        label: "Who may reach its place?",
        icon: "access",
        href: address("access", { ask: "object", bucket: row.bucket, key: row.prefix ?? "" }),
      },
      deletion(page, "deleteGrant", () => remove(row)),
    ],
    bulk: mayApply
      ? (rows) => [
          button("Change", { icon: "edit", small: true, run: () => bulk(bulkChange, rows) }),
          button("Delete", { icon: "trash", small: true, run: () => bulk(bulkDelete, rows) }),
        ]
      : null,
    tools: mayApply ? [h("span", { class: "faint" }, "Tick rows to change several at once.")] : [],
    empty: isFiltered
      ? { title: "No grant matches", icon: "filter", text: "Change or clear the filters." }
      : {
          title: "No grant yet",
          icon: "grant",
          text: "A grant says who may put or get which objects of a bucket. Without one, nobody may.",
          actions: page.may("createGrant")
            ? [button("New grant", { tone: "primary", icon: "plus", run: () => create({}) })]
            : null,
        },
  });

  async function edit(row) {
    const { data, etag } = await page.call("getGrant", { path: { id: row.id } });
    const saved = await editGrant(page, { row: data, etag });
    if (saved) table.replace(saved.data);
  }

  async function remove(row) {
    const { data, etag } = await page.call("getGrant", { path: { id: row.id } });
    if (await removeGrant(page, data, etag)) table.remove(row);
  }

  async function bulk(action, rows) {
    if (await action(page, rows)) table.load(page.pages("listGrants", { query: query() }));
  }

  async function bulkAll(action) {
    const rows = await page.pages("listGrants", { query: { ...filters, pageSize: 1000 } }).all(10_001);
    if (rows.length > 10_000) throw new Error("More than 10,000 grants match. Narrow the filters.");
    if (!rows.length) throw new Error("No grant matches the filters.");
    await bulk(action, rows);
  }

  const exportAs = async (format) => {
    const blob = await page.file("exportGrants", { query: { ...filters, format } });
    saveFile(blob, `grants.${format}`);
    toast(`Exported ${bytes(blob.size)}`);
  };

  if (page.may("createGrant")) bindKey("n", "New grant", () => create({}), page.signal);

  // An address may carry a draft, such as that of a grant which would permit what was refused.
  const draft = readDraft(page.query.new);
  if (draft && page.may("createGrant")) {
    setTimeout(async () => {
      await create(draft);
      page.setQuery({ new: "" }, { replace: true });
    });
  }

  return [
    pageHead("Grants", {
      text: "Who may put or get which objects. A deny overrides every allow.",
      actions: [
        menuButton(
          "More",
          () => [
            mayApply && {
              label: `Change all that ${isFiltered ? "match" : "there are"}`,
              icon: "edit",
              run: () => bulkAll(bulkChange),
            },
            mayApply && {
              label: `Delete all that ${isFiltered ? "match" : "there are"}`,
              icon: "trash",
              tone: "danger",
              run: () => bulkAll(bulkDelete),
            },
            mayApply && "-",
            page.may("importGrants") && {
              label: "Import a file",
              icon: "upload",
              run: async () =>
                (await importGrants(page, filters)) && table.load(page.pages("listGrants", { query: query() })),
            },
            { label: "Export as NDJSON", icon: "download", run: () => exportAs("ndjson") },
            { label: "Export as CSV", icon: "download", run: () => exportAs("csv") },
          ],
          { iconOnly: false, icon: "down", tone: null, small: false },
        ),
        page.may("createGrant")
          ? button("New grant", {
              tone: "primary",
              icon: "plus",
              run: () => create({ bucket: filters.bucket, principal: filters.principal, prefix: filters.prefix }),
            })
          : null,
      ],
    }),
    filterBar(page, "listGrants"),
    table.element,
  ];
}

function readDraft(written) {
  if (!written) return null;
  try {
    return JSON.parse(written);
  } catch {
    return null;
  }
}

function validity({ notBefore, notAfter }) {
  const now = Date.now();
  if (notAfter && new Date(notAfter) <= now) return badge("ended", "warn", { title: `Ended ${timeText(notAfter)}` });
  if (notBefore && new Date(notBefore) > now)
    return badge("not yet valid", "warn", { title: `Begins ${timeText(notBefore)}` });
  return notAfter ? badge(`until ${timeText(notAfter)}`) : null;
}

function removeGrant(page, row, etag) {
  return confirmDelete("this grant", {
    body: h(
      "div",
      { class: "stack" },
      facts([
        ["To", principal(row.principal)],
        ["Place", h("span", {}, code(row.bucket), " / ", placeOf(row))],
      ]),
      h("p", {}, "Once this is answered, no gateway issues anything because of it."),
      blastRadiusCard(page, "getBlastRadiusOfGrant", row.id),
      simulationCard(page, { remove: [row.id] }, { title: "What its removal would have refused", starts: true }),
    ),
    run: () => page.call("deleteGrant", { path: { id: row.id }, ifMatch: etag }),
  });
}

async function showGrant(page, id) {
  const { data: grant, etag } = await page.call("getGrant", { path: { id } });
  page.title(`Grant of ${grant.principal}`);
  const edit = async () => {
    const fresh = await page.call("getGrant", { path: { id } });
    if (await editGrant(page, { row: fresh.data, etag: fresh.etag })) page.go(page.here(), { replace: true });
  };
  const schema = page.contract.rowOf("getGrant");
  return [
    pageHead(grant.effect === "deny" ? "Grant that denies" : "Grant", {
      back: { href: address("grants"), label: "Grants" },
      actions: [
        page.may("deleteGrant")
          ? button("Delete", {
              icon: "trash",
              run: async () => (await removeGrant(page, grant, etag)) && page.go(address("grants"), { replace: true }),
            })
          : null,
        page.may("patchGrant") ? button("Edit", { icon: "edit", tone: "primary", run: edit }) : null,
      ],
    }),
    h(
      "div",
      { class: "columns" },
      card(
        "What it says",
        { actions: [validity(grant)] },
        facts([
          [
            "Principal",
            h("a", { href: address("access", { principal: grant.principal }) }, principal(grant.principal)),
          ],
          ["Effect", badge(grant.effect, grant.effect === "deny" ? "bad" : "ok")],
          ["Place", h("span", {}, code(grant.bucket), " / ", placeOf(grant))],
          ["Identifier", h("span", {}, code(grant.id), " ", copyButton(grant.id))],
        ]),
        showObject(
          {
            ...schema,
            properties: without(schema.properties, ["id", "principal", "effect", "bucket", "prefix", "template"]),
          },
          emptyAway(grant),
          page.contract,
        ),
      ),
      blastRadiusCard(page, "getBlastRadiusOfGrant", id),
    ),
    usageCard(page, id),
    simulationCard(page, { remove: [id] }, { title: "What its removal would have refused" }),
    page.may("listAudit") ? historyCard(page, id) : null,
  ];
}

function without(object, names) {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

function emptyAway(row) {
  return Object.fromEntries(
    Object.entries(row).filter(
      ([, value]) => value !== "" && !(typeof value === "object" && value !== null && !Object.keys(value).length),
    ),
  );
}

/** How often the grant decided, by day. */
function usageCard(page, id) {
  const place = h("div", { class: "stack" }, h("p", { class: "faint", role: "status" }, "Counting …"));
  const start = new Date(Date.now() - 30 * 86_400_000);
  start.setUTCHours(0, 0, 0, 0);
  const load = async () => {
    try {
      const rows = await page
        .pages("getUsage", { query: { grantID: id, by: "day", from: start.toISOString(), pageSize: 1000 } })
        .all();
      const days = Array.from({ length: 31 }, (_, index) =>
        new Date(start.getTime() + index * 86_400_000).toISOString().slice(0, 10),
      );
      const sums = new Map(days.map((day) => [day, 0]));
      for (const row of rows)
        sums.set(row.startsAt.slice(0, 10), (sums.get(row.startsAt.slice(0, 10)) ?? 0) + row.urls);
      const total = [...sums.values()].reduce((sum, urls) => sum + urls, 0);
      fill(
        place,
        total === 0
          ? h("p", {}, "It decided nothing in the last 31 days.")
          : [
              h("p", {}, `It decided ${number(total)} in the last 31 days (UTC).`),
              chart({
                title: "Issuances by day",
                labels: days.map((day) => day.slice(5)),
                series: [{ label: "Issued", values: days.map((day) => sums.get(day)) }],
                kind: "bar",
                signal: page.signal,
                height: "10rem",
              }),
            ],
      );
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error, { retry: load }));
    }
  };
  load();
  return card("Use", {}, place);
}

/** Who changed it, newest first. */
function historyCard(page, id) {
  const content = page.contract.schema("Grant");
  return card(
    "History",
    { flush: true },
    dataTable({
      caption: "Changes of the grant",
      rows: page.pages("listAudit", { query: { kind: "Grant", resourceID: id, pageSize: 20 } }),
      columns: [
        { name: "at", title: "When", cell: (row) => time(row.changedAt, { seconds: true }) },
        { name: "actor", title: "Who", cell: (row) => principal(row.actor) },
        { name: "operation", title: "What", cell: (row) => badge(row.operation) },
        {
          name: "difference",
          title: "Difference",
          grow: true,
          cell: (row) =>
            showDifference(
              row.before && contentOf(row.before),
              row.after && contentOf(row.after),
              content,
              page.contract,
            ),
        },
        {
          name: "request",
          title: "Request",
          cell: (row) =>
            page.link("getRequest", address("requests", {}, [row.requestID]), shortID(row.requestID)),
        },
      ],
      empty: { title: "No change is recorded", icon: "audit" },
    }).element,
  );
}
