// One request: what it issued, what it changed, and why it was refused.

import { h, isAbort, unique } from "../dom.js";
import { code, count, number, principal, time } from "../format.js";
import { badge, button, card, disclosure, emptyState, facts, message, pageHead, problemBox } from "../parts.js";
import { address, go } from "../router.js";
import { dataTable, localTime } from "../table.js";
import { grantLink } from "../values.js";
import { remedy, whyForm } from "../why.js";
import { changeAddress, changeColumns } from "./changes.js";
import { issuanceColumns } from "./ledger.js";

export async function open(page) {
  const [id] = page.path;
  const form = searchForm(page, id);
  const head = pageHead("Requests", {
    text:
      "Every answer carries the identifier of its request, in the header X-Request-Id and in each problem. It " +
      "leads to all that the request did.",
  });
  if (!id) return [head, form];
  const { from, to } = page.query;
  page.title("Request");
  let data;
  try {
    ({ data } = await page.call("getRequest", { path: { requestID: id }, query: { from, to } }));
  } catch (error) {
    if (isAbort(error)) throw error;
    return [head, form, problemBox(error)];
  }
  const nothing = !data.refusals.length && !data.issuances.length && !data.changes.length;
  return [
    head,
    form,
    data.refusals.map((refusal, index) => refusalCard(page, refusal, index, data.refusals.length)),
    data.issuances.length
      ? card(
          `Issued ${count(data.issuances.length, "time")}`,
          { flush: true },
          dataTable({
            caption: "Issuances",
            rows: data.issuances,
            columns: issuanceColumns(page),
            href: (row) => address("ledger", {}, [row.id]),
            remember: "ledger",
          }).element,
        )
      : null,
    data.changes.length
      ? card(
          `Changed ${count(data.changes.length, "row")}`,
          { flush: true },
          dataTable({
            caption: "Changes",
            rows: data.changes,
            columns: changeColumns(page),
            href: changeAddress,
          }).element,
        )
      : null,
    nothing
      ? card(
          null,
          {},
          emptyState({
            icon: "search",
            title: "No trace of this request",
            text: data.from
              ? "It issued, changed and refused nothing that is kept. Reads leave no trace. Refusals arrive within " +
                "some seconds."
              : "This identifier holds no time, so issuances were not searched. Give the period below.",
          }),
        )
      : null,
    data.droppedRefusals && nothing
      ? message(
          "warn",
          "Some refusals were dropped",
          h(
            "p",
            {},
            `${number(data.droppedRefusals)} refusals around this time were counted, but not kept one by one. This ` +
              "request may be among them.",
          ),
        )
      : null,
  ];
}

function searchForm(page, id) {
  const input = h("input", {
    type: "search",
    class: "code",
    id: unique("request"),
    value: id ?? "",
    placeholder: "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69",
    autocomplete: "off",
    spellcheck: "false",
  });
  const from = h("input", { type: "datetime-local", id: unique("from"), value: localTime(page.query.from) });
  const to = h("input", { type: "datetime-local", id: unique("to"), value: localTime(page.query.to) });
  const iso = (field) => (field.value ? new Date(field.value).toISOString() : "");
  return h(
    "form",
    {
      class: "stack",
      on: {
        submit: (event) => {
          event.preventDefault();
          if (input.value.trim()) go(address("requests", { from: iso(from), to: iso(to) }, [input.value.trim()]));
          else input.focus();
        },
      },
    },
    h(
      "div",
      { class: "inline-form" },
      h("div", { class: "field" }, h("label", { for: input.id }, "Identifier of the request"), input),
      button("Find", { tone: "primary", type: "submit", icon: "search" }),
    ),
    disclosure(
      "The identifier comes from a proxy",
      { open: Boolean(page.query.from) },
      h(
        "p",
        { class: "faint" },
        "An identifier that a trusted proxy made holds no time. Say when the request was, at most 24 hours long.",
      ),
      h(
        "div",
        { class: "filters" },
        h("div", { class: "filter time" }, h("label", { for: from.id }, "From"), from),
        h("div", { class: "filter time" }, h("label", { for: to.id }, "To"), to),
      ),
    ),
  );
}

const words = {
  noCredential: "No credential",
  malformedToken: "Malformed token",
  unknownIssuer: "Unknown issuer",
  algorithmNotAccepted: "Algorithm not accepted",
  unknownKeyID: "Unknown key",
  badSignature: "Bad signature",
  wrongAudience: "Wrong audience",
  notYetValid: "Not yet valid",
  claimNotAccepted: "Claim not accepted",
  tokenExpired: "Token expired",
  unknownAPIKey: "Unknown API key",
  wrongAPIKey: "Wrong API key",
  apiKeyExpired: "API key expired",
  unknownTicket: "Unknown ticket",
  wrongTicket: "Wrong ticket",
  ticketExpired: "Ticket expired",
  ticketOrphaned: "Orphaned ticket",
  ticketNotAccepted: "Ticket not accepted",
  credentialNotAccepted: "Credential not accepted",
  roleMissing: "Role missing",
  noSuchBucket: "No such bucket",
  protocolClosed: "Protocol not open",
  outsideTicket: "Outside the ticket",
  noGrant: "No grant",
  deniedByGrant: "Denied by a grant",
  conditionFailed: "A condition failed",
  entityTooLarge: "Too large",
  notEnforceable: "Not enforceable",
  quotaExceeded: "Quota exceeded",
  notPermitted: "Not permitted",
  tooManyRequests: "Too many requests",
  failed: "Failed",
};

const explainable = new Set([
  "noSuchBucket",
  "noGrant",
  "deniedByGrant",
  "conditionFailed",
  "entityTooLarge",
  "notEnforceable",
  "quotaExceeded",
]);

function refusalCard(page, refusal, index, all) {
  const { reason } = refusal;
  const title = `${all > 1 ? `Refusal ${index + 1}: ` : "Refused: "}${(words[reason] ?? reason).toLowerCase()}`;
  const canAsk =
    explainable.has(reason) && refusal.bucket && refusal.principal?.startsWith("user:") && page.may("explain");
  return h(
    "div",
    { class: "stack" },
    card(
      title,
      { tone: "bad" },
      remedy(reason, refusal),
      facts([
        [
          "Reason",
          h(
            "span",
            { class: "badges" },
            badge(reason, "bad"),
            refusal.subject === undefined ? null : code(refusal.subject),
          ),
        ],
        ["At", time(refusal.refusedAt, { seconds: true })],
        ["Request", h("span", {}, code(refusal.method), " ", code(refusal.route))],
        ["Answer", h("span", {}, `${refusal.status} `, code(refusal.code))],
        [
          "Caller",
          refusal.principal === undefined ? h("span", { class: "faint" }, "not known") : principal(refusal.principal),
        ],
        ["From", refusal.sourceAddress === undefined ? null : code(refusal.sourceAddress)],
        ["Action", refusal.action ?? null],
        [
          "Folder",
          refusal.bucket === undefined
            ? null
            : h("span", {}, code(refusal.bucket), " / ", refusal.keyPrefix ? code(refusal.keyPrefix) : null),
        ],
        ["Grant", refusal.grantID === undefined ? null : grantLink(refusal.grantID)],
        ["SHA-256 of the key", refusal.keySHA256 === undefined ? null : code(refusal.keySHA256)],
      ]),
    ),
    canAsk && index < 3
      ? whyForm(page, {
          asked: {
            principal: refusal.principal,
            bucket: refusal.bucket,
            action: refusal.action,
            key: refusal.keyPrefix,
            at: refusal.refusedAt,
          },
          digest: refusal.keySHA256,
        })
      : null,
  );
}
