// The parts of pages: headings, cards, badges, buttons, menus, messages.

import { fill, h, unique } from "./dom.js";
import { visible } from "./format.js";
import { icon } from "./icons.js";
import { toast } from "./toast.js";

/**
 * Returns a button.
 *
 * @param {string} label
 * @param {object} options `tone` is `primary`, `danger`, `quiet` or absent; `icon` is a name; `iconOnly` hides the
 *   label from view; `run` is called on click and may be asynchronous: the button is busy until it is done; `href`
 *   makes it a link.
 */
export function button(
  label,
  { tone, icon: name, iconOnly, run, href, title, small, disabled, type = "button", attributes } = {},
) {
  const content = [name ? icon(name) : null, h("span", { class: iconOnly ? "unseen" : "label" }, label)];
  const classes = ["button", tone, iconOnly && "icon-only", small && "small"];
  if (href) return h("a", { class: classes, href, title: title ?? (iconOnly ? label : null), ...attributes }, content);
  const element = h(
    "button",
    { type, class: classes, title: title ?? (iconOnly ? label : null), disabled, ...attributes },
    content,
  );
  if (run) element.addEventListener("click", (event) => busy(element, () => run(event)));
  return element;
}

/** Runs an action and disables the button until it is done. What goes wrong is shown as a message. */
export async function busy(element, action) {
  if (element.getAttribute("aria-busy") === "true") return;
  element.setAttribute("aria-busy", "true");
  try {
    await action();
  } catch (error) {
    toast.problem(error);
  } finally {
    element.removeAttribute("aria-busy");
  }
}

/** Returns the head of a page: its title, what it is for, and what can be done. */
export function pageHead(title, { text, actions = [], back } = {}) {
  return h(
    "header",
    { class: "page-head" },
    back ? h("a", { class: "back", href: back.href }, icon("right"), back.label) : null,
    h("div", { class: "page-title" }, h("h1", { tabindex: "-1" }, title), h("div", { class: "actions" }, actions)),
    text ? h("p", { class: "lead" }, text) : null,
  );
}

/** Returns a box with a heading. */
export function card(title, { actions, text, tone, flush } = {}, ...children) {
  const heading = unique("card");
  return h(
    "section",
    { class: ["card", tone, flush && "flush"], "aria-labelledby": title ? heading : null },
    title
      ? h(
          "div",
          { class: "card-head" },
          h("div", {}, h("h2", { id: heading }, title), text ? h("p", { class: "faint" }, text) : null),
          actions ? h("div", { class: "actions" }, actions) : null,
        )
      : null,
    h("div", { class: "card-body" }, children),
  );
}

/** Returns a short word in a tone: `ok`, `warn`, `bad`, `info` or none. */
export function badge(text, tone, { title } = {}) {
  return h("span", { class: ["badge", tone], title }, text);
}

/** Returns actions as badges: `Put`, `Get`. */
export function actionBadges(actions = []) {
  return h(
    "span",
    { class: "badges one-line" },
    actions.map((name) => badge(name.replace(/Object$/, ""), name.startsWith("Put") ? "info" : null, { title: name })),
  );
}

/** Returns names with values, as a list: `[["Bucket", node], …]`. Absent values are left out. */
export function facts(pairs, { wide } = {}) {
  return h(
    "dl",
    { class: ["facts", wide && "wide"] },
    pairs
      .filter((pair) => pair && pair[1] !== null && pair[1] !== undefined)
      .map(([name, value, help]) => h("div", {}, h("dt", { title: help }, name), h("dd", {}, value))),
  );
}

/** Returns what stands where there is nothing yet, and says what to do first. */
export function emptyState({ title, text, actions, icon: name = "info" }) {
  return h(
    "div",
    { class: "empty" },
    h("div", { class: "empty-icon" }, icon(name)),
    h("p", { class: "empty-title" }, title),
    text ? h("p", { class: "faint" }, text) : null,
    actions ? h("div", { class: "actions" }, actions) : null,
  );
}

/** Returns grey lines for what is being loaded. */
export function skeleton(lines = 4) {
  return h(
    "div",
    { class: "skeleton", role: "status" },
    h("span", { class: "unseen" }, "Loading"),
    Array.from({ length: lines }, (_, index) =>
      h("div", { class: "bone", style: { "--width": `${[92, 74, 83, 61][index % 4]}%` } }),
    ),
  );
}

/**
 * Returns what went wrong: the gateway's words, the code, and the request's id, which leads to its traces
 * where the person may look at them.
 *
 * @param {Error} error
 * @param {object} [options] `retry` is called by the button "Try again".
 */
