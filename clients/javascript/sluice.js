// Uploads and downloads by links of a Sluice gateway, in browsers and in Node 18. See sluice.d.ts.

const MiB = 1 << 20;
const maxParts = 10_000;
const maxPut = 5 * 1024 * MiB;
// Seconds. A quota that opens tomorrow is not worth waiting for.
const longestPause = 60;
const hour = 3_600_000;
// Seconds before its end from which a link is not used, or half of its life.
const margin = 5;

export const PAUSE = "sluice:pause";

export class SluiceError extends Error {
  constructor(message, members) {
    super(message);
    this.name = "SluiceError";
    Object.assign(this, { status: 0 }, members);
  }

  get mayPass() {
    if ((this.retryAfter ?? 0) > longestPause || (this.quota && !("resetsIn" in this.quota))) return false;
    if (this.source === "network") return true;
    if (this.source === "client" || this.status === 501) return false;
    return (
      [408, 429].includes(this.status) || this.status >= 500 ||
      ["ConditionalRequestConflict", "IdempotencyKeyInUse", "RequestTimeout"].includes(this.code)
    );
  }
}

const failure = (source, code, message, members) => new SluiceError(message, { source, code, ...members });
const lost = (message) => failure("network", "NetworkError", message);
const fileChanged = () => failure("client", "FileChanged", "The file changed during the transfer, or cannot be read any more.");
// A refused item of a list has no `Retry-After`.
const refusedByGateway = (problem, retryAfter = problem.quota?.resetsIn) =>
  failure("gateway", problem.code, problem.detail ?? problem.title ?? problem.code, { ...problem, retryAfter });

function refusedByStore(status, text, retryAfter) {
  const element = (name) => text.match(`<${name}>([^<]*)</${name}>`)?.[1];
  const code = element("Code") ?? `HTTP${status}`;
  return failure("store", code, element("Message") ?? `The store answered ${status}.`, { status, retryAfter });
}

// OSS answers 409 where others answer 412.
const saysExists = ({ status, code }) => status === 412 || (status === 409 && code === "FileAlreadyExists");

const stopped = (signal) =>
  signal.reason instanceof Error ? signal.reason : new DOMException("The transfer was stopped.", "AbortError");

const seconds = (text) => (/^\d+$/.test(text) ? Number(text) : undefined);
const unquoted = (tag) => tag?.replace(/^"(.*)"$/, "$1");
const unique = () => [1, 2, 3].map(() => Math.random().toString(36).slice(2)).join("-");
const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
// Bundlers for browsers must not look for modules of Node.
const node = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);

// What the work results in, unless the signal fires first.
function unlessStopped(work, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(stopped(signal));
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    work.then(resolve, reject).finally(() => signal?.removeEventListener("abort", stop));
  });
}

function pause(time, signal) {
  let timer;
  const passed = new Promise((resolve) => (timer = setTimeout(resolve, time)));
  return unlessStopped(passed, signal).finally(() => clearTimeout(timer));
}

// Also fires when nothing has happened for a time. `alive()` says that something has, also after `rest()`.
function watched(signal, time) {
  const controller = new AbortController();
  const stop = () => controller.abort();
  let timer;
  const rest = () => clearTimeout(timer);
  const alive = () => {
    rest();
    timer = setTimeout(stop, time);
  };
  const end = () => {
    rest();
    signal?.removeEventListener("abort", stop);
  };
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  alive();
  return { signal: controller.signal, alive, rest, end };
}

// Digests in a stream, which WebCrypto cannot compute.

class Digest {
  #block = new Uint8Array(64);
  #held = 0;
  #length = 0;
  words = new Int32Array(64);

  constructor(state, isLittle) {
    Object.assign(this, { state, isLittle });
  }

  update(bytes) {
    this.#length += bytes.length;
    let at = 0;
    if (this.#held) {
      at = Math.min(64 - this.#held, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#held);
      this.#held += at;
      if (this.#held < 64) return this;
      this.#mix(this.#block, 0, 64);
    }
    const end = bytes.length - ((bytes.length - at) & 63);
    this.#mix(bytes, at, end);
    this.#held = bytes.length - end;
    this.#block.set(bytes.subarray(end));
    return this;
  }

  #mix(bytes, at, end) {
    const { words, isLittle } = this;
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    for (; at < end; at += 64) {
      for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i, isLittle);
      this.mix(words, this.state);
    }
  }

