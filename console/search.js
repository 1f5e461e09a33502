// The search of the top bar: it reads what kind of thing a text names, and offers the views that know about it.

import { fill, h, unique } from "./dom.js";
import { code, visible } from "./format.js";
import { icon } from "./icons.js";
import { address, go } from "./router.js";
import { finders, views } from "./views.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Reads what a text names. */
function readText(text) {
  const trimmed = text.trim();
  if (uuid.test(trimmed)) return { kind: "id", text: trimmed.toLowerCase() };
  if (trimmed === "*" || /^(user|group):./.test(trimmed)) return { kind: "principal", text: trimmed };
  const object = /^(?:(?:s3|oss|gs):\/\/)?([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])\/(.*)$/s.exec(trimmed);
  if (object) return { kind: "object", text: trimmed, bucket: object[1], key: object[2] };
  return { kind: "text", text: trimmed };
}

function found(text, session) {
  const read = readText(text);
  if (!read.text) return [];
  const guesses =
    read.kind === "text" && /^[^\s:/]+$/.test(read.text)
      ? [read, { kind: "principal", text: `user:${read.text}` }, { kind: "principal", text: `group:${read.text}` }]
      : [read];
  const hits = guesses.flatMap((guess) =>
    finders
      .map((finder) => finder(guess))
      .filter(Boolean)
      .map((hit) => ({ ...hit, what: guess.text, hash: address(hit.view, hit.query, hit.path) })),
  );
  const wanted = read.text.toLowerCase();
  const pages = views
    .filter((view) => view.section && view.title.toLowerCase().includes(wanted))
    .map((view) => ({ label: view.title, hash: address(view.name), icon: view.icon, needs: view.needs }));
  return [...pages, ...hits].filter((hit) => !hit.needs || session.may(hit.needs)).slice(0, 12);
}

/** Returns the search: a text field with a list of what it found. */
export function searchBox(session) {
  const list = h("ul", {
    class: "search-list",
    role: "listbox",
    id: unique("search"),
    "aria-label": "Results",
    hidden: true,
  });
  const input = h("input", {
    type: "search",
    class: "search-input",
    placeholder: matchMedia("(max-width: 44rem)").matches ? "Search" : "Search user:alice, bucket/key, an id …",
    "aria-label": "Search",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": list.id,
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
  });
  let hits = [];
  let chosen = 0;

  function show() {
    hits = found(input.value, session);
    chosen = 0;
    list.hidden = hits.length === 0 && !input.value.trim();
    input.setAttribute("aria-expanded", String(!list.hidden));
    fill(
      list,
      hits.length
        ? hits.map((hit, index) =>
            h(
              "li",
              {
                role: "option",
                id: `${list.id}-${index}`,
                on: {
                  mousedown: (event) => {
                    event.preventDefault();
                    take(hit);
                  },
                },
              },
              icon(hit.icon),
              h("span", {}, hit.label),
              hit.what ? code(hit.what) : null,
            ),
          )
        : h(
            "li",
            { class: "faint", role: "option", "aria-disabled": "true" },
            "Write user:name, group:name, bucket/key, or an identifier.",
          ),
    );
    mark();
  }

  function mark() {
    for (const [index, item] of [...list.children].entries())
      item.setAttribute("aria-selected", String(hits.length > 0 && index === chosen));
    if (hits.length) input.setAttribute("aria-activedescendant", `${list.id}-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function hide() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }

  function take(hit) {
    hide();
    input.value = "";
    input.blur();
    go(hit.hash);
  }

  input.addEventListener("input", show);
  input.addEventListener("focus", () => input.value && show());
  input.addEventListener("blur", hide);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) show();
      else if (hits.length) {
        chosen = (chosen + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % hits.length;
        mark();
      }
    } else if (event.key === "Enter" && !list.hidden && hits[chosen]) take(hits[chosen]);
    else if (event.key === "Escape") {
      if (list.hidden) input.blur();
      hide();
    }
  });
  return {
    element: h(
      "div",
      { class: "search", role: "search", title: visible("Press / to search") },
      icon("search"),
      input,
      h("kbd", { "aria-hidden": "true" }, "/"),
      list,
    ),
    focus: () => input.focus(),
  };
}
