// Changes of grants. Before each is made, it shows a dry run, a replay of the ledger, and what is alive.

import { repeatable } from "../api.js";
import { confirm, openDialog } from "../dialog.js";
import { fill, h, isAbort, isObject, unique } from "../dom.js";
import { schemaForm } from "../form.js";
import { bytes, code, count, duration, number, principal } from "../format.js";
import { badge, button, disclosure, emptyState, message, problemBox, progressBar, tile } from "../parts.js";
import { editRow } from "../resource.js";
import { commandLines } from "../shell.js";
import { blastRadiusCard, simulationCard } from "../simulation.js";
import { suggestions } from "../suggest.js";
import { dataTable } from "../table.js";
import { toast } from "../toast.js";
import { grantLine, placeOf, showDifference } from "../values.js";

const fixed = ["id", "createdBy", "createdAt"];

/** Returns a grant without what the gateway sets. */
export function contentOf({ id, createdBy, createdAt, ...content }) {
  return content;
}

/**
 * Opens the form for a new grant or a changed one. Before it is saved, the change is tried, replayed, and its blast
 * radius shown.
 *
 * @param {object} options `row` and `etag` of the grant to change, or `value` that a new one begins with.
 */
export function editGrant(page, { row, etag, value }) {
  return editRow(page, {
    title: row ? "Change the grant" : "New grant",
    create: "createGrant",
    patch: "patchGrant",
    row,
    etag,
    value,
    path: row ? { id: row.id } : undefined,
    order: ["principal", "effect", "actions", "bucket"],
    saved: "In force on every gateway",
    review: async ({ after }) => {
      const content = contentOf(after);
      // A place is a prefix or a template, never both.
      const write = row ? { id: row.id, ifMatch: etag, ...content } : content;
      const { data } = await page.call("applyGrants", { body: { dryRun: true, writes: [write] } });
      const schema = page.contract.schema("Grant");
      return h(
        "div",
        { class: "stack" },
        message(
          data.unchanged ? "info" : "ok",
          data.unchanged ? "A grant says this already: nothing would change." : "The dry run accepts it.",
        ),
        row ? showDifference(contentOf(row), content, schema, page.contract) : grantLine(content),
        row ? blastRadiusCard(page, "getBlastRadiusOfGrant", row.id) : null,
        simulationCard(page, row ? { replace: [{ id: row.id, ...content }] } : { add: [content] }, { starts: true }),
      );
    },
  });
}

/**
 * Reads the tags of grants, so that a change of many is refused if somebody changes one of them meanwhile. A dry run
 * of the rows as they were read changes nothing, and answers with their tags.
 */
async function tagsOf(page, rows) {
  const { data } = await page.session.api.call("applyGrants", {
    body: { dryRun: true, writes: rows },
    signal: page.signal,
  });
  const changed = data.writes.filter((write) => write.result !== "unchanged").length;
  if (changed) throw new Error(`${count(changed, "grant")} changed since the list was read. Load the list again.`);
  return data.writes.map((write) => write.etag);
}

function sample(rows) {
  return disclosure(
    `The grants (${number(rows.length)})`,
    { open: rows.length <= 5 },
    h(
      "ul",
      { class: "plain" },
      rows.slice(0, 100).map((row) => h("li", {}, grantLine(row))),
      rows.length > 100 ? h("li", { class: "faint" }, `and ${number(rows.length - 100)} more`) : null,
    ),
  );
}

/** Returns what each grant would lose and get, as no line of a grant tells all of its conditions. */
function differences(page, rows, writes) {
  const schema = page.contract.schema("Grant");
  return disclosure(
    `The grants (${number(rows.length)})`,
    { open: rows.length <= 5 },
    h(
      "ul",
      { class: "plain" },
      rows.slice(0, 100).map((row, index) => {
        const { id, ifMatch, ...content } = writes[index];
        return h("li", {}, grantLine(row), showDifference(contentOf(row), content, schema, page.contract));
      }),
      rows.length > 100 ? h("li", { class: "faint" }, `and ${number(rows.length - 100)} more`) : null,
    ),
  );
}

const mostSimulated = 500;