  digest() {
    const { state, isLittle } = this;
    const rest = new Uint8Array(this.#held < 56 ? 64 - this.#held : 128 - this.#held);
    const view = new DataView(rest.buffer);
    rest[0] = 0x80;
    const length = BigInt(this.#length) * 8n;
    view.setBigUint64(rest.length - 8, length, isLittle);
    this.update(rest);
    const found = new DataView(new ArrayBuffer(state.length * 4));
    state.forEach((word, index) => found.setInt32(index * 4, word, isLittle));
    return new Uint8Array(found.buffer);
  }
}

const sines = Int32Array.from({ length: 64 }, (_, index) => Math.floor(Math.abs(Math.sin(index + 1)) * 2 ** 32));
const turns = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

export class MD5 extends Digest {
  constructor() {
    super(Int32Array.of(0x67452301, 0xefcdab89, ~0x67452301, ~0xefcdab89), true);
  }

  mix(words, state) {
    let a = state[0], b = state[1], c = state[2], d = state[3];
    for (let i = 0; i < 64; i++) {
      let mixed, word;
      if (i < 16) mixed = (b & c) | (~b & d), word = i;
      else if (i < 32) mixed = (d & b) | (~d & c), word = 5 * i + 1;
      else if (i < 48) mixed = b ^ c ^ d, word = 3 * i + 5;
      else mixed = c ^ (b | ~d), word = 7 * i;
      const sum = (a + mixed + sines[i] + words[word & 15]) | 0;
      const turn = turns[((i >> 4) << 2) | (i & 3)];
      a = d;
      d = c;
      c = b;
      b = (b + ((sum << turn) | (sum >>> (32 - turn)))) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
  }
}

const primes = [];
for (let number = 2; primes.length < 64; number++) {
  if (primes.every((prime) => number % prime)) primes.push(number);
}
const fractions = (roots) => Int32Array.from(roots, (root) => Math.floor((root % 1) * 2 ** 32));
const cubes = fractions(primes.map(Math.cbrt));

export class SHA256 extends Digest {
  constructor() {
    super(fractions(primes.slice(0, 8).map(Math.sqrt)), false);
  }

  mix(words, state) {
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (let i = 0; i < 64; i++) {
      if (i > 15) {
        const x = words[i - 15], y = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] +
          (((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)) +
          (((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10));
      }
      const first = (h + cubes[i] + words[i] + ((e & f) ^ (~e & g)) +
        (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7)))) | 0;
      const second = ((a & b) ^ (a & c) ^ (b & c)) +
        (((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10)));
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }
}

// Chromium may collect a reader that nothing else holds while it reads into a buffer. Then the read never ends.
const readers = new Set();

// With a buffer, a piece is there until the next one is taken. So browsers keep no others. The signal is that of the
// request, which does not always end a read of its last bytes in Node (github.com/nodejs/undici/issues/4089).
async function* pieces(stream, buffer, signal) {
  let reader;
  try {
    reader = stream.getReader(buffer && { mode: "byob" });
  } catch {
    [reader, buffer] = [stream.getReader()];
  }
  readers.add(reader);
  try {
    for (;;) {
      const { done, value } = await unlessStopped(reader.read(buffer && new Uint8Array(buffer)), signal);
      if (done) return;
      if (buffer) buffer = value.buffer;
      yield value;
    }
  } finally {
    readers.delete(reader);
    reader.cancel().catch(() => {});
  }
}

// What can no longer be read has changed, or is gone.
async function* readable(bytes) {
  try {
    yield* bytes;
  } catch {
    throw fileChanged();
  }
}

const sourceOfBlob = (blob) => ({
  size: blob.size,
  name: blob.name,
  type: blob.type,
  version: blob.lastModified,
  blob: async (start, end) => (start === 0 && end === blob.size ? blob : blob.slice(start, end)),
  read: (start, end, buffer) => readable(pieces(blob.slice(start, end).stream(), buffer)),
  isUnchanged: async () => true,
});

async function sourceOfPath(path) {
  const { createReadStream, promises } = await node("fs");
  const { resolve } = await node("path");
  const state = async () => {
    const found = await promises.stat(path);
    if (!found.isFile()) throw failure("client", "InvalidArgument", `${path} is not a file.`);
    const { size, mtimeMs, ctimeMs, ino } = found;
    // Programs can set mtime, but not ctime.
    return { size, version: [resolve(path), ino, size, mtimeMs, ctimeMs].join() };
  };
  const { size, version } = await state();
  const isUnchanged = async () => (await state().catch(() => ({}))).version === version;
  async function* read(start, end) {
    try {
      if (end > start) yield* createReadStream(path, { start, end: end - 1, highWaterMark: 1 << 18 });
    } catch (error) {
      throw (await isUnchanged()) ? failure("client", error.code, error.message) : fileChanged();
    }
  }
  return {
    size,
    name: path,
    type: "",
    version,
    blob: async (start, end) => {
      const all = [];
      for await (const piece of read(start, end)) all.push(piece);
      return new Blob(all);
    },
    read,
    isUnchanged,
  };
}

async function sourceOf(file) {
  if (typeof file === "string" && isNode()) return sourceOfPath(file);
  // What another frame made is no instance. `new Blob` would take anything else for text.
  const kind = {}.toString.call(file).slice(8, -1);
  if (["Blob", "File"].includes(kind)) return sourceOfBlob(file);
  if (kind === "ArrayBuffer" || ArrayBuffer.isView(file)) return sourceOfBlob(new Blob([file]));
  throw failure("client", "InvalidArgument", "Only a Blob, bytes and, in Node, the path of a file can be sent.");
}

// What `fetch` would send of a form with this file. Only the surroundings are held in memory.
async function sourceOfForm(data, name, source) {
  data.append("file", new Blob([], { type: source.type }), name);
  const form = new Response(data);
  const text = await form.text();
  // The file ends where the last boundary begins.
  const at = text.lastIndexOf("\r\n--");
  const [before, after] = [text.slice(0, at), text.slice(at)].map((part) => new TextEncoder().encode(part));
  return {
    size: before.length + source.size + after.length,
    type: form.headers.get("content-type"),
    async *read() {
      yield before;
      yield* source.read(0, source.size);
      yield after;
    },
  };
}

async function digested(source, start, end, names, signal) {
  const digests = names.map((name) => (name === "contentMD5" ? new MD5() : new SHA256()));
  for await (const piece of source.read(start, end, new ArrayBuffer(65_536))) {
    if (signal?.aborted) throw stopped(signal);
    for (const digest of digests) digest.update(piece);
  }
  return digests.map((digest) => digest.digest());
}

// Asks for a link that binds the length and what is required. `bound` learns that from refusals.
async function adapted(bound, source, start, end, signal, ask) {
  const known = {};
  for (;;) {
    const names = ["contentMD5", "checksumSHA256"].filter((name) => bound[name]);
    const missing = names.filter((name) => !known[name]);
    const found = missing.length ? await digested(source, start, end, missing, signal) : [];
    missing.forEach((name, index) => (known[name] = base64(found[index])));
    const members = Object.fromEntries(names.map((name) => [name, known[name]]));
    members.contentLength = end - start;
    try {
      return await ask(members);
    } catch (error) {
      const wanted =
        error.status === 400 && error.field === "checksumSHA256" ? "checksumSHA256"
        : error.condition === "requireContentMD5" ? "contentMD5"
        : undefined;
      // Another part may have learned the same meanwhile.
      if (!wanted || wanted in members) throw error;
      bound[wanted] = true;
    }
  }
}

const binding = ({ md5 } = {}) => ({ contentMD5: md5 !== false });

const hasXHR = typeof XMLHttpRequest === "function";
const isNode = () => globalThis.process?.versions?.node;

// Service workers have neither. Nothing is asked for that cannot be used.
function mustSend() {
  if (!hasXHR && !isNode()) throw failure("client", "NotSupported", "Uploads need XMLHttpRequest or Node.");
}

// Browsers write these themselves.
const settable = (headers) =>
  Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => !/^(content-length|host)$/i.test(name)));

// What the app throws ends the request.
const telling = (onBytes, reject, stop) => (bytes) => {
  try {
    onBytes?.(bytes);
  } catch (error) {
    reject(error);
    stop();
  }
};

function sendXHR(link, body, { signal, timeout, onBytes }) {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const watch = watched(signal, timeout);
    const fail = () => {
      watch.end();
      reject(lost("The store did not answer, or its CORS rules hide the answer."));
    };
    xhr.open(link.method, link.url);
    for (const [name, value] of Object.entries(settable(link.headers))) xhr.setRequestHeader(name, value);
    const tell = telling(onBytes, reject, () => xhr.abort());
    xhr.upload.onprogress = (event) => {
      watch.alive();
      tell(event.loaded);
    };
    xhr.onerror = xhr.onabort = fail;
    xhr.onload = () => {
      watch.end();
      // A browser logs an error where it is asked for a field that it may not show.
      const lines = xhr.getAllResponseHeaders().split("\r\n").filter(Boolean);
      const fields = new Headers(lines.map((line) => line.split(/: ?(.*)/, 2)));
      resolve({ status: xhr.status, text: xhr.responseText, header: (name) => fields.get(name) });
    };
    watch.signal.addEventListener("abort", () => xhr.abort());
    xhr.send(body);
  });
}

