// Changes a quota: its limit, its counters, its end.

import { repeatable } from "../api.js";
import { confirm, confirmDelete, openDialog } from "../dialog.js";
import { fill, h, unique } from "../dom.js";
import { bytes, count, exactBytes, number, parseBytes, parseNumber, principal } from "../format.js";
import { busy, button, disclosure, facts, message, problemBox } from "../parts.js";
import { commandLines } from "../shell.js";
import { toast } from "../toast.js";
import { eachPeriod } from "../values.js";
import { quotaMeter, quotaTitle, writer } from "./quota-parts.js";

/** Changes the limit, the only member of a quota that can change. A limit of bytes may be written in words. */
export async function edit(page, id) {
  const { data: quota, etag } = await page.call("getQuota", { path: { id } });
  const isBytes = quota.metric === "bytes";
  const write = writer(quota);
  const read = isBytes ? parseBytes : parseNumber;
  return openDialog("Change the limit", { side: true }, (close, { dismiss, hold }) => {
    const input = h("input", {
      type: "text",
      class: "code",
      id: unique("limit"),
      autocomplete: "off",
      spellcheck: "false",
      value: isBytes ? exactBytes(quota.limit) : String(quota.limit),
    });
    const said = h("p", { class: "help", id: unique("said") });
    input.setAttribute("aria-describedby", said.id);
    const effect = h("div");
    const trouble = h("div");
    const commands = h("div", { class: "stack" });
    const call = () => ({ path: { id }, body: { limit: read(input.value) }, ifMatch: etag });
    const save = button("Save", { tone: "primary", type: "submit" });
    const draw = () => {
      const limit = read(input.value);
      input.setAttribute("aria-invalid", String(limit === null));
      save.disabled = limit === null;
      fill(
        said,
        limit === null
          ? isBytes
            ? "Write a size, such as 10 GiB or 4096."
            : "Write a whole number."
          : `${isBytes ? `${bytes(limit)}, ${number(limit)} bytes` : `${number(limit)} links`} ${eachPeriod(quota.period)}`,
      );
      fill(
        effect,
        limit === null
          ? null
          : [
              quotaMeter({ ...quota, limit }),
              limit <= quota.use.highest && limit !== quota.limit
                ? message(
                    "warn",
                    "This immediately refuses everyone who has already used that much",
                    h("p", {}, `The highest use in this period is ${write(quota.use.highest)}.`),
                  )
                : null,
            ],
      );
      fill(
        commands,
        limit === null || limit === quota.limit
          ? h("p", { class: "faint" }, "Nothing has changed.")
          : commandLines(page.lines("patchQuota", call())),
      );
    };
    input.addEventListener("input", draw);
    draw();
    const form = h(
      "form",
      {
        class: "stack",
        id: unique("form"),
        novalidate: true,
        on: {
          submit: (event) => {
            event.preventDefault();
            busy(save, async () => {
              fill(trouble);
              if (read(input.value) === quota.limit) return close();
              try {
                const answer = await hold(() => page.call("patchQuota", call()));
                toast("The limit is in force");
                return close(answer);
              } catch (error) {
                return fill(trouble, problemBox(error));
              }
            });
          },
        },
      },
      h("div", { class: "field" }, h("label", { for: input.id }, "Limit"), input, said),
      effect,
    );
    save.setAttribute("form", form.id);
    return {
      body: [h("p", {}, quotaTitle(quota)), form, disclosure("Show command", {}, commands), trouble],
      footer: [button("Cancel", { run: dismiss }), save],
    };
  });
}

export async function reset(page, quota, holder) {
  const write = writer(quota);
  const once = repeatable();
  let answer;
  const done = await confirm(holder ? "Reset this holder?" : "Reset this quota?", {
    confirm: "Reset",
    body: h(
      "div",
      { class: "stack" },
      h("p", {}, quotaTitle(quota)),
      holder
        ? facts([
            ["Holder", principal(holder.holder)],
            ["Used", write(holder.used)],
          ])
        : facts([
            ["Holders", number(quota.use.holders)],
            ["Used by all", write(quota.use.used)],
          ]),
      h(
        "p",
        {},
        "The use in the present period becomes zero. Bytes that are reserved for uploads now are released, " +
          "too. It cannot be undone.",
      ),
    ),
    run: async () => {
      const call = { path: { id: quota.id }, body: holder ? { holder: holder.holder } : { all: true } };
      answer = (await page.call("resetQuota", once(call))).data;
    },
  });
  if (done) toast(`Reset ${count(answer.holders, "counter")}`, { note: `${write(answer.released)} released` });
  return done;
}

export function remove(page, quota) {
  return confirmDelete("this quota", {
    body: h(
      "div",
      { class: "stack" },
      h("p", {}, quotaTitle(quota)),
      h("p", {}, "It limits nothing any more, at once. What it has counted is gone."),
    ),
    run: () => page.call("deleteQuota", { path: { id: quota.id } }),
  });
}
