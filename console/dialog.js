// Dialogs: questions before something is removed, and panels at the side for forms and details.

import { fill, finder, focusOn, h, unique } from "./dom.js";
import { button, message, problemBox } from "./parts.js";
import { askBeforeLeaving, dropQuestion } from "./router.js";
import { toast } from "./toast.js";

/** How long a dialog waits for an answer before it can be left without one. */
const patience = 10_000;

/** What closes each dialog that is open, or that was left before its action has ended. */
const pending = new Set();

/** What waits until no dialog is open. */
const waiting = [];

/**
 * Does something once no dialog is open: now, or when a person has closed the last one. What closed it comes first: it
 * may open another one.
 */
export function whenNoneIsOpen(action) {
  if (document.querySelector("dialog[open]")) waiting.push(action);
  else action();
}

/** Returns an element, what is around it, and so on to the body, which does not count. */
function ancestors(element) {
  const all = [];
  for (let one = element; one && one !== document.body; one = one.parentElement) all.push(one);
  return all;
}

/** Closes all dialogs. What becomes of actions that are under way is not told any more. */
export function closeAll() {
  for (const close of [...pending]) close();
}

/**
 * Opens a dialog, and returns what closes it.
 *
 * @param {string} title
 * @param {object} options `side` puts it at the edge of the window; `wide` makes it wider; `label` stands above the
 *   title; `guard` may return `false` to keep it open when Escape or the browser's Back is pressed.
 * @param {function(function(*): void, {dismiss, hold}): Array} content Receives the function that closes the dialog
 *   with a result, and returns `{body, footer}`. `dismiss` closes the dialog as Escape does. `hold` runs an action, and
 *   keeps the dialog from being dismissed before it has ended. The action receives a function to call after each of
 *   several answers. Ten seconds after the last one, the dialog offers to close; the browser's Back closes it at once.
 *   In both cases, the action goes on: its failure is shown as a message, and its result is that of the dialog.
 * @returns {Promise<*>} The result; `undefined` if it was dismissed.
 */
export function openDialog(title, { side, wide, guard, label } = {}, content) {
  return new Promise((resolve) => {
    const heading = unique("dialog");
    const before = document.activeElement ?? document.body;
    const around = ancestors(before);
    const find = finder(document.body, before);
    const element = h("dialog", { class: ["dialog", side && "side", wide && "wide"], "aria-labelledby": heading });
    const late = h("div", { class: "dialog-late", role: "status" });
    let held = 0;
    let isLeft = false;
    let isOver = false;
    const hide = () => {
      dropQuestion(mayLeave);
      removeEventListener("hashchange", leave);
      removeEventListener("keydown", keep);
      element.close();
      element.remove();
      if (document.activeElement === document.body && before !== document.body)
        focusOn(find() ?? around.find((one) => one.isConnected));
      setTimeout(() => waiting.splice(0).forEach(whenNoneIsOpen));
    };
    const close = (result) => {
      isOver = true;
      pending.delete(close);
      if (!isLeft) hide();
      resolve(result);
    };
    const leave = () => {
      if (!held) {
        close();
        return;
      }
      isLeft = true;
      hide();
    };
    const mayLeave = () => held > 0 || guard?.() !== false;
    const dismiss = () => {
      if (!held && mayLeave()) close();
    };
    const hold = async (action) => {
      let timer;
      const wait = () => {
        clearTimeout(timer);
        fill(late);
        timer = setTimeout(() => {
          const words = "The gateway has not answered yet. If you close this, a message tells you what it answers.";
          fill(late, message("warn", null, h("p", {}, words), button("Close", { small: true, run: leave })));
        }, patience);
      };
      held += 1;
      wait();
      try {
        return await action(wait);
      } catch (error) {
        if (isLeft && !isOver) {
          toast.problem(error);
          close();
        }
        throw error;
      } finally {
        clearTimeout(timer);
        fill(late);
        held -= 1;
      }
    };
    // A browser lets a page prevent one `cancel` only; at the second Escape, it closes the dialog.
    const keep = (event) => {
      if (held && event.key === "Escape") event.preventDefault();
    };
    const { body, footer } = content(close, { dismiss, hold });
    fill(
      element,
      h(
        "div",
        { class: "dialog-head" },
        h("div", {}, label ? h("p", { class: "faint" }, label) : null, h("h2", { id: heading }, title)),
        button("Close", { icon: "close", iconOnly: true, tone: "quiet", run: dismiss }),
      ),
      h("div", { class: "dialog-body" }, body),
      late,
      footer ? h("div", { class: "dialog-foot" }, footer) : null,
    );
    element.addEventListener("cancel", (event) => {
      // A file field says the same when a person chooses no other file.
      if (event.target !== element) return;
      event.preventDefault();
      dismiss();
    });
    element.addEventListener("close", () => {
      // At the second Back of a phone, a browser closes the dialog by itself.
      if (!element.isConnected) return;
      if (held) element.showModal();
      else close();
    });
    askBeforeLeaving(mayLeave);
    addEventListener("hashchange", leave);
    addEventListener("keydown", keep);
    pending.add(close);
    document.body.append(element);
    element.showModal();
    const first = [
      "[autofocus]",
      ".dialog-body :is(input, select, textarea)",
      ".dialog-foot .button",
      ".dialog-head .button",
    ]
      .map((selector) => element.querySelector(selector))
      .find(Boolean);
    first?.focus();
  });
}

