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
 * @param {object} options `submit` is the word on the button; `keep` are filters that stay as they are.
 */
export function askForm(page, schema, { submit, keep = {}, above }) {
  const form = schemaForm(page.contract, schema, {
    value: page.query,
    suggest: suggestions(page),
    showsJSON: false,
  });
  form.element.firstElementChild.classList.add("form-grid");
  const element = h(
    "form",
    { class: "card", novalidate: true },
    h(
      "div",
      { class: "card-body" },
      above,
      form.element,
      h("div", { class: "actions" }, button(submit, { tone: "primary", type: "submit" })),
    ),
  );
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.check()) go(address(page.view, { ...keep, ...form.value() }));
  });
  return element;
}
