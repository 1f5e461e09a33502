// Asks why a request was refused, and what would permit it.

import { fill, h, unique } from "./dom.js";
import { objectOf, showExplanation } from "./explanation.js";
import { code } from "./format.js";
import { badge, button, card, message, problemBox, skeleton } from "./parts.js";
import { address } from "./router.js";

/** What helps against each reason, and the view where it is done. */
const remedies = {
  noCredential: [
    "The request had no credential. The app has to send Authorization: Bearer with a token or an API key.",
  ],
  malformedToken: ["The token is no JWT that can be read. The app has to send it as the issuer made it."],
  unknownIssuer: [
    "No issuer has the name in the token. Add the issuer, or correct the app's configuration.",
    "issuers",
  ],
  algorithmNotAccepted: [
    "The issuer's row does not list the algorithm of the token. Add it if the issuer really uses it.",
    "issuers",
  ],
  unknownKeyID: [
    "The issuer's keys include none with the identifier in the token. Test the issuer: its key set may be old or out " +
      "of reach.",
    "issuers",
  ],
  badSignature: [
    "No key of the issuer made this signature. The token was changed, or it comes from somebody else.",
    "issuers",
  ],
  wrongAudience: [
    "The token is for another audience, or for none. Add the audience to the issuer, or let the provider or the app " +
      "ask for the right one.",
    "issuers",
  ],
  notYetValid: ["The token is valid from a later time. Compare the clocks of issuer and gateway.", "gateways"],
  claimNotAccepted: [
    "A claim that the gateway needs is missing or malformed. Compare the token with the issuer's row.",
    "issuers",
  ],
  tokenExpired: ["The token has expired. The app has to fetch a new one."],
  unknownAPIKey: ["No API key begins like this one. It was deleted, or never existed. Make a new one.", "api-keys"],
  wrongAPIKey: [
    "The beginning of the API key is known, but not its secret. It was rotated, or somebody guesses.",
    "api-keys",
  ],
  apiKeyExpired: ["The API key has expired. Extend it, or make a new one.", "api-keys"],
  unknownTicket: ["The ticket was revoked, or never existed.", "tickets"],
  wrongTicket: ["The name of the ticket is known, but not its secret.", "tickets"],
  ticketExpired: ["The ticket has expired, or all of its uses are taken. The app has to make a new one.", "tickets"],
  ticketOrphaned: [
    "The API key or issuer under which the ticket was made is gone, or the issuer has other prefixes.",
    "tickets",
  ],
  ticketNotAccepted: ["The operation accepts no tickets. Use a token or an API key."],
  roleMissing: [
    "The caller lacks the role that the operation needs. Use a credential with the role, or give the role to this one.",
    "api-keys",
  ],
  noSuchBucket: ["There is no such bucket here. Create it, or correct the name in the app.", "buckets"],
  protocolClosed: ["The bucket does not open the protocol by which the request came: see its protocols.", "buckets"],
  outsideTicket: ["The ticket does not cover the request. The app has to make a wider one.", "tickets"],
  noGrant: ["No grant covers the key and the action."],
  deniedByGrant: [
    "A grant denies it. A deny overrides every grant that allows, so change or delete the deny.",
    "grants",
  ],
  conditionFailed: [
    "A grant covers it, but one of its conditions does not hold. The app has to ask differently, or the grant has to " +
      "allow more.",
    "grants",
  ],
  entityTooLarge: [
    "The object would exceed what the grant allows. Raise max bytes of the grant, or upload less.",
    "grants",
  ],
  notEnforceable: [
    "The bucket's signing scheme cannot enforce a limit of the grant or of a quota. The detail of the answer names " +
      "what can.",
    "buckets",
  ],
  quotaExceeded: ["A quota has no room. Wait for its next period, raise it, or reset it.", "quotas"],
  tooManyRequests: ["The principal asks faster than the gateway allows. The app has to slow down."],
  failed: [
    "The gateway, its database or a store failed. The log has the cause under the request's identifier.",
    "gateways",
  ],
};

/** What helps against each code of a problem. */
const codes = {
  AccessDenied: "No grant permits it, a grant denies it, or there is no such bucket. Name the key to see which.",
  QuotaExceeded: "A quota has no room. Wait for its next period, raise it, or reset it.",
  EntityTooLarge: remedies.entityTooLarge[0],
  NotEnforceable: remedies.notEnforceable[0],
  ExpiredToken: "The credential has expired. The app has to fetch a new one.",
  Unauthenticated:
    "The credential was not accepted. Ask the person for the request's identifier: it leads to the reason.",
  TooManyRequests: remedies.tooManyRequests[0],
  SlowDown: "There were more requests than the gateway can serve in time.",
  ServiceUnavailable: "PostgreSQL, a store or another part did not answer.",
  StoreRefused: "The store refused a request of the gateway. Test the bucket.",
};

/** The codes of problems that refusals have. */
export const refusalCodes = Object.keys(codes);

