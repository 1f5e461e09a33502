// Forms made from schemas of the contract: nested objects, lists, sizes and durations in words, times, and choices.

import { fill, h, isObject, keepFocus, unique } from "./dom.js";
import { bytes, duration, exactBytes, label as labelOf, number, utc, visible } from "./format.js";
import { parseBytes, parseDuration, parseNumber } from "./format.js";
import { button, disclosure, inline } from "./parts.js";
import { localTime } from "./table.js";

/**
 * Returns a form for an object.
 *
 * @param {Contract} contract
 * @param {object} schema The schema of the object.
 * @param {object} [options]
 * @param {object} [options.value] The values to begin with.
 * @param {string[]} [options.omit] Members that the form leaves out.
 * @param {string[]} [options.order] Members that come first.
 * @param {object} [options.suggest] Functions `async (text) => [{value, label}]` by kind of member (`bucket`,
 *   `principal`) or by name (`credentialID`), which complete what a person types.
 * @param {object} [options.labels] Labels by name of a member.
 * @param {function(object): void} [options.onChange] Receives the value after each change.
 * @param {boolean} [options.showsJSON] Whether the form shows its value as JSON. Default: it does.
 * @returns {{element: Node, value(): object, check(): boolean, refuse(problem): boolean, focus()}} `check` marks what
 *   is wrong and returns whether nothing is; `refuse` marks the fields that a problem of the gateway names, and returns
 *   whether it named any.
 */
export function schemaForm(contract, schema, options = {}) {
  const { value = {}, onChange, showsJSON = true } = options;
  const changed = () => {
    preview();
    onChange?.(whole.value());
  };
  const whole = objectField(contract, schema, value, { ...options, changed, path: "" });
  const shown = h("pre", { class: "json", tabindex: "0", "aria-label": "JSON" });
  const preview = () => {
    if (showsJSON) shown.textContent = JSON.stringify(whole.value(), null, 2);
  };
  const element = h("div", { class: "form" }, whole.element, showsJSON ? disclosure("JSON", {}, shown) : null);
  preview();
  return {
    element,
    value: () => whole.value(),
    check() {
      const good = whole.check();
      if (!good) element.querySelector("[aria-invalid=true]")?.focus();
      return good;
    },
    refuse(problem) {
      const named = [problem.field, ...(problem.errors ?? []).map((item) => item.field)].filter(Boolean);
      // The gateway may name a member from outside, as in `writes[0].conditions.maxBytes`.
      const mark = (names) =>
        names.length > 0 && (whole.refuse(names, problem.detail ?? problem.title) || mark(names.slice(1)));
      const marked = named.filter((name) => mark(String(name).split(".")));
      if (marked.length) element.querySelector("[aria-invalid=true]")?.focus();
      return marked.length > 0;
    },
    focus() {
      element.querySelector("input, select, textarea")?.focus();
    },
  };
}

