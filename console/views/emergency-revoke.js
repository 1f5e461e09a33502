// Revokes what can be revoked of a person, a key or a prefix, step by step in one confirmed action.

import { openDialog } from "../dialog.js";
import { fill, h, isAbort, unique } from "../dom.js";
import { segmented } from "../form.js";
import { code, count, principal, visible } from "../format.js";
import { icon } from "../icons.js";
import { button, disclosure, message, problemBox, skeleton } from "../parts.js";
import { commandLines } from "../shell.js";
import { toast } from "../toast.js";
import { collect, lies, reaches } from "./emergency-rows.js";

/** The most tickets and uploads that are read. Grants and buckets are all read. */
const most = 1000;

/** The most grants that one call writes or deletes. */
const batchSize = 10_000;

/** The actions that grants can name before `sluice migrate --finish` ends an update. */
const earlyActions = ["PutObject", "GetObject"];

const actionsOf = (page) => page.contract.schema("Action").enum;

/** Removes all that gives a person access, and denies it everything. */
export function revokePerson(page, who) {
  let denies = true;
  return revoke(page, {
    title: "Revoke all access of this person?",
    typed: who,
    intro: h("p", {}, principal(who), " loses all of this at once."),
    isSelf: page.session.caller?.principal === who,
    async plan() {
      const path = { principal: who };
      const { data } = await page.call("offboardPrincipal", { path, body: { dryRun: true } });
      const buckets = await collect(page, "listBuckets", {}, Infinity);
      const denied = await collect(page, "listGrants", { principal: who, effect: "deny" }, Infinity);
      const places = buckets.rows.map(({ name }) => ({ bucket: name, prefix: "" }));
      const missing = undenied(places, denied.rows, actionsOf(page));
      const { counts } = data;
      return [
        missing.length && {
          title: `Deny ${count(missing.length, "bucket")}`,
          text: "Holds against grants to everyone and to groups that its tokens name.",
          isOptional: true,
          isChosen: denies,
          choose: (chosen) => {
            denies = chosen;
          },
          calls: denials(page, who, missing, denied.rows),
          atOnce: 1,
        },
        {
          title: data.count ? `Remove ${count(data.count, "row")}` : "Remove what gives access",
          text: [
            count(counts.grants, "grant"),
            count(counts.memberships, "membership"),
            count(counts.apiKeys, "API key"),
            count(counts.tickets, "ticket"),
            count(counts.uploads, "unfinished upload"),
          ].join(", "),
          calls: [{ id: "offboardPrincipal", call: { path, body: {}, ifMatch: "*" } }],
        },
      ];
    },
  });
}

/** Denies everybody a key or a prefix, or removes the grants there; ends tickets and uploads. */
export function revokePlace(page, bucket, prefix) {
  let removes = false;
  return revoke(page, {
    title: "Revoke all access here?",
    typed: bucket,
    intro: h("p", {}, code(`${bucket}/${prefix}`), " is closed for everybody."),
    choice: (draw) =>
      segmented("How", ["Deny everybody", "Remove the grants here"], removes ? 1 : 0, (index) => {
        removes = index === 1;
        draw();
      }),
    async plan() {
      const [tickets, uploads] = await Promise.all([
        page.may("listAllTickets")
          ? collect(page, "listAllTickets", { bucket, activeAt: new Date().toISOString() }, most, (row) =>
              reaches(row.prefix, prefix),
            )
          : { rows: [] },
        page.may("listMultipartUploads")
          ? collect(page, "listMultipartUploads", { bucket, state: "open" }, most, (row) => lies(row.key, prefix))
          : { rows: [] },
      ]);
      return [
        removes ? await removal(page, bucket, prefix) : await denialStep(page, bucket, prefix),
        tickets.rows.length && {
          title: `End ${count(tickets.rows.length, "ticket")}`,
          text: "A ticket that reaches further ends as a whole.",
          calls: tickets.rows.map(({ id }) => ({ id: "revokeAnyTicket", call: { path: { id } } })),
        },
        uploads.rows.length && {
          title: `Abort ${count(uploads.rows.length, "unfinished upload")}`,
          text: "The store discards the parts that it has.",
          calls: uploads.rows.map(({ id }) => ({ id: "abortAnyMultipartUpload", call: { path: { id } } })),
        },
        (tickets.isMore || uploads.isMore) && {
          title: "Look again afterwards",
          text: `There are more than ${most} tickets or uploads in this bucket.`,
          calls: [],
        },
      ];
    },
  });
}

/** Returns the places where none of the grants denies all of these actions, always. */
function undenied(places, grants, actions) {
  return places.filter(
    ({ bucket, prefix }) =>
      !grants.some(
        (grant) =>
          grant.bucket === bucket &&
          grant.prefix === prefix &&
          grant.effect === "deny" &&
          !grant.notBefore &&
          !grant.notAfter &&
          !Object.keys(grant.conditions ?? {}).length &&
          actions.every((action) => grant.actions.includes(action)),
      ),
  );
}

