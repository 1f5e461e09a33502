// What an admin would want to know before it hurts.

import { fill, h, isAbort } from "../dom.js";
import { code, count, duration, number, principal, relative, time, visible } from "../format.js";
import { icon } from "../icons.js";
import { button } from "../parts.js";
import { percent } from "../ranges.js";
import { address } from "../router.js";
import { quotaTitle } from "./quota-parts.js";

const soon = 14 * 86_400_000;

/** A key that was made to live no longer is meant to end soon. */
const shortLife = 2 * 86_400_000;

/** Checks what an admin would want to know before it hurts. */
export async function attention(page, { quotas, gateways, backlog, uploads }) {
  const before = new Date(Date.now() + soon).toISOString();
  const now = new Date().toISOString();
  // A delegated admin may not read everything.
  const read = (id, query, judge) => {
    if (!page.may(id)) return null;
    const pages = page.pages(id, { query: { ...query, pageSize: 1000 } });
    return pages.all().then((rows) => judge(rows, pages.done));
  };
  const checks = [
    gateways?.then(gatewayNews),
    // Of many that are near their limit, those that are used up are read by themselves.
    quotas.then(({ data }) =>
      data.nextPageToken ? read("listQuotas", { nearLimit: 1 }, quotaNews) : quotaNews(data.items, true),
    ),
    uploads.then(uploadNews),
    backlog?.then(({ data }) => backlogNews(data)),
    read("listAPIKeys", { activeAt: now, expiresBefore: before }, (rows, isWhole) =>
      endings(rows, isWhole, "API key", "api-keys"),
    ),
    read("listStorageCredentials", { expiresBefore: before }, (rows, isWhole) =>
      endings(rows, isWhole, "Storage credential", "credentials"),
    ),
  ].filter(Boolean);
  const checked = [
    gateways && "Gateways",
    "Quotas",
    "uploads",
    backlog && "settling",
    page.may("listAPIKeys") && "what ends within 14 days",
  ].filter(Boolean);
  const results = await Promise.allSettled(checks);
  page.signal.throwIfAborted();
  const news = results.flatMap((result) =>
    result.status === "fulfilled"
      ? result.value
      : // A limited admin may not read everything.
        result.reason.status === 403
        ? []
        : [
            {
              tone: "warn",
              title: "A check failed",
              text: failureText(result.reason),
            },
          ],
  );
  const order = { bad: 0, warn: 1, info: 2 };
  news.sort((one, other) => order[one.tone] - order[other.tone]);
  const list = h("ul", { class: "news" });
  const draw = () =>
    fill(
      list,
      news.length
        ? news.map(newsItem)
        : h(
            "li",
            { class: "quiet-news" },
            icon("check"),
            h(
              "div",
              {},
              h("p", { class: "message-title" }, "All is well"),
              h("p", { class: "faint" }, `${checked.join(", ")} were checked.`),
            ),
          ),
    );
  draw();
  const canTest = page.may("validateBucket") && page.may("listBuckets");
  return [
    list,
    canTest
      ? h(
          "div",
          { class: "actions" },
          button("Test the buckets", {
            small: true,
            icon: "bucket",
            title: "Writes, reads and deletes a probe object in each bucket",
            run: async () => {
              const found = await testBuckets(page);
              news.splice(0, news.length, ...found, ...news.filter((item) => !item.isTest));
              draw();
            },
          }),
        )
      : null,
  ];
}

function failureText({ title, message, requestID }) {
  return [title ?? message, requestID].filter(Boolean).map(visible).join(" · ");
}

function newsItem({ tone, title, text, href }) {
  return h(
    "li",
    { class: tone },
    icon(tone === "info" ? "info" : "emergency"),
    h(
      "div",
      {},
      href ? h("a", { href }, title) : h("strong", {}, title),
      text ? h("p", { class: "faint" }, text) : null,
    ),
  );
}

function endings(rows, isWhole, what, view) {
  const ending = rows.filter((row) => Date.parse(row.expiresAt) - Date.parse(row.createdAt) > shortLife);
  if (ending.length > 4) {
    return [
      {
        tone: "warn",
        title:
          `${number(ending.length)}${isWhole ? "" : " or more"} ` +
          `${what === "API key" ? "API keys" : "storage credentials"} end within 14 days`,
        href: address(view),
      },
    ];
  }
  return ending.map((row) => {
    const left = Date.parse(row.expiresAt) - Date.now();
    return {
      tone: left <= 0 ? "bad" : left < 3 * 86_400_000 ? "warn" : "info",
      href: address(view, {}, [row.id]),
      title: [
        `${what} `,
        h("bdi", {}, visible(row.name)),
        left <= 0 ? " has ended" : ` ends ${relative(row.expiresAt)}`,
      ],
      text: row.principal ? principal(row.principal) : null,
    };
  });
}

