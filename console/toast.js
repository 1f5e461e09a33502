// Short messages at the edge of the page. They are said to screen readers, and stay while the pointer is over them.

import { focusOn, h, isAbort, keepFocus } from "./dom.js";
import { visible } from "./format.js";
import { icon } from "./icons.js";

const shelf = h("div", { class: "toasts", role: "status", "aria-live": "polite", popover: "manual" });

/**
 * Shows a message for some seconds.
 *
 * @param {string} text
 * @param {object} [options] `tone` is `ok` or `bad`; `action` is `{label, run}`.
 */
export function toast(text, { tone = "ok", action, seconds = 6, note } = {}) {
  if (!shelf.isConnected) document.body.append(shelf);
  if (shelf.matches(":popover-open")) shelf.hidePopover();
  shelf.showPopover();
  const close = () =>
    keepFocus(
      shelf,
      () => element.remove(),
      () => focusOn(document.querySelector("main h1")),
    );
  const element = h(
    "div",
    { class: ["toast", tone] },
    icon(tone === "bad" ? "emergency" : "check"),
    h(
      "div",
      { class: "toast-body" },
      h("p", {}, visible(text)),
      note ? h("p", { class: "faint" }, visible(note)) : null,
    ),
    action
      ? h(
          "button",
          {
            type: "button",
            class: "button small",
            on: {
              click: () => {
                close();
                action.run();
              },
            },
          },
          action.label,
        )
      : null,
    h(
      "button",
      { type: "button", class: "button quiet icon-only small", title: "Close", on: { click: close } },
      icon("close"),
      h("span", { class: "unseen" }, "Close message"),
    ),
  );
  shelf.append(element);
  while (shelf.childElementCount > 4) shelf.firstElementChild.remove();
  const leave = () => (element.matches(":hover, :focus-within") ? setTimeout(leave, 2000) : element.remove());
  setTimeout(leave, seconds * 1000);
}

/** Shows an error with its code and request; says nothing if the person only went elsewhere. */
toast.problem = (error) => {
  if (isAbort(error)) return;
  const note = [error?.code, error?.requestID ? `request ${error.requestID}` : null].filter(Boolean).join(" · ");
  const parts = [error?.title ?? error?.message ?? "Something went wrong", error?.detail].filter(Boolean);
  toast(parts.join(". ").replace(/\.\. /g, ". "), { tone: "bad", seconds: 12, note });
};
