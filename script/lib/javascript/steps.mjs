// What the tests do with the module, in pages and in Node alike. A step throws if something is not as it should be.
//
// `kit` has the module, the addresses of the gateway and the store, both behind fault proxies, tokens, buckets, files.

const MiB = 1 << 20;

export function expect(condition, text, ...found) {
  if (!condition) throw new Error(`${text}: ${JSON.stringify(found)}`);
}

export async function refused(work) {
  try {
    return { result: await work };
  } catch (error) {
    return error;
  }
}

/** Sets the faults of a proxy, and answers what of the last ones has not happened. */
async function faults(proxy, ...plan) {
  const answer = await fetch(`${proxy}/.faults`, { method: "POST", body: JSON.stringify(plan) });
  return answer.json();
}

async function allHappened(...proxies) {
  for (const proxy of proxies) {
    const left = await faults(proxy);
    expect(left.length === 0, "faults that did not happen", left);
  }
}

const clientOf = (kit, changes = {}) =>
  new kit.module.Sluice({ url: kit.gateway, token: kit.tokens.alice, store: kit.store, ...changes });

const bytesOf = (length, seed = 7) => Uint8Array.from({ length }, (_, index) => (index * 31 + seed + (index >> 8)) & 255);

const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const md5 = (kit, bytes) => base64(new kit.module.MD5().update(bytes).digest());

async function stored(client, object) {
  const { blob } = await client.download(object);
  return new Uint8Array(await blob.arrayBuffer());
}

async function expectSame(kit, client, object, bytes) {
  expect(md5(kit, await stored(client, object)) === md5(kit, bytes), "the object has other bytes", object);
}

/** Uploads until the parts are completed, and stops there: before the gateway is asked, or before it has answered. */
async function interrupted(client, isAsked, file, options) {
  const complete = client.completeParts.bind(client);
  client.completeParts = async (...request) => {
    if (isAsked) await complete(...request);
    throw new Error("interrupted");
  };
  const error = await refused(client.upload(file, options));
  expect(error.message === "interrupted", "how it ends", String(error));
  delete client.completeParts;
}

/** The numbers of the parts for which a client asks for links, from now on. */
function partsOf(client) {
  const numbers = [];
  const link = client.partLink.bind(client);
  client.partLink = (id, part, options) => (numbers.push(part.partNumber), link(id, part, options));
  return numbers;
}

/** Uses a link as Uppy does: by XMLHttpRequest, with the headers that it was told. */
function uppyRequest({ url, method, headers = {}, body }) {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.onload = () => (xhr.status < 300 ? resolve(xhr) : reject(new Error(`${xhr.status} ${xhr.responseText}`)));
    xhr.onerror = () => reject(new Error(`${method} ${url.slice(0, 60)} failed`));
    xhr.send(body);
  });
}

