// Shows why a request is, or was, permitted or refused: the answer of `POST /admin/v1/explain`.

import { h } from "./dom.js";
import { bytes, code, duration, id, number, principal, text, time } from "./format.js";
import { icon } from "./icons.js";
import { actionBadges, badge, button, card, emptyState, facts, meter } from "./parts.js";
import { address } from "./router.js";
import { dataTable } from "./table.js";
import { conditionWords, eachPeriod, grantLine, grantLink, placeOf } from "./values.js";

const reasons = {
  granted: "A grant permits it.",
  denied: "A grant denies it, and a deny overrides every allow.",
  "condition-failed": "A grant covers it, but one of its conditions does not hold.",
  "not-granted": "No grant covers it.",
  "quota-exceeded": "A quota has no room.",
  "no-credential": "The bucket has no credential that could sign.",
  "no-such-bucket": "There is no such bucket.",
  "invalid-request": "The request is not valid, whoever makes it.",
  unauthenticated: "The token is not accepted.",
  recorded: "The ledger records it.",
};

const origins = {
  caller: "itself",
  credential: "named by the credential",
  membership: "by membership",
  ledger: "as recorded",
  everyone: "",
};

const assumptions = {
  "bucket-as-now": "The bucket, its credential and quotas are taken as they are now.",
  "credential-unknown": "The ledger does not record what the caller's credential named.",
  "source-unknown": "The address that the request came from is not known.",
};

const differences = {
  action: "another action",
  principal: "another principal",
  template: "a variable has no value",
  prefix: "another place",
};

/** Returns the member of a request that names its object. For a listing it is a prefix, empty for the whole bucket. */
export function objectOf({ action, key }) {
  return action === "ListObjects" ? { prefix: key ?? "" } : { key };
}

/** Returns a sentence for a reason of the contract. */
function reasonText(reason) {
  return reasons[reason] ?? reason;
}

/** Returns the address of a form for a grant that would permit a request. */
function grantThatPermits({ principal: who, bucket, key: object, prefix, action }) {
  const key = object ?? prefix;
  const folder = key?.includes("/") ? key.slice(0, key.lastIndexOf("/") + 1) : (key ?? "");
  const verb = action?.replace(/^(oss|s3):/, "");
  return address("grants", {
    new: JSON.stringify({ principal: who, bucket, prefix: folder, actions: verb ? [verb] : [] }),
  });
}

/**
 * Returns the cards that explain a decision.
 *
 * @param {Page} page
 * @param {object} explanation
 * @param {object} [request] What was asked, for a proposal of what would permit it.
 */
export function showExplanation(page, explanation, request) {
  const { permitted, told } = explanation;
  const isRecord = explanation.reason === "recorded";
  const tone = permitted ? "ok" : "bad";
  const grantable = !permitted && explanation.reason === "not-granted" && request?.bucket && page.may("createGrant");
  return h(
    "div",
    { class: "stack", "aria-live": "polite" },
    card(
      null,
      { tone },
      h(
        "p",
        { class: ["verdict", tone] },
        icon(permitted ? "check" : "denial"),
        isRecord ? "Issued" : permitted ? "Permitted" : "Refused",
        h("span", { class: "faint" }, reasonText(explanation.reason)),
      ),
      explanation.decidedBy ? facts([["Decided by", grantLine(explanation.decidedBy)]]) : null,
      told
        ? facts([
            [
              "The caller is told",
              h("span", {}, `${told.status} `, code(told.code), told.detail ? [" · ", text(told.detail)] : null),
            ],
          ])
        : null,
      facts([
        [
          "Acts as",
          h(
            "ul",
            { class: "plain inline" },
            explanation.principals.map((item) =>
              h(
                "li",
                {},
                principal(item.principal),
                " ",
                h("span", { class: "faint" }, origins[item.origin] ?? item.origin),
              ),
            ),
          ),
        ],
      ]),
      explanation.policy
        ? facts([
            [
              "State of policy",
              h(
                "span",
                {},
                `change ${number(explanation.policy.sequence)} of `,
                time(explanation.policy.changedAt, { seconds: true }),
                explanation.policy.isCurrent ? ", the current one" : ", not the current one",
              ),
            ],
          ])
        : null,
      explanation.assumptions.length
        ? facts([
            [
              "Assumed",
              h(
                "ul",
                { class: "plain" },
                explanation.assumptions.map((item) => h("li", {}, assumptions[item] ?? item)),
              ),
            ],
          ])
        : null,
      grantable
        ? h(
            "div",
            { class: "actions" },
            button("Draft a grant that would permit this", { icon: "plus", href: grantThatPermits(request) }),
          )
        : null,
    ),
    explanation.url ? linkCard(explanation.url) : null,
    matchesCard(page, explanation),
    explanation.nearMisses.length
      ? card(
          "Near misses",
          { text: "Grants in which one thing differs, the nearest first.", flush: true },
          dataTable({
            caption: "Near misses",
            rows: explanation.nearMisses,
            key: (row) => row.grant.id,
            columns: [
              {
                name: "differs",
                title: "Differs in",
                cell: (row) => badge(differences[row.differs] ?? row.differs, "warn"),
              },
              ...grantColumns(page),
            ],
          }).element,
        )
      : null,
    explanation.quotas.length ? card("Quotas that apply", {}, quotaList(explanation.quotas)) : null,
  );
}