/** Returns what helps against a reason: a sentence and a link. `subject` and `grantID` may name the row. */
export function remedy(reason, { subject, grantID } = {}) {
  const [text, view] = remedies[reason] ?? ["The request was not accepted."];
  const isQuota = view === "quotas" && /^[0-9a-f-]{36}$/.test(subject ?? "");
  const href =
    view === "grants"
      ? grantID
        ? address("grants", {}, [grantID])
        : null
      : view
        ? address(view, {}, isQuota ? [subject] : [])
        : null;
  const label = view === "grants" ? "Open the grant" : isQuota ? "Open the quota" : "Go there";
  return h("p", {}, text, href ? [" ", h("a", { href }, label)] : null);
}

/** Returns what helps against the code of a problem, as text. */
export function codeHelp(name) {
  return codes[name] ?? null;
}

const digestOf = async (text) =>
  [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");

/**
 * Returns a form that asks why, and its answer.
 *
 * @param {Page} page
 * @param {object} options
 * @param {object} options.asked What is known of the request: `{principal, bucket, action, key, at}`.
 * @param {string} [options.digest] The SHA-256 of the refused key, against which the key in the form is compared.
 * @param {boolean} [options.starts] Whether it asks at once.
 * @param {function(object): void} [options.onAsk] Receives what is asked.
 */
export function whyForm(page, { asked, digest, starts, onAsk }) {
  const answer = h("div", { class: "stack", "aria-live": "polite" });
  const match = h("p", { class: "help" });
  const field = (label, name, input, help) => {
    input.id = unique("why");
    input.name = name;
    return h(
      "div",
      { class: ["field", name === "key" && "whole"] },
      h("label", { for: input.id }, label),
      input,
      help ?? null,
    );
  };
  const text = (value, placeholder) =>
    h("input", {
      type: "text",
      class: "code",
      value: value ?? "",
      placeholder,
      autocomplete: "off",
      spellcheck: "false",
    });
  const inputs = {
    principal: text(asked.principal, "user:alice"),
    bucket: text(asked.bucket, "photos"),
    key: text(asked.key, "team/a.jpg"),
    action: h(
      "select",
      {},
      page.contract
        .schema("Action")
        .enum.map((name) => h("option", { value: name, selected: name === asked.action }, name)),
    ),
  };
  const now = h("input", { type: "checkbox", checked: !asked.at, id: unique("why") });
  async function compare() {
    if (!digest) return;
    const typed = inputs.key.value;
    if (typed === (asked.key ?? "")) {
      fill(match, "The gateway keeps only the folder and a digest of the key. Complete it, and it is compared.");
      return;
    }
    const same = typed && (await digestOf(typed)) === digest;
    if (typed !== inputs.key.value) return;
    fill(
      match,
      badge(same ? "This is the key that was refused" : "Not the key that was refused", same ? "ok" : "warn"),
    );
  }
  inputs.key.addEventListener("input", compare);
  compare();
  const submit = button("Ask", { tone: "primary", type: "submit", icon: "access" });
  const form = h(
    "form",
    { class: "stack", novalidate: true },
    h(
      "div",
      { class: "form-grid" },
      field("Principal", "principal", inputs.principal),
      field("Action", "action", inputs.action),
      field("Bucket", "bucket", inputs.bucket),
      field("Key", "key", inputs.key, match),
    ),
    h(
      "div",
      { class: "actions" },
      submit,
      asked.at
        ? h("span", { class: "check" }, now, h("label", { for: now.id }, "With the grants of now, not of then"))
        : null,
    ),
  );

  async function ask() {
    const request = Object.fromEntries(
      Object.entries(inputs)
        .map(([name, input]) => [name, input.value])
        .filter(([, value]) => value !== ""),
    );
    onAsk?.(request);
    const { key, ...rest } = request;
    if (!request.principal?.startsWith("user:")) {
      fill(
        answer,
        message(
          "info",
          "Name a user",
          h("p", {}, "The gateway explains what it decides for one user, such as ", h("code", {}, "user:alice"), "."),
        ),
      );
      return;
    }
    const body = { ...rest, ...objectOf({ ...rest, key }), ...(asked.at && !now.checked ? { at: asked.at } : {}) };
    fill(answer, skeleton(4));
    try {
      const { data } = await page.call("explain", { body });
      fill(
        answer,
        data.permitted
          ? message(
              "ok",
              "This request is permitted",
              h(
                "p",
                {},
                "It was refused for another key or length, from another address, or before something changed.",
              ),
            )
          : null,
        showExplanation(page, data, request),
      );
    } catch (error) {
      fill(answer, problemBox(error, { retry: ask }));
    }
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  if (starts) ask();
  return h(
    "div",
    { class: "stack" },
    card(
      "What would permit this?",
      { text: "Asks the function that decides. It changes nothing." },
      asked.code
        ? h("p", {}, code(asked.code), ": ", codeHelp(asked.code) ?? "See the list of problems in the API reference.")
        : null,
      form,
    ),
    answer,
  );
}