const steps = {
  async digests({ module: { MD5, SHA256 } }) {
    // RFC 1321, A.5, and FIPS 180-4 with its examples.
    const text = (characters) => new TextEncoder().encode(characters);
    const digits = "1234567890".repeat(8);
    const vectors = [
      [MD5, "", "d41d8cd98f00b204e9800998ecf8427e"],
      [MD5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"],
      [MD5, digits, "57edf4a22be3c955ac49da2e2107b67a"],
      [SHA256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
      [SHA256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
      [SHA256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"],
      [SHA256, "a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"],
    ];
    for (const [Kind, message, digest] of vectors) {
      for (const step of [1_000_003, 37, 64]) {
        const [bytes, kind] = [text(message), new Kind()];
        for (let at = 0; at < bytes.length; at += step) kind.update(bytes.subarray(at, at + step));
        const found = hex(kind.digest());
        expect(found === digest, "the digest differs", Kind.name, message.length, step, found);
      }
    }
  },

  async small(kit) {
    const client = clientOf(kit);
    const seen = [];
    const asked = [];
    const link = client.link.bind(client);
    client.link = async (...request) => (asked.push(request[0]), link(...request));
    const bytes = bytesOf(100_000);
    const done = await client.upload(new Blob([bytes], { type: "image/png" }), {
      bucket: kit.bucket, key: `${kit.folder}small ü+.png`, metadata: { camera: "x100" },
      onProgress: (progress) => seen.push(progress),
    });
    expect(done.state === "landed" && done.size === bytes.length && /^[0-9a-f]{32}$/.test(done.etag), "result", done);
    const [{ contentMD5, contentLength, contentType }] = asked;
    expect(contentMD5 === md5(kit, bytes) && contentLength === bytes.length, "what is bound", asked);
    expect(contentType === "image/png", "the type", asked);
    expect(seen.at(-1).loaded === bytes.length && seen.at(-1).total === bytes.length, "progress", seen.at(-1));
    await expectSame(kit, client, done, bytes);
    const empty = await client.upload(new Blob([]), {
      bucket: kit.bucket, keyPrefix: kit.folder, keyExtension: "bin", md5: false });
    expect(empty.state === "landed" && empty.key.endsWith(".bin") && empty.size === 0, "an empty object", empty);
    const url = await client.downloadURL({ bucket: kit.bucket, key: done.key, response: { filename: "a.png" } });
    const answer = await fetch(url);
    expect(answer.headers.get("content-type") === "image/png", "content type", [...answer.headers]);
  },

  async errors(kit) {
    const client = clientOf(kit);
    const target = { bucket: kit.bucket, key: "elsewhere/x.bin", contentType: "image/png" };
    const error = await refused(client.upload(new Blob(["x"]), target));
    expect(error instanceof kit.module.SluiceError && error.source === "gateway", "class", String(error));
    expect(error.code === "AccessDenied" && error.status === 403, "code and status", error.code, error.status);
    expect(error.message === "Access denied" && error.requestID.length > 30, "title", error);
    const wrong = await refused(client.upload(new Blob(["x"]), { ...target, key: "/x" }));
    expect(wrong.field === "key" && wrong.message === wrong.detail && wrong.detail.length > 10, "detail", wrong);
    expect(!error.mayPass, "a refusal is final");
    const unknown = await refused(clientOf(kit, { token: "nobody" }).link({ action: "GetObject", ...target }));
    expect(unknown.status === 401, "status", unknown.status);
    await faults(kit.gateway, ...Array(3).fill({ kind: "answer", status: 503, cors: true, body: "busy" }));
    const busy = await refused(clientOf(kit, { retries: 2 }).downloadURL({ bucket: kit.bucket, key: "files/x" }));
    expect(busy.code === "HTTP503" && busy.mayPass, "an answer that is not the gateway's", busy);
    await allHappened(kit.gateway);
  },

  async noURL(kit) {
    for (const url of [undefined, "", "gateway.example"]) {
      const error = await refused((async () => clientOf(kit, { url }))());
      expect(error instanceof kit.module.SluiceError && error.source === "client", "class", url, String(error));
      expect(error.code === "InvalidArgument" && /URL is missing/.test(error.message), "reason", url, error.message);
    }
    expect(clientOf(kit, { url: new URL(kit.gateway) }).url === kit.gateway, "a URL", kit.gateway);
  },

  async token(kit) {
    const asked = [];
    const token = async (wish) => (asked.push(wish.refresh), wish.refresh ? kit.tokens.alice : "expired");
    const url = await clientOf(kit, { token }).downloadURL({ bucket: kit.bucket, key: `${kit.folder}x` });
    expect(url.startsWith("http") && JSON.stringify(asked) === "[false,true]", "questions", asked);
  },

  async retryAfter(kit) {
    const client = clientOf(kit);
    await faults(kit.gateway, { kind: "answer", status: 503, retryAfter: 2, cors: true }, { kind: "lose" });
    const before = performance.now();
    await client.downloadURL({ bucket: kit.bucket, key: `${kit.folder}x` });
    const took = performance.now() - before;
    expect(took >= 2000, "the pause is shorter than the gateway asked for", took);
    await faults(kit.gateway, { kind: "answer", status: 503, retryAfter: 3600, cors: true });
    const late = new Promise((resolve) => setTimeout(resolve, 5000, "still waits"));
    const error = await Promise.race([late, refused(client.downloadURL({ bucket: kit.bucket, key: `${kit.folder}x` }))]);
    expect(error.retryAfter === 3600, "an hour is not waited for", error);
    await allHappened(kit.gateway);
  },

  async refusedPart(kit) {
    const client = clientOf(kit);
    // As the gateway refuses one part: in the list of an answer that is a success.
    const refusal = (problem) => ({
      kind: "answer", method: "POST", path: "/parts", status: 200, cors: true,
      body: JSON.stringify({ results: [{ title: "Refused", ...problem }] }),
    });
    const exceeded = (resetsIn) => refusal({
      status: 429, code: "QuotaExceeded", remaining: 0,
      quota: { id: "x", metric: "urls", period: "minute", limit: 1, resetsIn },
    });
    const options = { bucket: kit.bucket, key: `${kit.folder}refused part`, partSize: 5 * MiB, parallel: 1 };
    const file = await kit.file("six.bin");
    await faults(kit.gateway, exceeded(2), refusal({ status: 503, code: "ServiceUnavailable" }));
    const before = performance.now();
    const done = await client.upload(file, options);
    const took = performance.now() - before;
    expect(done.state === "landed" && done.parts === 2, "the upload", done);
    expect(took >= 2000, "the pause is shorter than the quota needs", took);
    await allHappened(kit.gateway);
    for (const [fault, code] of [
      [exceeded(3600), "QuotaExceeded"], [exceeded(), "QuotaExceeded"], [refusal({ status: 403, code: "AccessDenied" }), "AccessDenied"],
    ]) {
      await faults(kit.gateway, fault);
      const error = await refused(client.upload(file, options));
      expect(error.code === code && !error.mayPass, "a refusal that does not pass", String(error), error.retryAfter);
      await allHappened(kit.gateway);
    }
  },

  /** A quota of a minute, of which the gateway itself says that it is used up, until the next minute begins. */
  async quota(kit) {
    const client = clientOf(kit, { token: kit.tokens.limited });
    const object = { bucket: kit.bucket, key: `${kit.folder}limited` };
    const ask = { action: "GetObject", ...object };
    const upload = await client.startParts({ ...object, contentType: "image/png" });
    const hasty = clientOf(kit, { token: kit.tokens.limited, retries: 0 });
    const { fetch } = globalThis;
    // What is answered to each idempotency key: codes of problems.
    const answers = new Map();
    globalThis.fetch = async (...request) => {
      const answer = await fetch(...request);
      const key = new Headers(request[1]?.headers).get("idempotency-key");
      const content = await answer.clone().json();
      answers.set(key, [...(answers.get(key) ?? []), (content.results?.[0] ?? content).code]);
      return answer;
    };
    try {
      // If a minute ends just before the two requests, neither is refused.
      for (let isRefused = false; !isRefused; ) {
        while (!(await refused(hasty.link(ask))).code);
        answers.clear();
        const [link, part] = await Promise.all([
          client.link(ask), client.partLink(upload.id, { partNumber: 1, contentLength: 5 }),
        ]);
        expect(link.url && part.url, "the links", link, part);
        isRefused = [...answers.values()].every(([first]) => first);
      }
    } finally {
      globalThis.fetch = fetch;
    }
    const found = [...answers.values()].map((codes) => codes.join());
    expect(found.join(" ") === "QuotaExceeded, QuotaExceeded,", "the answers to each key", found);
    await client.abortParts(upload.id);
  },

  async expired(kit) {
    const client = clientOf(kit);
    const body = "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>";
    // As stores do, without leave for pages to read it. So a page sees it as a lost connection, at first.
    const refusal = { kind: "answer", method: "PUT", status: 403, body };
    await faults(kit.store_, ...Array(kit.isBrowser ? 2 : 1).fill(refusal));
    const bytes = bytesOf(5_000);
    const issued = [];
    const link = client.link.bind(client);
    client.link = async (...request) => (issued.push(request), link(...request));
    const done = await client.upload(new Blob([bytes]), { bucket: kit.bucket, key: `${kit.folder}expired` });
    expect(done.state === "landed" && issued.length === 2, "links", issued.length);
    await faults(kit.store_, ...Array(kit.isBrowser ? 12 : 2).fill(refusal));
    const error = await refused(
      Object.assign(clientOf(kit, { retries: 2 })).upload(new Blob([bytes]), { bucket: kit.bucket, key: `${kit.folder}expired` }));
    expect(kit.isBrowser ? error.source === "network" : error.status === 403, "a refusal that stays", error);
    await faults(kit.store_);
  },

  async needs(kit) {
    const client = clientOf(kit);
    const bytes = bytesOf(70_000);
    const checked = await client.upload(new Blob([bytes], { type: "image/png" }), {
      bucket: kit.bucket, key: `${kit.folder.replace("files/", "md5/")}a.png`, md5: false });
    expect(checked.state === "landed", "a grant that needs MD5", checked);
    // A bucket whose links need the SHA-256.
    const hashed = await client.upload(new Blob([bytes], { type: "image/png" }), {
      bucket: kit.strictBucket, key: `${kit.folder}a.png` });
    expect(["landed", "unverified"].includes(hashed.state), "a bucket that needs SHA-256", hashed);
    const file = await kit.blob("six.bin");
    const parts = await client.upload(file, { bucket: kit.strictBucket, key: `${kit.folder}b.png`, partSize: 5 * MiB });
    expect(["landed", "unverified"].includes(parts.state) && parts.parts === 2, "parts with SHA-256", parts);
    await expectSame(kit, client, parts, new Uint8Array(await file.arrayBuffer()));
  },

  async existing(kit) {
    const client = clientOf(kit);
    const target = { bucket: kit.bucket, key: `${kit.folder}once`, ifNoneMatch: "*" };
    const bytes = bytesOf(3_000);
    await faults(kit.store_, { kind: "lose", method: "PUT" });
    const done = await client.upload(new Blob([bytes]), target);
    expect(done.state === "landed", "an upload whose answer was lost", done);
    await allHappened(kit.store_);
    // A proxy before the store did not wait for its answer.
    await faults(kit.store_, { kind: "hide", method: "PUT", status: 504, cors: true });
    const other = await client.upload(new Blob([bytes]), { ...target, key: `${target.key} more` });
    expect(other.state === "landed", "an upload that a proxy did not wait for", other);
    await allHappened(kit.store_);
    const error = await refused(clientOf(kit, { retries: 1 }).upload(new Blob([bytesOf(3_000, 9)]), target));
    // Some stores let no page read the refusal.
    expect(error.status === 412 || (kit.isBrowser && error.source === "network"), "an object that exists", error);
    await expectSame(kit, client, target, bytes);
  },

  async existingAtOSS(kit) {
    const client = clientOf(kit);
    const target = { bucket: kit.bucket, key: `${kit.folder}once at OSS`, ifNoneMatch: "*" };
    const bytes = bytesOf(3_000);
    const body = "<Error><Code>FileAlreadyExists</Code><Message>The object exists.</Message></Error>";
    const exists = { kind: "answer", method: "PUT", status: 409, cors: true, body };
    await faults(kit.store_, { kind: "lose", method: "PUT" }, exists);
    const done = await client.upload(new Blob([bytes]), target);
    expect(done.state === "landed" && done.size === bytes.length, "an upload whose answer was lost", done);
    await allHappened(kit.store_);
    // An object of somebody else, whether or not an attempt was lost before.
    const lost = { kind: "answer", method: "PUT", status: 503, cors: true };
    for (const plan of [[exists], [lost, exists]]) {
      await faults(kit.store_, ...plan);
      const error = await refused(client.upload(new Blob([bytes]), { ...target, key: `${target.key} by others` }));
      expect(error.source === "store" && error.status === 409, "the refusal", plan.length, String(error), error.status);
      expect(error.code === "FileAlreadyExists" && error.message === "The object exists.", "its text", error.message);
      await allHappened(kit.store_);
    }
  },

  async abort(kit) {
    const client = clientOf(kit);
    const controller = new AbortController();
    const ids = [];
    const start = client.startParts.bind(client);
    client.startParts = async (...request) => {
      const upload = await start(...request);
      ids.push(upload.id);
      return upload;
    };
    await faults(kit.store_, { kind: "delay", seconds: 3, method: "PUT", skip: 1 });
    const onProgress = ({ loaded }) => loaded >= 5 * MiB && controller.abort();
    const options = { bucket: kit.bucket, key: `${kit.folder}aborted`, partSize: 5 * MiB, parallel: 2 };
    const file = await kit.file("six.bin");
    const error = await refused(client.upload(file, { ...options, signal: controller.signal, onProgress }));
    expect(error.name === "AbortError", "what is thrown", String(error));
    const found = await (await fetch(`${kit.gateway}/v1/multipart-uploads/${ids[0]}`, {
      headers: { authorization: `Bearer ${kit.tokens.alice}` } })).json();
    expect(ids.length === 1 && found.state === "aborted", "the upload at the gateway", found);
    await faults(kit.store_);
    const early = await refused(client.upload(file, { ...options, signal: AbortSignal.abort() }));
    expect(early.name === "AbortError" && ids.length === 1, "a signal that fired before", ids);
  },

  async pause(kit) {
    const states = new Map();
    const client = clientOf(kit, { store: kit.module.memoryStore(states) });
    const controller = new AbortController();
    const starts = [];
    const start = client.startParts.bind(client);
    client.startParts = async (...request) => {
      const upload = await start(...request);
      starts.push(upload.id);
      return upload;
    };
    const options = { bucket: kit.bucket, key: `${kit.folder}paused`, partSize: 5 * MiB, parallel: 1 };
    const file = await kit.file("six.bin");
    // The first part has arrived when the second begins.
    const onProgress = ({ loaded }) => loaded > 5 * MiB && controller.abort(kit.module.PAUSE);
    const error = await refused(client.upload(file, { ...options, signal: controller.signal, onProgress }));
    expect(error.name === "AbortError", "what is thrown", String(error));
    const [{ id, tags }] = states.values();
    expect(id === starts[0] && /^[0-9a-f]{32}$/.test(tags[1]) && !tags[2], "the state", id, tags);
    const seen = [];
    const done = await client.upload(file, { ...options, onProgress: ({ loaded }) => seen.push(loaded) });
    expect(states.size === 0, "the state is forgotten", states.size);
    expect(done.state === "landed" && starts.length === 1, "it was continued", starts.length, done);
    expect(seen[0] === 5 * MiB, "the part that had arrived was not sent again", seen[0]);
    const bytes = new Uint8Array(await (await kit.blob("six.bin")).arrayBuffer());
    await expectSame(kit, client, done, bytes);
    // An upload that was aborted meanwhile begins anew.
    const again = new AbortController();
    const stop = ({ loaded }) => loaded > 5 * MiB && again.abort(kit.module.PAUSE);
    const other = { ...options, key: `${options.key}2` };
    await refused(client.upload(file, { ...other, signal: again.signal, onProgress: stop }));
    await client.abortParts(starts[1]);
    const fresh = await client.upload(file, other);
    expect(fresh.state === "landed" && starts.length === 3 && fresh.id === starts[2], "begun anew", starts, fresh);
    // A paused upload is given up by a signal that has fired, and by one that fires while it is looked for.
    for (const isEarly of [true, false]) {
      const third = new AbortController();
      const halt = ({ loaded }) => loaded > 5 * MiB && third.abort(kit.module.PAUSE);
      const paused = { ...options, key: `${options.key}3` };
      await refused(client.upload(file, { ...paused, signal: third.signal, onProgress: halt }));
      expect(states.size === 1, "it is paused", states.size);
      const end = new AbortController();
      const list = client.storedParts.bind(client);
      client.storedParts = (...request) => (end.abort(), list(...request));
      if (isEarly) end.abort();
      const ended = await refused(client.upload(file, { ...paused, signal: end.signal }));
      delete client.storedParts;
      const found = await (await fetch(`${kit.gateway}/v1/multipart-uploads/${starts.at(-1)}`, {
        headers: { authorization: `Bearer ${kit.tokens.alice}` } })).json();
      expect(ended.name === "AbortError" && found.state === "aborted", "given up", isEarly, String(ended), found);
      expect(states.size === 0, "the state is forgotten", isEarly, states.size);
    }
    expect(starts.length === 5, "the uploads that began", starts);
  },

  async otherBytes(kit) {
    const first = bytesOf(6 * MiB);
    const second = first.slice();
    second[second.length - 1] ^= 1;
    for (const [isAsked, bytes, sent] of [
      [false, first, []], [false, second, [2]], [true, first, []], [true, second, [1, 2]],
    ]) {
      const client = clientOf(kit, { store: kit.module.memoryStore() });
      const options = { bucket: kit.bucket, key: `${kit.folder}bytes`, partSize: 5 * MiB, parallel: 1 };
      await interrupted(client, isAsked, first, options);
      const numbers = partsOf(client);
      const done = await client.upload(bytes, options);
      expect(done.state === "landed", "the state", done);
      await expectSame(kit, client, done, bytes);
      expect(JSON.stringify(numbers) === JSON.stringify(sent), "the parts that were sent again", isAsked, numbers);
    }
  },

  /** Alibaba OSS writes MD5 in capitals, which the store of the tests does not take. */
  async capitals(kit) {
    const client = clientOf(kit, { store: kit.module.memoryStore() });
    const options = { bucket: kit.bucket, key: `${kit.folder}capitals`, partSize: 5 * MiB };
    const bytes = bytesOf(6 * MiB);
    await interrupted(client, false, bytes, options);
    const [list, complete] = [client.storedParts.bind(client), client.completeParts.bind(client)];
    const written = (parts, how) => parts.map((part) => ({ ...part, etag: how.call(part.etag) }));
    const { toLowerCase, toUpperCase } = String.prototype;
    let tags;
    client.storedParts = async (...request) => written(await list(...request), toUpperCase);
    client.completeParts = (id, parts) => {
      tags = parts.map(({ etag }) => etag);
      return complete(id, written(parts, toLowerCase));
    };
    const numbers = partsOf(client);
    const done = await client.upload(bytes, options);
    expect(done.state === "landed" && numbers.length === 0, "the parts that were sent again", numbers, done);
    expect(tags.length === 2 && tags.every((tag) => /^[0-9A-F]{32}$/.test(tag)), "the tags of the store", tags);
  },

  async hiddenTags(kit) {
    const file = await kit.file("six.bin");
    for (const isAsked of [true, false]) {
      const states = new Map();
      const client = clientOf(kit, { store: kit.module.memoryStore(states) });
      const options = { bucket: kit.strictBucket, key: `${kit.folder}hidden ${isAsked}`, partSize: 5 * MiB };
      await interrupted(client, isAsked, file, options);
      const [{ id }] = states.values();
      const numbers = partsOf(client);
      const done = await client.upload(file, options);
      expect(["landed", "unverified"].includes(done.state) && done.id === id, "the same upload", id, done);
      expect(numbers.length === 0 && states.size === 0, "parts that were sent again", isAsked, numbers);
    }
  },

  async batch(kit) {
    const client = clientOf(kit);
    const items = Array.from({ length: 3 }, (_, index) => ({
      action: "GetObject", bucket: kit.bucket, key: index === 1 ? "elsewhere/x" : `${kit.folder}${index}` }));
    const results = await client.batch(items);
    expect(results.length === 3 && results[0].url && results[2].url, "links", results.length);
    expect(results[1] instanceof kit.module.SluiceError && results[1].code === "AccessDenied", "a refusal", results[1]);
  },

  async form(kit) {
    const client = clientOf(kit);
    const bytes = bytesOf(50_000);
    const form = await client.form({
      bucket: kit.bucket, keyPrefix: kit.folder, keyExtension: "png", contentTypes: ["image/png"], maxBytes: 60_000 });
    const done = await client.sendForm(form, new Blob([bytes], { type: "image/png" }));
    expect(done.key === form.key && done.size === bytes.length, "result", done);
    expect((await client.confirm(form.id)).state === "landed", "confirmation");
    await expectSame(kit, client, done, bytes);
    const error = await refused(client.sendForm(form, new Blob([bytesOf(70_000)], { type: "image/png" })));
    expect(error.source === "store" && error.code === "EntityTooLarge", "a file that is too large", error);
    // The page learns what its own function throws, once.
    const faults = [new TypeError("bar is undefined")];
    const [fault] = faults;
    const onProgress = () => {
      if (faults.length) throw faults.pop();
    };
    const thrown = await refused(client.sendForm(form, new Blob([bytes], { type: "image/png" }), { onProgress }));
    expect(thrown === fault, "what onProgress throws", String(thrown));
    const named = await client.form({
      bucket: kit.bucket, keyStartsWith: `${kit.folder}named/`, contentTypes: ["image/png"], maxBytes: 60_000 });
    const file = Object.assign(new Blob([bytes], { type: "image/png" }), { name: "my own.png" });
    const sent = await client.sendForm(named, file);
    expect(sent.key === `${kit.folder}named/my own.png`, "the key that the client named", sent.key);
    await expectSame(kit, client, sent, bytes);
  },

  async slowForm(kit) {
    const { createServer } = await import("node:http");
    const { readFile } = await import("node:fs/promises");
    const pieces = [];
    let type;
    // A store that takes 1 MiB each tenth of a second.
    const server = createServer(async (request, response) => {
      type = request.headers["content-type"];
      let taken = 0;
      for await (const piece of request) {
        pieces.push(piece);
        taken += piece.length;
        if (taken < MiB) continue;
        taken -= MiB;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      response.writeHead(204).end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = clientOf(kit, { retries: 0, timeout: 3000 });
    const asked = await client.form({
      bucket: kit.bucket, keyPrefix: kit.folder, contentTypes: ["image/png"], maxBytes: 60 * MiB });
    const form = { ...asked, url: `http://127.0.0.1:${server.address().port}/` };
    const seen = [];
    const onProgress = ({ loaded }) => seen.push(loaded);
    const before = performance.now();
    const done = await client.sendForm(form, kit.file("sixty.bin"), { contentType: "image/png", onProgress });
    const took = performance.now() - before;
    expect(took > client.timeout, "the form was sent too fast to tell", took);
    expect(done.size === 60 * MiB && seen.at(-1) === done.size, "progress", done, seen.at(-1));
    const body = new Response(Buffer.concat(pieces), { headers: { "content-type": type } });
    const file = (await body.formData()).get("file");
    const content = [Buffer.from(await file.arrayBuffer()), await readFile(kit.file("sixty.bin"))];
    expect(file.name === "sixty.bin" && content[0].equals(content[1]), "the file", file.name, file.size);
    server.close();
  },

  async download(kit) {
    const client = clientOf(kit);
    const file = await kit.blob("six.bin");
    const bytes = new Uint8Array(await file.arrayBuffer());
    const object = { bucket: kit.bucket, key: `${kit.folder}download` };
    await client.upload(file, object);
    const cut = (after) => ({ kind: "cut-answer", method: "GET", path: "download", after });
    const busy = { kind: "answer", method: "GET", path: "download", status: 503, cors: true };
    await faults(kit.store_, cut(2 * MiB), cut(1 * MiB), busy, { ...busy, body: "<Error>", missing: 9 }, cut(1000));
    const seen = [];
    const whole = await client.download(object, { onProgress: ({ loaded }) => seen.push(loaded) });
    expect(whole.size === bytes.length && seen.at(-1) === bytes.length, "size", whole.size);
    expect(seen.every((loaded, index) => !index || loaded >= seen[index - 1]), "it went on where it stopped");
    expect(md5(kit, new Uint8Array(await whole.blob.arrayBuffer())) === md5(kit, bytes), "the bytes differ");
    await allHappened(kit.store_);
    await faults(kit.store_, cut(2 * MiB));
    const { readable, writable } = new TransformStream();
    const [read] = await Promise.all([new Response(readable).arrayBuffer(), client.download(object, { to: writable })]);
    expect(md5(kit, new Uint8Array(read)) === md5(kit, bytes), "the bytes of the stream differ");
    // An object that is replaced between two answers is read from its beginning.
    const delay = { kind: "delay", method: "GET", path: "download", seconds: 4 };
    await faults(kit.store_, cut(3 * MiB), delay);
    const asked = [];
    const link = client.link.bind(client);
    client.link = (request, more) => (asked.push(request), link(request, more));
    const other = bytesOf(6 * MiB);
    let replaced;
    const onProgress = ({ loaded }) => {
      if (loaded > MiB) replaced ??= client.upload(other, object);
    };
    const newest = await client.download({ ...object, expiresIn: 77 }, { onProgress });
    await replaced;
    expect(asked[0].expiresIn === 77, "the life of the link", asked[0]);
    const found = md5(kit, new Uint8Array(await newest.blob.arrayBuffer()));
    expect(found === md5(kit, other), "a mixture of two objects", newest.size, found === md5(kit, bytes));
    await allHappened(kit.store_);
  },

  async database({ module: { indexedDBStore } }) {
    const name = "closed";
    const store = indexedDBStore(name);
    const refuse = { open: () => { throw new Error("not now"); } };
    const { indexedDB } = globalThis;
    Object.defineProperty(globalThis, "indexedDB", { value: refuse, configurable: true });
    const error = await refused(store.set("a", 1));
    Object.defineProperty(globalThis, "indexedDB", { value: indexedDB, configurable: true });
    expect(error.message === "not now", "a database that cannot be opened", String(error));
    await store.set("a", 1);
    // An open connection that does not close keeps a database from being deleted.
    await new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase(name);
      request.onsuccess = resolve;
      request.onerror = () => reject(request.error);
      setTimeout(() => reject(new Error("the database is in use")), 10_000);
    });
    await store.set("b", { is: 2 });
    const [gone, kept] = [await store.get("a"), await store.get("b")];
    expect(gone === undefined && kept.is === 2, "what is kept", gone, kept);
    await store.delete("b");
    expect((await store.get("b")) === undefined, "what is forgotten");
  },

  async hiddenTag(kit) {
    const client = clientOf(kit);
    const object = { bucket: kit.strictBucket, key: `${kit.folder}hidden tag` };
    const cut = { kind: "cut-answer", method: "GET", path: "hidden%20tag", after: 3 * MiB };
    await client.upload(bytesOf(6 * MiB), object);
    // The object is replaced while the download waits.
    await faults(kit.store_, cut, { kind: "delay", method: "GET", path: "hidden%20tag", seconds: 4 });
    const other = bytesOf(6 * MiB, 9);
    let replaced;
    const onProgress = ({ loaded }) => {
      if (loaded > MiB) replaced ??= client.upload(other, object);
    };
    const { blob, size } = await client.download(object, { onProgress });
    await replaced;
    await allHappened(kit.store_);
    expect(md5(kit, new Uint8Array(await blob.arrayBuffer())) === md5(kit, other), "a mixture of two objects", size);
    // A stream has given its bytes away.
    await faults(kit.store_, cut);
    const { readable, writable } = new TransformStream();
    const read = new Response(readable).arrayBuffer().catch(() => {});
    const error = await refused(client.download(object, { to: writable }));
    await read;
    expect(error instanceof kit.module.SluiceError && error.source === "client", "class", String(error));
    expect(error.code === "NotSupported" && /tells no ETag/.test(error.message), "what is thrown", error.message);
    await allHappened(kit.store_);
  },

  async decoded(kit) {
    const client = clientOf(kit);
    const packed = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
    const noise = crypto.getRandomValues(new Uint8Array(3_000));
    // Bytes that become longer by packing, and such that become shorter.
    for (const [name, bytes] of [["longer", noise], ["shorter", bytesOf(6 * MiB)]]) {
      const object = { bucket: kit.bucket, key: `${kit.folder}decoded ${name}` };
      const file = await packed(bytes);
      expect(file.size > bytes.length === (name === "longer"), "the packed length", name, file.size);
      await client.upload(file, object);
      const after = Math.floor(file.size / 2);
      await faults(kit.store_, { kind: "cut-answer", method: "GET", path: `decoded%20${name}`, after });
      const totals = new Set();
      const onProgress = ({ total }) => totals.add(total);
      const { blob } = await client.download({ ...object, response: { contentEncoding: "gzip" } }, { onProgress });
      const found = new Uint8Array(await blob.arrayBuffer());
      expect(md5(kit, found) === md5(kit, bytes), "the decoded bytes", name, found.length);
      expect(totals.size === 1 && totals.has(undefined), "the total", name, ...totals);
      await allHappened(kit.store_);
    }
  },

  /** The driver writes the chosen file anew once its first part has arrived. */
  async rewritten(kit) {
    const states = new Map();
    const client = clientOf(kit, { store: kit.module.memoryStore(states), retries: 1 });
    const file = await kit.file("changing.bin");
    const options = { bucket: kit.bucket, key: `${kit.folder}rewritten`, partSize: 5 * MiB, parallel: 1 };
    const ids = [];
    const link = client.partLink.bind(client);
    client.partLink = async (id, ...rest) => {
      const answer = await link(id, ...rest);
      if (ids.push(id) === 2) await kit.rewritten();
      return answer;
    };
    const error = await refused(client.upload(file, options));
    expect(error.code === "FileChanged" && !error.mayPass, "what is thrown", String(error));
    const parts = await refused(client.storedParts(ids[0]));
    expect(parts.status === 409 && states.size === 0, "the upload is aborted", parts, states.size);
    // Now it cannot be read at all: neither for its digest, nor to be sent.
    for (const changes of [{}, { md5: false }, { partSize: 16 * MiB }, { partSize: 16 * MiB, md5: false }]) {
      const again = await refused(client.upload(file, { ...options, ...changes }));
      expect(again.code === "FileChanged" && states.size === 0, "what is thrown next", changes, String(again));
    }
    const form = await client.form({ bucket: kit.bucket, keyPrefix: kit.folder, contentTypes: ["image/png"], maxBytes: 9e6 });
    const sent = await refused(client.sendForm(form, file, { contentType: "image/png" }));
    expect(sent.code === "FileChanged", "what a form throws", String(sent));
  },

  async paths(kit) {
    const { readFile, writeFile } = await import("node:fs/promises");
    const object = { bucket: kit.bucket, key: `${kit.folder}paths` };
    await clientOf(kit).upload(kit.file("six.bin"), object);
    const to = `${kit.files}/copy.bin`;
    await faults(kit.store_, { kind: "cut-answer", method: "GET", path: "paths", after: 2 * MiB });
    const error = await refused(clientOf(kit, { retries: 0 }).download(object, { to }));
    expect(error.source === "network", "a download that ends early", String(error));
    const seen = [];
    const done = await clientOf(kit).download(object, { to, onProgress: ({ loaded }) => seen.push(loaded) });
    expect(seen[0] > MiB && done.size === 6 * MiB && done.path === to, "it went on", seen[0], done);
    const bytes = [await readFile(to), await readFile(kit.file("six.bin"))].map((content) => md5(kit, content));
    expect(bytes[0] === bytes[1], "the bytes differ");
    // An object that is another one meanwhile is downloaded from its beginning.
    await faults(kit.store_, { kind: "cut-answer", method: "GET", path: "paths", after: 2 * MiB });
    await refused(clientOf(kit, { retries: 0 }).download(object, { to }));
    const other = bytesOf(3 * MiB);
    await clientOf(kit).upload(other, object);
    await clientOf(kit).download(object, { to });
    expect(md5(kit, await readFile(to)) === md5(kit, other), "the bytes of the other object differ");
    await writeFile(to, "");
  },

  async otherObject(kit) {
    const { readFile } = await import("node:fs/promises");
    const first = { bucket: kit.bucket, key: `${kit.folder}target first` };
    const second = { ...first, key: `${kit.folder}target second` };
    const bytes = await readFile(kit.file("six.bin"));
    await clientOf(kit).upload(bytes, first);
    await clientOf(kit).upload(bytesOf(6 * MiB), second);
    // One file, whose path is written in two ways.
    const to = `${kit.files}/target.bin`;
    for (const [object, path] of [[first, to], [second, `${kit.files}/./target.bin`]]) {
      await faults(kit.store_, { kind: "cut-answer", method: "GET", path: "target", after: 2 * MiB });
      const error = await refused(clientOf(kit, { retries: 0 }).download(object, { to: path }));
      expect(error.source === "network", "a download that ends early", String(error));
      await allHappened(kit.store_);
    }
    await clientOf(kit).download(first, { to });
    const found = await readFile(to);
    expect(bytes.equals(found), "a mixture of two objects", found.length);
  },

  async otherFile(kit) {
    const { mkdir, readFile, utimes, writeFile } = await import("node:fs/promises");
    // Its length is not what can be read.
    const error = await refused(clientOf(kit).upload("/dev/zero", { bucket: kit.bucket, key: `${kit.folder}device` }));
    expect(error.code === "InvalidArgument" && error.source === "client", "no file", String(error));
    const first = await readFile(kit.file("six.bin"));
    const second = Buffer.from(bytesOf(6 * MiB));
    // Files of the same length and time: one that is written again, and one of the same name elsewhere.
    const time = new Date("2030-03-17T17:46:40Z");
    await mkdir(`${kit.files}/elsewhere`);
    for (const other of [`${kit.files}/same.bin`, `${kit.files}/elsewhere/same.bin`]) {
      const client = clientOf(kit, { store: kit.module.memoryStore() });
      const options = { bucket: kit.bucket, key: `${kit.folder}same`, partSize: 5 * MiB };
      const write = async (path, bytes) => {
        await writeFile(path, bytes);
        await utimes(path, time, time);
      };
      await write(`${kit.files}/same.bin`, first);
      await interrupted(client, false, `${kit.files}/same.bin`, options);
      await write(other, second);
      const done = await client.upload(other, options);
      expect(done.state === "landed", "the state", done);
      await expectSame(kit, client, done, second);
    }
  },

  async changed(kit) {
    const { appendFile, copyFile } = await import("node:fs/promises");
    const client = clientOf(kit);
    const path = `${kit.files}/changing.bin`;
    await copyFile(kit.file("six.bin"), path);
    const ids = [];
    const link = client.partLink.bind(client);
    client.partLink = async (id, ...rest) => {
      if (ids.push(id) === 2) await appendFile(path, "x");
      return link(id, ...rest);
    };
    const error = await refused(client.upload(path, {
      bucket: kit.bucket, key: `${kit.folder}changed`, partSize: 5 * MiB, parallel: 1 }));
    expect(error.code === "FileChanged", "what is thrown", String(error));
    const parts = await refused(client.storedParts(ids[0]));
    expect(parts.status === 409, "the upload is aborted", parts);
  },

  async restarts(kit) {
    const { appendFileSync, readFileSync, writeFileSync, promises: { readFile } } = await import("node:fs");
    const { gzipSync } = await import("node:zlib");
    const client = clientOf(kit);
    const to = `${kit.files}/restarted.bin`;
    const bytes = await readFile(kit.file("six.bin"));
    const object = { bucket: kit.bucket, key: `${kit.folder}restarted` };
    const cut = { kind: "cut-answer", method: "GET", path: "restarted", after: 2 * MiB };
    // A store that ignores ranges has another object meanwhile.
    await client.upload(bytes, object);
    await faults(kit.store_, cut, { kind: "answer", method: "GET", path: "restarted", status: 200, body: "another" });
    const done = await client.download(object, { to });
    const found = await readFile(to);
    expect(done.size === 7 && String(found) === "another", "the other object", done, found.length, found.indexOf("a"));
    // Bytes that are decoded start over.
    await client.upload(gzipSync(bytes), object);
    await faults(kit.store_, cut);
    const decoded = await client.download({ ...object, response: { contentEncoding: "gzip" } }, { to });
    expect(decoded.size === bytes.length && bytes.equals(await readFile(to)), "the decoded bytes", decoded);
    await allHappened(kit.store_);
    // So they do in a later program, after one that was killed.
    const states = new Map();
    const killed = clientOf(kit, { store: kit.module.memoryStore(states) });
    let left;
    const keep = () => (left ??= [new Map(states), readFileSync(`${to}.sluice-part`)]);
    const request = { ...object, response: { contentEncoding: "gzip" } };
    await killed.download(request, { to, onProgress: keep });
    writeFileSync(`${to}.sluice-part`, left[1]);
    const store = kit.module.memoryStore(left[0]);
    const later = await clientOf(kit, { store, retries: 0 }).download(request, { to });
    expect(left[1].length && later.size === bytes.length && bytes.equals(await readFile(to)), "the bytes", later);
    // Two programs that write to one file do not make a mixture.
    const onProgress = () => appendFileSync(`${to}.sluice-part`, "x");
    const error = await refused(client.download(object, { to, onProgress }));
    expect(error.code === "FileChanged" && bytes.equals(await readFile(to)), "a file with more bytes", String(error));
    await client.download(object, { to });
    expect(gzipSync(bytes).equals(await readFile(to)), "the bytes of the next download");
    // A beginning that is whole may be another object's by now.
    const begun = new Map();
    let first;
    await clientOf(kit, { store: kit.module.memoryStore(begun) }).download(object, {
      to, onProgress: () => (first ??= new Map(begun)) });
    const old = await readFile(to);
    const other = Uint8Array.from(old, (byte) => byte ^ 1);
    await client.upload(other, object);
    writeFileSync(`${to}.sluice-part`, old);
    const anew = await clientOf(kit, { store: kit.module.memoryStore(first), retries: 0 }).download(object, { to });
    expect(anew.size === old.length && (await readFile(to)).equals(other), "another object of the same length", anew);
  },

  async shrunk(kit) {
    const { copyFile, rm, truncate } = await import("node:fs/promises");
    const states = new Map();
    const client = clientOf(kit, { store: kit.module.memoryStore(states), retries: 1 });
    const path = `${kit.files}/shrinking.bin`;
    let spoil;
    const shorten = (call) => {
      const link = client[call].bind(client);
      return async (...request) => {
        const answer = await link(...request);
        await spoil();
        return answer;
      };
    };
    client.link = shorten("link");
    const ids = [];
    const partLink = shorten("partLink");
    client.partLink = (id, ...rest) => (ids.push(id), partLink(id, ...rest));
    for (spoil of [() => truncate(path, 1000), () => rm(path, { force: true })]) {
      for (const partSize of [16 * MiB, 5 * MiB]) {
        await copyFile(kit.file("six.bin"), path);
        const error = await refused(client.upload(path, { bucket: kit.bucket, key: `${kit.folder}shrunk`, partSize }));
        expect(error.code === "FileChanged" && !error.mayPass, "what is thrown", `${spoil}`, partSize, String(error));
      }
      const parts = await refused(client.storedParts(ids.at(-1)));
      expect(parts.status === 409 && states.size === 0, "the upload is aborted", `${spoil}`, parts, states.size);
    }
  },

  /** The large upload, to which the driver does what it can. */
  async large(kit) {
    const client = clientOf(kit, { retries: 8 });
    return client.upload(await kit.file(kit.large), {
      bucket: kit.bucket, key: kit.key, contentType: "video/mp4", partSize: 5 * MiB,
      onProgress: ({ loaded }) => kit.told(loaded),
    });
  },

  /** The calls that @uppy/aws-s3 5 makes, in its order. */
  async uppy5(kit) {
    const client = clientOf(kit);
    const hooks = kit.module.uppyOptions(client, (file) => ({ bucket: kit.bucket, key: kit.folder + file.name }));
    for (const name of ["one.bin", "sixty.bin"]) {
      const data = await kit.blob(name);
      const file = { id: name, name, type: "image/png", size: data.size, data, meta: { name, type: "image/png" } };
      const { signal } = new AbortController();
      if (!hooks.shouldUseMultipart(file)) {
        expect(name === "one.bin", "one request", name);
        const { method = "POST", url, fields, headers } = await hooks.getUploadParameters(file, { signal });
        expect(method === "PUT" && Object.keys(fields).length === 0, "parameters", method, fields);
        expect((await uppyRequest({ url, method, headers, body: data })).getResponseHeader("etag"), "ETag");
        continue;
      }
      const { uploadId, key } = await hooks.createMultipartUpload(file, signal);
      const size = Math.max(5 * MiB, hooks.getChunkSize(file));
      const count = Math.ceil(data.size / size);
      const parts = [];
      const send = async (number) => {
        const body = data.slice((number - 1) * size, number * size);
        const signed = await hooks.signPart(file, { uploadId, key, partNumber: number, body, signal });
        expect(signed.expires > 0, "expiry", signed);
        const xhr = await uppyRequest({ ...signed, method: signed.method ?? "PUT", body });
        const etag = xhr.getResponseHeader("etag");
        parts[number - 1] = { PartNumber: number, ETag: etag, etag };
      };
      for (let number = 1; number < count; number++) await send(number);
      // A paused upload lists its parts when it is continued.
      const listed = await hooks.listParts(file, { uploadId, key, signal }, signal);
      expect(listed.length === count - 1 && listed[0].PartNumber === 1 && listed[0].Size === size, "parts", listed);
      await send(count);
      const done = await hooks.completeMultipartUpload(file, { key, uploadId, parts, signal }, signal);
      expect(done.location.endsWith("/sixty.bin") && done.key === key, "completion", done);
    }
    const data = await kit.blob("six.bin");
    const file = { id: "x", name: "aborted", type: "", size: data.size, data };
    const begun = await hooks.createMultipartUpload(file);
    await hooks.abortMultipartUpload(file, begun);
    expect((await refused(hooks.listParts(file, begun))).status === 409, "an aborted upload has no parts");
    return { objects: ["one.bin", "sixty.bin"].map((name) => kit.folder + name) };
  },

  /** The calls that @uppy/aws-s3 6 makes: each request is signed, sent, and its answer read as a store's XML. */
  async uppy6(kit) {
    const sign = kit.module.uppySigner(clientOf(kit), ({ key }) => ({ bucket: kit.bucket, key: kit.folder + key }));
    const read = (xhr, tag) => {
      const found = [...new DOMParser().parseFromString(xhr.responseText, "application/xml").getElementsByTagName(tag)];
      return found.map((element) => element.textContent);
    };
    const request = async (wish, body, contentType) => {
      const { url, key, headers } = await sign(wish);
      const type = contentType ? { "Content-Type": contentType } : {};
      return { xhr: await uppyRequest({ url, method: wish.method, headers: { ...type, ...headers }, body }), key };
    };
    const one = await kit.blob("one.bin");
    const put = await request({ method: "PUT", key: "v6/one.bin", contentType: "image/png" }, one, "image/png");
    expect(put.xhr.getResponseHeader("etag") && put.key === `${kit.folder}v6/one.bin`, "one request", put.key);
    const data = await kit.blob(kit.uppyFile);
    const started = await request({ method: "POST", key: "v6/<large> & ü.bin" }, undefined, "image/png");
    const [uploadId] = read(started.xhr, "UploadId");
    const { key } = started;
    const parts = [];
    for (let number = 1; (number - 1) * 5 * MiB < data.size; number++) {
      const body = data.slice((number - 1) * 5 * MiB, number * 5 * MiB);
      const { xhr } = await request({ method: "PUT", key, uploadId, partNumber: number }, body);
      parts.push({ number, etag: xhr.getResponseHeader("etag").replaceAll('"', "") });
    }
    const listed = await request({ method: "GET", key, uploadId });
    const tags = read(listed.xhr, "ETag");
    expect(JSON.stringify(tags) === JSON.stringify(parts.map(({ etag }) => etag)), "parts", tags.length, parts.length);
    const list = parts.map(({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`);
    const xml = `<CompleteMultipartUpload>${list.join("")}</CompleteMultipartUpload>`;
    const done = await request({ method: "POST", key, uploadId }, xml, "application/xml");
    expect(read(done.xhr, "Key")[0] === key && read(done.xhr, "Location")[0].startsWith("http"), "completion", key);
    const begun = await request({ method: "POST", key: "v6/aborted" });
    const [id] = read(begun.xhr, "UploadId");
    await request({ method: "DELETE", key: begun.key, uploadId: id });
    const error = await refused(request({ method: "GET", key: begun.key, uploadId: id }));
    expect(error.status === 409, "an aborted upload has no parts", error);
    return { objects: [put.key, key] };
  },

  /** FilePond calls `process`, and Dropzone `uploadFiles`; both are told of the progress and the end. */
  async widgets(kit) {
    const client = clientOf(kit);
    const data = await kit.blob("one.bin");
    const file = new File([data], "pond ü.bin", { type: "image/png" });
    const process = kit.module.filePond(client, (one) => ({ bucket: kit.bucket, key: kit.folder + one.name }));
    const seen = [];
    const key = await new Promise((load, error) => {
      process("file", file, {}, load, error, (...progress) => seen.push(progress), () => {}, () => {}, {});
    });
    const last = seen.at(-1);
    expect(key === `${kit.folder}pond ü.bin` && last[0] && last[1] === data.size && last[2] === data.size, "FilePond", last);
    const reason = await new Promise((error) => {
      const denied = kit.module.filePond(client, () => ({ bucket: kit.bucket, key: "elsewhere/x" }));
      denied("file", file, {}, () => error("loaded"), error, () => {}, () => {});
    });
    expect(/denied/i.test(reason), "FilePond's error", reason);
    await faults(kit.store_, { kind: "delay", method: "PUT", seconds: 5 });
    await new Promise((abort) => {
      const running = process("file", file, {}, () => {}, () => {}, () => {}, abort);
      setTimeout(() => running.abort(), 50);
    });
    await faults(kit.store_);
    const events = [];
    const zone = {
      emit: (name, one, percent, bytes) => events.push([name, percent, bytes]),
      _finished: (files, answer) => events.push(["finished", files.length, answer.key]),
      _errorProcessing: (files, message) => events.push(["error", files.length, message]),
    };
    kit.module.dropzone(client, zone, (one) => ({ bucket: kit.bucket, key: one.folder + one.name }));
    const until = async (name) => {
      while (!events.some((event) => event[0] === name)) await new Promise((resolve) => setTimeout(resolve, 20));
      return events.find((event) => event[0] === name);
    };
    const dropped = Object.assign(new File([data], "drop.bin"), { upload: {}, folder: kit.folder });
    zone.uploadFiles([dropped]);
    expect((await until("finished"))[2] === `${kit.folder}drop.bin`, "Dropzone", events);
    expect(dropped.upload.progress === 100 && dropped.upload.bytesSent === data.size, "progress", dropped.upload);
    zone.uploadFiles([Object.assign(new File([data], "no.bin"), { upload: {}, folder: "elsewhere/" })]);
    expect(/denied/i.test((await until("error"))[2]), "Dropzone's error", events.at(-1));
    const cancelled = Object.assign(new File([data], "cancelled.bin"), { upload: {}, folder: kit.folder });
    const before = events.filter(([name]) => name !== "uploadprogress").length;
    zone.uploadFiles([cancelled]);
    cancelled.xhr.abort();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(events.filter(([name]) => name !== "uploadprogress").length === before, "a cancelled file ends in silence");
  },
};

/** Runs a step, which fails if it takes longer than what is bearable: two minutes, or a quarter of an hour for `large`. */
export async function run(name, kit) {
  let timer;
  const late = new Promise((_, reject) => {
    const time = name === "large" ? 900_000 : 120_000;
    timer = setTimeout(() => reject(new Error(`the step has not ended after ${time / 1000} s`)), time);
  });
  return Promise.race([late, steps[name](kit)]).finally(() => clearTimeout(timer));
}