async function sendNode(link, source, start, end, { signal, timeout, onBytes }) {
  const [{ pipeline, Readable }, http] = [await node("stream"), await node(new URL(link.url).protocol.slice(0, -1))];
  return new Promise((resolve, reject) => {
    const tell = telling(onBytes, reject, () => request.destroy());
    async function* counted() {
      let sent = 0;
      for await (const piece of source.read(start, end)) {
        yield piece;
        tell((sent += piece.length));
      }
      if (sent < end - start) throw fileChanged();
    }
    const headers = { ...settable(link.headers), "content-length": end - start };
    const request = http.request(link.url, { method: link.method, headers, signal, timeout });
    const fail = (error) =>
      reject(error instanceof SluiceError ? error : lost(`The store did not answer: ${error?.message}`));
    request.on("timeout", () => request.destroy());
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => (text += text.length < 65_536 ? piece : ""));
      response.on("error", fail);
      response.on("end", () => {
        if (!request.writableFinished) request.destroy();
        resolve({ status: response.statusCode, text, header: (name) => response.headers[name] });
      });
    });
    request.on("error", fail);
    pipeline(Readable.from(counted(), { objectMode: false }), request, (error) => error && fail(error));
  });
}

// Browsers do not tell that they cannot read a file.
async function explained(error, source, start, end, signal) {
  if (error.source !== "network") return error;
  try {
    for await (const _ of source.read(start, end)) if (signal?.aborted) throw stopped(signal);
    return error;
  } catch (changed) {
    return changed;
  }
}

function accepted(answer) {
  if (answer.status < 300) return answer;
  throw refusedByStore(answer.status, answer.text, seconds(answer.header("retry-after")));
}

// Stores answer an expired link with 403, and some with 400 or 401.
const mayBeExpiry = (error, attempt) =>
  (error.source === "store" &&
    (error.status === 403 || ([400, 401].includes(error.status) && /Expired/.test(error.code)))) ||
  // Many let no page read it.
  (hasXHR && error.source === "network" && attempt > 0);

export const memoryStore = (states = new Map()) => ({
  get: async (name) => states.get(name),
  set: async (name, state) => states.set(name, structuredClone(state)),
  delete: async (name) => states.delete(name),
});

export function indexedDBStore(database = "sluice") {
  const result = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  // It is opened each time, because a browser may close it.
  const run = async (mode, call) => {
    const request = indexedDB.open(database, 1);
    request.onupgradeneeded = () => request.result.createObjectStore("transfers");
    const opened = await result(request);
    try {
      return await result(call(opened.transaction("transfers", mode).objectStore("transfers")));
    } finally {
      opened.close();
    }
  };
  return {
    get: (name) => run("readonly", (store) => store.get(name)),
    set: (name, state) => run("readwrite", (store) => store.put(state, name)),
    delete: (name) => run("readwrite", (store) => store.delete(name)),
  };
}

export function fileStore(directory) {
  const path = (name) => `${directory}/${hex(new SHA256().update(new TextEncoder().encode(name)).digest())}.json`;
  const files = () => node("fs/promises");
  return {
    get: async (name) => JSON.parse(await (await files()).readFile(path(name), "utf8")),
    async set(name, state) {
      const { mkdir, writeFile, rename } = await files();
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await writeFile(`${path(name)}.new`, JSON.stringify(state), { mode: 0o600 });
      await rename(`${path(name)}.new`, path(name));
    },
    delete: async (name) => (await files()).rm(path(name), { force: true }),
  };
}

