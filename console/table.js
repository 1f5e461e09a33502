// Tables of rows: pages that are loaded on request, skeletons meanwhile, and what to do first where there are none.

import { fill, h, isAbort, keepFocus, unique } from "./dom.js";
import { none, number } from "./format.js";
import { icon } from "./icons.js";
import { button, emptyState, menuButton, problemBox } from "./parts.js";
import { showValue } from "./values.js";

/**
 * Returns the columns for the rows of an operation. Members that the view does not name appear as well, so that a new
 * member of the contract shows by itself.
 *
 * @param {Contract} contract
 * @param {string} id The `operationId` of the list.
 * @param {object} options
 * @param {string[]} options.show The columns that are shown, in order.
 * @param {string[]} [options.hide] Columns that a person may add.
 * @param {string[]} [options.omit] Members that are no columns, because another cell shows them.
 * @param {object} [options.cells] Functions `(row) => node` by name of a column, in place of the contract's way.
 * @param {object} [options.titles] Headings by name of a column.
 */
export function columnsOf(contract, id, { show, hide = [], omit = [], cells = {}, titles = {} }) {
  const members = new Map(contract.members(contract.rowOf(id)).map((member) => [member.name, member]));
  const named = [...show, ...hide, ...omit];
  const more = [...members.keys()].filter((name) => !named.includes(name));
  return [...show, ...more, ...hide].map((name) => {
    const member = members.get(name) ?? { name, label: name, kind: "text" };
    const isNumber = ["number", "bytes"].includes(member.kind);
    return {
      name,
      title: titles[name] ?? member.label,
      help: member.help,
      align: isNumber ? "end" : null,
      hidden: hide.includes(name),
      cell: cells[name] ?? ((row) => showValue(member, row[name], contract)),
      sort: ["text", "enum", "number", "bytes", "duration", "time", "principal", "bucket", "boolean"].includes(
        member.kind,
      )
        ? (row) => row[name]
        : null,
    };
  });
}

/**
 * Returns a table.
 *
 * @param {object} options
 * @param {string} options.caption Says what the rows are.
 * @param {object[]} options.columns `{name, title, help, cell(row), align: "end", hidden, sort(row), grow}`.
 * @param {Pages|object[]} options.rows Rows, or the pages of a list.
 * @param {object} options.empty What stands in place of rows: see `emptyState`.
 * @param {function(object): Array} [options.menu] Returns the entries of a row's menu.
 * @param {function(object): string} [options.href] Returns the address of a row. Its first cell is then a link.
 * @param {function(object[]): Array} [options.bulk] Returns buttons for rows that are ticked.
 * @param {function(object): string} [options.key] Identifies a row. Default: its `id`.
 * @param {string} [options.remember] A name under which the browser keeps which columns are shown.
 * @param {Node[]} [options.tools] Stand beside the choice of columns.
 * @param {function(object): string} [options.tone] Returns the tone of a row.
 * @returns {{element: Node, load(rows), rows: object[], replace(row), remove(row), insert(row), chosen: object[]}}
 */
