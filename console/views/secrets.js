// Secrets: rotated, shown once after the gateway made one, and not kept after they were sent.

import { redacted } from "../commands.js";
import { openDialog } from "../dialog.js";
import { fill, h } from "../dom.js";
import { button, codeBlock, disclosure, message } from "../parts.js";
import { formDialog } from "../resource.js";

/** Calls an operation whose body holds a secret. "Show command" lists it, and the page does not keep the secret. */
export function callWithSecret(page, id, call) {
  page.record(id, { ...call, body: redacted(page.contract, page.contract.bodyOf(id), call.body) });
  return page.session.api.call(id, { signal: page.signalOf(id), ...call });
}

/** Returns what a form needs of a page, such that the page keeps no secret of its calls. */
export function withSecrets(page) {
  return {
    contract: page.contract,
    session: page.session,
    signal: page.signal,
    query: page.query,
    may: (id) => page.may(id),
    lines: (id, call) => page.lines(id, call),
    call: (id, call) => callWithSecret(page, id, call),
  };
}

/**
 * Shows a secret that the gateway shows once. It leaves the page when the dialog is closed.
 *
 * @param {string} title
 * @param {object} options `secret`; `text` says what it is for; `more` are further nodes made with it.
 */
export function showOnce(title, { secret, text, more }) {
  let isKept = false;
  const copied = () => {
    isKept = true;
  };
  const body = h("div", { class: "stack" });
  const warning = h("div");
  return openDialog(
    title,
    {
      guard: () => {
        if (isKept || warning.hasChildNodes()) return true;
        fill(
          warning,
          message("warn", "Did you keep it?", h("p", {}, "It cannot be shown again. Close once more to leave.")),
        );
        return false;
      },
    },
    (close) => {
      const block = codeBlock(secret, { label: "Copy the secret", copied });
      block.addEventListener("copy", copied);
      block.classList.add("secret");
      fill(
        body,
        text ? h("p", {}, text) : null,
        block,
        message("info", null, h("p", {}, "Keep it now: the gateway has only its hash, and shows it this once.")),
        more ? disclosure("Use it", {}, more) : null,
        warning,
      );
      return { body, footer: [button("I have kept it", { tone: "primary", run: () => close(true) })] };
    },
  ).finally(() => fill(body));
}

/** Asks how long the previous secret shall stay valid, and rotates. Returns the answer. */
export function rotateDialog(page, { title, operation, path, hasOverlap = true, word = "Rotate", intro }) {
  return formDialog(page, title, {
    schema: hasOverlap ? page.contract.bodyOf(operation) : null,
    labels: { overlapSeconds: "The previous secret stays valid for" },
    intro: [intro, hasOverlap ? null : h("p", {}, "The secret is shown once, right after it is made.")],
    operation,
    call: (body) => ({ path, body }),
    word,
  });
}
