// Runs the web example in Node, in as much of a page as it needs.

import { readFile } from "node:fs/promises";

const root = new URL("../../../", import.meta.url);

class Element extends EventTarget {
  children = [];
  textContent = "";
  value = "";
  #classes = new Set();
  classList = {
    contains: (name) => this.#classes.has(name),
    toggle: (name, isSet) => (isSet ? this.#classes.add(name) : this.#classes.delete(name)),
  };

  append(...nodes) {
    this.children.push(...nodes);
    for (const node of nodes) node.parent = this;
  }

  replaceChildren(...nodes) {
    this.children = [];
    this.append(...nodes);
  }

  remove() {
    this.parent.children = this.parent.children.filter((one) => one !== this);
  }

  click() {
    this.dispatchEvent(new Event("click"));
  }

  requestSubmit() {
    this.dispatchEvent(new Event("submit"));
  }
}

/** Signs in at a gateway. Answers the elements by their `id`. `kept` is a map, or what stands for `localStorage`. */
export async function open(gateway, kept = new Map()) {
  const elements = {};
  const find = (id) => (elements[id] ??= new Element());
  find("sign-in").elements = { gateway: new Element(), token: new Element() };
  const globals = {
    document: { getElementById: find, createElement: () => new Element() },
    location: {
      origin: gateway, pathname: "/", hash: `#gateway=${gateway}&token=key`,
      assign(url) { this.visited = url; },
    },
    history: { replaceState() {} },
    addEventListener() {},
    localStorage: { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) },
    FormData: class {
      constructor({ elements }) {
        return Object.entries(elements).map(([name, { value }]) => [name, value]);
      }
    },
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  // A page would choose the first place by itself.
  find("place").value = JSON.stringify({ bucket: "demo", prefix: "files/" });
  const text = await readFile(new URL("examples/web/app.js", root), "utf8");
  const code = text.replace("../../clients/javascript/sluice.js", new URL("clients/javascript/sluice.js", root).href);
  // Each page is a module of its own.
  await import(`data:text/javascript,${encodeURIComponent(`${code}// ${pages++}`)}`);
  return find;
}

let pages = 0;

/** Chooses files, as a person does. */
export function choose(find, ...files) {
  Object.assign(find("files"), { files }).dispatchEvent(new Event("change"));
}

/** The parts of the newest row: its state and its buttons. */
export function lastRow(find) {
  const [, , state, pause, cancel] = find("uploads").children.at(-1).children;
  return { state, pause, cancel };
}