function replay(page, change, rows) {
  if (rows.length <= mostSimulated) return simulationCard(page, change, { starts: true });
  return message(
    "warn",
    `A replay takes at most ${number(mostSimulated)} grants`,
    h("p", {}, "Narrow the filters to see what the change would have refused."),
  );
}

/** What is alive because of several grants, added up for the first of them. */
function aliveCard(page, rows) {
  const place = h(
    "div",
    { class: "tiles", "aria-live": "polite" },
    h("p", { class: "faint" }, "Counting what is alive …"),
  );
  const some = rows.slice(0, 25);
  (async () => {
    try {
      const all = await Promise.all(
        some.map((row) =>
          page.session.api.call("getBlastRadiusOfGrant", { path: { id: row.id }, signal: page.signal }),
        ),
      );
      const sum = (name) => all.reduce((total, { data }) => total + data[name], 0);
      const last = all
        .map(({ data }) => data.lastExpiresAt)
        .filter(Boolean)
        .sort()
        .at(-1);
      fill(
        place,
        tile("Can still be used", number(sum("count")), {
          tone: sum("count") ? "warn" : null,
          text: last
            ? `the last for ${duration(Math.max(0, (new Date(last) - Date.now()) / 1000))}`
            : "issued because of these grants",
        }),
        tile("Temporary credentials", number(sum("sessionCount")), { tone: sum("sessionCount") ? "bad" : null }),
        rows.length > some.length
          ? tile("Counted", `${number(some.length)} of ${number(rows.length)}`, { text: "the first grants" })
          : null,
      );
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error));
    }
  })();
  return place;
}

/** Deletes several grants in one change of policy. Returns whether it was done. */
export async function bulkDelete(page, rows) {
  const tags = await tagsOf(page, rows);
  const body = { deletes: rows.map((row, index) => ({ id: row.id, ifMatch: tags[index] })) };
  const once = repeatable();
  const done = await confirm(`Delete ${count(rows.length, "grant")}?`, {
    confirm: "Delete",
    danger: true,
    typed: rows.length > 10 ? `delete ${rows.length}` : undefined,
    body: h(
      "div",
      { class: "stack" },
      h(
        "p",
        {},
        "They are deleted as one change, all or none. Once it is answered, no gateway issues anything because of them.",
      ),
      sample(rows),
      aliveCard(page, rows),
      replay(page, { remove: rows.map((row) => row.id) }, rows),
    ),
    run: () => page.call("applyGrants", once({ body })),
  });
  if (done) toast(`Deleted ${count(rows.length, "grant")}`);
  return done;
}