export function dataTable(options) {
  const { caption, columns, empty, menu, href, bulk, key = (row) => row.id, remember, tools = [], tone } = options;
  let pages = null;
  let rows = [];
  let order = null;
  let ticked = new Set();
  let problem = null;
  let loading = false;
  let visit = 0;
  const shown = readShown();
  const head = h("thead", { role: "rowgroup" });
  const body = h("tbody", { role: "rowgroup" });
  const foot = h("div", { class: "table-foot" });
  const bar = h("div", { class: "table-bar" });
  const table = h("table", { role: "table", "aria-label": caption }, head, body);
  // It opens again after each choice.
  const columnMenu = remember
    ? menuButton(
        "Columns",
        () =>
          columns.map((column) => ({
            label: column.title,
            checked: shown.has(column.name),
            run: () => chooseColumn(column.name),
          })),
        { icon: "columns", sticky: true },
      )
    : null;
  const element = h("div", { class: "table-box" }, bar, h("div", { class: "table-scroll" }, table), foot);

  function readShown() {
    const standard = columns.filter((column) => !column.hidden).map((column) => column.name);
    const kept = remember && JSON.parse(localStorage.getItem(`sluice.columns.${remember}`) ?? "null");
    if (!Array.isArray(kept?.shown)) return new Set(standard);
    // A column that the browser has not met is shown as the view says.
    return new Set([...kept.shown, ...standard.filter((name) => !kept.known.includes(name))]);
  }

  function chooseColumn(name) {
    if (shown.has(name) && shown.size > 1) shown.delete(name);
    else shown.add(name);
    if (remember)
      localStorage.setItem(
        `sluice.columns.${remember}`,
        JSON.stringify({ shown: [...shown], known: columns.map((column) => column.name) }),
      );
    draw();
  }

  const visible = () => columns.filter((column) => shown.has(column.name));

  function drawHead() {
    const canSort = pages === null || pages.done;
    fill(
      head,
      h(
        "tr",
        { role: "row" },
        bulk
          ? h(
              "th",
              { role: "columnheader", class: "tick-cell" },
              h("input", {
                type: "checkbox",
                "aria-label": "Choose all rows",
                checked: rows.length > 0 && ticked.size === rows.length,
                on: {
                  change: (event) => {
                    ticked = new Set(event.target.checked ? rows.map(key) : []);
                    draw();
                  },
                },
              }),
            )
          : null,
        visible().map((column) => {
          const sorted = order?.name === column.name ? (order.down ? "descending" : "ascending") : null;
          const title =
            column.sort && canSort && rows.length > 1
              ? h(
                  "button",
                  { type: "button", class: "sort", on: { click: () => sortBy(column) } },
                  column.title,
                  icon(sorted === "ascending" ? "up" : "down"),
                )
              : column.title;
          return h(
            "th",
            {
              role: "columnheader",
              scope: "col",
              class: column.align,
              title: column.help ? column.help.replace(/`/g, "") : null,
              "aria-sort": sorted,
            },
            title,
          );
        }),
        menu ? h("th", { role: "columnheader", class: "menu-cell" }, h("span", { class: "unseen" }, "Actions")) : null,
      ),
    );
  }

  function sortBy(column) {
    const down = order?.name === column.name && !order.down;
    order = { name: column.name, down };
    rows = [...rows].sort((one, other) => compare(column.sort(one), column.sort(other)) * (down ? -1 : 1));
    draw();
  }

  function drawRow(row) {
    const cells = visible().map((column, index) => {
      const content = column.cell(row) ?? none();
      const linked = index === 0 && href ? h("a", { class: "row-link", href: href(row) }, content) : content;
      return h(
        "td",
        { role: "cell", class: [column.align, column.grow && "grow"], data: { label: column.title } },
        h("div", { class: "cell" }, linked),
      );
    });
    const id = key(row);
    const line = h(
      "tr",
      { role: "row", class: [tone?.(row), ticked.has(id) && "ticked"] },
      bulk
        ? h(
            "td",
            { role: "cell", class: "tick-cell" },
            h("input", {
              type: "checkbox",
              "aria-label": "Choose row",
              checked: ticked.has(id),
              on: {
                change: (event) => {
                  if (event.target.checked) ticked.add(id);
                  else ticked.delete(id);
                  line.classList.toggle("ticked", event.target.checked);
                  drawHead();
                  drawBar();
                },
              },
            }),
          )
        : null,
      cells,
      menu ? h("td", { role: "cell", class: "menu-cell" }, menuButton("Row actions", menu(row))) : null,
    );
    return line;
  }

  function drawBar() {
    const chosen = rows.filter((row) => ticked.has(key(row)));
    bar.hidden = !tools.length && !bulk;
    fill(
      bar,
      chosen.length
        ? [
            h("strong", {}, `${number(chosen.length)} chosen`),
            bulk(chosen),
            button("Clear", {
              tone: "quiet",
              small: true,
              run: () => {
                ticked.clear();
                draw();
                head.querySelector(".tick-cell input").focus();
              },
            }),
          ]
        : tools,
      bar.hidden ? null : [h("span", { class: "spring" }), columnMenu],
    );
  }

  function drawFoot() {
    const words =
      pages && !pages.done
        ? `${number(rows.length)} rows so far`
        : rows.length === 1
          ? "1 row"
          : `${number(rows.length)} rows`;
    fill(
      foot,
      problem ? problemBox(problem, { retry: () => more() }) : null,
      rows.length ? h("span", { class: "faint number", role: "status" }, words) : null,
      pages && !pages.done && !problem && rows.length ? button("Load more", { small: true, run: more }) : null,
      bar.hidden && rows.length && remember ? [h("span", { class: "spring" }), columnMenu] : null,
    );
  }

  function draw() {
    drawHead();
    drawBar();
    if (rows.length) fill(body, rows.map(drawRow));
    else if (loading)
      fill(
        body,
        Array.from({ length: 6 }, (_, index) => boneRow(index)),
      );
    else {
      fill(
        body,
        problem
          ? null
          : h(
              "tr",
              { role: "row", class: "empty-row" },
              h(
                "td",
                { role: "cell", colspan: String(columns.length + 2) },
                emptyState(empty ?? { title: "There are no rows." }),
              ),
            ),
      );
    }
    drawFoot();
    element.setAttribute("aria-busy", String(loading));
  }

  function boneRow(index) {
    return h(
      "tr",
      { role: "row", class: "bone-row" },
      visible().map((column, at) =>
        h(
          "td",
          { role: "cell", data: { label: column.title } },
          h("div", { class: "bone", style: { "--width": `${40 + ((index * 31 + at * 17) % 45)}%` } }),
        ),
      ),
    );
  }

  async function more() {
    const mine = visit;
    problem = null;
    loading = true;
    if (!rows.length) draw();
    try {
      let fresh = [];
      // A row that was inserted is there already. A page may be empty although more follow it.
      do {
        const found = await pages.next();
        const known = new Set(rows.map(key));
        fresh = found.filter((row) => !known.has(key(row)));
      } while (!fresh.length && !pages.done);
      if (mine !== visit) return;
      const at = rows.length;
      rows = [...rows, ...fresh];
      loading = false;
      if (at === 0 || order) {
        order = null;
        draw();
      } else {
        body.append(...fresh.map(drawRow));
        drawHead();
        drawFoot();
        body.children[at]?.querySelector("a, button, input")?.focus({ preventScroll: true });
      }
      options.onRows?.(rows, pages);
    } catch (error) {
      if (mine !== visit || isAbort(error)) return;
      problem = error;
      loading = false;
      draw();
    }
  }

  /** Shows other rows. Resolves when the first page is there. */
  async function load(next) {
    visit += 1;
    rows = Array.isArray(next) ? next : [];
    pages = Array.isArray(next) ? null : next;
    order = null;
    ticked = new Set();
    problem = null;
    loading = false;
    if (pages) await more();
    else draw();
  }

  load(options.rows ?? []);
  return {
    element,
    load,
    get rows() {
      return rows;
    },
    get chosen() {
      return rows.filter((row) => ticked.has(key(row)));
    },
    replace(row) {
      const at = rows.findIndex((other) => key(other) === key(row));
      if (at < 0) return;
      rows[at] = row;
      keepFocus(body, () => body.children[at]?.replaceWith(drawRow(row)));
    },
    remove(row) {
      rows = rows.filter((other) => key(other) !== key(row));
      ticked.delete(key(row));
      draw();
    },
    insert(row) {
      rows = [row, ...rows.filter((other) => key(other) !== key(row))];
      draw();
      body.firstElementChild?.classList.add("fresh");
    },
  };
}

function compare(one, other) {
  if (one === other) return 0;
  if (one === undefined || one === null) return 1;
  if (other === undefined || other === null) return -1;
  return typeof one === "number" && typeof other === "number" ? one - other : String(one) < String(other) ? -1 : 1;
}

/**
 * Returns a bar of filters made from the parameters of a list. What a person sets goes into the address.
 *
 * @param {Page} page
 * @param {string} id The `operationId` of the list.
 * @param {object} [options] `only` names the filters, in order; `omit` leaves some out; `extra` are further nodes.
 */
export function filterBar(page, id, { only, omit = [], extra = [] } = {}) {
  const all = page.contract.filters(id).filter((member) => !omit.includes(member.name));
  const members = only ? only.map((name) => all.find((member) => member.name === name)).filter(Boolean) : all;
  const set = (name, value) => page.setQuery({ [name]: value }, { replace: true });
  const inputs = members.map((member) => {
    const inputID = unique("filter");
    const value = page.query[member.name] ?? "";
    const common = { id: inputID, name: member.name };
    let input;
    if (member.kind === "enum") {
      input = h(
        "select",
        { ...common, on: { change: () => set(member.name, input.value) } },
        h("option", { value: "" }, "Any"),
        member.choices.map((choice) => h("option", { value: choice, selected: choice === value }, choice)),
      );
    } else if (member.kind === "boolean") {
      input = h("input", {
        ...common,
        type: "checkbox",
        checked: value === "true",
        on: { change: () => set(member.name, input.checked ? "true" : "") },
      });
    } else if (member.kind === "time") {
      input = h("input", {
        ...common,
        type: "datetime-local",
        value: localTime(value),
        on: { change: () => set(member.name, input.value ? new Date(input.value).toISOString() : "") },
      });
    } else {
      input = h("input", {
        ...common,
        type: "search",
        value,
        spellcheck: "false",
        autocomplete: "off",
        class: "code",
        placeholder:
          { principal: "user:alice", bucket: "photos" }[member.kind] ??
          (member.name === "principal" ? "user:alice" : ""),
        on: { change: () => set(member.name, input.value.trim() === "" ? "" : input.value) },
      });
    }
    return h(
      "div",
      { class: ["filter", member.kind], title: member.help.replace(/`/g, "") },
      h("label", { for: inputID }, member.label),
      input,
    );
  });
  const isSet = members.some((member) => page.query[member.name]);
  const bar = h("div", { class: ["filters", isSet && "shown"], role: "group", "aria-label": "Filters" });
  const opener = button("Filters", {
    icon: "filter",
    small: true,
    attributes: { "aria-expanded": String(isSet) },
    run: () => opener.setAttribute("aria-expanded", String(bar.classList.toggle("shown"))),
  });
  opener.classList.add("filter-switch");
  return fill(
    bar,
    opener,
    inputs,
    extra,
    isSet
      ? button("Clear filters", {
          tone: "quiet",
          small: true,
          run: () => page.setQuery(Object.fromEntries(members.map((member) => [member.name, ""]))),
        })
      : null,
  );
}

/** Returns a time as `datetime-local` fields want it. */
export function localTime(value) {
  const date = new Date(value);
  if (!value || Number.isNaN(date.getTime())) return "";
  const part = (number, length = 2) => String(number).padStart(length, "0");
  const day = [part(date.getFullYear(), 4), part(date.getMonth() + 1), part(date.getDate())].join("-");
  return `${day}T${part(date.getHours())}:${part(date.getMinutes())}`;
}
