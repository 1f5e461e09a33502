// Filters that a view adds to those of the contract: a choice where the contract has a text or a number.

import { h, unique } from "./dom.js";

/**
 * Returns a filter with choices. What a person chooses goes into the address.
 *
 * @param {Page} page
 * @param {string} name The name of the query parameter.
 * @param {string} label
 * @param {Array<string|[string, string]>} choices Values, or values with their words.
 */
export function choiceFilter(page, name, label, choices) {
  const id = unique("choice");
  const now = page.query[name] ?? "";
  const pairs = choices.map((choice) => (Array.isArray(choice) ? choice : [choice, choice]));
  if (now && !pairs.some(([value]) => value === now)) pairs.push([now, now]);
  const select = h(
    "select",
    { id, name, on: { change: () => page.setQuery({ [name]: select.value }, { replace: true }) } },
    [["", "Any"], ...pairs].map(([value, words]) => h("option", { value, selected: value === now }, words)),
  );
  return h("div", { class: "filter enum" }, h("label", { for: id }, label), select);
}