export function problemBox(error, { retry } = {}) {
  const id = error?.requestID;
  return h(
    "div",
    { class: "message bad", role: "alert" },
    icon("emergency"),
    h(
      "div",
      { class: "message-body" },
      h("p", { class: "message-title" }, visible(error?.title ?? error?.message ?? "Something went wrong")),
      error?.detail ? h("p", {}, h("bdi", {}, visible(error.detail))) : null,
      error?.errors?.length
        ? h(
            "ul",
            {},
            error.errors.slice(0, 20).map((item) => h("li", {}, refused(item, error))),
          )
        : null,
      h(
        "p",
        { class: "message-facts" },
        error?.code ? h("span", {}, "Code ", h("code", {}, visible(error.code))) : null,
        error?.status ? h("span", {}, `Status ${error.status}`) : null,
        id
          ? h(
              "span",
              {},
              "Request ",
              error.isTraceable
                ? h("a", { href: `#/requests/${encodeURIComponent(id)}` }, h("code", {}, visible(id)))
                : h("code", {}, visible(id)),
            )
          : null,
      ),
      retry ? button("Try again", { small: true, icon: "refresh", run: retry }) : null,
    ),
  );
}

/** Says which item of a request was refused, and why unless the problem says so already. */
function refused(item, error) {
  const why = item.detail === error.detail ? null : (item.detail ?? item.title);
  const listed = item.array ? `${item.array}[${item.index}]` : item.line ? `line ${item.line}` : item.code;
  return h("bdi", {}, visible([item.field ?? listed, why].filter(Boolean).join(": ")));
}

/** Returns a message: `info`, `ok`, `warn` or `bad`. */
export function message(tone, title, ...children) {
  return h(
    "div",
    { class: ["message", tone] },
    icon({ ok: "check", warn: "emergency", bad: "emergency" }[tone] ?? "info"),
    h("div", { class: "message-body" }, title ? h("p", { class: "message-title" }, title) : null, children),
  );
}

/** Returns a button that copies a text. `copied` is told that it did. */
export function copyButton(text, label = "Copy", copied) {
  return button(label, {
    tone: "quiet",
    icon: "copy",
    iconOnly: true,
    small: true,
    run: async () => {
      if (!navigator.clipboard)
        throw new Error("This page is not served over TLS, so it may not copy. Select the text.");
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
      toast("Copied");
      copied?.();
    },
  });
}

/** The entries of a menu that are shown: no falsy ones, and no line at an end. */
const shownEntries = (items) =>
  items
    .flat()
    .filter(Boolean)
    .filter((item, at, all) => item !== "-" || (at > 0 && at < all.length - 1));

/**
 * The last entries of a menu: a line, and what deletes a row, for whoever may.
 *
 * @param {Page} page
 * @param {string} operation The `operationId` that deletes the row.
 * @param {function(): Promise} run Asks, and deletes.
 */
export const deletion = (page, operation, run) =>
  page.may(operation) && ["-", { label: "Delete", icon: "trash", tone: "danger", run }];

/** Returns the menu at the head of a page about one row; `null` for one without entries. */
export const moreMenu = (items) => menuButton("More", items, { small: false });

/**
 * Returns a button that opens a menu; `null` for a menu without entries.
 *
 * @param {string} label
 * @param {Array|function(): Array} items `{label, icon, tone, run | href, checked}`, or arrays of these; `"-"` is a
 *   line. Falsy entries are left out.
 */