function linkCard(url) {
  const origin = {
    request: "as requested",
    bucketDefault: "the bucket's default",
    grantMaxTTL: "the grant's maximum",
    grantValidity: "the end of the grant",
    denyStart: "the beginning of a grant that denies",
    bucketMaxTTL: "the bucket's maximum",
    scheme: "the limit of the scheme",
    credential: "the end of the credential",
  };
  return card(
    "What would be signed",
    { text: "Nothing was signed." },
    facts([
      ["Lives for", `${duration(url.expiresIn)} (${origin[url.expiryOrigin] ?? url.expiryOrigin})`],
      ["Size enforced by", url.enforcedBy],
      ["Credential", id(url.credentialID)],
      ["Reserves", url.reservedBytes === undefined ? null : bytes(url.reservedBytes)],
      [
        "Headers to send",
        Object.keys(url.headers).length
          ? h(
              "ul",
              { class: "plain" },
              Object.entries(url.headers).map(([name, value]) => h("li", {}, code(`${name}: ${value}`))),
            )
          : null,
      ],
    ]),
  );
}

function matchesCard(page, explanation) {
  const outcome = { permits: ["permits", "ok"], denies: ["denies", "bad"], fails: ["fails", "warn"] };
  if (!explanation.matches.length) {
    return card(
      "Grants that match",
      {},
      emptyState({
        title: "No grant matches",
        text: "No grant covers this bucket, key and action for any principal that the caller is.",
      }),
    );
  }
  return card(
    "Grants that match",
    { text: "Those that deny come first, then the others in the order in which they are tried.", flush: true },
    dataTable({
      caption: "Grants that match",
      rows: explanation.matches,
      key: (row) => row.grant.id,
      columns: [
        {
          name: "outcome",
          title: "Outcome",
          cell: (row) =>
            row.outcome
              ? h(
                  "span",
                  { class: "badges" },
                  badge(...(outcome[row.outcome] ?? [row.outcome])),
                  row.failure
                    ? badge(row.failure.condition ?? row.failure.code, "warn", {
                        title: row.failure.detail ?? row.failure.title,
                      })
                    : null,
                )
              : null,
        },
        ...grantColumns(page),
      ],
    }).element,
  );
}

/** Returns the columns for rows that hold a `grant`. */
export function grantColumns(page) {
  return [
    {
      name: "effect",
      title: "Effect",
      cell: ({ grant }) => badge(grant.effect, grant.effect === "deny" ? "bad" : "ok"),
    },
    { name: "principal", title: "Principal", cell: ({ grant }) => principal(grant.principal) },
    {
      name: "place",
      title: "Place",
      cell: ({ grant, prefix }) =>
        h(
          "span",
          {},
          code(grant.bucket),
          " / ",
          placeOf(grant),
          grant.template && prefix && prefix !== grant.template ? [" for the caller: ", code(prefix)] : null,
        ),
    },
    { name: "actions", title: "Actions", cell: ({ grant }) => actionBadges(grant.actions) },
    { name: "conditions", title: "Conditions", cell: ({ grant }) => conditionWords(grant.conditions, page.contract) },
    {
      name: "open",
      title: "Grant",
      cell: ({ grant }) => grantLink(grant.id, id(grant.id)),
    },
  ];
}

/** Returns what is left of quotas, as bars. */
export function quotaList(quotas) {
  return h(
    "ul",
    { class: "quota-list" },
    quotas.map((quota) => {
      const write = quota.metric === "bytes" ? bytes : number;
      const used = quota.remaining === undefined ? null : quota.limit - quota.remaining;
      return h(
        "li",
        {},
        h(
          "div",
          {},
          principal(quota.holder ?? quota.principal),
          " ",
          h(
            "span",
            { class: "faint" },
            quota.metric === "bytes" ? "bytes" : "links",
            ` ${eachPeriod(quota.period)}`,
            quota.bucket ? [" in ", code(quota.bucket)] : null,
          ),
        ),
        used === null
          ? h("span", { class: "faint" }, `at most ${write(quota.limit)} each`)
          : h(
              "div",
              { class: "quota-use" },
              meter(used, quota.limit, { label: `${write(used)} of ${write(quota.limit)} used` }),
              h(
                "span",
                { class: "number" },
                `${write(quota.remaining)} of ${write(quota.limit)} left`,
                quota.resetsIn === undefined
                  ? null
                  : h("span", { class: "faint" }, ` · resets in ${duration(quota.resetsIn)}`),
              ),
            ),
      );
    }),
  );
}

/** Returns a short sentence about a verdict of the access review. */
export function verdictBadge(verdict) {
  const tone = { allowed: "ok", conditional: "warn", denied: "bad" }[verdict.outcome];
  const words = verdict.dependsOn.length
    ? `${verdict.outcome}: depends on ${verdict.dependsOn.join(", ")}`
    : verdict.outcome;
  return badge(`${verdict.action.replace(/Objects?$/, "")} ${words}`, tone, { title: `${reasonText(verdict.reason)}` });
}
