// Calls the admin REST. Every call is an operation of the contract, and every error a problem with code and request id.

/** An error that the gateway described (RFC 9457), or that kept it from answering (`Unreachable`). */
export class Problem extends Error {
  constructor(document, { status = 0, requestID, isTraceable = false } = {}) {
    super(document.title ?? "The request failed");
    this.name = "Problem";
    this.document = document;
    this.status = document.status ?? status;
    this.code = document.code;
    this.title = document.title;
    this.detail = document.detail;
    this.field = document.field;
    this.errors = document.errors;
    this.requestID = document.requestID ?? requestID;
    /** Whether the person may look at the request's traces. */
    this.isTraceable = isTraceable;
  }
}

/** Returns a text for a path or a query. Unlike `URLSearchParams`, it writes a space as `%20`. */
const escaped = (value) =>
  encodeURIComponent(value).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * Returns the path and query of a call.
 *
 * @param {object} operation An operation of the contract.
 * @param {object} call `path` and `query` hold values by name. Absent values are left out; `""` stays.
 */
export function target(operation, { path = {}, query = {} } = {}) {
  const place = operation.path.replace(/\{([^}]+)\}/g, (_, name) => {
    if (path[name] === undefined || path[name] === null || path[name] === "")
      throw new TypeError(`${operation.id} needs ${name}.`);
    return name === "key" ? String(path[name]).split("/").map(escaped).join("/") : escaped(path[name]);
  });
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${escaped(name)}=${escaped(String(value))}`);
  return place + (pairs.length ? `?${pairs.join("&")}` : "");
}

/** Returns a key that no other request has. `crypto.randomUUID` is missing where a page is not served over TLS. */
function freshKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Keys that the gateway will not take again. */
const spentKeys = new Set();

/**
 * Returns a function that adds an `idempotencyKey` to the calls of a form: the same one for as long as the call stays
 * the same. A person who sends it again, because no answer came, gets the answer to the first one.
 */
export function repeatable() {
  let last = null;
  let idempotencyKey;
  return (call) => {
    const written = JSON.stringify(call);
    if (written !== last || spentKeys.has(idempotencyKey)) idempotencyKey = freshKey();
    last = written;
    return { ...call, idempotencyKey };
  };
}

/** Calls operations with the credential of a session. */
export class API {
  /**
   * @param {Contract} contract
   * @param {function(): string|null} credential Returns the bearer credential.
   * @param {function(): void} refused Is called when the gateway does not accept the credential any more.
   * @param {function(string): boolean} may Tells whether the person may call an operation.
   */
  constructor(contract, credential, refused, may) {
    this.contract = contract;
    this.credential = credential;
    this.refused = refused;
    this.may = may;
  }

  /**
   * Calls an operation.
   *
   * @param {string} id Its `operationId`.
   * @param {object} [call]
   * @param {object} [call.path] Parameters of the path, by name.
   * @param {object} [call.query] Parameters of the query, by name.
   * @param {*} [call.body] The body, sent as JSON; a `Blob` or a text is sent as it is.
   * @param {string} [call.type] The media type of a body that is not JSON.
   * @param {string} [call.ifMatch] The `ETag` of the row that was read.
   * @param {string} [call.idempotencyKey] Sent again with a repeated request, see `repeatable`. Default: a new one
   *   where the operation changes something and takes one.
   * @param {AbortSignal} [call.signal]
   * @param {string} [call.bearer] Another credential than that of the session.
   * @returns {Promise<{data: *, etag: string|null, status: number, requestID: string|null, location: string|null}>}
   */
  async call(id, call = {}) {
    const answer = await this.#send(id, call);
    const data = answer.status === 204 ? null : await this.#read(answer);
    return {
      data,
      etag: answer.headers.get("ETag"),
      status: answer.status,
      requestID: answer.headers.get("X-Request-Id"),
      location: answer.headers.get("Location"),
    };
  }

  /** Returns the pages of a list, one after the other. */
  pages(id, call = {}) {
    return new Pages(this, id, call);
  }

  /**
   * Reads the answer of an operation as a file.
   *
   * @param {function(number): void} [progress] Receives the number of bytes so far.
   * @returns {Promise<Blob>}
   */
  async file(id, call = {}, progress) {
    const answer = await this.#send(id, { accept: "*/*", ...call });
    if (!progress || !answer.body) return answer.blob();
    let bytes = 0;
    const counter = new TransformStream({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        progress(bytes);
        controller.enqueue(chunk);
      },
    });
    return new Response(answer.body.pipeThrough(counter), {
      headers: { "Content-Type": answer.headers.get("Content-Type") ?? "" },
    }).blob();
  }

  /**
   * Sends a file, and tells how much of it has left.
   *
   * @param {function(number, number): void} progress Receives the bytes sent, and all bytes.
   */
  upload(id, { path, query, file, type, signal }, progress) {
    const operation = this.contract.operation(id);
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(operation.method, target(operation, { path, query }));
      request.setRequestHeader("Authorization", `Bearer ${this.credential()}`);
      request.setRequestHeader("Content-Type", type);
      request.upload.addEventListener("progress", (event) => progress?.(event.loaded, event.total));
      const stop = () => request.abort();
      signal?.addEventListener("abort", stop, { once: true });
      request.addEventListener("loadend", () => {
        signal?.removeEventListener("abort", stop);
        const requestID = request.getResponseHeader("X-Request-Id");
        const read = () => {
          try {
            return JSON.parse(request.responseText);
          } catch {
            return {};
          }
        };
        if (signal?.aborted) reject(signal.reason);
        else if (request.status === 0) reject(unreachable());
        else if (request.status >= 400) reject(this.#problem(read(), request.status, requestID));
        else resolve({ data: read(), status: request.status, requestID, etag: request.getResponseHeader("ETag") });
      });
      request.send(file);
    });
  }

  async #send(id, { path, query, body, type, ifMatch, idempotencyKey, signal, bearer, accept = "application/json" }) {
    const operation = this.contract.operation(id);
    const headers = new Headers({ Accept: accept });
    const credential = bearer ?? this.credential();
    if (credential && operation.access !== "public") headers.set("Authorization", `Bearer ${credential}`);
    if (ifMatch) headers.set("If-Match", ifMatch);
    if (operation.takes("Idempotency-Key") && !operation.readsOnly)
      headers.set("Idempotency-Key", idempotencyKey ?? freshKey());
    let content;
    if (body !== undefined) {
      const isFile = body instanceof Blob || typeof body === "string";
      headers.set("Content-Type", type ?? operation.bodyType);
      content = isFile ? body : JSON.stringify(body);
    }
    const place = target(operation, { path, query });
    let answer;
    try {
      answer = await fetch(place, {
        method: operation.method,
        headers,
        body: content,
        signal,
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        referrerPolicy: "no-referrer",
      });
    } catch (error) {
      throw error.name === "AbortError" || signal?.aborted ? error : unreachable();
    }
    if (answer.ok) return answer;
    const problem = await answer.json().catch(() => ({}));
    if (["IdempotentAnswerGone", "IdempotencyKeyReused"].includes(problem.code)) spentKeys.add(idempotencyKey);
    throw this.#problem(problem, answer.status, answer.headers.get("X-Request-Id"), bearer !== undefined);
  }

  async #read(answer) {
    const type = answer.headers.get("Content-Type") ?? "";
    return /\bjson\b/.test(type) ? answer.json() : answer.text();
  }

  #problem(document, status, requestID, isForeign) {
    const problem = new Problem(
      { title: `The gateway answered with status ${status}`, ...document },
      { status, requestID, isTraceable: this.may("getRequest") },
    );
    if (status === 401 && !isForeign) this.refused(problem);
    return problem;
  }
}

function unreachable() {
  return new Problem({
    title: "The gateway cannot be reached",
    code: "Unreachable",
    detail: "Check that it runs and that your network reaches it.",
  });
}

/** The pages of a list. */
export class Pages {
  #api;
  #id;
  #call;
  #token;

  constructor(api, id, call) {
    this.#api = api;
    this.#id = id;
    this.#call = call;
    /** Whether the last page was read. */
    this.done = false;
    /** The first answer, whose members beside `items` some lists use. */
    this.first = null;
  }

  /** Reads the next page and returns its rows; an empty list after the last one. */
  async next() {
    if (this.done) return [];
    const query = { ...this.#call.query, ...(this.#token ? { pageToken: this.#token } : {}) };
    const { data } = await this.#api.call(this.#id, { ...this.#call, query });
    this.first ??= data;
    this.#token = data.nextPageToken;
    this.done = !this.#token;
    return data.items;
  }

  /** Reads pages until there are no more, or `limit` rows. */
  async all(limit = 10_000) {
    const rows = [];
    while (!this.done && rows.length < limit) rows.push(...(await this.next()));
    return rows;
  }
}
