// The views of the console, in the order of the navigation. A view is a module with a function `open(page)`; the file
// is loaded when it is first opened.

/**
 * Each view: `name` is the first part of its address; `section` is its heading in the navigation (absent: not listed);
 * `key` is the letter that goes there after `g`; `needs` is an operation without which it is not shown.
 */
export const views = [
  {
    name: "home",
    title: "Home",
    section: "Overview",
    icon: "home",
    key: "h",
    needs: "getUsage",
    load: () => import("./views/home.js"),
  },
  {
    name: "access",
    title: "Access explorer",
    section: "Access",
    icon: "access",
    key: "a",
    needs: "reviewAccess",
    load: () => import("./views/access.js"),
  },
  {
    name: "grants",
    title: "Grants",
    section: "Access",
    icon: "grant",
    key: "r",
    needs: "listGrants",
    load: () => import("./views/grants.js"),
  },
  {
    name: "groups",
    title: "Groups",
    section: "Access",
    icon: "group",
    key: "o",
    needs: "listGroups",
    load: () => import("./views/groups.js"),
  },
  {
    name: "try",
    title: "Try as a user",
    section: "Access",
    icon: "try",
    key: "t",
    needs: "explain",
    load: () => import("./views/try.js"),
  },
  {
    name: "quotas",
    title: "Quotas",
    section: "Access",
    icon: "quota",
    key: "q",
    needs: "listQuotas",
    load: () => import("./views/quotas.js"),
  },
  {
    name: "ledger",
    title: "Ledger",
    section: "Activity",
    icon: "ledger",
    key: "l",
    needs: "listIssuances",
    load: () => import("./views/ledger.js"),
  },
  {
    name: "denials",
    title: "Refusals",
    section: "Activity",
    icon: "denial",
    key: "n",
    needs: "listDenials",
    load: () => import("./views/denials.js"),
  },
  {
    name: "uploads",
    title: "Uploads",
    section: "Activity",
    icon: "upload",
    key: "u",
    needs: "listUploads",
    load: () => import("./views/uploads.js"),
  },
  {
    name: "audit",
    title: "Audit",
    section: "Activity",
    icon: "audit",
    key: "d",
    needs: "listAudit",
    load: () => import("./views/audit.js"),
  },
  {
    name: "requests",
    title: "Requests",
    icon: "terminal",
    needs: "getRequest",
    load: () => import("./views/requests.js"),
  },
  {
    name: "multipart",
    title: "Uploads in parts",
    icon: "upload",
    needs: "listMultipartUploads",
    load: () => import("./views/multipart.js"),
  },
  {
    name: "buckets",
    title: "Buckets",
    section: "Stores",
    icon: "bucket",
    key: "b",
    needs: "listBuckets",
    load: () => import("./views/buckets.js"),
  },
  {
    name: "credentials",
    title: "Credentials",
    section: "Stores",
    icon: "credential",
    key: "c",
    needs: "listStorageCredentials",
    load: () => import("./views/credentials.js"),
  },
  {
    name: "issuers",
    title: "Issuers",
    section: "Identity",
    icon: "issuer",
    key: "i",
    needs: "listIssuers",
    load: () => import("./views/issuers.js"),
  },
  {
    name: "api-keys",
    title: "API keys",
    section: "Identity",
    icon: "key",
    key: "k",
    needs: "listAPIKeys",
    load: () => import("./views/api-keys.js"),
  },
  {
    name: "tickets",
    title: "Tickets",
    section: "Identity",
    icon: "ticket",
    key: "e",
    needs: "listAllTickets",
    load: () => import("./views/tickets.js"),
  },
  {
    name: "emergency",
    title: "Emergency",
    section: "Response",
    icon: "emergency",
    key: "x",
    needs: "listIssuances",
    load: () => import("./views/emergency.js"),
  },
  {
    name: "offboarding",
    title: "Offboarding",
    section: "Response",
    icon: "offboard",
    key: "f",
    needs: "offboardPrincipal",
    load: () => import("./views/offboarding.js"),
  },
  {
    name: "gateways",
    title: "Gateways",
    section: "Overview",
    icon: "terminal",
    key: "w",
    needs: "listGateways",
    load: () => import("./views/gateways.js"),
  },
];

/** The view that opens when the address names none. */
export const firstView = "home";

/** The headings of the navigation. */
export const sections = ["Overview", "Access", "Activity", "Stores", "Identity", "Response"];

