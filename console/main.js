// Starts the console: reads its configuration and the contract, signs the person in, and opens the views.

import { Contract } from "./contract.js";
import { closeAll } from "./dialog.js";
import { fill, h, isAbort } from "./dom.js";
import { bindKey, showKeys, startKeys } from "./keys.js";
import { Page } from "./page.js";
import { emptyState, pageHead, problemBox, skeleton } from "./parts.js";
import { address, go, parseAddress, startRouter } from "./router.js";
import { Session } from "./session.js";
import { Shell } from "./shell.js";
import { exchangeOnce, isReturning, takeOnce, takeReturn } from "./signin.js";
import { toast } from "./toast.js";
import { firstView, views } from "./views.js";
import { signInView } from "./views/sign-in.js";

const root = document.getElementById("app");

class App {
  constructor(config, contract) {
    this.config = config;
    this.contract = contract;
    this.session = new Session(contract);
    this.session.addEventListener("change", (event) => this.#follow(event.detail));
    this.shell = null;
    this.page = null;
    this.router = null;
  }

  async start(once) {
    let trouble = null;
    // The view loads while the gateway says who the person is. If it cannot be loaded, opening it says why.
    const { view: name } = parseAddress(location.hash);
    views
      .find((view) => view.name === (name || firstView))
      ?.load()
      .catch(() => {});
    try {
      if (once) await this.session.signIn(await exchangeOnce(this.session.api, once));
      else if (isReturning()) {
        const { credential, keep, hash } = await takeReturn(this.config.issuers);
        await this.session.signIn(credential, { keep });
        if (hash && location.hash !== hash) history.replaceState(null, "", `/console/${hash}`);
      } else await this.session.restore();
    } catch (error) {
      trouble = error;
    }
    if (!this.session.isSignedIn) this.#askToSignIn(trouble);
  }

  #follow(problem) {
    if (!this.session.isSignedIn) {
      this.#askToSignIn(problem);
      return;
    }
    this.shell = new Shell(this);
    fill(root, this.shell.element);
    if (this.router) this.router.again();
    else this.router = startRouter((place, isSame) => this.#open(place, isSame));
  }

  #askToSignIn(problem) {
    this.page?.leave();
    this.page = null;
    this.shell = null;
    closeAll();
    document.title = "Sign in · Sluice";
    fill(root, signInView(this, problem));
  }

  async #open(place, isSame) {
    if (!this.shell) return;
    if (!place.view) {
      go(address(firstView), { replace: true });
      return;
    }
    if (isSame && this.page?.takeQuery(place.query)) return;
    this.page?.leave();
    const view = views.find((other) => other.name === place.view);
    const page = new Page(this, place.view, place);
    this.page = page;
    this.shell.mark(place.view);
    if (!view || (view.needs && !this.session.may(view.needs))) {
      this.shell.show(
        page,
        pageHead("Nothing here"),
        emptyState({ title: "There is no such page, or your role does not include it." }),
      );
      return;
    }
    page.title(view.title);
    if (!isSame) this.shell.show(page, pageHead(view.title), skeleton(6));
    try {
      const { open } = await view.load();
      const content = await open(page);
      if (this.page !== page) return;
      this.shell.show(page, content);
    } catch (error) {
      if (this.page !== page || isAbort(error)) return;
      console.warn(error);
      this.shell.show(page, pageHead(view.title), problemBox(error, { retry: () => this.router.again() }));
    }
    if (!isSame || document.activeElement === document.body) this.shell.focusTitle();
  }
}

async function start() {
  const once = takeOnce();
  // In a tab that shows the console, the address of such a link changes only what is behind `#`.
  addEventListener("hashchange", (event) => {
    if (!location.hash.startsWith("#once=")) return;
    event.stopImmediatePropagation();
    location.reload();
  });
  try {
    const answer = await fetch("/console/config.json");
    if (!answer.ok) throw new Error(`The configuration could not be read (status ${answer.status}).`);
    const config = await answer.json();
    const app = new App(config, await Contract.load(config.contract));
    bindKey("/", "Search", () => app.shell?.search.focus());
    bindKey("?", "Show these keys", () => {
      showKeys();
    });
    bindKey("c", "Show or hide the commands of the page", () => app.shell?.toggleCommands());
    for (const view of views) {
      if (view.key)
        bindKey(`g ${view.key}`, `Go to ${view.title}`, () => app.session.isSignedIn && go(address(view.name)));
    }
    startKeys();
    await app.start(once);
  } catch (error) {
    fill(root, h("main", { class: "starting" }, problemBox(error, { retry: () => location.reload() })));
  }
}

addEventListener("unhandledrejection", (event) => {
  if (isAbort(event.reason)) event.preventDefault();
  else toast.problem(event.reason);
});

start();
