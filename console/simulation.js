// What a change would have refused: replays of the ledger (`POST /admin/v1/simulate`), and what is alive because of a
// grant or a credential.

import { fill, h, isAbort } from "./dom.js";
import { code, count, duration, id, number, principal, time, timeText } from "./format.js";
import { button, card, disclosure, facts, message, problemBox, progressBar, tile } from "./parts.js";
import { address } from "./router.js";
import { dataTable } from "./table.js";

/**
 * Returns a card that replays the ledger under a change. It says what would be refused, to whom, with examples; `null`
 * if the person may not replay.
 *
 * @param {Page} page
 * @param {object} change A body of `simulate` without `days`, such as `{remove: [id]}`.
 * @param {object} [options] `title`; `starts` begins at once; `days` is the first choice.
 */
export function simulationCard(page, change, { title = "What it would have refused", starts = false, days = 7 } = {}) {
  if (!page.may("simulate")) return null;
  const result = h("div", { class: "stack", "aria-live": "polite" });
  const choice = h(
    "select",
    { "aria-label": "Days to replay" },
    [1, 7, 30, 90, 366].map((number) =>
      h(
        "option",
        { value: String(number), selected: number === days },
        number === 1 ? "the last day" : `the last ${number} days`,
      ),
    ),
  );
  let stop = null;
  const run = async () => {
    stop?.abort();
    stop = new AbortController();
    const bar = progressBar("Replaying the ledger");
    fill(result, bar.element);
    try {
      const signal = AbortSignal.any([page.signal, stop.signal]);
      const sum = await simulate(page, { ...change, days: Number(choice.value) }, signal, bar);
      fill(result, showSimulation(sum));
    } catch (error) {
      if (!isAbort(error)) fill(result, problemBox(error, { retry: run }));
    }
  };
  const element = card(
    title,
    {
      text: "Replays what was issued, under this change. Quotas are left out.",
      actions: [choice, button(starts ? "Replay again" : "Replay", { small: true, icon: "refresh", run })],
    },
    result,
  );
  if (starts) run();
  else fill(result, h("p", { class: "faint" }, "Nothing was replayed yet."));
  return element;
}

/** Replays until the whole period was examined or nobody sees the bar any more, and adds up the answers. */
async function simulate(page, body, signal, bar) {
  let sum = null;
  let pageToken;
  do {
    const { data } = await page.call("simulate", { body: pageToken ? { ...body, pageToken } : body, signal });
    sum = sum ? added(sum, data) : data;
    const whole = new Date(data.to) - new Date(data.from);
    const share = data.isComplete || !data.examinedFrom ? 1 : (new Date(data.to) - new Date(data.examinedFrom)) / whole;
    bar.show(share, `${number(sum.examined)} replayed`);
    pageToken = data.isComplete ? undefined : data.nextPageToken;
  } while (pageToken && bar.element.isConnected);
  return sum;
}

function added(one, other) {
  const counts = Object.fromEntries(
    ["examined", "refused", "refusedAlready", "permittedAnew", "uncertain"].map((name) => [
      name,
      one[name] + other[name],
    ]),
  );
  const shares = (name) => {
    const sums = new Map();
    for (const item of [...one[name], ...other[name]]) sums.set(item.name, (sums.get(item.name) ?? 0) + item.count);
    return [...sums].map(([key, value]) => ({ name: key, count: value })).sort((a, b) => b.count - a.count);
  };
  return {
    ...one,
    ...counts,
    principals: shares("principals"),
    grants: shares("grants"),
    hasMoreShares: one.hasMoreShares || other.hasMoreShares,
    examples: [...one.examples, ...other.examples].slice(0, 20),
    isComplete: other.isComplete,
    examinedFrom: other.examinedFrom,
  };
}