/** Returns the calls that deny all actions at places, some of which `grants` may deny already. */
function denials(page, who, places, grants) {
  const denying = (some, actions) => ({
    body: { writes: some.map((place) => ({ principal: who, ...place, effect: "deny", actions, note: "Emergency" })) },
  });
  return batches(places).map((some) => ({
    id: "applyGrants",
    call: denying(some, actionsOf(page)),
    early: denying(undenied(some, grants, earlyActions), earlyActions),
  }));
}

function batches(rows) {
  return Array.from({ length: Math.ceil(rows.length / batchSize) }, (_, index) =>
    rows.slice(index * batchSize, (index + 1) * batchSize),
  );
}

async function denialStep(page, bucket, prefix) {
  const query = { bucket, prefix, principal: "*", effect: "deny" };
  const found = await collect(page, "listGrants", query, Infinity);
  const missing = undenied([{ bucket, prefix }], found.rows, actionsOf(page));
  if (!missing.length) return { title: "Everybody is denied already", text: "A grant says so.", calls: [] };
  return {
    title: "Deny everybody",
    text: "One grant for everyone. Remove it to open the place again; no other grant is touched.",
    calls: denials(page, "*", missing, found.rows),
  };
}

async function removal(page, bucket, prefix) {
  const isFolder = prefix === "" || prefix.endsWith("/");
  const found = isFolder
    ? await collect(page, "reviewAccess", { bucket, prefix }, Infinity)
    : await collect(page, "listGrants", { bucket, prefix }, Infinity);
  const grants = found.rows
    .map((row) => row.grant ?? row)
    .filter((grant) => grant.effect !== "deny" && (grant.template ?? grant.prefix).startsWith(prefix));
  const wider = found.rows.filter((row) => row.grant && !(row.grant.template ?? row.grant.prefix).startsWith(prefix));
  return {
    title: grants.length ? `Remove ${count(grants.length, "grant")}` : "No grant is only for this place",
    // A limited admin does not see the grants outside of the scopes.
    text:
      isFolder && !wider.length && !page.session.isLimited
        ? "No other grant reaches it."
        : "Grants for places above stay, and may still reach it. Deny everybody to be sure.",
    calls: batches(grants).map((some) => ({
      id: "applyGrants",
      call: { body: { deletes: some.map(({ id }) => ({ id })) } },
    })),
    atOnce: 1,
  };
}