// A store that fails costs the ability to go on, and not the transfer.
const forgiving = (store) => {
  const tried = (call) => async (...args) => {
    try {
      return await store[call](...args);
    } catch {}
  };
  return { get: tried("get"), set: tried("set"), delete: tried("delete") };
};

const sinkOfBlob = () => {
  let parts = [];
  return {
    size: 0,
    write: (bytes) => parts.push(bytes),
    restart: () => (parts = []),
    end: (type) => ({ blob: new Blob(parts, { type }) }),
  };
};

const sinkOfStream = (stream, signal) => {
  const writer = stream.getWriter();
  return {
    size: 0,
    write: (bytes) => unlessStopped(writer.write(bytes), signal),
    restart(reason) {
      throw reason
        ? failure("client", "NotSupported", `The download was cut off. A stream cannot begin anew, and ${reason}.`)
        : failure("client", "ObjectChanged", "The object changed during the download.");
    },
    end: () => unlessStopped(writer.close(), signal),
    // It is not waited for: it ends after the write under way, which may never end.
    close: (error) => void writer.abort(error).catch(() => {}),
  };
};

// The file gets its name once it is complete.
async function sinkOfPath(path, store, object) {
  const files = await node("fs/promises");
  const partial = `${path}.sluice-part`;
  // Appends, also after a restart.
  const file = await files.open(partial, "a");
  // What another program has given its name is not changed any more.
  const own = async () => {
    const [{ ino, size }, there] = [await file.stat(), await files.stat(partial).catch(() => ({}))];
    if (there.ino !== ino) throw fileChanged();
    return size;
  };
  const restart = async () => {
    await own();
    await file.truncate();
  };
  // A file has the beginning of one object only, however its path is written.
  let name, begun, isSame, size;
  try {
    name = JSON.stringify(["get", await files.realpath(partial)]);
    begun = await store.get(name);
    // What is there whole is fetched anew: a range of nothing tells not whether the object is the same.
    isSame = begun?.object === object && (await own()) !== begun.total;
    if (!isSame) {
      await store.delete(name);
      await restart();
    }
    size = await own();
  } catch (error) {
    await file.close();
    throw error;
  }
  return {
    size,
    known: isSame ? begun : undefined,
    async write(bytes) {
      if ((await own()) !== this.size) {
        await store.delete(name);
        throw fileChanged();
      }
      await file.appendFile(bytes);
    },
    restart,
    async begin(known) {
      await own();
      await store.set(name, { ...known, object });
    },
    async end() {
      if ((await own()) !== this.size) {
        await file.truncate();
        throw fileChanged();
      }
      await file.close();
      await files.rename(partial, path);
      await store.delete(name);
      return { path };
    },
    close: () => file.close(),
  };
}

export class Sluice {
  #token;
  #store;
  #running = new Set();

  constructor({ url, token, store, retries = 6, timeout = 60_000, parallel = 4, partSize = 16 * MiB }) {
    if (!/^https?:/i.test(url)) {
      throw failure("client", "InvalidArgument", "The gateway's URL is missing or not http(s).");
    }
    this.url = String(url).replace(/\/+$/, "");
    this.#token = token;
    this.#store = forgiving(store ?? (typeof indexedDB === "object" ? indexedDBStore() : memoryStore()));
    Object.assign(this, { retries, timeout, parallel, partSize });
  }

  link(request, { signal } = {}) {
    return this.#call("POST", "/v1/presigned-urls", request, signal);
  }

  async batch(items, { signal } = {}) {
    const results = [];
    for (let start = 0; start < items.length; start += 1000) {
      const part = { items: items.slice(start, start + 1000) };
      results.push(...(await this.#call("POST", "/v1/presigned-urls/batch", part, signal)).results);
    }
    return results.map((result) => ("status" in result ? refusedByGateway(result) : result));
  }

  form(request, { signal } = {}) {
    return this.#call("POST", "/v1/post-policies", request, signal);
  }

  confirm(id, { signal } = {}) {
    return this.#call("POST", `/v1/issuances/${id}:confirm`, {}, signal);
  }

  startParts(request, { signal } = {}) {
    return this.#call("POST", "/v1/multipart-uploads", request, signal);
  }

  partLink(id, part, { signal } = {}) {
    const body = { parts: [part] };
    return this.#call("POST", `/v1/multipart-uploads/${id}/parts`, body, signal, ({ results: [link] }) => {
      if ("status" in link) throw refusedByGateway(link);
      return link;
    });
  }

  async storedParts(id, { signal } = {}) {
    const parts = [];
    for (let token = ""; token !== undefined; ) {
      const query = `pageSize=1000${token && `&pageToken=${encodeURIComponent(token)}`}`;
      const page = await this.#call("GET", `/v1/multipart-uploads/${id}/parts?${query}`, undefined, signal);
      parts.push(...page.items);
      token = page.nextPageToken;
    }
    return parts;
  }

  completeParts(id, parts, { signal } = {}) {
    return this.#call("POST", `/v1/multipart-uploads/${id}:complete`, { parts }, signal);
  }

  async abortParts(id, { signal } = {}) {
    await this.#call("DELETE", `/v1/multipart-uploads/${id}`, undefined, signal);
  }

  async downloadURL(object, options) {
    return (await this.link({ action: "GetObject", ...object }, options)).url;
  }

