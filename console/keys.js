// Keys: `/` searches, `?` lists the keys, `g` and a letter goes to a view. Keys that a view adds end with it. A person
// may turn all of them off.

import { h, unique } from "./dom.js";
import { openDialog } from "./dialog.js";

/** Where the browser keeps that these keys are off: who dictates would press them by speaking. */
const setting = "sluice.keys";
const areOff = () => localStorage.getItem(setting) === "off";

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

/** Turns the keys on or off. */
function turnKeys(on) {
  if (on) localStorage.removeItem(setting);
  else localStorage.setItem(setting, "off");
  document.documentElement.classList.toggle("no-keys", !on);
}

/** Starts to listen. */
export function startKeys() {
  turnKeys(!areOff());
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (
      event.defaultPrevented ||
      areOff() ||
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

/** Shows all keys, and the choice whether they do anything. */
export function showKeys() {
  const all = [...bound].sort(([one], [other]) => one.length - other.length || one.localeCompare(other));
  const help = unique("keys");
  const choice = h("input", {
    type: "checkbox",
    id: unique("keys"),
    checked: !areOff(),
    "aria-describedby": help,
    on: { change: () => turnKeys(choice.checked) },
  });
  return openDialog("Keys", {}, () => ({
    body: [
      h(
        "div",
        { class: "check-field" },
        choice,
        h("label", { for: choice.id }, "Single keys"),
        h("p", { class: "help", id: help }, "Turn them off if you dictate, or press keys by accident."),
      ),
      h(
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
    ],
  }));
}