function gatewayNews(rows) {
  const live = rows.filter((row) => row.live);
  const href = "#/gateways";
  const versions = new Set(live.map((row) => row.version));
  const keys = new Set(live.map((row) => row.masterKeyIDs.join(",")));
  return [
    ...rows
      .filter((row) => !row.live)
      .slice(0, 3)
      .map((row) => ({
        tone: "warn",
        title: "A gateway ended without a shutdown",
        text: ["Last seen ", time(row.lastSeenAt, { relative: true })],
        href,
      })),
    ...live
      .filter((row) => Math.abs(row.clockAheadMilliseconds) >= 1000)
      .map((row) => ({
        tone: Math.abs(row.clockAheadMilliseconds) >= 5000 ? "bad" : "warn",
        title:
          `A gateway's clock is ${duration(Math.abs(row.clockAheadMilliseconds) / 1000)} ` +
          `${row.clockAheadMilliseconds > 0 ? "ahead" : "behind"}`,
        text: "Check its time synchronisation.",
        href,
      })),
    versions.size > 1
      ? {
          tone: "info",
          title: `${versions.size} versions are running`,
          text: [...versions].map(visible).join(", "),
          href,
        }
      : null,
    keys.size > 1
      ? {
          tone: "warn",
          title: "Gateways have different master keys",
          text: "A gateway without a key cannot read what that key seals.",
          href,
        }
      : null,
  ].filter(Boolean);
}

function quotaNews(rows, isWhole) {
  const full = rows.filter((row) => row.use.highest >= row.limit);
  if (!full.length) return [];
  return [
    {
      tone: "bad",
      title:
        full.length === 1
          ? "A quota is used up"
          : `${number(full.length)}${isWhole ? "" : " or more"} quotas are used up`,
      href: full.length === 1 ? address("quotas", {}, [full[0].id]) : address("quotas", { nearLimit: "1" }),
      text: full.length === 1 ? quotaTitle(full[0]) : "Their holders are refused until the period ends.",
    },
  ];
}

function uploadNews({ counts, rows }) {
  const from = rows.at(-1)?.issuedAt;
  const ended = (counts.landed ?? 0) + (counts.expired ?? 0) + (counts.mismatched ?? 0) + (counts.unverified ?? 0);
  return [
    counts.mismatched
      ? {
          tone: "bad",
          title:
            `${count(counts.mismatched, "upload")} ${counts.mismatched === 1 ? "differs" : "differ"} from what ` +
            "was bound",
          href: address("uploads", { state: "mismatched", from }),
        }
      : null,
    counts.expired
      ? {
          tone: counts.expired > ended / 4 ? "warn" : "info",
          title: `${count(counts.expired, "upload")} never landed, as far as Sluice knows`,
          href: address("uploads", { state: "expired", from }),
          text: `${percent(counts.expired, ended)} of those that ended`,
        }
      : null,
  ].filter(Boolean);
}

function backlogNews({ due, dueSince }) {
  if (!dueSince) return [];
  const late = (Date.now() - Date.parse(dueSince)) / 1000;
  if (late < 2 * 3600) return [];
  return [
    {
      tone: late > 24 * 3600 ? "bad" : "warn",
      title: `Settling is ${duration(late)} behind`,
      text: `${count(due, "reservation")} could be settled. Stores do not answer, or gateways do not keep up.`,
    },
  ];
}

async function testBuckets(page) {
  const buckets = await page.pages("listBuckets", { query: { pageSize: 1000 } }).all();
  const found = [];
  for (const bucket of buckets) {
    const href = address("buckets", {}, [bucket.name]);
    try {
      const answer = await page.call("validateBucket", { path: { bucket: bucket.name } });
      const failed = answer.data.steps.filter((step) => step.outcome === "failed");
      found.push(
        answer.data.valid
          ? null
          : {
              tone: "bad",
              isTest: true,
              title: ["Bucket ", code(bucket.name), " fails its test"],
              text: failed.map((step) => visible(step.step)).join(", "),
              href,
            },
      );
    } catch (error) {
      if (isAbort(error)) throw error;
      found.push({
        tone: "bad",
        isTest: true,
        title: ["Bucket ", code(bucket.name), " cannot be tested"],
        text: [error.code, error.requestID].filter(Boolean).map(visible).join(" · "),
        href,
      });
    }
  }
  const bad = found.filter(Boolean);
  return bad.length
    ? bad
    : [
        {
          tone: "info",
          isTest: true,
          title: `${count(buckets.length, "bucket")} passed the test`,
          href: "#/buckets",
        },
      ];
}
