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
  };
  window.told = 0;
  return run(name, kit);
};
window.isReady = true;
