// What a test of a bucket or an issuer found, step by step.

import { h } from "../dom.js";
import { code, text } from "../format.js";
import { icon } from "../icons.js";
import { badge, message } from "../parts.js";

const outcomes = {
  passed: { tone: "ok", icon: "check" },
  warned: { tone: "warn", icon: "emergency" },
  failed: { tone: "bad", icon: "denial" },
  skipped: { tone: null, icon: "more" },
};

/**
 * Returns the steps of a test as a list.
 *
 * @param {object[]} steps As the gateway answers them.
 * @param {object} titles Words by name of a step.
 */
export function stepList(steps, titles) {
  return h(
    "ol",
    { class: "checks-list" },
    steps.map((step) => {
      const outcome = outcomes[step.outcome] ?? outcomes.skipped;
      const facts = [
        step.status ? `status ${step.status}` : null,
        step.reason,
        step.milliseconds === undefined ? null : `${step.milliseconds} ms`,
      ].filter(Boolean);
      return h(
        "li",
        { class: outcome.tone },
        h("span", { class: "dot" }, icon(outcome.icon)),
        h(
          "div",
          {},
          h(
            "p",
            {},
            h("span", { class: "check-title" }, titles[step.step] ?? step.step),
            " ",
            badge(step.outcome, outcome.tone),
            step.origin ? [" ", code(step.origin)] : null,
            step.endpoint ? [" ", code(step.endpoint)] : null,
            step.found ? [" ", code(step.found)] : null,
          ),
          step.url ? h("p", { class: "faint" }, code(step.url)) : null,
          facts.length || step.code
            ? h("p", { class: "faint" }, facts.join(" · "), step.code ? [" · ", code(step.code)] : null)
            : null,
          step.advice ? h("p", {}, text(step.advice)) : null,
        ),
      );
    }),
  );
}

/** Returns what stands while a test runs. */
export function testing(words) {
  return h("p", { class: "faint", role: "status" }, h("span", { class: "spinner" }), words);
}

/** Says in one line what a test found. */
export function verdict({ valid, steps }, { good, bad }) {
  const warned = steps.filter((step) => step.outcome === "warned").length;
  if (!valid) return message("bad", bad);
  return warned
    ? message("warn", good, h("p", {}, `${warned === 1 ? "One step says" : `${warned} steps say`} what to mend.`))
    : message("ok", good);
}