/** Changes one member of several grants in one change of policy. Returns whether it was done. */
export async function bulkChange(page, rows) {
  const tags = await tagsOf(page, rows);
  const schema = page.contract.bodyOf("replaceGrant");
  const members = page.contract
    .members(schema)
    .filter((member) => !fixed.includes(member.name) && member.name !== "template");
  const optional = (name) => !(schema.required ?? []).includes(name) && name !== "prefix";
  const title = `Change ${count(rows.length, "grant")}`;
  return openDialog(title, { side: true, wide: true }, (close, { dismiss, hold }) => {
    const choice = h(
      "select",
      { id: unique("member") },
      members.map((member) => h("option", { value: member.name, selected: member.name === "notAfter" }, member.label)),
    );
    const place = h("div", { class: "stack" });
    const judged = h("div", { class: "stack" });
    const trouble = h("div", { class: "stack" });
    let form = null;
    let removes = false;
    let seen = null;
    let changes = 0;
    const once = repeatable();
    const act = button("", { tone: "primary", run: () => (seen ? apply() : look()) });
    const forget = () => {
      seen = null;
      changes += 1;
      fill(judged);
      fill(trouble);
      act.querySelector(".label").textContent = "Review";
    };
    const choose = () => {
      forget();
      removes = false;
      const name = choice.value;
      const only = { ...schema, then: undefined, required: [name], properties: { [name]: schema.properties[name] } };
      form = schemaForm(page.contract, only, { suggest: suggestions(page), showsJSON: false, onChange: forget });
      const box = h("input", {
        type: "checkbox",
        id: unique("remove"),
        on: {
          change: () => {
            removes = box.checked;
            form.element.hidden = removes;
            forget();
          },
        },
      });
      fill(
        place,
        form.element,
        optional(name)
          ? h("p", { class: "check" }, box, h("label", { for: box.id }, "Remove it from the grants"))
          : null,
      );
    };
    choice.addEventListener("change", choose);
    choose();

    function written() {
      const name = choice.value;
      const next = removes ? undefined : form.value()[name];
      return rows.map((row, index) => {
        const { template, ...rest } = contentOf(row);
        const content = name === "prefix" ? { ...rest, prefix: next } : { ...contentOf(row), [name]: next };
        return { id: row.id, ifMatch: tags[index], ...content };
      });
    }

    async function look() {
      forget();
      if (!removes && !form.check()) return;
      const next = removes ? undefined : form.value()[choice.value];
      // Nothing written would widen every grant, and it may be an oversight.
      if (!removes && optional(choice.value) && (next === "" || (isObject(next) && !Object.keys(next).length))) {
        fill(trouble, message("warn", "Write a value, or choose to remove it from the grants."));
        return;
      }
      const at = changes;
      try {
        const writes = written();
        const { data } = await page.call("applyGrants", { body: { dryRun: true, writes } });
        // What was written meanwhile was not looked at.
        if (at !== changes) return;
        const changing = writes.filter((_, index) => data.writes[index].result === "updated");
        fill(
          judged,
          message(
            data.updated ? "ok" : "info",
            data.updated
              ? `Accepted by the dry run: ${count(data.updated, "grant")} would change, ${number(data.unchanged)} not.`
              : "Nothing would change.",
          ),
          differences(page, rows, writes),
          aliveCard(page, rows),
          changing.length ? replay(page, { replace: changing.map(({ ifMatch, ...grant }) => grant) }, changing) : null,
          disclosure("Show command", {}, commandLines(page.lines("applyGrants", { body: { writes } }))),
        );
        if (data.updated) {
          seen = writes;
          act.querySelector(".label").textContent = `Change ${count(data.updated, "grant")}`;
        }
      } catch (error) {
        if (at === changes && !isAbort(error)) fill(trouble, problemBox(error));
      }
    }

    async function apply() {
      try {
        const { data } = await hold(() => page.call("applyGrants", once({ body: { writes: seen } })));
        toast(`Changed ${count(data.updated, "grant")}`);
        close(true);
      } catch (error) {
        if (!isAbort(error)) fill(trouble, problemBox(error));
      }
    }

    return {
      body: [
        h(
          "p",
          {},
          "One member receives the same value in all of them, as one change of policy. If somebody changes one of " +
            "these grants meanwhile, nothing is changed.",
        ),
        h("div", { class: "field" }, h("label", { for: choice.id }, "Member"), choice),
        place,
        judged,
        trouble,
      ],
      footer: [button("Cancel", { run: dismiss }), act],
    };
  });
}