  async upload(file, { md5, confirm = true, resume = true, signal, onProgress, parallel, partSize, ...target }) {
    mustSend();
    const source = await sourceOf(file);
    const { size } = source;
    const contentType = target.contentType || source.type || "application/octet-stream";
    const counts = {};
    let loaded = 0;
    const progress = (place, bytes) => {
      loaded += bytes - (counts[place] ?? 0);
      counts[place] = bytes;
      onProgress?.({ loaded, total: size });
    };
    const job = {
      source, signal, progress, confirm, resume, bound: binding({ md5 }), target: { ...target, contentType },
      parallel: parallel ?? this.parallel, partSize: partSize ?? this.partSize,
    };
    // Only a link binds that the object is new.
    if (size <= job.partSize || target.ifNoneMatch) return this.#whole(job);
    return this.#inParts(job);
  }

  async #whole({ source, signal, progress, bound, confirm, target }) {
    const { size } = source;
    if (size > maxPut) throw failure("client", "EntityTooLarge", "Only uploads in parts may be longer than 5 GiB.");
    let request = { action: "PutObject", ...target };
    const ids = [];
    let last;
    const ask = async () => {
      const link = await adapted(bound, source, 0, size, signal, (members) =>
        this.link({ ...request, ...members }, { signal }));
      // A name that the gateway has given stays.
      request = { ...request, key: link.key, keyPrefix: undefined, keyExtension: undefined };
      ids.push(link.id);
      return (last = link);
    };
    let wasLost = false;
    let refusal;
    const answer = await this.#use(ask, signal, async (link) => {
      try {
        return await this.#put(link, source, [0, size], signal, (bytes) => progress(0, bytes));
      } catch (error) {
        // The object that exists may be the one whose answer was lost. A conflict made none.
        if (saysExists(error) && wasLost) return void (refusal = error);
        wasLost ||= error.mayPass && error.status !== 409;
        throw error;
      }
    });
    progress(0, size);
    if (!(await source.isUnchanged())) throw fileChanged();
    const found = await (answer
      ? this.#confirmed(confirm, last.id, size, signal)
      : this.#landed(ids, size, signal, refusal));
    const etag = found?.etag ?? unquoted(answer?.header("etag"));
    return { id: last.id, bucket: last.bucket, key: last.key, size, etag, state: found?.state };
  }

  async #inParts(job) {
    const { source, signal, target } = job;
    const { bucket, key, keyPrefix, keyExtension, contentType, metadata } = target;
    const name = JSON.stringify([
      "put", this.url, bucket, key, keyPrefix, keyExtension, contentType, source.name, source.size, source.version,
      Object.entries(metadata ?? {}).sort(),
    ]);
    // Of the calls that send the same, the first has the state. The others keep none.
    const isFirst = !this.#running.has(name);
    this.#running.add(name);
    const store = (job.store = isFirst ? this.#store : memoryStore());
    let begun;
    let isGivenUp;
    try {
      begun = job.resume ? await store.get(name) : undefined;
      begun &&= await this.#found(begun, name, job);
      if (!begun) {
        const request = { bucket, key, keyPrefix, keyExtension, contentType, metadata, contentLength: source.size };
        const upload = await this.startParts(request, { signal });
        const partSize = Math.max(job.partSize, Math.ceil(source.size / maxParts));
        begun = { id: upload.id, bucket, key: upload.key, partSize, tags: {} };
        await store.set(name, begun);
      }
      return await this.#finish(begun, name, job);
    } catch (error) {
      // Without a network, nothing can be aborted either.
      const isOver = (!isFirst && error.source !== "network") || (signal?.aborted && signal.reason !== PAUSE) ||
        error.code === "FileChanged";
      isGivenUp = begun && isOver;
      if (isGivenUp) await store.delete(name);
      throw error;
    } finally {
      if (isFirst) this.#running.delete(name);
      // The gateway gives up after a day what nobody aborts.
      if (isGivenUp) await this.abortParts(begun.id, { signal: AbortSignal.timeout(5000) }).catch(() => {});
    }
  }

  async #found(begun, name, { source, signal, store }) {
    let state, parts;
    try {
      ({ state } = await this.#call("GET", `/v1/multipart-uploads/${begun.id}`, undefined, signal));
      parts = state === "open" ? await this.storedParts(begun.id, { signal }) : [];
    } catch (error) {
      // What a proxy answers says nothing about the upload.
      if (!["NoSuchUpload", "Conflict"].includes(error.code)) throw error;
      return void (await store.delete(name));
    }
    // A completion whose answer was lost is repeated. Later, the object may be gone.
    const age = Date.now() - begun.completedAt;
    const isMade = state === "completing" || (state === "completed" && age >= 0 && age < hour);
    if (!isMade) begun.completedAt = undefined;
    const tags = isMade ? begun.tags : {};
    for (const { partNumber, etag, size } of parts) {
      const [start, end] = range(begun, source, partNumber);
      if (size === end - start) tags[partNumber] = etag;
    }
    for (const [number, etag] of Object.entries(tags)) {
      // A file has a time at which it changed. Other bytes are compared.
      if (source.version !== undefined && etag && etag === begun.tags[number]) continue;
      const [found] = await digested(source, ...range(begun, source, number), ["contentMD5"], signal);
      // OSS writes MD5 in capitals.
      if (hex(found) !== etag?.toLowerCase()) delete tags[number];
    }
    const count = Math.ceil(source.size / begun.partSize);
    if (state === "open" || Object.keys(tags).length === count) return { ...begun, tags };
    await store.delete(name);
  }

  async #finish(begun, name, { source, signal, progress, bound, confirm, parallel, store }) {
    const { id, tags } = begun;
    const count = Math.ceil(source.size / begun.partSize);
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    const missing = numbers.filter((number) => !tags[number]);
    for (const number in tags) progress(number, range(begun, source, number).reduce((start, end) => end - start));
    const controller = new AbortController();
    const inner = controller.signal;
    const stop = () => controller.abort();
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    let reason;
    let saved = Promise.resolve();
    const send = async (number) => {
      const [start, end] = range(begun, source, number);
      const ask = () =>
        adapted(bound, source, start, end, inner, (members) =>
          this.partLink(id, { partNumber: number, ...members }, { signal: inner }));
      const answer = await this.#use(ask, inner, (link) =>
        this.#put(link, source, [start, end], inner, (bytes) => progress(number, bytes)));
      progress(number, end - start);
      tags[number] = unquoted(answer.header("etag"));
      saved = saved.then(() => store.set(name, begun));
    };
    const work = async () => {
      while (missing.length && !inner.aborted) {
        await send(missing.shift()).catch((error) => {
          reason ??= error;
          stop();
        });
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    signal?.removeEventListener("abort", stop);
    await saved;
    if (signal?.aborted) throw stopped(signal);
    if (reason) throw reason;
    if (!(await source.isUnchanged())) throw fileChanged();
    if (numbers.some((number) => !tags[number])) {
      // The store's CORS rules hide the tags from pages. The gateway can ask.
      for (const { partNumber, etag } of await this.storedParts(id, { signal })) tags[partNumber] ||= etag;
    }
    begun.completedAt ??= Date.now();
    await store.set(name, begun);
    const list = numbers.map((number) => ({ partNumber: number, etag: tags[number] }));
    const done = await this.completeParts(id, list, { signal });
    await store.delete(name);
    const found = await this.#confirmed(confirm, id, source.size, signal);
    const { bucket, key } = begun;
    return { id, bucket, key, size: source.size, etag: found?.etag ?? done.etag, state: found?.state, parts: count };
  }

  async #put(link, source, [start, end], signal, onBytes) {
    const options = { signal, timeout: this.timeout, onBytes };
    try {
      if (hasXHR) return accepted(await sendXHR(link, await source.blob(start, end), options));
      return accepted(await sendNode(link, source, start, end, options));
    } catch (error) {
      // What the app's own function threw is passed on as it is.
      if (error instanceof SluiceError) onBytes(0);
      throw await explained(error, source, start, end, signal);
    }
  }

  async #confirmed(isWanted, id, size, signal) {
    // The store has the bytes, even if the gateway may not ask it.
    const found = isWanted ? await this.confirm(id, { signal }).catch(() => undefined) : undefined;
    if (found && (!["landed", "unverified"].includes(found.state) || (found.size ?? size) !== size)) {
      const what = (found.mismatches ?? []).join(", ");
      throw failure("client", "Mismatch", `The object at the store is not what was sent: ${found.state} ${what}`);
    }
    return found;
  }

  async #landed(ids, size, signal, refusal) {
    for (const id of ids) {
      const found = await this.confirm(id, { signal });
      if (found.state === "landed" && found.size === size) return found;
    }
    throw refusal;
  }

  async sendForm(form, file, { contentType, signal, onProgress } = {}) {
    mustSend();
    const source = await sourceOf(file);
    const data = new FormData();
    for (const [name, value] of Object.entries(form.fields)) data.append(name, value);
    if (form.contentTypes) data.append(form.contentTypeField, contentType ?? source.type);
    const name = source.name?.split("/").pop() ?? "file";
    const { size: total } = source;
    const onBytes = (bytes) => onProgress?.({ loaded: Math.min(bytes, total), total });
    const options = { signal, timeout: this.timeout, onBytes };
    let send;
    if (hasXHR) {
      data.append("file", await source.blob(0, total), name);
      send = () => sendXHR(form, data, options);
    } else {
      const body = await sourceOfForm(data, name, source);
      const request = { ...form, headers: { "content-type": body.type } };
      send = () => sendNode(request, body, 0, body.size, options);
    }
    const answer = await this.#retry(signal, async () => {
      try {
        return accepted(await send());
      } catch (error) {
        throw await explained(error, source, 0, total, signal);
      }
    });
    const { id, bucket, key } = form;
    return { id, bucket, key: key.replace("${filename}", () => name), size: total, etag: unquoted(answer.header("etag")) };
  }

  async download({ bucket, key, versionID, response, expiresIn }, { to, signal, onProgress } = {}) {
    const request = { action: "GetObject", bucket, key, versionID, response, expiresIn };
    const name = JSON.stringify([this.url, bucket, key, versionID]);
    const place = typeof to === "string" ? (await node("path")).resolve(to) : {};
    if (this.#running.has(place)) throw failure("client", "Conflict", "Another download is writing this file.");
    this.#running.add(place);
    let sink;
    try {
      sink = typeof to === "string" ? await sinkOfPath(to, this.#store, name) : to ? sinkOfStream(to, signal) : sinkOfBlob();
      const known = sink.known ?? {};
      await this.#use(() => this.link(request, { signal }), signal, (link, accepted) =>
        this.#get(link, sink, known, signal, onProgress, accepted));
      const { etag, type } = known;
      return { bucket, key, size: sink.size, etag, contentType: type, ...(await sink.end(type)) };
    } catch (error) {
      await sink?.close?.(error);
      throw error;
    } finally {
      this.#running.delete(place);
    }
  }

  async #get(link, sink, known, signal, onProgress, accepted) {
    const headers = settable(link.headers);
    const restart = async (reason) => {
      if (sink.size) await sink.restart(reason);
      sink.size = 0;
    };
    if (known.isDecoded) await restart("its bytes are decoded");
    // The rest could be that of another object.
    if (!known.etag) await restart("the store tells no ETag");
    if (sink.size) headers.range = `bytes=${sink.size}-`;
    const watch = watched(signal, this.timeout);
    try {
      const answer = await fetch(link.url, { ...quiet, headers, signal: watch.signal }).catch((error) => {
        throw lost(`The store did not answer: ${error.message}`);
      });
      if (answer.status === 416 && sink.size) {
        await restart();
        throw lost("The object changed.");
      }
      if (!answer.ok) {
        const text = await unlessStopped(answer.text(), watch.signal).catch(() => "");
        throw refusedByStore(answer.status, text, seconds(answer.headers.get("retry-after")));
      }
      accepted();
      const etag = unquoted(answer.headers.get("etag"));
      if (sink.size && (answer.status !== 206 || etag !== known.etag)) {
        await restart();
        if (answer.status === 206) throw lost("The object changed.");
      }
      const length = answer.headers.get("content-length");
      // Bytes that fetch decodes have another length, and no place to go on from.
      known.isDecoded = ![null, "identity"].includes(answer.headers.get("content-encoding"));
      known.total = length && !known.isDecoded ? sink.size + Number(length) : undefined;
      known.type = answer.headers.get("content-type") ?? undefined;
      known.etag = etag;
      await sink.begin?.(known);
      let broken;
      try {
        for await (const bytes of pieces(answer.body, undefined, watch.signal)) {
          // A slow reader is no lost network.
          watch.rest();
          try {
            await sink.write(bytes);
            sink.size += bytes.length;
            onProgress?.({ loaded: sink.size, total: known.total });
          } catch (error) {
            throw (broken = error);
          }
          watch.alive();
        }
      } catch (error) {
        // If all bytes are there, nothing is left to ask for.
        if (broken || signal?.aborted || sink.size !== known.total)
          throw broken ?? lost(`The answer ended early: ${error.message}`);
      }
      if (sink.size < known.total) throw lost("The answer ended early.");
    } finally {
      watch.end();
    }
  }

  // A link that has expired is renewed first, and so is one whose refusal may mean the same: once, and again when the
  // store has accepted one.
  async #use(ask, signal, action) {
    let link, hasRenewed, isAccepted;
    const renew = async () => (link = await ask());
    const isOver = () => {
      const life = Math.max(link.expiresIn - margin, link.expiresIn / 2) * 1000;
      const asked = askedAt.get(link);
      return clocks().some((now, index) => now - asked?.[index] > life);
    };
    const attempted = () => {
      isAccepted = false;
      return action(link, () => ((isAccepted = true), (hasRenewed = false)));
    };
    await renew();
    return this.#retry(signal, async (attempt) => {
      if (isOver()) await renew();
      try {
        return await attempted();
      } catch (error) {
        if (hasRenewed || isAccepted || signal?.aborted || !mayBeExpiry(error, attempt)) throw error;
        hasRenewed = true;
        await renew();
        return attempted();
      }
    });
  }

  async #retry(signal, attempt) {
    for (let number = 0; ; number++) {
      if (signal?.aborted) throw stopped(signal);
      try {
        return await attempt(number);
      } catch (error) {
        if (signal?.aborted) throw stopped(signal);
        if (!error.mayPass || givenUp.has(error)) throw error;
        if (number >= this.retries) {
          givenUp.add(error);
          throw error;
        }
        const longest = Math.min(20_000, 500 * 2 ** number);
        await pause((error.retryAfter ?? 0) * 1000 + (longest / 2) * (1 + Math.random()), signal);
      }
    }
  }

  // `read` takes the result from the answer. A refusal that it throws is one like those of a status.
  async #call(method, path, body, signal, read = (answer) => answer) {
    const headers = { accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    // It takes effect once, even if it is sent again.
    if (method === "POST") headers["idempotency-key"] = unique();
    const request = { method, headers, body: body && JSON.stringify(body) };
    const start = clocks();
    let hasRefreshed, hasRenewed;
    const attempt = async (refresh) => {
      try {
        const found = read(await this.#ask(path, request, signal, refresh));
        askedAt.set(found, start);
        return found;
      } catch (error) {
        const isRefused = error.status === 401 && !hasRefreshed && typeof this.#token === "function";
        if (isRefused) hasRefreshed = true;
        else if (error.code === "IdempotentAnswerGone" && !hasRenewed) {
          hasRenewed = true;
          headers["idempotency-key"] = unique();
        } else throw error;
        return attempt(isRefused);
      }
    };
    return this.#retry(signal, () => attempt(false));
  }

  async #ask(path, request, signal, refresh) {
    const asked = async () => (typeof this.#token === "function" ? this.#token({ refresh }) : this.#token);
    const token = String((await unlessStopped(asked(), signal)) ?? "").trim();
    // `fetch` would name it in its error.
    if (!/^[\x21-\x7e]+$/.test(token)) throw failure("client", "InvalidArgument", "The token is not one.");
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const answer = await this.#fetch(this.url + path, { ...request, headers }, signal);
    let content = {};
    try {
      content = Object(JSON.parse(answer.text || "{}"));
    } catch {
      if (answer.status < 300) throw lost("The answer is not one of a gateway.");
    }
    if (answer.status < 300) return content;
    const problem = { code: `HTTP${answer.status}`, ...content, status: answer.status };
    throw refusedByGateway(problem, seconds(answer.header("retry-after")));
  }

  async #fetch(url, request, signal) {
    const watch = watched(signal, this.timeout);
    try {
      const answer = await fetch(url, { ...quiet, ...request, signal: watch.signal });
      const text = await unlessStopped(answer.text(), watch.signal);
      return { status: answer.status, text, header: (name) => answer.headers.get(name) };
    } catch (error) {
      throw lost(`${new URL(url).origin} did not answer: ${error.cause?.message ?? error.message}`);
    } finally {
      watch.end();
    }
  }
}

