// Uploads in parts: which are open, whose they are, and how to abort them.

import { confirmEach } from "../dialog.js";
import { h } from "../dom.js";
import { choiceFilter } from "../filters.js";
import { code, count, number, principal, relative, time } from "../format.js";
import { badge, button, card, message, pageHead } from "../parts.js";
import { address } from "../router.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { toast } from "../toast.js";
import { showObject } from "../values.js";

const tones = { starting: "info", open: "info", completing: "info", completed: "ok", aborting: "warn", aborted: null };
const isOpen = (row) => ["starting", "open"].includes(row.state);

export function open(page) {
  const [id] = page.path;
  return id ? showUpload(page, id) : showList(page);
}

function showList(page) {
  const states = page.contract.schema("MultipartState").enum;
  const table = dataTable({
    caption: "Uploads in parts",
    remember: "multipart",
    columns: columnsOf(page.contract, "listMultipartUploads", {
      show: ["object", "state", "principal", "contentLength", "createdAt", "expiresAt"],
      hide: ["contentType", "etag", "storeUploadID", "id"],
      omit: ["bucket", "key"],
      titles: { object: "Object", createdAt: "Begun", expiresAt: "Ends", contentLength: "Size" },
      cells: {
        object: (row) => h("span", {}, code(row.bucket), h("span", { class: "faint" }, " / "), code(row.key)),
        state: (row) => badge(row.state, tones[row.state]),
        principal: (row) => principal(row.principal),
        createdAt: (row) => time(row.createdAt, { relative: true }),
        expiresAt: (row) => (isOpen(row) ? time(row.expiresAt, { relative: true }) : null),
      },
    }),
    rows: page.pages("listMultipartUploads", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("multipart", {}, [row.id]),
    menu: (row) => [
      page.may("reviewAccess") && {
        label: "Who may reach the object",
        icon: "access",
        href: address("access", { bucket: row.bucket, key: row.key }),
      },
      isOpen(row) &&
        page.may("abortAnyMultipartUpload") && {
          label: "Abort",
          icon: "trash",
          tone: "danger",
          run: () => end([row]),
        },
    ],
    bulk: page.may("abortAnyMultipartUpload")
      ? (rows) =>
          rows.some(isOpen)
            ? [
                button("Abort", {
                  tone: "danger",
                  small: true,
                  icon: "trash",
                  run: () => end(rows.filter(isOpen)),
                }),
              ]
            : []
      : undefined,
    empty: Object.keys(page.query).length
      ? { icon: "upload", title: "No upload in parts matches", text: "Change or clear the filters." }
      : {
          icon: "upload",
          title: "No upload in parts yet",
          text: "Large files are sent in parts. Each such upload appears here until its record is removed.",
        },
  });
  const end = (rows) => abort(page, rows, (row) => table.replace({ ...row, state: "aborted" }));
  return [
    pageHead("Uploads in parts", {
      back: { href: "#/uploads", label: "Uploads" },
      text: "Large uploads that are sent in parts. A store keeps, and charges for, the parts of those that are open.",
    }),
    filterBar(page, "listMultipartUploads", {
      omit: ["state"],
      extra: [choiceFilter(page, "state", "State", states)],
    }),
    table.element,
  ];
}

async function abort(page, rows, ended) {
  const title = rows.length === 1 ? "Abort this upload?" : `Abort ${number(rows.length)} uploads?`;
  const done = await confirmEach(title, {
    confirm: "Abort",
    body: [
      rows.length === 1
        ? h("p", {}, code(`${rows[0].bucket}/${rows[0].key}`), " of ", principal(rows[0].principal))
        : null,
      h("p", {}, "The store discards the parts that it has. The upload cannot be resumed."),
    ],
    rows,
    call: (row) => page.call("abortAnyMultipartUpload", { path: { id: row.id } }),
    ended,
  });
  // After the dialog has closed, so that the view that follows comes at once.
  if (done) toast(`${count(rows.length, "upload")} aborted`);
  return done;
}

async function showUpload(page, id) {
  const { data: row } = await page.call("getAnyMultipartUpload", { path: { id } });
  page.title("Upload in parts");
  return [
    pageHead("Upload in parts", {
      back: { href: "#/multipart", label: "Uploads in parts" },
      text: h("span", {}, code(`${row.bucket}/${row.key}`), " of ", principal(row.principal)),
      actions:
        isOpen(row) && page.may("abortAnyMultipartUpload")
          ? [
              button("Abort", {
                tone: "danger",
                icon: "trash",
                run: async () => {
                  if (await abort(page, [row])) page.go(address("multipart", { at: String(Date.now()) }, [id]));
                },
              }),
            ]
          : [],
    }),
    isOpen(row)
      ? message("info", null, h("p", {}, `It is aborted by itself ${relative(row.expiresAt)}, unless it is completed.`))
      : null,
    card("About this upload", {}, showObject(page.contract.schema("ManagedMultipartUpload"), row, page.contract)),
  ];
}
