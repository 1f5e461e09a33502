// Ranges of time for charts, and the periods that they are divided into.

import { h } from "./dom.js";
import { segmented } from "./form.js";
import { none, relative, timeText, utc } from "./format.js";

const hour = 3_600_000;
const day = 24 * hour;

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const dayAndClock = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const utcDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

// `by` is the period by which the gateway counts. Its days are those of UTC.
const ranges = new Map([
  ["24h", { words: "24 hours", step: hour, count: 24, by: "hour", label: (start) => clock.format(start) }],
  ["7d", { words: "7 days", step: 6 * hour, count: 28, by: "hour", label: (start) => dayAndClock.format(start) }],
  ["30d", { words: "30 days", step: day, count: 30, by: "day", label: (start) => `${utcDay.format(start)} UTC` }],
]);

/**
 * Returns a range that ends now. Each period is a whole one, so the first begins a little earlier than the name says.
 *
 * @param {string} [name] `24h`, `7d` or `30d`.
 * @returns {{name, words, by, from: string, starts: number[], labels: string[]}}
 */
export function rangeOf(name) {
  const chosen = ranges.has(name) ? name : "24h";
  const { words, step, count, by, label } = ranges.get(chosen);
  const first = Math.floor(Date.now() / step) * step - (count - 1) * step;
  const starts = Array.from({ length: count }, (_, index) => first + index * step);
  return { name: chosen, words, by, step, from: new Date(first).toISOString(), starts, labels: starts.map(label) };
}

/** Adds up counts by period: `rows` have `startsAt`, and `value` returns what a row adds. */
export function sumByPeriod(range, rows, value) {
  const sums = range.starts.map(() => 0);
  for (const row of rows) {
    const at = Math.floor((Date.parse(row.startsAt) - range.starts[0]) / range.step);
    if (at >= 0 && at < sums.length) sums[at] += value(row);
  }
  return sums;
}

/** Returns the range that fits a period: hours for a day, days for a month, and of a long one the newest 400 days. */
export function rangeBetween(from, to = new Date().toISOString()) {
  const length = Date.parse(to) - Date.parse(from);
  const step = length <= 2 * day ? hour : length <= 10 * day ? 6 * hour : day;
  const by = step === day ? "day" : "hour";
  const end = Math.ceil(Date.parse(to) / step);
  const first = Math.max(Math.floor(Date.parse(from) / step), end - 400);
  const starts = Array.from({ length: Math.max(1, end - first) }, (_, index) => (first + index) * step);
  const label = [...ranges.values()].find((range) => range.step === step).label;
  return { by, step, from, to, starts, labels: starts.map(label) };
}

const seconds = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const monthDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** Returns a time for long lists of close rows: the second first, the day in a quieter tone. */
export function moment(value) {
  if (!value) return none();
  const date = new Date(value);
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  return h(
    "time",
    { class: "number", datetime: date.toISOString(), title: `${utc(value)} · ${relative(value)}` },
    isThisYear
      ? [h("span", { class: "faint" }, monthDay.format(date)), " ", seconds.format(date)]
      : timeText(value, { seconds: true }),
  );
}

/** Returns the choice of a range, which goes into the address. */
export function rangeChoice(page, chosen) {
  const names = [...ranges.keys()];
  return segmented(
    "Range",
    names.map((name) => ranges.get(name).words),
    names.indexOf(chosen),
    (index) => page.setQuery({ range: names[index] === "24h" ? "" : names[index] }),
  );
}

/** Returns how often something happened, as a share: `3 %`. */
export function percent(part, whole) {
  if (!whole) return "0 %";
  const share = (part / whole) * 100;
  return `${share > 0 && share < 1 ? "< 1" : share > 99 && share < 100 ? "> 99" : Math.round(share)} %`;
}