/** Shows the steps, asks once, and does them in order. Returns whether it began to. */
async function revoke(page, { title, typed, intro, plan, choice, isSelf }) {
  let hasBegun = false;
  await openDialog(title, { wide: true }, (close, { dismiss, hold }) => {
    const place = h("div", { class: "stack" });
    const trouble = h("div", { class: "stack" });
    const input = h("input", {
      type: "text",
      class: "code",
      id: unique("typed"),
      autocomplete: "off",
      spellcheck: "false",
      on: { input: () => judge() },
    });
    let steps = null;
    let latest = null;
    const live = () => (steps ?? []).filter((step) => (!step.isOptional || step.isChosen) && !step.done);
    const act = button("Revoke", { tone: "danger", disabled: true, run });
    const judge = () => {
      act.disabled = input.value !== typed || !live().some((step) => step.calls.length);
    };

    async function draw() {
      steps = null;
      judge();
      fill(place, skeleton(3));
      const planned = plan();
      latest = planned;
      try {
        const found = await planned;
        // Another choice was made meanwhile.
        if (latest !== planned) return;
        steps = found.filter(Boolean);
        fill(
          place,
          h("ol", { class: "checks-list" }, steps.map(stepLine)),
          disclosure("Show command", {
            onOpen: (body) =>
              fill(
                body,
                live().flatMap(({ calls }) => shownCalls(page, calls)),
              ),
          }),
        );
      } catch (error) {
        if (!isAbort(error) && latest === planned) fill(place, problemBox(error, { retry: draw }));
      }
      judge();
    }

    function stepLine(step) {
      step.dot = h("span", { class: "dot" }, icon("clock"));
      step.words = h("p", { class: "faint", role: "status" });
      const box = step.isOptional
        ? h("input", {
            type: "checkbox",
            id: unique("step"),
            checked: step.isChosen,
            on: {
              change: (event) => {
                step.isChosen = event.target.checked;
                step.choose(step.isChosen);
                judge();
              },
            },
          })
        : null;
      step.box = box;
      step.line = h(
        "li",
        {},
        step.dot,
        h(
          "div",
          {},
          box
            ? h("span", { class: "check" }, box, h("label", { for: box.id, class: "check-title" }, step.title))
            : h("p", { class: "check-title" }, step.title),
          h("p", { class: "faint" }, step.text),
          step.words,
        ),
      );
      return step.line;
    }

    function state(step, tone, name, words) {
      step.line.className = tone;
      fill(step.dot, icon(name));
      fill(step.words, words ?? "");
    }

    /** Does some steps. Throws once all were tried, if one could not be done. */
    async function take(some, answered) {
      const problems = [];
      for (const step of some) {
        state(step, "info", "refresh", "At work …");
        try {
          const gone = await callAll(page, step, answered);
          step.done = true;
          state(step, "ok", "check", gone ? `Done; ${count(gone, "row")} had ended meanwhile.` : "Done.");
        } catch (error) {
          if (isAbort(error)) throw error;
          problems.push({ step, error });
          state(step, "bad", "denial", "Not done.");
        }
      }
      if (!problems.length) return;
      const detail = problems.map(({ step, error }) => `${step.title}: ${error.title ?? error.message}`).join(". ");
      throw Object.assign(new Error("Not everything was revoked"), { detail, problems });
    }

    async function run() {
      fill(trouble);
      hasBegun = true;
      const planned = steps;
      input.disabled = true;
      for (const step of planned) if (step.box) step.box.disabled = true;
      try {
        await hold((answered) => take(live(), answered));
      } catch (error) {
        if (isAbort(error)) return;
        fill(
          trouble,
          (error.problems ?? [{ error }]).map((problem) => problemBox(problem.error)),
        );
        act.querySelector(".label").textContent = "Try the rest again";
        input.disabled = false;
        for (const step of planned) if (step.box) step.box.disabled = step.done;
        return;
      }
      const isEarly = planned.some((step) => step.calls.some((item) => item.isEarly));
      toast("Revoked on every gateway", {
        note: isEarly
          ? "The update of the database is not finished. Afterwards, deny the other actions as well."
          : "What was issued works until it expires: see below.",
        seconds: isEarly ? 12 : 6,
      });
      close(true);
    }

    draw();
    return {
      body: [
        intro,
        isSelf
          ? message("warn", "This is you", h("p", {}, "Your own grants and API keys end, also the one in use."))
          : null,
        choice?.(draw),
        place,
        h(
          "p",
          { class: "field" },
          h("label", { for: input.id }, "Type ", h("code", {}, visible(typed)), " to confirm"),
          input,
        ),
        trouble,
      ],
      footer: [button("Cancel", { run: dismiss }), act],
    };
  });
  return hasBegun;
}

function shownCalls(page, calls) {
  if (!calls.length) return [];
  const [{ id, call }] = calls;
  return [
    ...commandLines(page.lines(id, call)),
    calls.length > 1
      ? h("p", { class: "faint" }, `and ${count(calls.length - 1, "more of these", "more of these")}`)
      : null,
  ];
}

/** Makes the calls of a step, some of them at a time. Returns how many rows were gone already. */
async function callAll(page, step, answered) {
  const waiting = step.calls.filter((item) => !item.done);
  let gone = 0;
  let problem = null;
  let count = step.calls.length - waiting.length;
  const turn = async () => {
    for (let item = waiting.shift(); item; item = waiting.shift()) {
      try {
        const lost = await send(page, item);
        gone += lost;
        item.done = true;
      } catch (error) {
        if (isAbort(error)) throw error;
        problem ??= error;
      }
      count += 1;
      answered();
      if (step.calls.length > 1) fill(step.words, `${count} of ${step.calls.length}`);
    }
  };
  await Promise.all(Array.from({ length: step.atOnce ?? 4 }, turn));
  if (problem) throw problem;
  return gone;
}

/** Makes one call of a step. Returns how many of its rows were gone already. */
async function send(page, item) {
  let { call } = item;
  for (let gone = 0; ; ) {
    try {
      await page.call(item.id, call);
      return gone;
    } catch (error) {
      if (item.early && call !== item.early && isBeforeFinish(error)) {
        call = item.early;
        item.isEarly = true;
        continue;
      }
      if (error.status !== 404) throw error;
      if (item.id !== "applyGrants") return gone + 1;
      // Because of these, none of the batch was deleted.
      const lost = new Set(
        error.errors?.filter((row) => row.array === "deletes" && row.code === error.code).map((row) => row.index),
      );
      if (!lost.size) throw error;
      gone += lost.size;
      call = { body: { deletes: call.body.deletes.filter((_, index) => !lost.has(index)) } };
    }
  }
}

/** Tests whether the database refused actions that only the end of an update admits. */
function isBeforeFinish(error) {
  return error.status === 409 && Boolean(error.detail?.includes("sluice migrate --finish"));
}
