// Dialogs with a form made from the contract and the commands: one that creates and changes rows, and one that asks for
// what a call needs.

import { repeatable } from "./api.js";
import { openDialog } from "./dialog.js";
import { fill, h, isAbort } from "./dom.js";
import { mergePatch, schemaForm } from "./form.js";
import { button, disclosure, message, problemBox } from "./parts.js";
import { commandLines } from "./shell.js";
import { suggestions } from "./suggest.js";
import { toast } from "./toast.js";

/**
 * Opens a form for a row.
 *
 * @param {Page} page
 * @param {object} options
 * @param {string} options.title
 * @param {string} [options.create] The `operationId` that creates a row.
 * @param {string} [options.patch] The `operationId` that changes one by a merge patch.
 * @param {object} [options.row] The row to change, as it was read.
 * @param {string} [options.etag] Its `ETag`.
 * @param {object} [options.path] Parameters of the path.
 * @param {object} [options.query] Parameters of the query.
 * @param {object} [options.value] What a new row begins with.
 * @param {string[]} [options.omit] Members that the form leaves out, such as those that the gateway sets.
 * @param {string[]} [options.order] Members that come first.
 * @param {object} [options.labels] Labels by name of a member.
 * @param {object} [options.suggest] More functions for `schemaForm`.
 * @param {function({body, before, after}): Node|Promise<Node>} [options.review] Shows what the change would do. The
 *   person then has to look at it before the row is saved.
 * @param {string} [options.saved] What is said when it is done.
 * @param {Node|string} [options.intro]
 * @returns {Promise<{data, etag}|undefined>} The answer; `undefined` if nothing was saved.
 */
export function editRow(page, options) {
  const {
    title,
    create,
    patch,
    row,
    etag,
    path,
    query,
    value = {},
    omit = [],
    order,
    labels,
    suggest,
    review,
    intro,
  } = options;
  const id = row ? patch : create;
  const schema = page.contract.bodyOf(id);
  const start = row ?? value;
  const fixed = new Set(["id", "createdBy", "createdAt", "updatedAt", ...omit]);

  let guard = () => true;
  return openDialog(title, { side: true, wide: Boolean(review), guard: () => guard() }, (close, { dismiss, hold }) => {
    const trouble = h("div", { class: "stack" });
    const commands = h("div", { class: "stack" });
    const judged = h("div", { class: "stack" });
    let isDirty = false;
    let changes = 0;
    const form = schemaForm(page.contract, schema, {
      value: start,
      omit: [...fixed],
      order,
      labels,
      suggest: { ...suggestions(page), ...suggest },
      onChange: () => {
        isDirty = true;
        changes += 1;
        seen = !review;
        fill(judged);
        name();
        showCommands();
      },
    });
    let seen = !review;
    const once = repeatable();
    const before = form.value();
    // What the form does not show is no part of the change.
    const body = () => (row ? mergePatch(before, form.value()) : form.value());
    const call = () => ({ path, query, body: body(), ifMatch: row ? etag : undefined });
    const showCommands = () =>
      fill(
        commands,
        call().body ? commandLines(page.lines(id, call())) : h("p", { class: "faint" }, "Nothing has changed."),
      );
    const save = button("", { tone: "primary", run: () => (seen ? submit() : look()) });
    const name = () => {
      save.querySelector(".label").textContent = seen ? (row ? "Save" : "Create") : "Review";
    };
    name();
    showCommands();

    async function look() {
      fill(trouble);
      if (!form.check()) return;
      if (!body()) {
        fill(trouble, message("info", "Nothing has changed."));
        return;
      }
      try {
        const change = body();
        const kept = Object.entries(row ?? {}).filter(([member]) => fixed.has(member));
        const after = { ...Object.fromEntries(kept), ...form.value() };
        const at = changes;
        const shown = await review({ body: change, before: row, after, etag });
        // What was written meanwhile was not looked at.
        if (at !== changes) return;
        fill(judged, shown);
        seen = true;
        name();
        judged.scrollIntoView({ block: "start" });
      } catch (error) {
        fail(error);
      }
    }

    async function submit() {
      fill(trouble);
      if (!form.check()) return;
      const sent = call();
      if (!sent.body) {
        close();
        return;
      }
      try {
        const answer = await hold(() => page.call(id, once(sent)));
        toast(options.saved ?? (row ? "Saved" : "Created"));
        close(answer);
      } catch (error) {
        fail(error);
      }
    }

    function fail(error) {
      if (isAbort(error)) return;
      form.refuse(error);
      const isOld = error.status === 412;
      fill(
        trouble,
        problemBox(error),
        isOld
          ? message(
              "warn",
              "The row has changed",
              h(
                "p",
                {},
                "Somebody else changed it, or an attempt of yours did that was not answered. Close this, look at the " +
                  "row again, and repeat your change if it is missing.",
              ),
            )
          : null,
      );
      trouble.scrollIntoView({ block: "nearest" });
    }

    guard = () => {
      if (!isDirty) return true;
      fill(
        trouble,
        message(
          "warn",
          "Discard what you wrote?",
          h(
            "div",
            { class: "actions" },
            button("Discard", { tone: "danger", small: true, run: () => close() }),
            button("Keep writing", {
              small: true,
              run: () => {
                fill(trouble);
                form.focus();
              },
            }),
          ),
        ),
      );
      trouble.scrollIntoView({ block: "nearest" });
      return false;
    };

    return {
      body: [intro, form.element, judged, disclosure("Show command", {}, commands), trouble],
      footer: [button("Cancel", { run: dismiss }), save],
    };
  });
}

/**
 * Asks for what a call needs, shows the commands that do the same, and makes the call.
 *
 * @param {Page} page
 * @param {string} title
 * @param {object} options
 * @param {object} [options.schema] What the form asks for. Without it, the dialog has no form.
 * @param {object} [options.labels] Labels by name of a member.
 * @param {object} [options.suggest] Functions for `schemaForm`.
 * @param {Node|Array} [options.intro] What stands above the form.
 * @param {boolean} [options.side] Whether the dialog is at the edge of the window.
 * @param {string} options.operation The `operationId` of the call.
 * @param {function(object): object} options.call Returns the call for a value of the form.
 * @param {string} options.word The word on the button.
 * @param {string} [options.saved] What is said when it is done.
 * @returns {Promise<*>} The data of the answer; `undefined` if the dialog was dismissed.
 */
export function formDialog(page, title, { schema, labels, suggest, intro, side, operation, call, word, saved }) {
  return openDialog(title, { side }, (close, { dismiss, hold }) => {
    const trouble = h("div");
    const commands = h("div", { class: "stack" });
    const once = repeatable();
    const written = () => call(form?.value() ?? {});
    const show = () => fill(commands, commandLines(page.lines(operation, written())));
    const form = schema
      ? schemaForm(page.contract, schema, { labels, suggest, showsJSON: false, onChange: show })
      : null;
    show();
    return {
      body: [intro, form?.element, commands, trouble],
      footer: [
        button("Cancel", { run: dismiss }),
        button(word, {
          tone: "primary",
          run: async () => {
            fill(trouble);
            if (form && !form.check()) return;
            try {
              const { data } = await hold(() => page.call(operation, once(written())));
              if (saved) toast(saved);
              close(data);
            } catch (error) {
              form?.refuse(error);
              fill(trouble, problemBox(error));
            }
          },
        }),
      ],
    };
  });
}
