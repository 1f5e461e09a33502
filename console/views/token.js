// Decodes a token in the browser, and has the gateway judge it. The token leaves the page as soon as it was judged.

import { fill, h, isAbort, isObject, unique } from "../dom.js";
import { code, principal, relative, time, visible } from "../format.js";
import { badge, button, card, disclosure, facts, message, pageHead, problemBox } from "../parts.js";
import { address } from "../router.js";
import { commandLines } from "../shell.js";
import { stepList, testing } from "./checks.js";
import { callWithSecret } from "./secrets.js";

/** The words for the steps of a test. */
export const stepTitles = {
  discovery: "Discovery document",
  issuer: "Name of the issuer",
  "keys-url": "Place of the keys",
  "key-set": "Key set",
  keys: "Keys that can be used",
  algorithms: "Algorithms of the row",
  token: "The token is accepted",
  "token-form": "Form of the token",
  "token-alg": "Algorithm",
  "token-kid": "Key that signed",
  "token-signature": "Signature",
  "token-iss": "Issuer (iss)",
  "token-aud": "Audience (aud)",
  "token-exp": "End (exp)",
  "token-nbf": "Beginning (nbf)",
  "token-iat": "Time of issue (iat)",
  "token-sub": "Subject",
  "token-groups": "Groups",
  "token-roles": "Roles",
  "token-claims": "Claims for templates",
};

/** Returns the parts of a JWT; `null` if the text is none. Says nothing about its signature. */
export function decode(text) {
  const parts = text
    .trim()
    .replace(/^Bearer\s+/i, "")
    .split(".");
  if (parts.length !== 3) return null;
  try {
    const [header, payload] = parts.slice(0, 2).map((part) => {
      const letters = atob(part.replace(/-/g, "+").replace(/_/g, "/"));
      const whole = JSON.parse(new TextDecoder().decode(Uint8Array.from(letters, (letter) => letter.charCodeAt(0))));
      if (!isObject(whole)) throw new TypeError("not an object");
      return whole;
    });
    return { header, payload };
  } catch {
    return null;
  }
}

/** The page for a token of any issuer. */
export function tokenPage(page) {
  page.title("Judge a token");
  return [
    pageHead("Judge a token", {
      back: { href: "#/issuers", label: "Issuers" },
      text: "Says what a token holds, whether the gateway accepts it, and who its holder would be.",
    }),
    tokenCard(page, {}),
  ];
}

/**
 * Returns a card that takes a token.
 *
 * @param {object} options `issuer` is the row to judge by. Without it, the row with the token's `iss` is taken.
 */
export function tokenCard(page, { issuer }) {
  const place = h("div", { class: "stack", "aria-live": "polite" });
  const canJudge = page.may("validateIssuer");
  const input = h("textarea", {
    id: unique("token"),
    rows: "4",
    class: "code token-field",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    placeholder: "eyJhbGciOi…",
    on: { input: () => show() },
  });
  const judge = button("Judge it", { tone: "primary", disabled: true, run: () => ask() });
  const decoded = () => decode(input.value);

  function show() {
    const token = decoded();
    judge.disabled = !token;
    fill(
      place,
      input.value.trim() === ""
        ? null
        : token
          ? claims(token, issuer)
          : message("warn", "This is no JWT", h("p", {}, "A JWT has three parts with points between them.")),
    );
  }

  async function ask() {
    const token = decoded();
    if (!token) return;
    const sent = input.value.trim().replace(/^Bearer\s+/i, "");
    const shown = claims(token, issuer);
    fill(place, testing("The issuer's keys are being read."), shown);
    try {
      const row = issuer ?? (await find(page, token.payload.iss));
      if (!row) {
        fill(
          place,
          message(
            "bad",
            "No issuer has this name",
            h("p", {}, "The token says ", code(String(token.payload.iss ?? "")), ". The comparison is exact."),
          ),
          shown,
        );
        return;
      }
      const call = { path: { id: row.id }, body: { token: sent } };
      const { data } = await callWithSecret(page, "validateIssuer", call);
      fill(place, judged(page, data, row), shown);
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error), shown);
    } finally {
      input.value = "";
      judge.disabled = true;
    }
  }

  return card(
    issuer ? "Judge a token" : null,
    issuer ? { text: "Paste a token of this issuer, as an app would send it." } : {},
    h("div", { class: "field" }, h("label", { for: input.id }, "Token"), input),
    h(
      "p",
      { class: "help" },
      canJudge
        ? "It authenticates nobody here, is neither logged nor kept, and leaves this page once it was judged."
        : "It is decoded in the browser. Only an admin can have the gateway judge it.",
    ),
    h(
      "div",
      { class: "actions" },
      canJudge ? judge : null,
      button("Forget it", {
        run: () => {
          input.value = "";
          show();
          input.focus();
        },
      }),
    ),
    canJudge && issuer
      ? disclosure(
          "Show command",
          {},
          commandLines(page.lines("validateIssuer", { path: { id: issuer.id }, body: { token: "…" } })),
        )
      : null,
    place,
  );
}

