// A form that asks what a page is about, and writes it into the address.

import { h } from "../dom.js";
import { schemaForm } from "../form.js";
import { button } from "../parts.js";
import { address, go } from "../router.js";
import { suggestions } from "../suggest.js";

/**
 * Returns the form.
 *
 * @param {Page} page
 * @param {object} schema The members to ask for.
 * @param {object} options
 * @param {string} options.submit The word on the button.
 * @param {object} [options.value] The values to begin with. Default: the filters of the address.
 * @param {{element: Node, check(): boolean}} [options.more] Another form, below this one.
 * @param {function(object): void} [options.ask] Receives what the person asks. Default: it becomes the filters.
 * @param {object} [options.keep] Filters that then stay as they are.
 */
export function askForm(
  page,
  schema,
  { submit, value = page.query, more, keep, ask = (asked) => go(address(page.view, { ...keep, ...asked })) },
) {
  const form = schemaForm(page.contract, schema, { value, suggest: suggestions(page), showsJSON: false });
  form.element.firstElementChild.classList.add("form-grid");
  const element = h(
    "form",
    { class: "card", novalidate: true },
    h(
      "div",
      { class: "card-body" },
      form.element,
      more?.element,
      h("div", { class: "actions" }, button(submit, { tone: "primary", type: "submit" })),
    ),
  );
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const isGood = more?.check() ?? true;
    if (form.check() && isGood) ask(form.value());
  });
  return element;
}
