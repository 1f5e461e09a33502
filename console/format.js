// Shows values. Text from rows is isolated from its surroundings, and invisible characters are made visible.

import { h } from "./dom.js";

// Controls, format characters (bidi marks, zero-width characters, tags), line separators, lone surrogates, private use,
// and spaces other than the ordinary one.
const unseen = [
  "\\p{Cc}\\p{Cf}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}\\ud800-\\udfff",
  "\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000",
  "\\u115f\\u1160\\u3164\\uffa0\\u2800\\ufe00-\\ufe0f",
].join("");
const hidden = new RegExp(`[${unseen}]`, "u");
const splitter = new RegExp(`([${unseen}])`, "gu");

const names = {
  9: "TAB",
  10: "LF",
  13: "CR",
  160: "NBSP",
  173: "SHY",
  8203: "ZWSP",
  8204: "ZWNJ",
  8205: "ZWJ",
  8206: "LRM",
  8207: "RLM",
  8234: "LRE",
  8235: "RLE",
  8236: "PDF",
  8237: "LRO",
  8238: "RLO",
  8288: "WJ",
  8294: "LRI",
  8295: "RLI",
  8296: "FSI",
  8297: "PDI",
  65279: "BOM",
  1564: "ALM",
};

function hex(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function mark(character) {
  return h("span", { class: "mark", title: hex(character) }, names[character.codePointAt(0)] ?? hex(character));
}

function marked(value) {
  const text = String(value);
  const parts = hidden.test(text)
    ? text.split(splitter).map((part) => (hidden.test(part) ? mark(part) : part))
    : [text];
  // Spaces at the ends of the whole text would not show either.
  const first = /^ +/.exec(text)?.[0].length ?? 0;
  const last = first < text.length ? (/ +$/.exec(text)?.[0].length ?? 0) : 0;
  if (first && typeof parts[0] === "string") parts.splice(0, 1, spaces(first), parts[0].slice(first));
  const end = parts.length - 1;
  if (last && typeof parts[end] === "string") parts.splice(end, 1, parts[end].slice(0, -last), spaces(last));
  return parts;
}

function spaces(length) {
  return h("span", { class: "mark", title: "U+0020" }, "␣".repeat(length));
}

/** Returns the text as it may stand in a title, a message or a label: invisible characters are written out. */
export function visible(value) {
  return String(value ?? "").replace(splitter, (character) => `⟨${names[character.codePointAt(0)] ?? hex(character)}⟩`);
}

/** Returns a person's text, such as a note. */
export function text(value) {
  if (value === null || value === undefined || value === "") return none();
  return h("bdi", { class: "text" }, marked(value));
}

/** Returns a name, key or identifier in the type of code, from left to right whatever it holds. */
export function code(value, { title } = {}) {
  if (value === null || value === undefined) return none();
  if (value === "") return h("span", { class: "faint" }, "(empty)");
  const isLong = String(value).length > 60;
  return h("bdi", { class: "code", dir: "ltr", title: title ?? (isLong ? visible(value) : null) }, marked(value));
}

/** Returns what stands for an absent value. */
export function none() {
  return h("span", { class: "faint", "aria-label": "none" }, "–");
}

const whole = new Intl.NumberFormat("en-GB");
const compact = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });

/** Returns a number with separators: 12,345. */
export function number(value) {
  return whole.format(value);
}