/**
 * Asks before something happens. The dialog stays open while it happens, and shows why it did not.
 *
 * @param {string} title A question: `Delete this grant?`
 * @param {object} options `body` says what follows; `confirm` is the button's word; `danger` makes it red; `typed` is a
 *   text that the person has to type; `run` does it, and receives a function to call after each of several answers.
 * @returns {Promise<boolean>} Whether it was done.
 */
export async function confirm(title, { body, confirm: word = "Confirm", danger, typed, run }) {
  const done = await openDialog(title, {}, (close, { dismiss, hold }) => {
    const trouble = h("div");
    const input = typed
      ? h("input", { type: "text", autocomplete: "off", spellcheck: "false", id: unique("typed") })
      : null;
    const act = button(word, {
      tone: danger ? "danger" : "primary",
      disabled: Boolean(typed),
      run: async () => {
        fill(trouble);
        try {
          const result = await hold((answered) => run?.(answered));
          close(result === undefined ? true : result);
        } catch (error) {
          fill(trouble, problemBox(error));
        }
      },
    });
    input?.addEventListener("input", () => {
      act.disabled = input.value !== typed;
    });
    return {
      body: [
        body,
        input
          ? h(
              "p",
              { class: "field" },
              h("label", { for: input.id }, "Type ", h("code", {}, typed), " to confirm"),
              input,
            )
          : null,
        trouble,
      ],
      footer: [button("Cancel", { run: dismiss, attributes: danger && !typed ? { autofocus: true } : {} }), act],
    };
  });
  return done ?? false;
}

/**
 * Asks before something ends for each of some rows. A row that is gone meanwhile counts as done.
 *
 * @param {string} title
 * @param {object} options `rows`; `call` makes the call for one of them, and `ended` is told that it was made. The
 *   others are those of `confirm`.
 * @returns {Promise<boolean>} Whether it was done for all of them.
 */
export function confirmEach(title, { rows, call, ended, ...options }) {
  return confirm(title, {
    danger: true,
    ...options,
    run: async (answered) => {
      for (const row of rows) {
        try {
          await call(row);
        } catch (error) {
          if (error.status !== 404) throw error;
        }
        ended?.(row);
        answered();
      }
    },
  });
}

/**
 * Asks before something is deleted, and says so when it was.
 *
 * @param {string} what Completes the question: `this grant`.
 * @param {object} options `body`, `typed` and `run` as in `confirm`.
 * @returns {Promise<boolean>} Whether it was deleted.
 */
export async function confirmDelete(what, options) {
  const done = await confirm(`Delete ${what}?`, { ...options, confirm: "Delete", danger: true });
  if (done) toast("Deleted");
  return done;
}
