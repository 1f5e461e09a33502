// Shows quotas: what they count, bars of their use, and where it leads.

import { h } from "../dom.js";
import { bytes, code, number, principal, time } from "../format.js";
import { meter } from "../parts.js";
import { eachPeriod } from "../values.js";

export const writer = (quota) => (quota.metric === "bytes" ? bytes : number);

/** Returns what a quota counts: `links in demo a day, for each member`. */
export function covers(quota) {
  const what =
    quota.metric === "bytes"
      ? "bytes"
      : quota.action
        ? `links to ${quota.action
            .replace(/^(oss|s3):/, "")
            .replace(/Object$/, "")
            .toLowerCase()}`
        : "links";
  return h(
    "span",
    {},
    what,
    quota.bucket ? [" in ", code(quota.bucket)] : null,
    ` ${eachPeriod(quota.period)}`,
  );
}

/** Whether one counter is shared by all whom the quota concerns. */
export const isTogether = (quota) => quota.sharing === "shared" || quota.principal.startsWith("user:");

/** Returns a quota in a few words. */
export function quotaTitle(quota) {
  return h("span", {}, principal(quota.principal), h("span", { class: "faint" }, " · "), covers(quota));
}

/** Returns a bar with the largest use by one holder, and its numbers. */
export function quotaMeter(quota) {
  const write = writer(quota);
  const { highest, holders } = quota.use;
  const words = `${write(highest)} of ${write(quota.limit)}`;
  return h(
    "div",
    { class: "quota-bar" },
    meter(highest, quota.limit, { label: `${words} used` }),
    h(
      "span",
      { class: "number" },
      words,
      isTogether(quota) || holders < 2 ? null : h("span", { class: "faint" }, ` · highest of ${number(holders)}`),
    ),
  );
}

/**
 * Returns where the use leads if it goes on as it did since the period began: `{expected, fullAt}`; `null` where that
 * says nothing, such as for a total, or shortly after the beginning.
 */
export function projection(quota, now = Date.now()) {
  const { startsAt, resetsAt, highest } = quota.use;
  if (!startsAt || !resetsAt || quota.period === "minute") return null;
  const start = Date.parse(startsAt);
  const length = Date.parse(resetsAt) - start;
  const elapsed = now - start;
  if (elapsed < length * 0.05 || elapsed > length) return null;
  const expected = Math.round(highest * (length / elapsed));
  const isFull = highest >= quota.limit;
  return {
    expected,
    elapsed: elapsed / length,
    isFull,
    fullAt:
      !isFull && expected > quota.limit ? new Date(start + elapsed * (quota.limit / highest)).toISOString() : null,
  };
}

export function projectionWords(quota) {
  const write = writer(quota);
  const found = projection(quota);
  if (!quota.use.resetsAt) return h("span", { class: "faint" }, "never resets");
  if (quota.use.highest >= quota.limit) return h("span", { class: "bad-text" }, "used up");
  if (!found) return h("span", { class: "faint" }, quota.period === "minute" ? "too short" : "too early to say");
  return found.fullAt
    ? h("span", { class: "warn-text" }, "full ", time(found.fullAt, { relative: true }))
    : h(
        "span",
        { class: "number" },
        found.expected ? `about ${write(found.expected)}` : h("span", { class: "faint" }, "nothing so far"),
      );
}

export const share = (quota) => (quota.limit ? quota.use.highest / quota.limit : Number(quota.use.highest > 0));
