// What surrounds the views: navigation, top bar, and the panel with commands.

import { bodyFile } from "./commands.js";
import { fill, h, keepFocus } from "./dom.js";
import { code, duration, principal } from "./format.js";
import { icon } from "./icons.js";
import { showKeys } from "./keys.js";
import { badge, button, codeBlock, disclosure, menuButton } from "./parts.js";
import { address } from "./router.js";
import { searchBox } from "./search.js";
import { sections, views } from "./views.js";

/** Chooses the colours: `light`, `dark`, or those of the system. */
function chooseTheme(choice) {
  if (choice) {
    document.documentElement.dataset.theme = choice;
    localStorage.setItem("sluice.theme", choice);
  } else {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("sluice.theme");
  }
  dispatchEvent(new Event("themechange"));
}

function themeItems() {
  const now = document.documentElement.dataset.theme;
  return [
    [undefined, "As the system"],
    ["light", "Light"],
    ["dark", "Dark"],
  ].map(([choice, label]) => ({ label, checked: now === choice, run: () => chooseTheme(choice) }));
}

/** Builds the frame once a person is signed in. */
export class Shell {
  #session;
  #links = new Map();
  #content = h("main", { id: "content", tabindex: "-1" });
  #commands = h("aside", { class: "commands", "aria-label": "Commands", hidden: true });
  #page = null;

