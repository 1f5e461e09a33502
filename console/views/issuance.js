// One issuance: what was bound, its life, and why it was permitted.

import { fill, h, isAbort } from "../dom.js";
import { showExplanation } from "../explanation.js";
import { bytes, code, number, principal, relative, size, time } from "../format.js";
import { icon } from "../icons.js";
import { actionBadges, button, card, copyButton, facts, moreMenu, pageHead, problemBox, skeleton } from "../parts.js";
import { address } from "../router.js";
import { toast } from "../toast.js";
import { grantLink, showObject } from "../values.js";
import { stateBadge } from "./uploads.js";

const isWrite = (row) => row.actions.some((action) => action.endsWith("PutObject"));
const uploadDeliveries = new Set(["presigned-url", "post-policy", "multipart-start", "remote-signature"]);

/** Tests whether the key of an issuance is a prefix, of which every key is reached. */
export const reachesMany = (row) => ["sts", "cdn-cookies"].includes(row.delivery);

/** The address that tells who may reach what a row of the ledger reaches. */
export const reachAddress = (row) =>
  address("access", { ...(reachesMany(row) ? { ask: "object" } : {}), bucket: row.bucket, key: row.key });

export async function showIssuance(page, id) {
  const { data: row } = await page.call("getIssuance", { path: { id } });
  page.title("Issuance");
  const life = h("div", {}, skeleton(3));
  const decision = h("div", {}, skeleton(5));
  const load = async (place, make) => {
    try {
      fill(place, await make());
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error, { retry: () => load(place, make) }));
    }
  };
  const showLife = () =>
    load(life, async () => lifeOf(row, await findUpload(page, row), await findReservation(page, row)));
  showLife();
  load(decision, async () => showExplanation(page, (await page.call("explain", { body: { issuanceID: id } })).data));
  const isAlive = Date.parse(row.expiresAt) > Date.now();
  const canAsk = isWrite(row) && uploadDeliveries.has(row.delivery) && page.may("confirmAnyUpload");
  const schema = page.contract.schema("Issuance");
  return [
    pageHead("Issuance", {
      back: { href: "#/ledger", label: "Ledger" },
      text: h(
        "span",
        {},
        principal(row.principal),
        ` got a ${deliveries[row.delivery] ?? row.delivery} for `,
        code(row.bucket),
        " / ",
        code(row.key),
      ),
      actions: [
        canAsk
          ? button("Ask the store", {
              icon: "bucket",
              run: async () => {
                const { data } = await page.call("confirmAnyUpload", { path: { id } });
                toast(data.state === "issued" ? "Nothing has landed yet" : `The store was asked: ${data.state}`);
                await showLife();
              },
            })
          : null,
        page.may("getRequest")
          ? button("The request", { icon: "terminal", href: address("requests", {}, [row.requestID]) })
          : null,
        moreMenu([
          {
            label: "Others of this principal",
            icon: "person",
            href: address("ledger", { principal: row.principal }),
          },
          { label: "Others of this grant", icon: "grant", href: address("ledger", { grantID: row.grantID }) },
          page.may("reviewAccess") && {
            label: "Who may reach the object now",
            icon: "access",
            href: reachAddress(row),
          },
          isAlive && {
            label: "It must not be used any more",
            icon: "emergency",
            href: address("emergency", { principal: row.principal }),
          },
        ]),
      ],
    }),
    card("Life", { text: isAlive ? "It can be used until it expires: a link cannot be taken back." : null }, life),
    h(
      "div",
      { class: "columns" },
      card(
        "What was bound",
        {},
        facts([
          ["Actions", actionBadges(row.actions)],
          ["Method", code(row.method)],
          ["Bucket", h("a", { href: address("buckets", {}, [row.bucket]) }, code(row.bucket))],
          ["Key", h("span", {}, code(row.key), " ", copyButton(row.key, "Copy the key"))],
          ["Content type", row.contentType === undefined ? null : code(row.contentType)],
          ["Length", row.contentLength === undefined ? null : size(row.contentLength)],
          ["MD5", row.contentMD5 === undefined ? null : code(row.contentMD5)],
          ["Delivery", row.delivery],
        ]),
      ),
      card(
        "Record",
        {},
        facts([
          ["Identifier", h("span", {}, code(row.id), " ", copyButton(row.id, "Copy the identifier"))],
          ["Request", page.link("getRequest", address("requests", {}, [row.requestID]), code(row.requestID))],
          ["Grant", h("span", {}, grantLink(row.grantID), " for ", principal(row.matchedPrincipal))],
          [
            "Credential",
            page.link("getStorageCredential", address("credentials", {}, [row.credentialID]), code(row.credentialID)),
          ],
          ["State of policy", `change ${number(row.policySequence)}`],
          [
            "Charges",
            row.charges.length
              ? h(
                  "ul",
                  { class: "plain" },
                  row.charges.map((charge) =>
                    h(
                      "li",
                      {},
                      h("span", { class: "number" }, number(charge.amount)),
                      " to ",
                      h("a", { href: address("quotas", {}, [charge.quotaID]) }, code(charge.quotaID)),
                    ),
                  ),
                )
              : null,
          ],
        ]),
        showUnnamed(page, schema, row),
      ),
    ),
    h("h2", { class: "section-title" }, "Why it was permitted"),
    decision,
  ];
}