// What one repetition has given up, the one around it does not repeat, such as the renewal of a link.
const givenUp = new WeakSet();

// When the request for a link was first sent. Its life may have begun then.
const askedAt = new WeakMap();

// The first stands still while the machine sleeps, and the second may be set back.
const clocks = () => [performance.now(), Date.now()];

const quiet = { redirect: "error", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" };

function range(begun, source, number) {
  const start = (number - 1) * begun.partSize;
  return [start, Math.min(source.size, start + begun.partSize)];
}

// Uppy sets the type as well. Under the same name, it is sent once.
const uppyHeaders = ({ "content-type": type, ...others }) =>
  settable({ ...others, ...(type && { "Content-Type": type }) });

const uppyPart = ({ partNumber, etag, size }) => ({ PartNumber: partNumber, ETag: etag, Size: size });

export function uppyOptions(client, target, { partSize = client.partSize } = {}) {
  const members = (file) => ({ contentType: file.type || "application/octet-stream", ...target(file) });
  const parameters = ({ url, method, headers, expiresIn }) => ({
    method, url, headers: uppyHeaders(headers), expires: expiresIn,
  });
  return {
    shouldUseMultipart: (file) => file.size > partSize,
    getChunkSize: ({ size }) => Math.max(partSize, Math.ceil(size / maxParts)),
    async getUploadParameters(file, { signal } = {}) {
      const link = await adapted(binding(), sourceOfBlob(file.data), 0, file.data.size, signal, (bound) =>
        client.link({ action: "PutObject", ...members(file), ...bound }, { signal }));
      return { ...parameters(link), fields: {} };
    },
    async createMultipartUpload(file) {
      const upload = await client.startParts({ ...members(file), contentLength: file.data.size });
      return { uploadId: upload.id, key: upload.key };
    },
    async signPart(file, { uploadId, partNumber, body, signal }) {
      return parameters(
        await adapted(binding(), sourceOfBlob(body), 0, body.size, signal, (bound) =>
          client.partLink(uploadId, { partNumber, ...bound }, { signal })));
    },
    async listParts(file, { uploadId, signal }) {
      return (await client.storedParts(uploadId, { signal })).map(uppyPart);
    },
    async completeMultipartUpload(file, { uploadId, key, parts }) {
      const list = parts.map(({ PartNumber, ETag }) => ({ partNumber: PartNumber, etag: ETag }));
      const done = await client.completeParts(uploadId, list);
      return { location: location(client, done), bucket: done.bucket, key };
    },
    abortMultipartUpload: (file, { uploadId }) => client.abortParts(uploadId),
  };
}

const location = (client, { bucket, key }) =>
  `${client.url}/v1/objects/${[bucket, ...key.split("/")].map(encodeURIComponent).join("/")}`;

// What the gateway does itself has a URL that contains the answer of a store.
export function uppySigner(client, target) {
  const escaped = (text) => String(text).replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const element = (tag, value) =>
    Array.isArray(value) ? value.map((one) => element(tag, one)).join("")
    : typeof value === "object" ? `<${tag}>${Object.entries(value).map((one) => element(...one)).join("")}</${tag}>`
    : `<${tag}>${escaped(value)}</${tag}>`;
  const answer = (...told) => ({ url: `data:application/xml,${encodeURIComponent(element(...told))}` });
  return async (request) => {
    const { method, key, uploadId, partNumber } = request;
    const members = () => ({ contentType: request.contentType || "application/octet-stream", ...target(request) });
    if (!uploadId && method === "PUT") {
      const link = await client.link({ action: "PutObject", ...members() });
      return { url: link.url, key: link.key, headers: uppyHeaders(link.headers) };
    }
    if (!uploadId && method === "POST") {
      const upload = await client.startParts(members());
      const told = { Bucket: upload.bucket, Key: upload.key, UploadId: upload.id };
      return { ...answer("InitiateMultipartUploadResult", told), key: upload.key };
    }
    if (method === "PUT") {
      const link = await client.partLink(uploadId, { partNumber });
      return { url: link.url, headers: uppyHeaders(link.headers) };
    }
    if (method === "DELETE" && uploadId) return answer("AbortResult", (await client.abortParts(uploadId)) ?? "");
    if (method === "GET") {
      return answer("ListPartsResult", { Part: (await client.storedParts(uploadId)).map(uppyPart) });
    }
    if (method !== "POST") throw failure("client", "NotSupported", `Links for ${method} ${key} do not exist.`);
    // Uppy sends the list of parts to the URL, so it is asked for here.
    const parts = (await client.storedParts(uploadId)).map(({ partNumber, etag }) => ({ partNumber, etag }));
    const done = await client.completeParts(uploadId, parts);
    const told = { Location: location(client, done), Bucket: done.bucket, Key: done.key, ETag: done.etag ?? "" };
    return answer("CompleteMultipartUploadResult", told);
  };
}

export function filePond(client, target) {
  return (fieldName, file, metadata, load, error, progress, abort) => {
    const controller = new AbortController();
    const onProgress = ({ loaded, total }) => progress(true, loaded, total);
    client.upload(file, { ...target(file, metadata), signal: controller.signal, onProgress }).then(
      ({ key }) => controller.signal.aborted || load(key),
      (reason) => controller.signal.aborted || error(reason.message),
    );
    return {
      abort() {
        controller.abort();
        abort();
      },
    };
  };
}

export function dropzone(client, zone, target) {
  zone.uploadFiles = (files) => {
    for (const file of files) {
      const controller = new AbortController();
      file.xhr = { abort: () => controller.abort() };
      const onProgress = ({ loaded, total }) => {
        Object.assign(file.upload, { progress: total ? (100 * loaded) / total : 100, total, bytesSent: loaded });
        zone.emit("uploadprogress", file, file.upload.progress, loaded);
      };
      client.upload(file, { ...target(file), signal: controller.signal, onProgress }).then(
        (result) => controller.signal.aborted || zone._finished([file], result),
        (reason) => controller.signal.aborted || zone._errorProcessing([file], reason.message),
      );
    }
  };
  return zone;
}
