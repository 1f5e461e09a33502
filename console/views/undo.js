// Undoes a change as a new change, from the row as it is now.

import { repeatable } from "../api.js";
import { openDialog } from "../dialog.js";
import { fill, h, isAbort, isObject } from "../dom.js";
import { mergePatch, schemaForm } from "../form.js";
import { button, card, message, problemBox, skeleton } from "../parts.js";
import { address, go } from "../router.js";
import { commandLines } from "../shell.js";
import { toast } from "../toast.js";
import { diffTable, kinds, labelOf, pathOf } from "./changes.js";
import { withSecrets } from "./secrets.js";

/**
 * Says how a change can be undone: `{call}` is the operation that does it, `{reason}` why there is none.
 */
export function undoable(page, { operation, kind, before, after }) {
  const known = kinds[kind];
  const call = !known
    ? null
    : {
        create: after && known.remove,
        update: before && after && known.patch,
        delete: before && !before.items && known.create,
      }[operation];
  const lost = "This cannot be undone: a secret that was replaced does not come back.";
  const resealed = "There is nothing to undo: the secret is the same, sealed with another master key.";
  const gone = "This cannot be undone: the secret of the row is gone. Make a new one.";
  if (call && page.may(call)) {
    if (operation === "delete" && before.keys?.hasSecret) return { reason: gone };
    if (operation !== "update") return { call };
    if (after.masterKeyID) return { reason: resealed };
    // The prefix of an API key changes with its secret.
    const replaced =
      after.changedSecrets ||
      (before.keys?.hasSecret && !after.keys?.hasSecret) ||
      (kind === "APIKey" && before.prefix !== after.prefix);
    return replaced ? { reason: lost } : { call };
  }
  if (call || !page.may("createGrant")) return {};
  if (operation === "delete" && known) return { reason: gone };
  if (operation === "rotate") return { reason: lost };
  if (operation === "reset") return { reason: "This cannot be undone: what was counted before is gone." };
  if (operation === "import" || before?.items)
    return { reason: "This changed many rows at once. Import the earlier state to undo it." };
  return {};
}

/** Returns a row of the audit as the contract writes it: without absent members, with times in UTC. */
function contractRow(page, schema, kind, row) {
  const source = { ...row };
  if (kind === "Grant") {
    if (source.isTemplate) {
      source.template = source.prefix;
      delete source.prefix;
    }
    if (source.note === "") delete source.note;
  }
  const result = {};
  for (const member of page.contract.members(schema)) {
    const value = source[member.name];
    if (value === null || value === undefined || ["id", "createdAt", "createdBy", "use"].includes(member.name))
      continue;
    result[member.name] = member.kind === "time" ? new Date(value).toISOString() : value;
  }
  return result;
}

/** Works out the call that undoes a change, from the row as it is now. */
async function prepare(page, record) {
  const { kind, operation, before, after } = record;
  const { get, patch, create, remove } = kinds[kind];
  const path = pathOf(record);
  const read = () => page.session.api.call(get, { path, signal: page.signal });
  if (operation === "create") {
    // It may have been changed since: what is removed is the row as it is now.
    const { data: now, etag } = await read();
    return {
      id: remove,
      call: { path, ifMatch: page.contract.operation(remove).takes("If-Match") ? etag : undefined },
      words: "The row is removed.",
      difference: { kind, before: now, after: null },
      danger: true,
    };
  }
  if (operation === "delete") {
    const schema = page.contract.bodyOf(create);
    const body = contractRow(page, schema, kind, before);
    const target = kind === "GroupMember" ? { path: { group: path.group } } : {};
    return {
      id: create,
      call: { ...target, body },
      words: "The row is made again. It gets a new identifier.",
      difference: { kind, before: null, after: body },
    };
  }
  const { data: now, etag } = await read();
  const schema = page.contract.bodyOf(patch);
  const [old, recent, present] = [before, after, now].map((row) => contractRow(page, schema, kind, row));
  // Only what this change changed goes back. What others changed since stays.
  const names = [...new Set([...Object.keys(old), ...Object.keys(recent)])].filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(recent[name]),
  );
  const wanted = { ...present };
  const since = [];
  for (const name of names) {
    if (!sameValue(present[name], recent[name])) since.push(name);
    if (old[name] === undefined) delete wanted[name];
    else if (!sameValue(present[name], old[name])) wanted[name] = old[name];
  }
  const body = mergePatch(present, wanted);
  return {
    id: patch,
    call: { path, body, ifMatch: etag },
    words: "The members go back to what they were.",
    difference: { kind, before: present, after: wanted },
    since,
    isDone: !body,
  };
}