function showSimulation(sum) {
  if (sum.examined === 0) {
    return message(
      "info",
      "Nothing to replay",
      h("p", {}, `Nothing that this change affects was issued between ${timeText(sum.from)} and ${timeText(sum.to)}.`),
    );
  }
  return [
    h(
      "div",
      { class: "tiles" },
      tile("Replayed", number(sum.examined), { text: `since ${timeText(sum.from)}` }),
      tile("Would be refused", number(sum.refused), {
        tone: sum.refused ? "bad" : "ok",
        text: sum.refused
          ? `for ${count(sum.principals.length, "principal")}${sum.hasMoreShares ? " or more" : ""}`
          : "nothing that is permitted now",
      }),
      tile("Would be permitted anew", number(sum.permittedAnew)),
      sum.uncertain
        ? tile("Uncertain", number(sum.uncertain), { tone: "warn", text: "depends on what the ledger does not hold" })
        : null,
      sum.refusedAlready ? tile("Refused already", number(sum.refusedAlready)) : null,
    ),
    sum.principals.length
      ? disclosure(
          `Who would be refused (${number(sum.principals.length)})`,
          { open: sum.principals.length < 8 },
          h(
            "ul",
            { class: "plain" },
            sum.principals
              .slice(0, 100)
              .map((item) =>
                h(
                  "li",
                  {},
                  h("a", { href: address("access", { principal: item.name }) }, principal(item.name)),
                  " ",
                  h("span", { class: "faint number" }, `${number(item.count)}×`),
                ),
              ),
          ),
        )
      : null,
    sum.examples.length
      ? disclosure(
          "Examples",
          {},
          dataTable({
            caption: "Examples of what would be refused",
            rows: sum.examples,
            key: (row) => row.issuance.id,
            columns: [
              { name: "at", title: "Issued", cell: ({ issuance }) => time(issuance.issuedAt) },
              { name: "who", title: "Caller", cell: ({ issuance }) => principal(issuance.principal) },
              {
                name: "key",
                title: "Object",
                grow: true,
                cell: ({ issuance }) => h("span", {}, code(issuance.bucket), " / ", code(issuance.key)),
              },
              {
                name: "told",
                title: "Would be told",
                cell: ({ told }) => h("span", {}, `${told.status} `, code(told.code)),
              },
            ],
          }).element,
        )
      : null,
  ];
}

/**
 * Returns a card with what can still be used because of a grant or a credential, and until when.
 *
 * @param {string} operation `getBlastRadiusOfGrant` or `getBlastRadiusOfStorageCredential`.
 */
export function blastRadiusCard(page, operation, rowID, { title = "Blast radius" } = {}) {
  const result = h("div", { class: "stack" }, h("p", { class: "faint", role: "status" }, "Counting …"));
  const load = async () => {
    try {
      const { data } = await page.call(operation, { path: { id: rowID } });
      fill(result, showBlastRadius(data));
    } catch (error) {
      if (!isAbort(error)) fill(result, problemBox(error, { retry: load }));
    }
  };
  load();
  return card(title, { text: "What was issued lives until it expires, whatever becomes of the row." }, result);
}

/** Returns what a blast radius says. */
export function showBlastRadius(data) {
  if (data.count === 0 && data.sessionCount === 0)
    return h("p", {}, "Nothing that can still be used was issued because of it.");
  const share = (item) =>
    h(
      "li",
      {},
      principal(item.name),
      " ",
      h("span", { class: "faint" }, `${number(item.count)}, until `, time(item.lastExpiresAt)),
    );
  const left = data.lastExpiresAt ? Math.max(0, (new Date(data.lastExpiresAt) - Date.now()) / 1000) : null;
  return [
    h(
      "div",
      { class: "tiles" },
      tile("Can still be used", number(data.count), {
        tone: data.count ? "warn" : null,
        text: left === null ? null : `the last for ${duration(left)}`,
      }),
      tile("Principals", number(data.principalCount)),
      tile("Temporary credentials", number(data.sessionCount), {
        tone: data.sessionCount ? "bad" : null,
        text: data.sessionCount ? "cannot be taken back" : null,
      }),
    ),
    data.principals.length
      ? disclosure("By principal", {}, h("ul", { class: "plain" }, data.principals.map(share)))
      : null,
    facts([
      [
        "Kinds",
        data.deliveries.length ? data.deliveries.map((item) => `${item.name} ${number(item.count)}`).join(", ") : null,
      ],
      [
        "Buckets",
        data.buckets.length
          ? h(
              "ul",
              { class: "plain inline" },
              data.buckets.map((item) => h("li", {}, code(item.name), ` ${number(item.count)}`)),
            )
          : null,
      ],
      [
        "Signed by",
        data.credentials.length
          ? h(
              "ul",
              { class: "plain inline" },
              data.credentials.map((item) => h("li", {}, id(item.name), ` ${number(item.count)}`)),
            )
          : null,
      ],
    ]),
    data.sessions.length
      ? disclosure(
          `Temporary credentials (${number(data.sessionCount)})`,
          {},
          dataTable({
            caption: "Temporary credentials",
            rows: data.sessions,
            key: (row) => JSON.stringify(row),
            columns: [
              { name: "principal", title: "Principal", cell: (row) => principal(row.principal) },
              {
                name: "place",
                title: "Place",
                cell: (row) =>
                  h(
                    "span",
                    {},
                    code(row.bucket),
                    " / ",
                    row.prefix === "" ? h("span", { class: "faint" }, "whole bucket") : code(row.prefix),
                  ),
              },
              { name: "until", title: "Until", cell: (row) => time(row.expiresAt) },
            ],
          }).element,
        )
      : null,
  ];
}