/** Returns a short number for charts and tiles: 12.3k. */
export function short(value) {
  return Math.abs(value) < 10_000 ? whole.format(value) : compact.format(value).toLowerCase().replace("bn", "bn");
}

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Returns a number of bytes in words: 1.5 MiB. */
export function bytes(value) {
  let rest = Number(value);
  let unit = 0;
  while (Math.abs(rest) >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || Number.isInteger(rest) ? 0 : Math.abs(rest) < 10 ? 2 : 1;
  return `${rest.toLocaleString("en-GB", { maximumFractionDigits: digits })} ${units[unit]}`;
}

/** Returns an element with a size in words, and the exact number on hover. */
export function size(value) {
  if (value === null || value === undefined) return none();
  return h("span", { class: "number", title: `${number(value)} bytes` }, bytes(value));
}

// Commas separate thousands only: `1,5` is not 15.
const digits = "[0-9]{1,3}(?:,[0-9]{3})+|[0-9][0-9_]*";
const sizeText = new RegExp(`^\\s*((?:${digits})(?:\\.[0-9]+)?)\\s*([kmgtpe]?)(i?)b?\\s*$`, "i");
const numberText = new RegExp(`^\\s*(?:${digits}|[0-9]{1,3}(?: [0-9]{3})+)\\s*$`);

/** Reads a size: `10 MiB`, `1.5 GB`, `4096`. Returns `null` if the text is none. */
export function parseBytes(value) {
  const found = sizeText.exec(String(value));
  if (!found) return null;
  const power = " kmgtpe".indexOf(found[2].toLowerCase() || " ");
  const base = found[2] && !found[3] && /b\s*$/i.test(String(value)) ? 1000 : 1024;
  const amount = Number(found[1].replace(/[,_]/g, "")) * base ** power;
  return Number.isSafeInteger(Math.round(amount)) ? Math.round(amount) : null;
}

/** Reads a whole number: `12,345`. Returns `null` if the text is none. */
export function parseNumber(value) {
  const amount = numberText.test(value) ? Number(value.replace(/[,_ ]/g, "")) : null;
  return Number.isSafeInteger(amount) ? amount : null;
}

/** Returns a number of bytes as a field holds it: in words if they read back as the same number, else in digits. */
export function exactBytes(value) {
  const words = bytes(value).replace(/,/g, "");
  return parseBytes(words) === value ? words : String(value);
}

const spans = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

/** Returns a number of seconds in words: 1 h 30 min. */
export function duration(seconds) {
  let rest = Math.round(Number(seconds));
  if (rest === 0) return "0 s";
  const sign = rest < 0 ? "−" : "";
  rest = Math.abs(rest);
  const parts = [];
  for (const [unit, length] of spans) {
    const count = Math.floor(rest / length);
    if (count) parts.push(`${count} ${unit}`);
    rest -= count * length;
    if (parts.length === 2) break;
  }
  return sign + parts.join(" ");
}

/** Reads a duration: `15 min`, `1h 30m`, `7d`, `900`. Returns a number of seconds, or `null` if the text is none. */
export function parseDuration(value) {
  const written = String(value).trim();
  if (/^[0-9]+$/.test(written)) return Number(written);
  const pattern = /([0-9]+(?:\.[0-9]+)?)\s*(weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\s*/gi;
  if (!written || written.replace(pattern, "").trim()) return null;
  let total = 0;
  for (const [, amount, unit] of written.matchAll(pattern)) {
    total += Number(amount) * { w: 604_800, d: 86_400, h: 3600, m: 60, s: 1 }[unit[0].toLowerCase()];
  }
  return Math.round(total);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** Returns a time in UTC: 2026-11-22 20:57:34 UTC. */
export function utc(value) {
  return `${new Date(value)
    .toISOString()
    .replace("T", " ")
    .replace(/\.?0*Z$/, "")} UTC`;
}

/** Returns a local time, with seconds on request. */
export function timeText(value, { seconds = false } = {}) {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return visible(value);
  if (seconds) return exact.format(date);
  const thisYear = date.getFullYear() === new Date().getFullYear();
  return `${(thisYear ? day : dayAndYear).format(date)}, ${clock.format(date)}`;
}

/** Returns the distance from now: `in 5 min`, `3 h ago`. */
export function relative(value) {
  const seconds = Math.round((new Date(value).getTime() - Date.now()) / 1000);
  const length = Math.abs(seconds);
  const words =
    length < 60
      ? `${length} s`
      : length < 3600
        ? `${Math.round(length / 60)} min`
        : length < 86_400 * 2
          ? `${Math.round(length / 3600)} h`
          : `${Math.round(length / 86_400)} d`;
  if (length < 5) return "now";
  return seconds > 0 ? `in ${words}` : `${words} ago`;
}

/** Returns an element with a local time. Hovering shows UTC and the distance from now. */
export function time(value, options) {
  if (!value) return none();
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return code(value);
  return h(
    "time",
    { class: "number", datetime: date.toISOString(), title: `${utc(value)} · ${relative(value)}` },
    options?.relative ? relative(value) : timeText(value, options),
  );
}

/** Returns the last characters of an identifier; all of it shows on hover. The first half of these is a time. */
export function id(value) {
  if (!value) return none();
  const written = String(value);
  return written.length < 14
    ? code(written)
    : h("bdi", { class: "code id", dir: "ltr", title: visible(written) }, `…${visible(written.slice(-8))}`);
}

/** Returns a principal with its kind in a quieter tone. */
export function principal(value) {
  if (!value) return none();
  const written = String(value);
  if (written === "*")
    return h(
      "span",
      { class: "everyone" },
      h("bdi", { class: "code" }, "*"),
      h("span", { class: "faint" }, " everyone"),
    );
  const colon = written.indexOf(":");
  if (colon < 0) return code(written);
  return h(
    "bdi",
    { class: "code principal", dir: "ltr" },
    h("span", { class: "faint" }, written.slice(0, colon + 1)),
    marked(written.slice(colon + 1)),
  );
}

const acronyms = /^(ttl|md5|sha256|cidrs?|urls?|id|ids|api|arn|uri|json|oss|sts|kms)$/i;

/** Splits a name of the contract into words, as `sluice admin` does: `sourceCIDRs` into `source` and `CIDRs`. */
export function words(name) {
  const letters = [...name];
  const all = [""];
  letters.forEach((letter, index) => {
    const isUpper = letter !== letter.toLowerCase();
    const before = letters[index - 1];
    if (index > 0 && isUpper && beginsWord(letters, index, before)) all.push("");
    all[all.length - 1] += letter;
  });
  return all.flatMap((word) => word.split(/[-_.]/)).filter(Boolean);
}

function beginsWord(letters, index, before) {
  if (before === before.toLowerCase()) return true;
  const next = letters[index + 1];
  if (next === undefined || next !== next.toLowerCase() || next === next.toUpperCase()) return false;
  const after = letters[index + 2];
  return !(next === "s" && (after === undefined || after !== after.toLowerCase()));
}

/** Returns a label for a name of the contract: `maxBytes` becomes `Max bytes`. */
export function label(name) {
  const all = words(name).map((word) =>
    acronyms.test(word)
      ? word.replace(/^(ids?|ttl|api|arn|uri|md5|kms|urls?)$/i, (part) => part.toUpperCase().replace(/([DL])S$/, "$1s"))
      : word.toLowerCase(),
  );
  const joined = all.join(" ");
  return joined.charAt(0).toUpperCase() + joined.slice(1);
}

/** Returns the words for a count: `1 grant`, `12 grants`. */
export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}
