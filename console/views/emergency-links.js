// What nothing can revoke: links, forms, cookies and temporary credentials that were issued, and what ends them at the
// store.

import { fill, h, isAbort } from "../dom.js";
import { code, count, duration, id as shortID, number, relative, time } from "../format.js";
import { badge, button, card, message, problemBox, skeleton, tile } from "../parts.js";
import { address } from "../router.js";
import { collect, lies, reaches } from "./emergency-rows.js";

/** How many issuances are read to sum them up. */
const most = 1000;

/** Returns a card that sums up what is alive, and the credentials whose rotation would end all but sessions. */
export function survivors(page, query, title) {
  const place = h("div", { class: "stack" }, skeleton(4));
  const load = async () => {
    try {
      page.record("listIssuances", { query: { ...filters(query), alive: true } });
      const read = (also) =>
        collect(page, "listIssuances", { ...also, alive: true }, most, (row) => isAbout(row, query));
      // Sessions, cookies and forms for a place above reach the place as well.
      const { bucket, prefix } = query;
      const wider = prefix ? reaching.map((delivery) => read({ bucket, delivery })) : [];
      const parts = await Promise.all([read(filters(query)), ...wider]);
      const found = [...new Map(parts.flatMap(({ rows }) => rows).map((row) => [row.id, row])).values()];
      const isMore = parts.some((part) => part.isMore);
      fill(place, summary(query, found, isMore));
      if (page.may("listStorageCredentials")) {
        const signed = found.filter((row) => !isSession(row));
        fill(place.querySelector("[data-credentials]"), credentials(page, signed));
      }
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error, { retry: load }));
    }
  };
  load();
  return card(
    title,
    { text: "What was issued works until it expires. Only a change at the store can end it earlier." },
    place,
  );
}

const reaching = ["sts", "cdn-cookies", "post-policy"];

const filters = ({ prefix, ...rest }) => (prefix ? { ...rest, prefix } : rest);

function isAbout(row, { prefix }) {
  if (!prefix || row.key === undefined) return true;
  return reaching.includes(row.delivery) ? reaches(row.key, prefix) : lies(row.key, prefix);
}

/** What a session may do is not one key. */
const isSession = (row) => row.delivery === "sts";

function summary(query, rows, isMore) {
  const last = latest(rows);
  const sessions = rows.filter(isSession);
  const people = new Set(rows.map((row) => row.principal));
  const some = (value) => `${number(value)}${isMore ? " or more" : ""}`;
  if (!rows.length && !isMore)
    return [
      message("ok", "Nothing that was issued can still be used"),
      h("div", { data: { credentials: "" }, hidden: true }),
    ];
  return [
    isMore
      ? message(
          "warn",
          "Not everything was read",
          h("p", {}, "Only the newest of what is alive was read. The ledger has the rest."),
        )
      : null,
    rows.length
      ? h(
          "div",
          { class: "tiles" },
          tile("Links, forms and cookies", some(rows.length - sessions.length), { tone: "warn" }),
          tile("Temporary credentials", some(sessions.length), { tone: sessions.length ? "bad" : null }),
          query.principal
            ? null
            : tile("Held by", some(people.size), { text: people.size === 1 ? "person" : "people" }),
          tile(isMore ? "Works at least until" : "The last works until", time(last), { text: relative(last) }),
        )
      : h("p", {}, "None of what was read concerns this place."),
    sessions.length
      ? message(
          "warn",
          null,
          h(
            "p",
            {},
            "A temporary credential may reach more than the ledger names, and it outlives the key that opened it. To " +
              "end it, deny its role everything at the store, until it has expired.",
          ),
        )
      : null,
    h(
      "div",
      { class: "actions" },
      button("See them in the ledger", {
        small: true,
        icon: "ledger",
        href: address("ledger", { ...filters(query), alive: "true" }),
      }),
    ),
    h("div", { class: "stack", data: { credentials: "" } }),
  ];
}

const latest = (rows) => rows.reduce((last, row) => (row.expiresAt > last ? row.expiresAt : last), "");

/** Returns which credentials signed, and what else would end with them. */
function credentials(page, rows) {
  const groups = Map.groupBy ? Map.groupBy(rows, (row) => row.credentialID) : grouped(rows);
  if (!groups.size) return null;
  return [
    h("h3", {}, "Which credential to rotate"),
    h(
      "p",
      { class: "faint" },
      "Rotate it here first, so that new links are signed with the new key. Then remove the old key at the store: at " +
        "that moment, all links, forms and cookies that it signed stop working.",
    ),
    h(
      "ul",
      { class: "rank" },
      [...groups].map(([id, signed]) => credential(page, id, signed)),
    ),
  ];
}

function grouped(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.credentialID, [...(groups.get(row.credentialID) ?? []), row]);
  return groups;
}

function credential(page, id, signed) {
  const name = h("span", {}, shortID(id));
  const also = h("div", { class: "faint" }, "Counting what else it signed …");
  const load = async () => {
    const { api } = page.session;
    const [row, all] = await Promise.allSettled([
      api.call("getStorageCredential", { path: { id }, signal: page.signal }),
      api.call("getBlastRadiusOfStorageCredential", { path: { id }, signal: page.signal }),
    ]);
    if (row.status === "fulfilled") fill(name, code(row.value.data.name), " ", code(row.value.data.accessKeyID));
    else if (row.reason.status === 404) fill(name, shortID(id), " ", badge("deleted"));
    if (all.status === "fulfilled") fill(also, radius(all.value.data, signed.length));
    else if (!isAbort(all.reason)) fill(also, "What else it signed could not be counted.");
  };
  load();
  return h(
    "li",
    {},
    h(
      "div",
      {},
      page.may("getStorageCredential") ? h("a", { href: address("credentials", {}, [id]) }, name) : name,
      h("div", {}, `Signed ${count(signed.length, "of these", "of these")}`),
      also,
    ),
    page.may("patchStorageCredential")
      ? button("Rotate", { small: true, icon: "refresh", href: address("credentials", { rotate: "1" }, [id]) })
      : null,
  );
}

function radius(data, here) {
  const signed = data.deliveries.filter(({ name }) => name !== "sts");
  const others = Math.max(0, signed.reduce((sum, delivery) => sum + delivery.count, 0) - here);
  const last = signed.reduce((end, { lastExpiresAt }) => (lastExpiresAt > end ? lastExpiresAt : end), "");
  if (!others) return "It signed no other link that is alive.";
  const left = Math.max(0, (Date.parse(last) - Date.now()) / 1000);
  return `Its end also ends ${count(others, "other link")}; without it, the last would live for ${duration(left)}.`;
}
