// Exports rows as a file, with the command that does the same in a shell.

import { openDialog } from "./dialog.js";
import { fill, h, isAbort, saveFile } from "./dom.js";
import { segmented } from "./form.js";
import { bytes } from "./format.js";
import { button, problemBox, progressBar } from "./parts.js";
import { commandLines } from "./shell.js";
import { toast } from "./toast.js";

/**
 * Asks for a format, and saves the rows.
 *
 * @param {Page} page
 * @param {string} id The `operationId` of the export.
 * @param {object} options `query` holds the filters, `name` begins the name of the file, `text` says what it will hold.
 */
export function exportRows(page, id, { query, name, text }) {
  const formats = page.contract.filters(id).find((member) => member.name === "format")?.choices ?? [];
  let format = formats[0];
  const stop = new AbortController();
  const call = () => ({ query: { ...query, ...(format ? { format } : {}) } });
  return openDialog("Export", {}, (close) => {
    const place = h("div", { class: "stack" });
    const commands = h("div", { class: "stack" });
    const showCommands = () => fill(commands, commandLines(page.lines(id, call())));
    showCommands();
    const save = button("Export", {
      tone: "primary",
      icon: "download",
      run: async () => {
        const bar = progressBar("Export");
        bar.show(null, "Waiting for the first rows");
        fill(place, bar.element);
        try {
          const blob = await page.file(
            id,
            { ...call(), signal: AbortSignal.any([page.signal, stop.signal]) },
            (count) => bar.show(null, bytes(count)),
          );
          const day = new Date().toISOString().slice(0, 10);
          saveFile(blob, `${name}-${day}.${format ?? "ndjson"}`);
          toast(`Exported ${bytes(blob.size)}`);
          close(true);
        } catch (error) {
          fill(place, isAbort(error) ? null : problemBox(error));
        }
      },
    });
    return {
      body: [
        h("p", {}, text),
        formats.length > 1
          ? segmented(
              "Format",
              formats.map((item) => item.toUpperCase()),
              0,
              (index) => {
                format = formats[index];
                showCommands();
              },
            )
          : null,
        place,
        h(
          "p",
          { class: "faint" },
          "The browser holds the whole file in memory. For many rows, use one of these commands, which write as they " +
            "read.",
        ),
        commands,
      ],
      footer: [button("Cancel", { run: () => close() }), save],
    };
  }).finally(() => stop.abort(new DOMException("The dialog was closed.", "AbortError")));
}