/** Finds the row of an issuer by its exact name. */
async function find(page, name) {
  if (typeof name !== "string") return null;
  const { data } = await page.call("listIssuers", { query: { issuer: name } });
  return data.items.find((row) => row.issuer === name);
}

function judged(page, data, row) {
  const { bearer } = data;
  const verdictOfToken = data.steps.find((step) => step.step === "token");
  return [
    message(
      verdictOfToken?.outcome === "passed" ? "ok" : "bad",
      verdictOfToken?.outcome === "passed" ? "The gateway accepts this token" : "The gateway refuses this token",
      verdictOfToken?.advice ? h("p", {}, visible(verdictOfToken.advice)) : null,
    ),
    bearer
      ? h(
          "div",
          { class: "stack" },
          h("h3", {}, "Its holder would be"),
          facts([
            [
              "User",
              page.may("reviewAccess")
                ? h("a", { href: address("access", { principal: bearer.principal }) }, principal(bearer.principal))
                : principal(bearer.principal),
            ],
            ["Groups", bearer.groups.length ? h("span", { class: "badges" }, bearer.groups.map(principal)) : null],
            [
              "Roles",
              bearer.roles.length
                ? h(
                    "span",
                    { class: "badges" },
                    bearer.roles.map((role) => badge(role, "warn")),
                  )
                : null,
            ],
            [
              "Claims for templates",
              Object.keys(bearer.claims).length
                ? facts(Object.entries(bearer.claims).map(([name, value]) => [code(name), code(value)]))
                : null,
            ],
          ]),
        )
      : null,
    disclosure(
      "Step by step",
      { open: true },
      stepList(data.steps, stepTitles),
      page.path[0] === row.id ? null : h("a", { href: address("issuers", {}, [row.id]) }, "Open the issuer"),
    ),
  ];
}

const times = { exp: "ends", nbf: "begins", iat: "issued", auth_time: "signed in" };

/** Returns what a token says, without its signature. */
function claims({ header, payload }, issuer) {
  const differs = issuer && payload.iss !== issuer.issuer;
  return h(
    "div",
    { class: "stack" },
    differs
      ? message("warn", "This token is of another issuer", h("p", {}, "It says ", code(String(payload.iss ?? "")), "."))
      : null,
    h("h3", {}, "What the token says"),
    facts(
      Object.entries(payload).map(([name, value]) => [
        code(name),
        times[name] && typeof value === "number"
          ? h("span", {}, times[name], " ", moment(value))
          : typeof value === "object"
            ? code(JSON.stringify(value))
            : code(String(value)),
      ]),
    ),
    disclosure(
      "Header",
      {},
      facts(Object.entries(header).map(([name, value]) => [code(name), code(JSON.stringify(value))])),
    ),
  );
}

function moment(seconds) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return code(String(seconds));
  return [time(date.toISOString(), { seconds: true }), " (", relative(date.toISOString()), ")"];
}
