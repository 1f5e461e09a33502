// Keys: `/` searches, `?` lists the keys, `g` and a letter goes to a view. Keys that a view adds end with it.

import { h } from "./dom.js";
import { openDialog } from "./dialog.js";

const bound = new Map();
let waiting = null;
let patience;

/**
 * Binds a key, or two in a row (`g r`).
 *
 * @param {string} keys
 * @param {string} text What it does, for the list of keys.
 * @param {function(): void} run
 * @param {AbortSignal} [signal] Ends the binding.
 */
export function bindKey(keys, text, run, signal) {
  bound.set(keys, { text, run });
  signal?.addEventListener("abort", () => bound.get(keys)?.run === run && bound.delete(keys), { once: true });
}

/** Starts to listen. */
export function startKeys() {
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (
      event.defaultPrevented ||
      isTyping ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector("dialog[open]")
    )
      return;
    const keys = waiting ? `${waiting} ${event.key}` : event.key;
    waiting = null;
    clearTimeout(patience);
    const found = bound.get(keys);
    if (found) {
      event.preventDefault();
      found.run();
    } else if ([...bound.keys()].some((name) => name.startsWith(`${event.key} `))) {
      waiting = event.key;
      patience = setTimeout(() => {
        waiting = null;
      }, 1500);
    }
  });
}

/** Shows all keys. */
export function showKeys() {
  const all = [...bound].sort(([one], [other]) => one.length - other.length || one.localeCompare(other));
  return openDialog("Keys", {}, () => ({
    body: h(
      "dl",
      { class: "keys" },
      all.map(([keys, { text }]) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            keys.split(" ").map((key) => h("kbd", {}, key)),
          ),
          h("dd", {}, text),
        ),
      ),
    ),
  }));
}
