// The sign-in: an organisation's issuer, or an API key.

import { h, unique } from "../dom.js";
import { visible } from "../format.js";
import { button, problemBox } from "../parts.js";
import { leaveFor } from "../signin.js";

/** Returns what to call an issuer: its host, if it is a URL. */
function nameOf({ issuer }) {
  return URL.canParse(issuer) ? new URL(issuer).host : issuer;
}

/** Returns the page that asks a person to sign in. `problem` says why an earlier session or attempt ended. */
export function signInView(app, problem) {
  const trouble = h("div", { class: "sign-in-trouble" }, problem ? problemBox(problem) : null);
  const keep = h("input", { type: "checkbox", id: unique("keep") });
  const key = h("input", {
    type: "password",
    id: unique("key"),
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    autocapitalize: "off",
    "aria-describedby": `${keep.id}-help`,
    class: "code",
  });
  const submit = button("Sign in", { tone: app.config.issuers.length ? undefined : "primary", type: "submit" });
  const form = h(
    "form",
    { class: "sign-in-form", novalidate: true },
    h(
      "div",
      { class: "field" },
      h("label", { for: key.id }, "API key"),
      key,
      h(
        "p",
        { class: "help", id: `${keep.id}-help` },
        "A key with the role admin or auditor. It stays in memory, and is forgotten when the page is left.",
      ),
    ),
    submit,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!key.value.trim()) return key.focus();
    submit.setAttribute("aria-busy", "true");
    trouble.replaceChildren();
    try {
      await app.session.signIn(key.value.trim(), { keep: keep.checked });
    } catch (error) {
      trouble.replaceChildren(problemBox(error));
      key.select();
      key.focus();
    } finally {
      submit.removeAttribute("aria-busy");
    }
  });
  const issuers = app.config.issuers.map((issuer, index) =>
    button(`Continue with ${visible(nameOf(issuer))}`, {
      tone: index === 0 ? "primary" : undefined,
      icon: "issuer",
      run: async () => {
        try {
          await leaveFor(issuer, { keep: keep.checked, hash: location.hash });
        } catch (error) {
          trouble.replaceChildren(problemBox(error));
        }
      },
    }),
  );
  return h(
    "main",
    { class: "sign-in" },
    h(
      "div",
      { class: "sign-in-box" },
      h("div", { class: "sign-in-brand" }, h("img", { src: "/console/icon.svg", alt: "", width: "40", height: "40" })),
      h("h1", {}, "Sign in to Sluice"),
      trouble,
      issuers.length
        ? [h("div", { class: "sign-in-issuers" }, issuers), h("p", { class: "or" }, h("span", {}, "or"))]
        : null,
      form,
      h("p", { class: "check" }, keep, h("label", { for: keep.id }, "Stay signed in until this tab is closed")),
      h(
        "p",
        { class: "help sign-in-foot" },
        "No key yet? ",
        h("code", {}, "sluice admin api-keys create"),
        " makes one. See the ",
        h("a", { href: "/docs" }, "API reference"),
        ".",
      ),
    ),
  );
}