/** Compares values whatever the order of their members. */
function sameValue(one, other) {
  const sorted = (value) =>
    Array.isArray(value)
      ? value.map(sorted)
      : isObject(value)
        ? Object.fromEntries(
            Object.keys(value)
              .sort()
              .map((name) => [name, sorted(value[name])]),
          )
        : value;
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

/**
 * Returns a form for the secret that the gateway demands before it makes the change; `null` if the problem is another one.
 */
function secretForm(page, id, problem) {
  if (!["secretAccessKey", "cdnSecret"].includes(problem.field)) return null;
  const schema = page.contract.bodyOf(id);
  const others = page.contract.members(schema).filter((member) => member.name !== problem.field);
  return schemaForm(page.contract, schema, { omit: others.map((member) => member.name), showsJSON: false });
}

export async function undo(page, record) {
  const done = await openDialog(
    "Undo this change?",
    { side: true, label: `${record.operation} ${record.kind}` },
    (close, { dismiss, hold }) => {
      const place = h("div", { class: "stack" }, skeleton(4));
      const trouble = h("div");
      const act = button("Undo", { tone: "primary", disabled: true });
      const once = repeatable();
      const load = async () => {
        try {
          const plan = await prepare(page, record);
          if (plan.isDone) {
            fill(
              place,
              message("info", "Nothing to undo", h("p", {}, "The row already is as it was before this change.")),
            );
            return;
          }
          fill(
            place,
            h("p", {}, plan.words, " This is a new change, with a record of its own."),
            plan.since?.length
              ? message(
                  "warn",
                  "It was changed again since",
                  h(
                    "p",
                    {},
                    "Somebody changed " +
                      `${plan.since.map((name) => labelOf(page, record.kind, name).toLowerCase()).join(", ")} after ` +
                      "this. Undoing replaces that, too.",
                  ),
                )
              : null,
            card("What changes now", {}, diffTable(page, plan.difference)),
            h("div", { class: "stack" }, commandLines(page.lines(plan.id, plan.call))),
          );
          act.classList.toggle("danger", Boolean(plan.danger));
          act.disabled = false;
          let secret = null;
          // The gateway asks for one secret after the other.
          let given = {};
          act.addEventListener("click", async () => {
            act.setAttribute("aria-busy", "true");
            const { body } = plan.call;
            given = { ...given, ...secret?.value() };
            const call = body ? { ...plan.call, body: { ...body, ...given } } : plan.call;
            fill(trouble);
            try {
              close({ plan, answer: await hold(() => withSecrets(page).call(plan.id, once(call))) });
            } catch (error) {
              if (isAbort(error)) return;
              secret = body ? secretForm(page, plan.id, error) : null;
              fill(trouble, secret?.element ?? problemBox(error));
              // What is asked for, or what went wrong, comes after a long list.
              if (secret) secret.refuse(error);
              else trouble.scrollIntoView({ block: "end" });
            } finally {
              act.removeAttribute("aria-busy");
            }
          });
        } catch (error) {
          if (isAbort(error)) return;
          fill(
            place,
            error.status === 404
              ? message(
                  "info",
                  "The row is not there any more",
                  h("p", {}, "It was removed after this change, so there is nothing to undo."),
                )
              : problemBox(error, { retry: load }),
          );
        }
      };
      load();
      return { body: [place, trouble], footer: [button("Cancel", { run: dismiss }), act] };
    },
  );
  if (!done) return;
  const id = done.answer.requestID;
  toast("Undone", { action: id ? { label: "Show", run: () => go(address("audit", { requestID: id })) } : undefined });
  if (page.path.length === 0) page.go(page.here(), { replace: true });
}