/**
 * What the search offers for a text. Each takes what the text names, `{kind, text, bucket, key}` with the kind
 * `principal`, `id`, `object` (a bucket, `/` and a key) or `text`, and returns `{label, view, query, path, icon,
 * needs}` or nothing. Entries whose `needs` the person may not call are left out.
 */
export const finders = [
  ({ text, kind }) =>
    kind === "principal" && {
      label: "What may it do?",
      view: "access",
      query: { principal: text },
      icon: "access",
      needs: "reviewAccess",
    },
  ({ text, kind }) =>
    kind === "principal" && {
      label: "Its own grants",
      view: "grants",
      query: { principal: text },
      icon: "grant",
      needs: "listGrants",
    },
  ({ text, kind }) =>
    kind === "principal" &&
    text.startsWith("user:") && {
      label: "Try as this user",
      view: "try",
      query: { principal: text },
      icon: "try",
      needs: "explain",
    },
  ({ bucket, key, kind }) =>
    kind === "object" && {
      label: "Who may reach it?",
      view: "access",
      query: { ask: "object", bucket, key },
      icon: "access",
      needs: "reviewAccess",
    },
  ({ bucket, kind }) =>
    kind === "object" && {
      label: "Grants in this bucket",
      view: "grants",
      query: { bucket },
      icon: "grant",
      needs: "listGrants",
    },
  ({ text, kind }) =>
    kind === "id" && {
      label: "The grant with this identifier",
      view: "grants",
      path: [text],
      icon: "grant",
      needs: "getGrant",
    },
  ({ text, kind }) =>
    kind === "principal" &&
    text.startsWith("user:") && {
      label: "What it was issued",
      view: "ledger",
      query: { principal: text },
      icon: "ledger",
      needs: "listIssuances",
    },
  ({ text, kind }) =>
    kind === "principal" &&
    text.startsWith("user:") && {
      label: "What it was refused",
      view: "denials",
      query: { principal: text },
      icon: "denial",
      needs: "listDenials",
    },
  ({ text, kind }) =>
    kind === "principal" && {
      label: "Its quotas",
      view: "quotas",
      query: { principal: text },
      icon: "quota",
      needs: "listQuotas",
    },
  ({ text, kind }) =>
    kind === "principal" &&
    text.startsWith("user:") && {
      label: "What it changed as an admin",
      view: "audit",
      query: { actor: text },
      icon: "audit",
      needs: "listAudit",
    },
  ({ bucket, key, kind }) =>
    kind === "object" && {
      label: "What was issued here",
      view: "ledger",
      query: { bucket, prefix: key },
      icon: "ledger",
      needs: "listIssuances",
    },
  ({ text, kind }) =>
    kind === "id" && {
      label: "The request with this identifier",
      view: "requests",
      path: [text],
      icon: "terminal",
      needs: "getRequest",
    },
  ({ text, kind }) =>
    kind === "id" && {
      label: "The issuance with this identifier",
      view: "ledger",
      path: [text],
      icon: "ledger",
      needs: "getIssuance",
    },
  ({ text, kind }) =>
    kind === "id" && {
      label: "What changed the row with this identifier",
      view: "audit",
      query: { resourceID: text },
      icon: "audit",
      needs: "listAudit",
    },
  ({ text, kind }) =>
    kind === "principal" &&
    text.startsWith("user:") && {
      label: "What is alive of it, and revoke it",
      view: "emergency",
      query: { principal: text },
      icon: "emergency",
      needs: "listIssuances",
    },
  ({ text, kind }) =>
    kind === "principal" &&
    text.startsWith("user:") && {
      label: "Offboard this user",
      view: "offboarding",
      query: { principal: text },
      icon: "offboard",
      needs: "offboardPrincipal",
    },
  ({ text, kind }) =>
    kind === "principal" &&
    text.startsWith("group:") && {
      label: "Its members",
      view: "groups",
      path: [text],
      icon: "group",
      needs: "listGroupMembers",
    },
  ({ bucket, kind }) =>
    kind === "object" && {
      label: "The bucket",
      view: "buckets",
      path: [bucket],
      icon: "bucket",
      needs: "getBucket",
    },
  ({ bucket, key, kind }) =>
    kind === "object" && {
      label: "Close it in an emergency",
      view: "emergency",
      query: { about: "place", bucket, prefix: key },
      icon: "emergency",
      needs: "applyGrants",
    },
];