/** Imports a file after a dry run has shown its difference. Returns whether something changed. */
export function importGrants(page, filters) {
  const operation = "importGrants";
  return openDialog("Import grants", { side: true, wide: true }, (close, { dismiss, hold }) => {
    const input = h("input", {
      type: "file",
      id: unique("file"),
      accept: ".ndjson,.jsonl,.csv,text/csv,application/x-ndjson",
    });
    const options = schemaForm(
      page.contract,
      {
        type: "object",
        properties: Object.fromEntries(
          page.contract
            .operation(operation)
            .parameters.filter(({ in: place, name }) => place === "query" && name !== "dryRun" && name !== "samples")
            .map((parameter) => [
              parameter.name,
              { ...page.contract.resolve(parameter.schema), description: parameter.description },
            ]),
        ),
      },
      {
        value: { bucket: filters.bucket, principal: filters.principal, prefix: filters.prefix },
        suggest: suggestions(page),
        showsJSON: false,
        onChange: () => forget(),
      },
    );
    const result = h("div", { class: "stack" });
    const bar = progressBar("Sending the file");
    const commands = h("div", { class: "stack" });
    let isTried = false;
    let changes = 0;
    const act = button("Try", { tone: "primary", run: () => (isTried ? change() : look()) });

    function forget() {
      isTried = false;
      changes += 1;
      act.querySelector(".label").textContent = "Try";
      fill(result);
      showCommands();
    }
    const call = (dryRun) => ({ query: { ...options.value(), ...(dryRun ? { dryRun: "true", samples: 50 } : {}) } });
    const typeOf = (file) =>
      /\.csv$/i.test(file.name) || file.type === "text/csv" ? "text/csv" : "application/x-ndjson";
    const showCommands = () => {
      const file = input.files[0];
      fill(
        commands,
        commandLines(
          page.lines(operation, {
            ...call(!isTried),
            file: file?.name ?? "grants.ndjson",
            type: file ? typeOf(file) : "application/x-ndjson",
          }),
        ),
      );
    };
    input.addEventListener("change", forget);
    showCommands();

    /** Sends the file. `moved` is called as it leaves. */
    async function send(sent, moved) {
      const [file] = input.files;
      fill(result, bar.element);
      bar.show(0, "");
      const { data } = await page.upload(operation, { ...sent, file, type: typeOf(file) }, (part, whole) => {
        moved?.();
        if (part < whole) bar.show(part / whole, `${bytes(part)} of ${bytes(whole)} sent`);
        else bar.show(null, `${bytes(whole)} sent; the gateway compares …`);
      });
      return data;
    }

    async function look() {
      if (!input.files.length) {
        fill(result, message("warn", "Choose a file first."));
        input.focus();
        return;
      }
      const at = changes;
      try {
        const data = await send({ ...call(true), signal: page.signal });
        // What was chosen meanwhile was not tried.
        if (at !== changes) return;
        const total = data.created + data.updated + data.deleted;
        fill(result, showImport(page, data));
        if (total) {
          isTried = true;
          act.querySelector(".label").textContent = `Import: ${count(total, "change")}`;
          showCommands();
        }
      } catch (error) {
        if (at === changes) fail(error);
      }
    }

    async function change() {
      try {
        const data = await hold((moved) => send(call(false), moved));
        toast(`${number(data.created)} created, ${number(data.updated)} changed, ${number(data.deleted)} deleted`);
        close(true);
      } catch (error) {
        fail(error);
      }
    }

    function fail(error) {
      if (isAbort(error)) return;
      const line = error.document?.line;
      fill(
        result,
        problemBox(error),
        line
          ? h(
              "p",
              {},
              `Line ${number(line)} of the file${error.field ? `, member ${error.field}` : ""}. Nothing was changed.`,
            )
          : null,
      );
    }

    return {
      body: [
        h(
          "p",
          {},
          "The file has a grant a line, as the export writes them: NDJSON or CSV. First it is only compared; nothing " +
            "changes until you have seen the difference.",
        ),
        h("div", { class: "field" }, h("label", { for: input.id }, "File"), input),
        options.element,
        result,
        disclosure("Show command", {}, commands),
      ],
      footer: [button("Cancel", { run: dismiss }), act],
    };
  });
}

function showImport(page, data) {
  const schema = page.contract.schema("Grant");
  const tones = { created: "ok", updated: "info", deleted: "bad" };
  return h(
    "div",
    { class: "stack" },
    h(
      "div",
      { class: "tiles" },
      tile("Created", number(data.created), { tone: data.created ? "ok" : null }),
      tile("Changed", number(data.updated)),
      tile("Deleted", number(data.deleted), { tone: data.deleted ? "bad" : null }),
      tile("Unchanged", number(data.unchanged)),
    ),
    data.samples.length
      ? dataTable({
          caption: "Some of the changes",
          rows: data.samples,
          key: (row) => `${row.line}${row.before?.id}`,
          columns: [
            { name: "result", title: "Result", cell: (row) => badge(row.result, tones[row.result]) },
            {
              name: "line",
              title: "Line",
              align: "end",
              cell: (row) => (row.line === undefined ? null : number(row.line)),
            },
            {
              name: "grant",
              title: "Grant",
              cell: (row) =>
                h(
                  "span",
                  {},
                  principal((row.after ?? row.before).principal),
                  " ",
                  code((row.after ?? row.before).bucket),
                  " / ",
                  placeOf(row.after ?? row.before),
                ),
            },
            {
              name: "difference",
              title: "Difference",
              grow: true,
              cell: (row) =>
                row.before && row.after
                  ? showDifference(contentOf(row.before), row.after, schema, page.contract)
                  : null,
            },
          ],
        }).element
      : emptyState({ title: "The file says what there is already", text: "Nothing would change.", icon: "check" }),
  );
}
