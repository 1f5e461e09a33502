// Builds elements. Text from rows only ever becomes text nodes and attribute values: nothing here parses HTML.

const properties = new Set([
  "value",
  "checked",
  "disabled",
  "selected",
  "indeterminate",
  "readOnly",
  "multiple",
  "open",
]);
const links = new Set(["href", "src", "action", "formaction", "xlink:href"]);

/**
 * Returns a new element.
 *
 * @param {string} tag
 * @param {object} [attributes] Attributes by name. `class` is a text or a list with falsy entries, `on` holds listeners
 *   by event, `style` holds custom properties and styles, `data` holds data attributes. `null`, `undefined` and
 *   `false` leave an attribute out.
 * @param {...(Node|string|number|null|false|Array)} children Texts become text nodes.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  element.append(...nodes(children));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) {
    if (properties.has(name) && name in element) element[name] = name === "value" ? "" : false;
    return;
  }
  if (name === "class") {
    const names = Array.isArray(value) ? value.filter(Boolean).join(" ") : value;
    if (names) element.className = names;
  } else if (name === "on") {
    for (const [event, listener] of Object.entries(value)) if (listener) element.addEventListener(event, listener);
  } else if (name === "style") {
    for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
  } else if (name === "data") {
    for (const [key, text] of Object.entries(value)) if (text !== undefined) element.dataset[key] = text;
  } else if (name.startsWith("on") || name === "srcdoc" || /html/i.test(name)) {
    throw new TypeError(`The attribute ${name} is not allowed.`);
  } else if (links.has(name)) {
    element.setAttribute(name, safeLink(value));
  } else if (properties.has(name) && name in element) {
    element[name] = value;
  } else {
    element.setAttribute(name, value === true ? "" : value);
  }
}

/** Returns the address if it is one of ours, a download or an `https` page; throws for `javascript:` and its like. */
function safeLink(address) {
  const text = String(address);
  if (text.startsWith("#") || (text.startsWith("/") && !text.startsWith("//"))) return text;
  if (/^(https?:\/\/|blob:)/i.test(text)) return text;
  throw new TypeError("The address is not allowed.");
}

/** Returns children as a flat list of nodes and texts, without those that are absent. */
function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Replaces what the element holds. The focus stays there, see `keepFocus`. */
export function fill(element, ...children) {
  keepFocus(element, () => element.replaceChildren(...nodes(children)));
  return element;
}

/**
 * Changes what an element holds. A control in it that loses the focus by that hands it to the one that stands in its
 * place, or else to the element.
 *
 * @param {Element} element
 * @param {function(): void} change
 * @param {function(): void} [orElse] Puts the focus elsewhere than on the element.
 */
export function keepFocus(element, change, orElse = () => focusOn(filled(element))) {
  const active = document.activeElement;
  if (active === element || !element.contains(active)) {
    change();
    return;
  }
  const find = finder(element, active);
  change();
  if (document.activeElement === document.body && !focusOn(find())) orElse();
}

/** Returns the element, or what is around it if it holds nothing that the focus could show. */
const filled = (element) => (element.hasChildNodes() ? element : element.parentElement);

/** Puts the focus on an element, which need not be a control. Returns whether it has the focus. */
export function focusOn(element) {
  if (!element) return false;
  element.focus({ preventScroll: true });
  if (document.activeElement !== element && !element.hasAttribute("tabindex")) {
    element.setAttribute("tabindex", "-1");
    element.addEventListener("blur", () => element.removeAttribute("tabindex"), { once: true });
    element.focus({ preventScroll: true });
  }
  return document.activeElement === element;
}

/**
 * Returns a function that finds a control after parts of the page were drawn anew: the control itself, or of those with
 * the same words the one at its position. It returns `null` if there is none.
 */
export function finder(root, control) {
  const words = (one) => [one.type, one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent].join(" ");
  const wanted = words(control);
  const alike = () => [...root.querySelectorAll(control.localName)].filter((one) => words(one) === wanted);
  const at = alike().indexOf(control);
  return () => (root.contains(control) ? control : (alike().slice(0, at + 1).at(-1) ?? null));
}

let last = 0;

/** Returns an identifier that no other element has. */
export function unique(prefix = "id") {
  last += 1;
  return `${prefix}-${last}`;
}

/** Tests whether a value is an object, and no list. */
export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Tests whether an error only says that the person went elsewhere. */
export function isAbort(error) {
  return error?.name === "AbortError";
}

/** Offers the browser's own dialog to save a file. */
export function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