const named = [
  "id",
  "issuedAt",
  "expiresAt",
  "delivery",
  "principal",
  "matchedPrincipal",
  "grantID",
  "credentialID",
  "actions",
  "method",
  "bucket",
  "key",
  "contentType",
  "contentMD5",
  "contentLength",
  "requestID",
  "policySequence",
  "charges",
];

/** Shows members that the contract has added since. */
function showUnnamed(page, schema, row) {
  const rest = Object.fromEntries(Object.entries(row).filter(([name]) => !named.includes(name)));
  return Object.keys(rest).length ? showObject(schema, rest, page.contract) : null;
}

const deliveries = {
  "presigned-url": "link",
  "post-policy": "form",
  "multipart-start": "start of an upload in parts",
  "multipart-part": "link or signature for a part",
  "multipart-complete": "completion of an upload in parts",
  redirect: "redirect",
  sts: "session with temporary credentials",
  "cdn-cookies": "cookies of a CDN",
  "remote-signature": "signature",
};

/** Returns a range that holds the row. Its time is rounded to a millisecond. */
function momentOf(row) {
  const at = Date.parse(row.issuedAt);
  return { from: new Date(at - 1).toISOString(), to: new Date(at + 1).toISOString() };
}

/** Finds what became of an upload: there is a list of uploads, and the row's time narrows it to a moment. */
async function findUpload(page, row) {
  if (!isWrite(row) || !uploadDeliveries.has(row.delivery)) return null;
  const { from, to } = momentOf(row);
  const pages = page.pages("listUploads", {
    query: { from, to, principal: row.principal, bucket: row.bucket, pageSize: 1000 },
  });
  return (await pages.next()).find((upload) => upload.id === row.id) ?? null;
}

/** Finds the bytes that were reserved, if no other row of the caller was recorded at its moment. */
async function findReservation(page, row) {
  if (!isWrite(row)) return null;
  const { from, to } = momentOf(row);
  const { data } = await page.call("getUsage", {
    query: { from, to, principal: row.principal, bucket: row.bucket, by: "range" },
  });
  const [found] = data.items;
  return found?.urls === 1 && found.bytesReserved > 0 ? found : null;
}

function lifeOf(row, upload, reservation) {
  const isAlive = Date.parse(row.expiresAt) > Date.now();
  const steps = [{ title: "Issued", tone: "ok", text: time(row.issuedAt, { seconds: true }) }];
  if (upload) steps.push(landing(upload));
  steps.push({
    title: isAlive ? "Alive" : "Expired",
    tone: isAlive ? "info" : "done",
    text: h(
      "span",
      {},
      isAlive ? "until " : null,
      time(row.expiresAt, { seconds: true }),
      h("span", { class: "faint" }, ` ${relative(row.expiresAt)}`),
    ),
  });
  if (reservation) {
    const isSettled = reservation.bytesUnsettled === 0;
    steps.push({
      title: isSettled ? "Settled" : "Not settled",
      tone: isSettled ? "ok" : "info",
      text: h(
        "span",
        {},
        isSettled
          ? `${bytes(reservation.bytesReserved)} were reserved`
          : `${bytes(reservation.bytesUnsettled)} are reserved until it is known what arrived`,
      ),
    });
  }
  return h(
    "ol",
    { class: "life" },
    steps.map((step) =>
      h(
        "li",
        { class: step.tone },
        h(
          "span",
          { class: "dot" },
          step.tone === "ok" || step.tone === "done"
            ? icon("check")
            : step.tone === "bad"
              ? icon("close")
              : icon("clock"),
        ),
        h("div", {}, h("p", { class: "message-title" }, step.title), h("p", {}, step.text)),
      ),
    ),
  );
}

function landing(upload) {
  const found = upload.foundAt ? time(upload.foundAt, { seconds: true }) : null;
  const about =
    upload.size === undefined
      ? null
      : h(
          "span",
          {},
          " ",
          size(upload.size),
          upload.source ? h("span", { class: "faint" }, `, told by ${upload.source}`) : null,
        );
  switch (upload.state) {
    case "landed":
      return { title: "Landed", tone: "ok", text: h("span", {}, found, about) };
    case "mismatched":
      return {
        title: "Landed, but differs",
        tone: "bad",
        text: h("span", {}, found, about, ` in ${upload.mismatches.join(", ")}`),
      };
    case "unverified":
      return {
        title: "Landed, not verified",
        tone: "info",
        text: h("span", {}, found, about, " The store does not report its SHA-256."),
      };
    case "expired":
      return { title: "Never landed", tone: "bad", text: "as far as Sluice knows" };
    default:
      return { title: "Nothing landed yet", tone: "info", text: stateBadge(upload.state) };
  }
}
