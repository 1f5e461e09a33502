// What a view receives: its address, the calls it may make, and the commands that do the same.

import { adminLine, curlLine, longBody } from "./commands.js";
import { whenNoneIsOpen } from "./dialog.js";
import { h } from "./dom.js";
import { address, go } from "./router.js";

/**
 * One visit to a view. It ends when the person goes elsewhere. What the visit reads is then given up; changes that are
 * under way go on for as long as the person is signed in.
 */
export class Page extends EventTarget {
  #leave = new AbortController();
  #signedOut;
  #query = null;
  #recorded = new Map();

  constructor(app, view, { path, query }) {
    super();
    /** The name of the view. */
    this.view = view;
    /** What follows the view in the address, such as an identifier. */
    this.path = path;
    /** The filters of the address, by name. */
    this.query = query;
    /** Who is signed in. */
    this.session = app.session;
    this.#signedOut = app.session.signal;
    this.contract = app.contract;
    this.config = app.config;
    /** Aborts when the person goes elsewhere. */
    this.signal = this.#leave.signal;
  }

  /** Tests whether the person may call an operation. */
  may(id) {
    return this.session.may(id);
  }

  /** Returns a link to an address. Where the person may not call the operation that it needs, there is no link. */
  link(needs, hash, content) {
    return this.may(needs) ? h("a", { href: hash }, content) : content;
  }

  /** Calls an operation, and lists it in "Show command". See `API.call`. */
  call(id, call = {}) {
    this.record(id, call);
    return this.session.api.call(id, { signal: this.signalOf(id), ...call });
  }

  /** What gives up a call of an operation. */
  signalOf(id) {
    return this.contract.operation(id).readsOnly ? this.signal : this.#signedOut;
  }

  /** Returns the pages of a list, and lists the call in "Show command". */
  pages(id, call = {}) {
    this.record(id, call);
    return this.session.api.pages(id, { signal: this.signal, ...call });
  }

  /** Reads an answer as a file. See `API.file`. */
  file(id, call, progress) {
    this.record(id, call);
    return this.session.api.file(id, { signal: this.signal, ...call }, progress);
  }

  /** Sends a file. See `API.upload`. */
  upload(id, call, progress) {
    this.record(id, { ...call, file: call.file.name ?? "file" });
    return this.session.api.upload(id, { signal: this.signalOf(id), ...call }, progress);
  }

  /**
   * Lists a call in "Show command", without making it. Of calls of one operation, the last one stays. A credential that
   * is not the session's is not kept.
   */
  record(id, { bearer, ...call }) {
    this.#recorded.delete(id);
    this.#recorded.set(id, call);
    this.dispatchEvent(new Event("record"));
  }

  /** The commands for what this page did: `{id, summary, curl, admin}`. */
  get commands() {
    return [...this.#recorded].reverse().map(([id, call]) => ({ id, ...this.lines(id, call) }));
  }

  /** Returns the commands for a call that is not made yet, such as for a form, and a body that is too long for them. */
  lines(id, call) {
    const { summary } = this.contract.operation(id);
    return {
      summary,
      curl: curlLine(this.contract, id, call),
      admin: adminLine(this.contract, id, call),
      body: longBody(this.contract, id, call),
    };
  }

  /** Returns the address of this view with other filters. */
  here(changes = {}) {
    return address(this.view, { ...this.query, ...changes }, this.path);
  }

  /** Changes filters in the address. Without `replace`, the browser's "back" undoes it. */
  setQuery(changes, options) {
    this.go(this.here(changes), options);
  }

  /**
   * Goes to an address when something is done, unless the person has gone elsewhere meanwhile. See `go`. A dialog that
   * is open is not closed by that: the person may write in it, or read a secret.
   */
  go(hash, options) {
    const here = location.hash;
    whenNoneIsOpen(() => {
      // What closed a dialog may have set another address, of which the browser tells a moment later.
      if (!this.signal.aborted && location.hash === here) go(hash, options);
    });
  }

  /**
   * Takes changes of the filters, in place of opening the view again. Use it where a person types into a filter.
   *
   * @param {function(object): void} action Receives the filters.
   */
  onQuery(action) {
    this.#query = action;
  }

  /** Hands over new filters. Returns whether the view took them. */
  takeQuery(query) {
    this.query = query;
    if (!this.#query) return false;
    this.#query(query);
    return true;
  }

  /** Runs something every few seconds for as long as the page is open and in view. It begins one interval from now. */
  every(seconds, action) {
    const timer = setInterval(() => document.hidden || action(), seconds * 1000);
    this.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Names the page in the title of the window. */
  title(text) {
    document.title = `${text} · Sluice`;
  }

  /** Ends the visit. */
  leave() {
    this.#leave.abort(new DOMException("The person went elsewhere.", "AbortError"));
  }
}
