// Runs one step in Node: node node.mjs STEP, with the configuration as JSON on standard input. Prints lines of JSON:
// {"told": bytes} while bytes are sent, then {"result": …, "memory": most resident bytes} or {"error": "…"}.

import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { run } from "./steps.mjs";

const config = JSON.parse(readFileSync(0, "utf8"));
const module = await import(config.module);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const path = (name) => `${config.files}/${name}`;
const kit = {
  ...config,
  module,
  store: module.fileStore(config.states),
  isBrowser: false,
  file: path,
  blob: async (name) => Object.assign(new Blob([await readFile(path(name))], { type: "image/png" }), { name: basename(name) }),
  told: (bytes) => say({ told: bytes }),
};
try {
  const result = await run(process.argv[2], kit);
  say({ result: result ?? null, memory: process.resourceUsage().maxRSS * 1024 });
} catch (error) {
  say({ error: error.stack ?? String(error), code: error.code, name: error.name });
  // What still waits is not waited for.
  process.exit(1);
}