  constructor({ session, config }) {
    this.#session = session;
    this.search = searchBox(session);
    this.#showsCommands = sessionStorage.getItem("sluice.commands") === "shown";
    this.element = h(
      "div",
      { class: "shell" },
      h(
        "a",
        {
          class: "skip",
          href: "#content",
          on: {
            click: (event) => {
              event.preventDefault();
              this.#content.focus();
            },
          },
        },
        "Skip to content",
      ),
      this.#navigation(config),
      this.#bar(),
      this.#content,
      this.#commands,
    );
    // On a narrow window the navigation lies over the page, until the person chooses, or does anything else.
    this.#content.addEventListener("click", () => this.#toggleNavigation(false));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.element.classList.contains("nav-open")) return;
      this.#toggleNavigation(false);
      this.#opener.focus();
    });
  }

  #navigation(config) {
    const lists = sections.map((section) => {
      const listed = views.filter((view) => view.section === section && (!view.needs || this.#session.may(view.needs)));
      return listed.length
        ? h(
            "section",
            {},
            h("h2", {}, section),
            h(
              "ul",
              {},
              listed.map((view) => this.#link(view)),
            ),
          )
        : null;
    });
    return h(
      "nav",
      { class: "nav", id: "navigation", "aria-label": "Views" },
      h(
        "a",
        { class: "brand", href: "#/" },
        h("img", { src: "/console/icon.svg", alt: "", width: "22", height: "22" }),
        h("span", {}, "Sluice"),
      ),
      h("div", { class: "nav-lists" }, lists),
      h(
        "p",
        { class: "nav-foot" },
        `Version ${config.version}`,
        h("a", { href: "/docs", target: "_blank", rel: "noopener" }, "API reference"),
      ),
    );
  }

  #link(view) {
    const link = h(
      "a",
      { href: address(view.name), title: view.key ? `g ${view.key}` : null },
      icon(view.icon),
      h("span", {}, view.title),
    );
    link.addEventListener("click", () => this.#toggleNavigation(false));
    this.#links.set(view.name, link);
    return h("li", {}, link);
  }

  #toggleNavigation(open = !this.element.classList.contains("nav-open")) {
    this.element.classList.toggle("nav-open", open);
    this.#opener.setAttribute("aria-expanded", String(open));
    if (open) this.element.querySelector(".nav a[aria-current], .nav a")?.focus();
    else if (this.#opener.checkVisibility() && document.activeElement?.closest(".nav")) this.#opener.focus();
  }

  #opener;
  #showsCommands = false;
  #switch;

  #bar() {
    this.#opener = button("Views", {
      icon: "menu",
      iconOnly: true,
      tone: "quiet",
      run: () => this.#toggleNavigation(),
      attributes: { "aria-controls": "navigation", "aria-expanded": "false" },
    });
    this.#opener.classList.add("nav-opener");
    this.#switch = button("Show command", {
      icon: "terminal",
      tone: "quiet",
      run: () => this.toggleCommands(),
      title: "The commands that do what this page does (c)",
    });
    this.#switch.classList.add("command-switch");
    this.#switch.setAttribute("aria-expanded", String(this.#showsCommands));
    const { caller } = this.#session;
    return h(
      "header",
      { class: "bar" },
      this.#opener,
      this.search.element,
      h(
        "div",
        { class: "bar-end" },
        this.#switch,
        menuButton("Colours", themeItems, { icon: "theme", small: false }),
        button("Keys", {
          icon: "help",
          iconOnly: true,
          tone: "quiet",
          run: () => {
            showKeys();
          },
          attributes: { class: "button quiet icon-only key-list" },
        }),
        this.#account(caller),
      ),
    );
  }

  #account(caller) {
    const holder = menuButton(
      `Signed in as ${caller.principal}`,
      () => [
        {
          label: "Keys",
          icon: "help",
          run: () => {
            showKeys();
          },
        },
        { label: "Sign out", icon: "out", run: () => this.#session.signOut() },
      ],
      { icon: "person", small: false },
    );
    const role = caller.roles.includes("admin") ? "Admin" : "Auditor";
    const { limits } = this.#session;
    const scopes = limits ?? [];
    const list = holder.querySelector("[role=menu]");
    list.addEventListener("beforetoggle", (event) => {
      if (event.newState !== "open") return;
      const left = this.#session.expiresAt ? (new Date(this.#session.expiresAt) - Date.now()) / 1000 : null;
      list.prepend(
        h(
          "div",
          { class: "account", role: "none" },
          principal(caller.principal),
          h("div", { class: "badges" }, badge(role, "info"), limits ? badge("Limited", "warn") : null),
          left === null ? null : h("p", { class: "faint" }, `Signed in for ${duration(Math.max(0, left))} more`),
          scopes.length
            ? h(
                "ul",
                {},
                scopes.map((scope) => h("li", {}, code(`${scope.bucket}/${scope.prefix ?? ""}`))),
              )
            : null,
        ),
      );
    });
    return h(
      "div",
      { class: "account-holder" },
      badge(limits ? `${role}, limited` : role, role === "Admin" ? "info" : null),
      holder,
    );
  }

  /** Marks the view in the navigation. */
  mark(name) {
    for (const [other, link] of this.#links) {
      if (other === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.#toggleNavigation(false);
  }

  /** Shows a view, and lists its commands. A control that has the focus keeps it if the view shows it again. */
  show(page, ...content) {
    const whole = h("div", { class: "page" }, content);
    keepFocus(
      this.#content,
      () => this.#content.replaceChildren(whole),
      () => this.focusTitle(),
    );
    if (this.#page !== page) {
      this.#page = page;
      page?.addEventListener("record", () => this.#page === page && this.#showCommands());
    }
    this.#showCommands();
  }

  /** Puts the focus to the title of the page, so that screen readers say where the person is. */
  focusTitle() {
    this.#content.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  /** Opens or closes the panel with commands. */
  toggleCommands() {
    this.#showsCommands = !this.#showsCommands;
    sessionStorage.setItem("sluice.commands", this.#showsCommands ? "shown" : "");
    this.#switch.setAttribute("aria-expanded", String(this.#showsCommands));
    this.#showCommands();
  }

  #showCommands() {
    if (!this.#showsCommands && this.#commands.contains(document.activeElement)) this.#switch.focus();
    this.#commands.hidden = !this.#showsCommands;
    this.element.classList.toggle("with-commands", this.#showsCommands);
    if (!this.#showsCommands) return;
    const all = this.#page?.commands ?? [];
    fill(
      this.#commands,
      h(
        "div",
        { class: "commands-head" },
        h("h2", {}, "Commands"),
        button("Close", {
          icon: "close",
          iconOnly: true,
          tone: "quiet",
          small: true,
          run: () => this.toggleCommands(),
        }),
      ),
      h(
        "p",
        { class: "faint" },
        "These lines do what this page did. ",
        h("code", {}, "SLUICE_ADMIN_URL"),
        " and ",
        h("code", {}, "SLUICE_ADMIN_KEY"),
        " hold the address and your key.",
      ),
      all.length
        ? all.map((lines) => h("section", {}, h("h3", {}, lines.summary), commandLines(lines)))
        : h("p", { class: "faint" }, "No request yet."),
    );
  }
}

/** Returns the lines of a call as blocks that can be copied. */
export function commandLines({ curl, admin, body }) {
  return [
    admin ? codeBlock(admin, { label: "Copy the sluice admin line" }) : null,
    codeBlock(curl, { label: "Copy the curl line" }),
    body ? disclosure(bodyFile, { onOpen: (place) => fill(place, codeBlock(body, { label: "Copy the body" })) }) : null,
  ];
}