/** Fields of an object. Of alternatives, one is chosen and the others are left out. */
function objectField(contract, schema, value, options) {
  const { omit = [], order = [], path, changed } = options;
  const members = contract
    .members(schema)
    .filter((member) => !omit.includes(path ? `${path}.${member.name}` : member.name));
  const places = new Map(order.map((name, index) => [name, index - order.length]));
  members.sort((one, other) => (places.get(one.name) ?? 0) - (places.get(other.name) ?? 0));
  const groups = contract
    .alternatives(schema)
    ?.map((group) => group.filter((name) => members.some((member) => member.name === name)))
    .filter((group) => group.length);
  const isAlternative = groups && groups.length > 1;
  let chosen = isAlternative
    ? Math.max(
        0,
        groups.findIndex((group) => group.some((name) => value?.[name] !== undefined)),
      )
    : 0;
  const optional = isAlternative ? new Set(groups.flat()) : new Set();
  const fields = members.map((member) =>
    fieldOf(contract, { ...member, required: member.required || optional.has(member.name) }, value?.[member.name], {
      ...options,
      path: path ? `${path}.${member.name}` : member.name,
    }),
  );
  const byName = new Map(fields.map((field) => [field.name, field]));
  const isLive = (field) => !isAlternative || !optional.has(field.name) || groups[chosen].includes(field.name);

  const choice = isAlternative
    ? segmented(
        "One of",
        groups.map((group) => group.map((name) => options.labels?.[name] ?? labelOf(name)).join(" and ")),
        chosen,
        (index) => {
          chosen = index;
          draw();
          changed();
        },
      )
    : null;
  const holder = h("div", { class: "fields" });
  function draw() {
    const live = fields.filter(isLive);
    const first = isAlternative ? live.findIndex((field) => optional.has(field.name)) : -1;
    fill(
      holder,
      live.map((field, index) => (index === first ? [choice, field.element] : field.element)),
    );
  }
  draw();
  return {
    element: holder,
    value() {
      const result = {};
      for (const field of fields.filter(isLive)) {
        const item = field.value();
        if (item !== undefined) result[field.name] = item;
      }
      return result;
    },
    check: (mayLack) =>
      fields
        .filter(isLive)
        .map((field) => field.check(mayLack))
        .every(Boolean),
    refuse: ([name, ...rest], text) => byName.get(name?.replace(/\[.*$/, ""))?.refuse(rest, text) ?? false,
  };
}

/** Returns buttons of which one is chosen. */
export function segmented(title, labels, chosen, choose) {
  const name = unique("choice");
  return h(
    "fieldset",
    { class: "segmented" },
    h("legend", { class: "unseen" }, title),
    labels.map((text, index) => {
      const id = unique("choice");
      return [
        h("input", { type: "radio", name, id, checked: index === chosen, on: { change: () => choose(index) } }),
        h("label", { for: id }, text),
      ];
    }),
  );
}

/**
 * Returns the field for one member: `{name, element, value(), check(mayLack), refuse(path, text)}`. As long as nobody
 * touches the field, `value` returns what the field was given. With `mayLack`, a required member may be missing.
 */
function fieldOf(contract, member, value, options) {
  const maker =
    { object: nestedField, rows: rowsField, map: mapField, set: setField, boolean: booleanField }[member.kind] ??
    textField;
  return maker(contract, member, value, options);
}

const isGiven = (value) => value !== undefined && value !== null;

/**
 * Returns what reads a field: the value that it was given, until it shows something other than at first. It may show
 * less than the value: a time without its offset, a text without its line breaks.
 */
function keeper(given, read, shown = () => JSON.stringify(read())) {
  const first = shown();
  return () => (isGiven(given) && shown() === first ? given : read());
}

/** Returns the choices of the contract, and what the value has besides them. */
const withOthers = (choices, present) => [...new Set([...choices, ...present])];

/** Returns what every field has: label, help, and the place for what is wrong. */
function frame(member, options, input, { group } = {}) {
  const target = input.matches("input, select, textarea") ? input : null;
  // What is wrong with a group is no property of one of its controls, so it is announced.
  const error = h("p", { class: "error", id: unique("error"), hidden: true, role: target ? undefined : "alert" });
  const help = member.help ? h("p", { class: "help", id: unique("help") }, shortHelp(member.help)) : null;
  const name = [
    options.labels?.[member.name] ?? member.label,
    member.required ? null : h("span", { class: "faint optional" }, " optional"),
  ];
  target?.setAttribute("aria-describedby", [help?.id, error.id].filter(Boolean).join(" "));
  if (target && member.required) target.setAttribute("aria-required", "true");
  const element = group
    ? h("fieldset", { class: ["field", "group"] }, h("legend", {}, name), help, input, error)
    : h("div", { class: "field" }, h("label", { for: target?.id }, name), input, help, error);
  const mark = (text) => {
    fill(error, text ?? "");
    error.hidden = !text;
    if (text) target?.setAttribute("aria-invalid", "true");
    else target?.removeAttribute("aria-invalid");
    element.classList.toggle("wrong", Boolean(text));
    return !text;
  };
  return { element, mark, error };
}

function shortHelp(help) {
  const first = help.split("\n\n")[0];
  const sentences = first.split(/(?<=[.])\s+(?=[A-Z])/);
  if (help.length < 220 || sentences.length < 2) return inline(help);
  return [
    inline(sentences[0]),
    " ",
    h(
      "details",
      { class: "more-help" },
      h("summary", {}, "More"),
      h("span", {}, inline(help.slice(sentences[0].length).trim())),
    ),
  ];
}

/** Texts of several lines. An input of one line would join them. */
const multiline = ["note", "privateKey", "cdnSecret"];

const placeholders = {
  bytes: () => "10 MiB",
  duration: () => "15 min",
  principal: (schema) => principalsOf(schema, ["user:alice", "group:staff", "*"]),
  bucket: () => "photos",
};

/** Returns those of some principals that a schema admits, as words; `null` if there are none. */
function principalsOf({ pattern }, all) {
  const admitted = all.filter((one) => !pattern || matches(pattern, one));
  return admitted.join(", ").replace(/, ([^,]*)$/, " or $1") || null;
}

function textField(contract, member, value, options) {
  const { schema, kind } = member;
  const id = unique("field");
  const isList = kind === "list" || kind === "json";
  const read = reader(member);
  const written = isGiven(value) ? read.write(value) : "";
  const isProse = ["note", "name"].includes(member.name);
  const listener = {
    input: () => {
      shell.mark(null);
      said();
      options.changed();
    },
  };
  let input;
  if (kind === "enum") {
    const standard = member.standard ? `${member.standard} (default)` : member.required ? null : "–";
    input = h(
      "select",
      { id, on: { change: listener.input } },
      standard !== null
        ? h("option", { value: "" }, standard)
        : written === ""
          ? h("option", { value: "" }, "Choose …")
          : null,
      withOthers(member.choices, written === "" ? [] : [written])
        .filter((choice) => choice !== member.standard || written === choice)
        .map((choice) => h("option", { value: choice, selected: choice === written }, visible(choice))),
    );
  } else if (isList || multiline.includes(member.name)) {
    input = h("textarea", {
      id,
      rows: String(Math.min(8, Math.max(2, written.split("\n").length))),
      value: written,
      autocomplete: "off",
      spellcheck: String(isProse),
      class: [!isProse && "code", member.secret && "masked"],
      on: listener,
      placeholder: kind === "list" ? "One a line" : null,
    });
  } else {
    input = h("input", {
      id,
      type: member.secret ? "password" : kind === "time" ? "datetime-local" : "text",
      step: kind === "time" ? "1" : null,
      value: written,
      autocomplete: member.secret ? "new-password" : "off",
      spellcheck: "false",
      inputmode: kind === "number" ? "numeric" : null,
      placeholder: placeholders[kind]?.(schema) ?? null,
      class: isProse ? null : "code",
      on: listener,
    });
    complete(input, options.suggest?.[member.name] ?? options.suggest?.[kind]);
  }
  const words = h("span", { class: "faint said" });
  const holder = h("div", { class: "input-holder" }, input, words);
  const shell = frame(member, options, input);
  if (["bytes", "duration", "time", "number"].includes(kind)) {
    input.replaceWith(holder);
    holder.prepend(input);
  }
  // Half a time has no value.
  const has = () => (isList ? input.value.trim() !== "" : input.value !== "" || input.validity.badInput);
  // A draft may hold what no field can show. It is not sent unseen.
  const isShown = input.value === "" ? written === "" : read.read(input.value) !== null;
  const mayBeEmpty = kind === "text" && !schema.minLength && (!schema.pattern || matches(schema.pattern, ""));
  const says = keeper(
    isShown ? value : undefined,
    () => (has() ? (read.read(input.value) ?? undefined) : member.required && mayBeEmpty ? "" : undefined),
    () => input.value,
  );
  const said = () => {
    words.textContent = input.value && isGiven(says()) ? read.say(says()) : "";
  };
  said();
  return {
    name: member.name,
    element: shell.element,
    value: says,
    check(mayLack) {
      const isRequired = member.required && !mayBeEmpty && member.standard === undefined && !mayLack;
      if (!has()) return shell.mark(isRequired ? "This is required." : null);
      return shell.mark(trouble(member, read.read(input.value), read));
    },
    refuse: (_, text) => !shell.mark(text),
  };
}

/** Says what is wrong with a value; `null` if nothing is. */
function trouble(member, value, read) {
  const { schema } = member;
  if (value === null) return read.expected;
  if (Array.isArray(value)) {
    if (schema.maxItems !== undefined && value.length > schema.maxItems) return `At most ${schema.maxItems} lines.`;
    return null;
  }
  if (typeof value === "number") {
    if (schema.minimum !== undefined && value < schema.minimum) return `At least ${read.word(schema.minimum)}.`;
    if (schema.maximum !== undefined && value > schema.maximum) return `At most ${read.word(schema.maximum)}.`;
    return null;
  }
  if (typeof value !== "string") return null;
  const length = new TextEncoder().encode(value).length;
  if (schema.minLength !== undefined && length < schema.minLength) return `At least ${schema.minLength} characters.`;
  if (schema.maxLength !== undefined && length > schema.maxLength)
    return `At most ${schema.maxLength} characters; there are ${length}.`;
  if (schema.pattern && !matches(schema.pattern, value)) {
    const forms = member.kind === "principal" ? principalsOf(schema, ["user:name", "group:name", "*"]) : null;
    return forms ? `Write ${forms}.` : "This is not in the expected form.";
  }
  return null;
}

function matches(pattern, value) {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

/** Returns how the text of a field becomes a value, and back. `read` returns `null` for a text that has no meaning. */
function reader(member) {
  const words = { say: () => "", word: number, write: String, expected: "This is not in the expected form." };
  switch (member.kind) {
    case "bytes":
      return {
        ...words,
        read: parseBytes,
        word: bytes,
        expected: "Write a size, such as 10 MiB or 4096.",
        write: exactBytes,
        say: (value) => `${number(value)} bytes`,
      };
    case "duration":
      return {
        ...words,
        read: parseDuration,
        word: duration,
        expected: "Write a duration, such as 15 min or 900.",
        write: (value) => (parseDuration(duration(value)) === value ? duration(value) : String(value)),
        say: (value) => `${number(value)} s`,
      };
    case "time":
      return {
        ...words,
        write: (value) => `${localTime(value)}:${String(new Date(value).getSeconds()).padStart(2, "0")}`,
        read: (text) => {
          // A local time of the last hours of 9999 may be in 10000, which needs a sign.
          const date = new Date(text.replace(/^[0-9]{5}-/, "+0$&"));
          return Number.isNaN(date.getTime()) ? null : date.toISOString();
        },
        say: utc,
        expected: "Choose a date and a time.",
      };
    case "number":
      return {
        ...words,
        expected: "Write a whole number.",
        say: (value) => (value >= 10_000 ? number(value) : ""),
        read: parseNumber,
      };
    case "list":
      return {
        ...words,
        read: (text) => text.split("\n").filter((line) => line !== ""),
        write: (value) => value.join("\n"),
      };
    case "json":
      return {
        ...words,
        expected: "This is not JSON.",
        write: (value) => JSON.stringify(value, null, 2),
        read: (text) => {
          try {
            return JSON.parse(text);
          } catch {
            return null;
          }
        },
      };
    default:
      // What is pasted as lines ends with a line break.
      return { ...words, read: (text) => (member.secret ? text.replace(/\n+$/, "") : text) };
  }
}

/** Completes what a person types from rows. */
function complete(input, suggest) {
  if (!suggest) return;
  const list = h("datalist", { id: unique("list") });
  input.setAttribute("list", list.id);
  let asked = null;
  const ask = async () => {
    if (asked === input.value) return;
    asked = input.value;
    try {
      const found = await suggest(input.value);
      fill(
        list,
        found.map((item) => h("option", { value: item.value, label: item.label ?? null })),
      );
    } catch {
      // What a person types is accepted without suggestions as well.
    }
  };
  input.addEventListener("focus", ask);
  input.addEventListener("input", ask);
  queueMicrotask(() => input.after(list));
}

function booleanField(contract, member, value, options) {
  const id = unique("field");
  const given = typeof value === "boolean" ? value : undefined;
  const was = given ?? member.standard === true;
  // A flag without a default is off when it is absent. Where its member does not apply, `false` is refused as well.
  const off = member.required || member.standard !== undefined ? false : undefined;
  const input = h("input", {
    type: "checkbox",
    id,
    checked: was,
    on: {
      change: () => {
        shell.mark(null);
        options.changed();
      },
    },
  });
  const shell = frame({ ...member, required: true }, options, input);
  shell.element.classList.add("check-field");
  shell.element.prepend(input);
  return {
    name: member.name,
    element: shell.element,
    // A member that was never set stays absent for as long as nobody ticks it.
    value: () => (input.checked !== was ? input.checked || off : (given ?? (member.required ? was : undefined))),
    check: () => shell.mark(null),
    refuse: (_, text) => !shell.mark(text),
  };
}

function setField(contract, member, value, options) {
  const given = Array.isArray(value) ? value : undefined;
  const boxes = withOthers(member.choices, given ?? []).map((choice) =>
    h("input", {
      type: "checkbox",
      id: unique("field"),
      value: choice,
      checked: given?.includes(choice),
      on: {
        change: () => {
          shell.mark(null);
          options.changed();
        },
      },
    }),
  );
  const holder = h(
    "div",
    { class: "checks" },
    boxes.map((box) => h("span", { class: "check" }, box, h("label", { for: box.id }, visible(box.value)))),
  );
  const shell = frame(member, options, holder, { group: true });
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  return {
    name: member.name,
    element: shell.element,
    // The order means nothing, so that an unchanged set stays as it was read.
    value: keeper(given, () => (chosen().length || member.required || given ? chosen() : undefined)),
    check: () =>
      shell.mark(member.required && (member.schema.minItems ?? 0) > chosen().length ? "Choose at least one." : null),
    refuse: (_, text) => !shell.mark(text),
  };
}

/** Makes the button that removes an optional part of a row, or keeps it after all; none if the row lacks the part. */
function removal(member, value, options, ...shown) {
  let isRemoved = false;
  if (member.required || !isGiven(value)) return { element: null, isRemoved: () => false };
  const name = (options.labels?.[member.name] ?? member.label).toLowerCase();
  const note = h("p", { class: "help", hidden: true }, "It is removed when the change is saved.");
  const act = button(`Remove ${name}`, {
    tone: "quiet",
    small: true,
    run: () => {
      isRemoved = !isRemoved;
      for (const part of shown) part.hidden = isRemoved;
      note.hidden = !isRemoved;
      fill(act.querySelector(".label"), isRemoved ? `Keep ${name}` : `Remove ${name}`);
      options.changed();
    },
  });
  return { element: h("div", {}, note, act), isRemoved: () => isRemoved };
}

function nestedField(contract, member, value, options) {
  const inner = objectField(contract, member.schema, value ?? {}, options);
  const removed = removal(member, value, options, inner.element);
  const isOpen = member.required || (value && Object.keys(value).length > 0);
  const shell = frame(member, options, h("div", { class: "nested" }, inner.element), { group: true });
  const element = member.required
    ? shell.element
    : h(
        "details",
        { class: "disclosure field", open: isOpen },
        h(
          "summary",
          {},
          h("span", {}, options.labels?.[member.name] ?? member.label),
          h("span", { class: "faint optional" }, " optional"),
        ),
        h(
          "div",
          { class: "disclosure-body" },
          member.help ? h("p", { class: "help" }, inline(member.help)) : null,
          inner.element,
          removed.element,
          shell.error,
        ),
      );
  // A required text that may be empty is "" before anything is written.
  const isEmpty = () => removed.isRemoved() || Object.values(inner.value()).every((item) => item === "");
  // An object may stay empty only if nothing in it is required.
  const mayBeEmpty = isGiven(value) && !member.schema.required?.length;
  return {
    name: member.name,
    element,
    value: keeper(value, () => {
      if (!isEmpty()) return inner.value();
      return member.required || (mayBeEmpty && !removed.isRemoved()) ? {} : undefined;
    }),
    check: (mayLack) => {
      if (removed.isRemoved()) return true;
      // An object that seems empty may hold text that cannot be read.
      const good = inner.check(isEmpty() && (!member.required || mayLack));
      if (!good && element.matches("details")) element.open = true;
      return good;
    },
    refuse: (path, text) => {
      if (element.matches("details")) element.open = true;
      return path.length ? inner.refuse(path, text) : !shell.mark(text);
    },
  };
}

function rowsField(contract, member, value, options) {
  const items = contract.resolve(member.schema.items);
  let rows = [];
  const holder = h("div", { class: "rows" });
  const add = (item) => {
    const field = objectField(contract, items, item, { ...options, path: `${options.path}[]` });
    const row = {
      field,
      element: h(
        "div",
        { class: "row nested" },
        field.element,
        button("Remove", {
          icon: "trash",
          tone: "quiet",
          small: true,
          run: () => {
            rows = rows.filter((other) => other !== row);
            keepFocus(
              holder,
              () => row.element.remove(),
              () => more.focus(),
            );
            options.changed();
          },
        }),
      ),
    };
    rows.push(row);
    holder.append(row.element);
  };
  (value ?? []).forEach(add);
  const more = button(`Add ${member.label.toLowerCase().replace(/s$/, "")}`, {
    icon: "plus",
    small: true,
    run: () => {
      add({});
      options.changed();
    },
  });
  // Without its last row, a list that may not be empty could mean the opposite: no limits in place of limits.
  const least = member.required || isGiven(value) ? (member.schema.minItems ?? 0) : 0;
  const removed = removal(member, least ? value : undefined, options, holder, more);
  const shell = frame(member, options, h("div", {}, holder, more, removed.element), { group: true });
  return {
    name: member.name,
    element: shell.element,
    value: keeper(value, () =>
      !removed.isRemoved() && (rows.length || member.required || isGiven(value))
        ? rows.map((row) => row.field.value())
        : undefined,
    ),
    check: () =>
      removed.isRemoved() ||
      (rows.map((row) => row.field.check()).every(Boolean) &&
        shell.mark(least > rows.length ? "Add at least one." : null)),
    refuse: (_, text) => !shell.mark(text),
  };
}

function mapField(contract, member, value, options) {
  let rows = [];
  const holder = h("div", { class: "rows" });
  const add = (name, text) => {
    const first = h("input", {
      type: "text",
      value: name,
      class: "code",
      "aria-label": "Name",
      placeholder: "Name",
      on: { input: options.changed },
    });
    const second = h("input", {
      type: "text",
      value: text,
      class: "code",
      "aria-label": "Value",
      placeholder: "Value",
      on: { input: options.changed },
    });
    const row = {
      pair: [
        [first, name],
        [second, text],
      ].map(([input, given]) => keeper(given, () => input.value)),
      element: h(
        "div",
        { class: "pair" },
        first,
        second,
        button("Remove", {
          icon: "trash",
          iconOnly: true,
          tone: "quiet",
          small: true,
          run: () => {
            rows = rows.filter((other) => other !== row);
            keepFocus(
              holder,
              () => row.element.remove(),
              () => more.focus(),
            );
            options.changed();
          },
        }),
      ),
    };
    rows.push(row);
    holder.append(row.element);
  };
  Object.entries(value ?? {}).forEach(([name, text]) => add(name, text));
  const more = button("Add", { icon: "plus", small: true, run: () => add("", "") });
  const shell = frame(member, options, h("div", {}, holder, more), { group: true });
  const pairs = () => rows.map((row) => row.pair.map((part) => part()));
  const filled = () => pairs().filter(([name]) => name !== "");
  return {
    name: member.name,
    element: shell.element,
    value: keeper(value, () => (filled().length || isGiven(value) ? Object.fromEntries(filled()) : undefined)),
    check() {
      const isNameless = pairs().some(([name, text]) => name === "" && text !== "");
      const isTwice = new Set(filled().map(([name]) => name)).size < filled().length;
      return shell.mark(isNameless ? "Each value needs a name." : isTwice ? "Each name may occur once." : null);
    },
    refuse: (_, text) => !shell.mark(text),
  };
}

/** Returns the merge patch (RFC 7396) that leads from one object to another; `null` if they are equal. */
export function mergePatch(before, after) {
  const patch = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const one = before[name];
    const other = after[name];
    if (other === undefined) {
      if (one !== undefined && one !== null) patch[name] = null;
    } else if (isObject(one) && isObject(other)) {
      const inner = mergePatch(one, other);
      if (inner) patch[name] = inner;
    } else if (JSON.stringify(one) !== JSON.stringify(other)) patch[name] = other;
  }
  return Object.keys(patch).length ? patch : null;
}
