// Runs the steps in a page. The files are those that the driver puts into the page's input.

import * as module from "/sluice.js";
import { run } from "/steps.mjs";

const files = () => [...document.getElementById("files").files];

window.run = async (name, config) => {
  const kit = {
    ...config,
    module,
    store: undefined,
    isBrowser: true,
    file: (name) => files().find((file) => file.name === name),
    blob: (name) => files().find((file) => file.name === name),
    told: (bytes) => (window.told = bytes),
    // The driver does that, and says so.
    rewritten: () => new Promise((resolve) => (window.rewrite = resolve)),
  };
  window.told = 0;
  // A transfer has to hold what it waits for. The memory that `large` takes is measured.
  const collecting = name === "large" ? undefined : setInterval(window.gc, 100);
  return run(name, kit).finally(() => clearInterval(collecting));
};
window.isReady = true;
