// Addresses: `#/grants/ID?bucket=photos`. The path names the view, the query holds its filters.

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function encode(text) {
  return encodeURIComponent(text).replace(/%(2F|3A|2C|40|24|2A)/g, (escaped) => decodeURIComponent(escaped));
}

/** Reads an address: the part of a link behind `#`. */
export function parseAddress(hash) {
  const [path, query = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const filters = {};
  for (const pair of query.split("&").filter(Boolean)) {
    const [name, value = ""] = splitOnce(pair, "=");
    filters[decode(name)] = decode(value);
  }
  const [view = "", ...rest] = path.split("/").map(decode);
  return { view, path: rest.filter((part, index) => part !== "" || index < rest.length - 1), query: filters };
}

function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/**
 * Writes an address.
 *
 * @param {string} view The name of a view, such as `grants`.
 * @param {object} [query] Filters. Those that are absent or empty are left out, except for `""` in `keepEmpty`.
 * @param {string[]} [path] What follows the view, such as an identifier.
 */
export function address(view, query = {}, path = []) {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
    .map(([name, value]) => `${encode(name)}=${encode(String(value))}`);
  const place = [view, ...path].map((part) => encodeURIComponent(part)).join("/");
  return `#/${place}${pairs.length ? `?${pairs.join("&")}` : ""}`;
}

/** Goes to an address. With `replace`, the browser's "back" does not return to the present one. */
export function go(hash, { replace } = {}) {
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** What is asked before the page goes to another address. */
const questions = new Set();

/** Asks before each change of the address. If the answer is `false`, the page stays, and the address with it. */
export function askBeforeLeaving(mayLeave) {
  questions.add(mayLeave);
}

/** Ends that a function is asked. */
export function dropQuestion(mayLeave) {
  questions.delete(mayLeave);
}

/** The number of the present entry of the browser's history; `undefined` in browsers that do not tell. */
const entryNow = () => globalThis.navigation?.currentEntry?.index;

/**
 * Opens the view that the address names, now and at every change.
 *
 * @param {function({view: string, path: string[], query: object}, boolean): void} show Receives the address, and
 *   whether only the query differs from the one before.
 */
export function startRouter(show) {
  let before = null;
  let here;
  let entry;
  let isReturning = false;
  const follow = () => {
    here = location.hash;
    entry = entryNow();
    isReturning = false;
    const next = parseAddress(location.hash);
    const place = JSON.stringify([next.view, next.path]);
    show(next, place === before);
    before = place;
  };
  addEventListener("hashchange", (event) => {
    const isHere = location.hash === here;
    if (isHere ? !isReturning : [...questions].reverse().every((mayLeave) => mayLeave())) {
      follow();
      return;
    }
    // Nobody else hears that the address changed, or that it is what it was.
    event.stopImmediatePropagation();
    isReturning = !isHere && entry !== entryNow();
    if (isReturning) history.go(entry - entryNow());
    else if (!isHere) history.pushState(null, "", here);
  });
  follow();
  return {
    again: () => {
      before = null;
      follow();
    },
  };
}