export function menuButton(
  label,
  items,
  { icon: name = "more", iconOnly = true, tone = "quiet", small = true, sticky } = {},
) {
  if (Array.isArray(items) && !shownEntries(items).length) return null;
  const list = h("div", { class: "menu", role: "menu", popover: "auto", id: unique("menu"), "aria-label": label });
  const opener = button(label, {
    icon: name,
    iconOnly,
    tone,
    small,
    attributes: { "aria-haspopup": "menu", "aria-expanded": "false" },
  });
  const entries = () => [...list.querySelectorAll("[role^=menuitem]")];
  const close = () => list.matches(":popover-open") && list.hidePopover();

  function open() {
    const all = shownEntries(typeof items === "function" ? items() : items);
    fill(
      list,
      all.map((item) => (item === "-" ? h("hr", { role: "separator" }) : entry(item))),
    );
    list.showPopover();
    const box = opener.getBoundingClientRect();
    const height = list.offsetHeight;
    const above = box.bottom + height + 4 > innerHeight && box.top - height - 4 > 0;
    list.style.setProperty(
      "top",
      `${above ? box.top - height - 4 : Math.min(box.bottom + 4, Math.max(8, innerHeight - height - 8))}px`,
    );
    list.style.setProperty(
      "left",
      `${Math.max(8, Math.min(box.right - list.offsetWidth, innerWidth - list.offsetWidth - 8))}px`,
    );
    entries()[0]?.focus();
  }

  function entry(item) {
    const role = item.checked === undefined ? "menuitem" : "menuitemcheckbox";
    const content = [
      item.checked === undefined
        ? item.icon
          ? icon(item.icon)
          : null
        : h("span", { class: "tick" }, item.checked ? icon("check") : null),
      h("span", {}, item.label),
    ];
    if (item.href)
      return h(
        "a",
        { role, class: ["menu-item", item.tone], href: item.href, tabindex: "-1", on: { click: close } },
        content,
      );
    return h(
      "button",
      {
        type: "button",
        role,
        class: ["menu-item", item.tone],
        tabindex: "-1",
        "aria-checked": item.checked === undefined ? null : String(item.checked),
        on: {
          click: () => {
            close();
            opener.focus();
            busy(opener, item.run).then(() => sticky && item.checked !== undefined && open());
          },
        },
      },
      content,
    );
  }

  opener.addEventListener("click", (event) => {
    event.stopPropagation();
    if (list.matches(":popover-open")) close();
    else open();
  });
  list.addEventListener("toggle", (event) => opener.setAttribute("aria-expanded", String(event.newState === "open")));
  list.addEventListener("click", (event) => event.stopPropagation());
  list.addEventListener("keydown", (event) => {
    const all = entries();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Tab") close();
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  });
  opener.setAttribute("aria-controls", list.id);
  return h("span", { class: "menu-holder" }, opener, list);
}

/**
 * Returns tabs that are links, with what is chosen marked.
 *
 * @param {string} label
 * @param {Array<{label: string, href: string, current: boolean}>} items
 */
export function tabs(label, items) {
  return h(
    "nav",
    { class: "tabs", "aria-label": label },
    items.map((item) =>
      h(
        "a",
        {
          href: item.href,
          "aria-current": item.current ? "page" : null,
        },
        item.label,
        item.count === undefined ? null : h("span", { class: "count" }, item.count),
      ),
    ),
  );
}

/** Returns a part that opens and closes. */
export function disclosure(summary, { open, onOpen } = {}, ...children) {
  const element = h(
    "details",
    { class: "disclosure", open },
    h("summary", {}, icon("right"), h("span", {}, summary)),
    h("div", { class: "disclosure-body" }, children),
  );
  if (onOpen)
    element.addEventListener("toggle", () => element.open && onOpen(element.querySelector(".disclosure-body")), {
      once: true,
    });
  return element;
}

/** Returns a bar that shows a share. Its numbers are said in `label`. */
export function meter(value, limit, { label, tone } = {}) {
  const share = limit > 0 ? Math.min(1, value / limit) : value > 0 ? 1 : 0;
  return h(
    "div",
    {
      class: ["meter", tone ?? (share >= 1 ? "bad" : share >= 0.8 ? "warn" : null)],
      role: "img",
      "aria-label": label,
    },
    h("div", { class: "meter-fill", style: { "--share": `${share * 100}%` } }),
  );
}

/** Returns a bar for something that is under way, and the function that moves it. */
export function progressBar(label) {
  const bar = h("progress", { max: "1", "aria-label": label });
  const words = h("span", { class: "faint number" });
  return {
    element: h("div", { class: "progress" }, bar, words),
    show(share, text) {
      if (share === null) bar.removeAttribute("value");
      else bar.setAttribute("value", String(share));
      fill(words, text ?? "");
    },
  };
}

/** Returns a line that says how a view which follows the gateway is doing, and the function that says it. */
export function liveStatus() {
  const element = h("span", { class: "live-status", role: "status" });
  return {
    element,
    say(words, { isBad = false } = {}) {
      // The same words are not read aloud again.
      if (element.textContent !== words) element.textContent = words;
      element.classList.toggle("bad", isBad);
    },
  };
}

/** Returns a heading for a number, as on a dashboard. */
export function tile(title, value, { text, tone, href } = {}) {
  return h(
    href ? "a" : "div",
    { class: ["tile", tone], href },
    h("span", { class: "tile-title" }, title),
    h("span", { class: "tile-value" }, value),
    text ? h("span", { class: "tile-text" }, text) : null,
  );
}

/** Returns a block of code with a button that copies it. `copied` is told that it did. */
export function codeBlock(text, { label = "Copy", copied } = {}) {
  return h(
    "div",
    { class: "code-block" },
    h("pre", { tabindex: "0" }, h("code", {}, visibleLines(text))),
    copyButton(text, label, copied),
  );
}

function visibleLines(text) {
  return text.split("\n").map(visible).join("\n");
}

/** Returns the texts and codes of a line of Markdown. */
export function inline(markdown = "") {
  return markdown.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}
