// Who is signed in. The credential stays in memory, and in `sessionStorage` only if the person asks for it.

import { API } from "./api.js";

const place = "sluice.session";

/** The session: a credential, and who the gateway says it is. */
export class Session extends EventTarget {
  #credential = null;
  #contract;
  #end = new AbortController();

  constructor(contract) {
    super();
    this.#contract = contract;
    /** What `GET /admin/v1/caller` answered. */
    this.caller = null;
    /** When the credential ends, as far as the console knows. */
    this.expiresAt = null;
    this.api = new API(
      contract,
      () => this.#credential,
      (problem) => this.#close(problem),
      (id) => this.may(id),
    );
  }

  get isSignedIn() {
    return this.caller !== null;
  }

  /** Aborts when the person is signed out. */
  get signal() {
    return this.#end.signal;
  }

  /** Signs in with what the tab kept. Returns whether there was something that is still accepted. */
  async restore() {
    const kept = sessionStorage.getItem(place);
    if (!kept) return false;
    try {
      await this.signIn(kept, { keep: true });
      return true;
    } catch (error) {
      if (error.status === 401 || error.status === 403) sessionStorage.removeItem(place);
      throw error;
    }
  }

  /**
   * Signs in with an API key or a token.
   *
   * @param {string} credential
   * @param {object} [options] `keep` keeps the credential in the tab until it is closed.
   */
  async signIn(credential, { keep = false } = {}) {
    const { data } = await this.api.call("getCaller", { bearer: credential });
    this.#end = new AbortController();
    this.#credential = credential;
    this.caller = data;
    this.expiresAt = data.expiresAt ?? null;
    if (keep) sessionStorage.setItem(place, credential);
    else sessionStorage.removeItem(place);
    this.dispatchEvent(new Event("change"));
  }

  /** Forgets the credential. */
  signOut() {
    this.#close(null);
  }

  #close(problem) {
    if (!this.#credential && !this.caller) return;
    this.#credential = null;
    this.caller = null;
    this.expiresAt = null;
    sessionStorage.removeItem(place);
    this.#end.abort(new DOMException("The person is signed out.", "AbortError"));
    this.dispatchEvent(new CustomEvent("change", { detail: problem }));
  }

  /** The roles of the person: `admin`, `auditor`. */
  get roles() {
    return this.caller?.roles ?? [];
  }

  /** Whether what the person sees ends at buckets, prefixes or principals. */
  get isLimited() {
    return Array.isArray(this.caller?.adminScopes);
  }

  /** The scopes that limit what an admin may change, or what an auditor sees; `null` for everything. */
  get limits() {
    const admin = this.caller?.conferred.filter(({ role }) => role === "admin") ?? [];
    if (!admin.length) return this.caller?.adminScopes ?? null;
    return admin.every(({ adminScopes }) => adminScopes) ? admin.flatMap(({ adminScopes }) => adminScopes) : null;
  }

  /**
   * Tests whether the person's roles permit an operation, so that views show no button that may not be pressed. The
   * gateway decides again: a limited admin may still be refused.
   */
  may(id) {
    if (!this.#contract.has(id)) return false;
    const { access, isDelegated } = this.#contract.operation(id);
    if (access !== "admin" && access !== "auditor") return true;
    // An admin of some scopes may be an auditor of everything.
    if ((access === "admin" ? this.limits : this.isLimited) && !isDelegated) return false;
    return this.roles.includes("admin") || (access === "auditor" && this.roles.includes("auditor"));
  }
}
