// Gateways: which run, with which version, how far behind they are, and how their clocks differ.

import { h, isAbort } from "../dom.js";
import { code, number, time } from "../format.js";
import { badge, liveStatus, pageHead } from "../parts.js";
import { columnsOf, dataTable } from "../table.js";

/** A clock that differs by more makes tokens and links fail at their edges. */
const tolerable = 2000;

export function open(page) {
  let newest = 0;
  const table = dataTable({
    caption: "Gateways",
    remember: "gateways",
    columns: columnsOf(page.contract, "listGateways", {
      show: ["id", "live", "version", "policyPosition", "clockAheadMilliseconds", "masterKeyIDs", "lastSeenAt"],
      hide: ["startedAt"],
      titles: {
        id: "Gateway",
        live: "State",
        policyPosition: "Policy",
        clockAheadMilliseconds: "Clock",
        masterKeyIDs: "Master keys",
        lastSeenAt: "Seen",
      },
      cells: {
        live: (row) => (row.live ? badge("live", "ok") : badge("gone", "bad")),
        version: (row) => code(row.version),
        policyPosition: (row) => behind(row, newest),
        clockAheadMilliseconds: clock,
        masterKeyIDs: (row) =>
          h(
            "span",
            { class: "badges" },
            row.masterKeyIDs.map((key, index) => badge(key, index ? null : "info")),
          ),
        lastSeenAt: (row) => time(row.lastSeenAt, { relative: true }),
      },
    }),
    tone: (row) => (!row.live ? "bad" : Math.abs(row.clockAheadMilliseconds) > tolerable ? "warn" : null),
    empty: { icon: "terminal", title: "No gateway is registered" },
  });
  const status = liveStatus();
  const read = async () => {
    const pages = page.pages("listGateways", { query: { pageSize: 100 } });
    const rows = await pages.next();
    // A menu or a heading that is in use stays where it is until it is left.
    if (table.element.contains(document.activeElement)) {
      status.say("Waits until you leave the table");
      return;
    }
    newest = Math.max(0, ...rows.map((row) => row.policyPosition?.sequence ?? 0));
    await table.load(rows);
    status.say("");
  };
  page.every(10, () =>
    read().catch((error) => {
      if (!isAbort(error)) status.say(error.title ?? error.message, { isBad: true });
    }),
  );
  return read().then(() => [
    pageHead("Gateways", {
      text: "Each gateway registers every five seconds. One that ended without a word stays listed for a day.",
      actions: status.element,
    }),
    table.element,
  ]);
}

function behind({ policyPosition: position }, newest) {
  if (!position) return badge("nothing read yet", "warn");
  const rest = newest - position.sequence;
  return rest > 0 ? badge(`${number(rest)} behind`, "warn") : h("span", { class: "number" }, number(position.sequence));
}

function clock({ clockAheadMilliseconds: ahead }) {
  const words = ahead === 0 ? "exact" : `${number(Math.abs(ahead))} ms ${ahead > 0 ? "ahead" : "behind"}`;
  return Math.abs(ahead) > tolerable ? badge(words, "warn") : h("span", { class: "number" }, words);
}
