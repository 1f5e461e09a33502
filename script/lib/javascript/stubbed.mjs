// What the module and the web example do at a gateway and a store that are stubs: node stubbed.mjs STEP. A step throws
// if something is not as it should be.

import { File } from "node:buffer";
import dns from "node:dns";
import fs from "node:fs";
import { appendFile, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import vm from "node:vm";
import * as module from "../../../clients/javascript/sluice.js";
import { choose, lastRow, open } from "./fake-page.mjs";
import { expect, refused } from "./steps.mjs";
import { Stub } from "./stub.mjs";

const { PAUSE, Sluice, dropzone, filePond, memoryStore } = module;
const KiB = 1024;
const target = { bucket: "demo", key: "files/a.bin", partSize: 4 * KiB };
const fileOf = (length, name = "a.bin") =>
  Object.assign(new Blob([new Uint8Array(length)]), { name, lastModified: 1_700_000_000_000 });
const clientOf = (stub, states = new Map()) =>
  new Sluice({ url: stub.url, token: "key", store: memoryStore(states), retries: 2 });
const never = new Promise(() => {});
const later = (time, value) => new Promise((resolve) => setTimeout(resolve, time, value));

async function until(condition, text) {
  for (const end = performance.now() + 5000; !(await condition()); await later(5)) {
    expect(performance.now() < end, "this has not come true", text ?? `${condition}`);
  }
}

/** Makes the pauses of the client short. */
function hurry() {
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (call, time, ...more) => setTimeout(call, time / 100, ...more);
}

/** What a transfer that is to end at once answers or throws. */
const soon = (work) => Promise.race([refused(work), later(2000, { message: "it has not ended" })]);

/** Holds the requests that a test chooses, until they are let go. */
function held(stub, isChosen) {
  const hold = { count: 0 };
  const gate = new Promise((resolve) => (hold.release = resolve));
  stub.before = async (told) => {
    if (!isChosen(told)) return;
    hold.count += 1;
    await gate;
  };
  return hold;
}

/** Uploads until the parts are completed, and stops there: before the gateway is asked, or before it has answered. */
async function interrupted(client, isAsked, file) {
  const complete = client.completeParts.bind(client);
  client.completeParts = async (...request) => {
    if (isAsked) await complete(...request);
    throw new Error("interrupted");
  };
  const error = await refused(client.upload(file, target));
  delete client.completeParts;
  expect(error.message === "interrupted", "how it ends", String(error));
}

const steps = {
  async neitherXHRNorNode(stub) {
    const { process } = globalThis;
    let error;
    try {
      globalThis.process = undefined;
      error = await refused(clientOf(stub).upload(fileOf(KiB), target));
    } finally {
      globalThis.process = process;
    }
    expect(error.code === "NotSupported" && stub.seen.length === 0, "what is thrown", String(error));
  },

  async noFile(stub) {
    const client = clientOf(stub);
    const form = { id: "form-1", url: `${stub.url}/store/form-1`, method: "POST", fields: {}, key: "a.bin" };
    const files = [
      undefined, null, 5, true, {}, [fileOf(1)], { 0: fileOf(1), length: 1 }, fileOf(1).stream(),
      fs.createReadStream("/dev/null"), Promise.resolve(fileOf(1)), { buffer: new Uint8Array(1) },
      new URL("file:///tmp/a.bin"), () => fileOf(1),
    ];
    for (const file of files) {
      for (const work of [client.upload(file, target), client.sendForm(form, file)]) {
        const error = await refused(work);
        const isTold = error.source === "client" && error.code === "InvalidArgument" && !error.mayPass;
        expect(isTold && stub.seen.length === 0, "what is thrown", String(file), String(error), stub.seen);
      }
    }
    const bytes = new Uint8Array(3);
    // What another frame made is no instance here.
    const foreign = vm.runInNewContext("[new ArrayBuffer(3), new Uint8Array(3)]");
    const views = [bytes, new DataView(bytes.buffer), Buffer.from("abc")];
    for (const file of [fileOf(3), new File(["abc"], "a.txt"), bytes.buffer, ...views, ...foreign]) {
      const done = await client.upload(file, target);
      expect(done.size === 3 && done.state === "landed", "what is sent", String(file), done);
    }
    // In a page, a text is no path.
    const { process } = globalThis;
    globalThis.XMLHttpRequest = class {};
    try {
      const page = await import("../../../clients/javascript/sluice.js?page");
      globalThis.process = undefined;
      stub.seen = [];
      const error = await refused(new page.Sluice({ url: stub.url, token: "key" }).upload("a.bin", target));
      expect(error.code === "InvalidArgument" && stub.seen.length === 0, "what a page is told", String(error));
    } finally {
      globalThis.process = process;
    }
  },

  async sameFile(stub) {
    const file = fileOf(6 * KiB);
    for (const reason of [undefined, PAUSE]) {
      const states = new Map();
      const client = clientOf(stub, states);
      stub.uploads = [];
      const hold = held(stub, ({ method }) => method === "PUT");
      const first = client.upload(file, target);
      await until(() => hold.count === 2);
      const controller = new AbortController();
      const second = client.upload(file, { ...target, signal: controller.signal });
      await until(() => hold.count === 4);
      expect(stub.uploads.length === 2, "the second upload begins", stub.uploads.length);
      controller.abort(reason);
      const error = await soon(second);
      expect(error.name === "AbortError", "how the second one ends", String(error));
      const early = await soon(client.upload(file, { ...target, signal: AbortSignal.abort() }));
      expect(early.name === "AbortError", "how one ends that never began", String(early));
      const [one, other] = stub.uploads.map(({ state }) => state);
      expect(one === "open" && other === "aborted", "the uploads", reason, one, other);
      expect([...states.values()].map(({ id }) => id).join() === "upload-1", "the state", [...states.values()]);
      hold.release();
      const done = await first;
      expect(done.id === "upload-1" && done.state === "landed", "the first one", done);
      expect(states.size === 0, "the state is forgotten", states.size);
    }
    // Once the first one has ended, the next one has the state.
    const states = new Map();
    const client = clientOf(stub, states);
    stub.uploads = [];
    await interrupted(client, false, file);
    const { id } = await client.upload(file, target);
    expect(id === "upload-1" && states.size === 0, "it was continued", id, states.size);
    // One that is given up has ended for the others, even if its parts have not been discarded yet.
    await interrupted(client, false, fileOf(5 * KiB));
    const hold = held(stub, ({ method }) => method === "DELETE");
    const ended = refused(client.upload(fileOf(5 * KiB), { ...target, signal: AbortSignal.abort() }));
    await until(() => hold.count === 1);
    await interrupted(client, false, fileOf(5 * KiB));
    expect(states.size === 1, "the state of the next one", states.size);
    hold.release();
    await ended;
  },

  async stopped(stub) {
    const file = fileOf(6 * KiB);
    for (const reason of [undefined, PAUSE]) {
      for (const [place, more] of [["multipart-uploads$", {}], ["complete$", {}], ["confirm$", {}],
        ["confirm$", { partSize: 8 * KiB }]]) {
        const states = new Map();
        const client = clientOf(stub, states);
        const hold = held(stub, ({ path }) => new RegExp(place).test(path));
        const controller = new AbortController();
        const options = { ...target, ...more };
        stub.uploads = [];
        const work = client.upload(file, { ...options, signal: controller.signal });
        await until(() => hold.count === 1);
        controller.abort(reason);
        const found = await soon(work);
        stub.before = async () => {};
        if (place === "confirm$") {
          expect(found.result?.size === 6 * KiB && !found.result.state, "what has arrived", more, String(found));
          continue;
        }
        expect(found.name === "AbortError", "how it ends", place, reason, String(found));
        const isKept = reason === PAUSE && place === "complete$";
        expect(states.size === (isKept ? 1 : 0), "the state", place, reason, states.size);
        if (place !== "complete$") continue;
        expect(stub.uploads[0].state === (isKept ? "open" : "aborted"), "the upload", reason, stub.uploads[0].state);
        const done = await client.upload(file, options);
        expect((done.id === "upload-1") === isKept, "whether it was continued", reason, done.id);
      }
    }
    // Whether the object that exists is that of the upload is not known.
    const controller = new AbortController();
    const answers = ["reset", [412, "<Error><Code>PreconditionFailed</Code></Error>"]];
    let isAsked = false;
    stub.before = async ({ method, path }) => {
      if (method === "PUT") return answers.shift();
      if (!path.endsWith("confirm")) return undefined;
      isAsked = true;
      return never;
    };
    const options = { ...target, ifNoneMatch: "*", signal: controller.signal };
    const work = clientOf(stub).upload(file, options);
    await until(() => isAsked);
    controller.abort();
    const error = await soon(work);
    expect(error.name === "AbortError", "how a question ends", String(error));
    // An app that is asked for a token may never answer.
    const asking = new AbortController();
    const client = new Sluice({ url: stub.url, token: () => never });
    const ended = soon(client.downloadURL({ bucket: "demo", key: "a.bin" }, { signal: asking.signal }));
    asking.abort();
    expect((await ended).name === "AbortError", "how the question for a token ends", String(await ended));
    // A stream may never take what is written to it, and never end.
    stub.before = async ({ method }) => (method === "GET" ? [200, "x".repeat(300_000)] : undefined);
    for (const call of ["write", "close"]) {
      let isStalled = false;
      const to = new WritableStream({ [call]: () => ((isStalled = true), never) });
      const reading = new AbortController();
      const read = soon(clientOf(stub).download({ bucket: "demo", key: "a.bin" }, { to, signal: reading.signal }));
      await until(() => isStalled);
      reading.abort();
      expect((await read).name === "AbortError", "how a download to a stream ends", call, String(await read));
    }
    // A gateway that does not answer is not waited for long.
    const { timeout } = AbortSignal;
    AbortSignal.timeout = (time) => timeout.call(AbortSignal, time / 50);
    stub.before = async ({ method }) => (["PUT", "DELETE"].includes(method) ? never : undefined);
    stub.seen = [];
    const giving = new AbortController();
    const given = clientOf(stub).upload(file, { ...target, signal: giving.signal });
    await until(() => stub.seen.some(({ method }) => method === "PUT"));
    giving.abort();
    const last = await soon(given);
    AbortSignal.timeout = timeout;
    const count = stub.seen.filter(({ method }) => method === "DELETE").length;
    expect(last.name === "AbortError" && count === 1, "how an abort without an answer ends", String(last), count);
  },

  async sameTarget(stub) {
    const folder = await mkdtemp(`${tmpdir()}/sluice-target.`);
    try {
      const to = `${folder}/a.bin`;
      const object = { bucket: "demo", key: "files/a.bin" };
      const client = clientOf(stub);
      let hold;
      const answer = (text) => {
        hold = held(stub, ({ method }) => method === "GET");
        const { before } = stub;
        stub.before = async (told) => {
          await before(told);
          return told.method === "GET" ? [200, text, { etag: "x" }] : undefined;
        };
      };
      answer("first");
      const first = client.download(object, { to });
      await until(() => hold.count === 1);
      const second = await soon(client.download(object, { to: `${folder}/./a.bin` }));
      expect(second.code === "Conflict" && second.source === "client", "the second one", String(second));
      hold.release();
      expect((await first).size === 5 && `${await readFile(to)}` === "first", "the first one", `${await readFile(to)}`);
      await client.download(object, { to });
      // Another program ends first, and gives the file its name.
      await rm(to);
      answer("second");
      const late = refused(client.download(object, { to }));
      await until(() => hold.count === 1);
      await appendFile(`${to}.sluice-part`, "whole");
      await rename(`${to}.sluice-part`, to);
      hold.release();
      const error = await late;
      expect(error.code === "FileChanged", "the one that is late", String(error));
      expect(`${await readFile(to)}` === "whole", "the file of the other program", `${await readFile(to)}`);
      // The same, between the head of the late one's answer and its first bytes.
      const set = async () => {
        await appendFile(`${to}.sluice-part`, "whole");
        await rename(`${to}.sluice-part`, to);
      };
      answer("second");
      hold.release();
      const begun = new Sluice({ url: stub.url, token: "key", store: { ...memoryStore(), set }, retries: 2 });
      const changed = await refused(begun.download(object, { to }));
      expect(changed.code === "FileChanged", "the one that has begun", String(changed));
      // Another program writes to the same file. What is there then is kept as the beginning of nothing.
      answer("second");
      hold.release();
      const names = [];
      const kept = memoryStore();
      const beside = {
        ...kept,
        set: async (name, state) => {
          names.push(name);
          await kept.set(name, state);
          await appendFile(`${to}.sluice-part`, "other");
        },
      };
      const both = new Sluice({ url: stub.url, token: "key", store: beside, retries: 2 });
      const mixed = await refused(both.download(object, { to }));
      expect(mixed.code === "FileChanged", "the one of two that write", String(mixed));
      expect((await kept.get(names[0])) === undefined, "the state of a mixture", "kept");
      await rm(`${to}.sluice-part`);
      expect(`${await readFile(to)}` === "whole", "the file of the other program", `${await readFile(to)}`);
      expect(`${await readdir(folder)}` === "a.bin", "what is left", await readdir(folder));
    } finally {
      await rm(folder, { recursive: true });
    }
  },

  async unreadable(stub) {
    const folder = await mkdtemp(`${tmpdir()}/sluice-`);
    const { createReadStream } = fs;
    let count = 0;
    // The disk fails within each range.
    fs.createReadStream = (from, options) => {
      count += 1;
      return (async function* () {
        yield* createReadStream(from, { ...options, end: options.start + 1023 });
        throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
      })();
    };
    syncBuiltinESMExports();
    try {
      const path = `${folder}/a.bin`;
      await writeFile(path, new Uint8Array(6 * KiB));
      for (const partSize of [4 * KiB, 16 * KiB]) {
        count = 0;
        const states = new Map();
        const error = await soon(clientOf(stub, states).upload(path, { ...target, partSize, md5: false, parallel: 1 }));
        expect(error.code === "EIO" && error.source === "client" && !error.mayPass, "what is thrown", String(error));
        expect(count === 1, "how often it is read", partSize, count);
        expect(states.size === (partSize < 6 * KiB ? 1 : 0), "a state to go on with", partSize, states.size);
      }
    } finally {
      Object.assign(fs, { createReadStream });
      syncBuiltinESMExports();
      await rm(folder, { recursive: true });
    }
  },

  async slowReader(stub) {
    const text = "x".repeat(300_000);
    stub.before = async ({ method }) => (method === "GET" ? [200, text] : undefined);
    let size = 0;
    const to = new WritableStream({
      async write(bytes) {
        if (!size) await later(1500);
        size += bytes.length;
      },
    });
    const client = new Sluice({ url: stub.url, token: "key", retries: 0, timeout: 1000 });
    const done = await client.download({ bucket: "demo", key: "files/a.bin" }, { to });
    expect(done.size === text.length && size === text.length, "what was read", done.size, size);
  },

  async lastBytes(stub) {
    const folder = await mkdtemp(`${tmpdir()}/sluice-last.`);
    const { fetch } = globalThis;
    const object = { bucket: "demo", key: "a.bin" };
    // A body that is not ended by the signal of its request, as one of Node's is once all its bytes are there.
    const stuck = (status, pull) => {
      const headers = { "content-length": "6", etag: '"x"' };
      const start = (stream) => stream.enqueue(new TextEncoder().encode("begun"));
      return new Response(new ReadableStream({ start, pull }), { status, headers });
    };
    const to = `${folder}/a.bin`;
    try {
      for (const [isStuck, status, options] of [
        [/store/, 200, {}], [/store/, 200, { to }], [/store/, 200, { to: new WritableStream() }], [/store/, 403, {}],
        [/presigned/, 201, {}], [/presigned/, 403, {}],
      ]) {
        let isReading = false;
        const pull = () => ((isReading = true), never);
        globalThis.fetch = async (url, request) => (isStuck.test(url) ? stuck(status, pull) : fetch(url, request));
        const controller = new AbortController();
        const work = soon(clientOf(stub).download(object, { ...options, signal: controller.signal }));
        await until(() => isReading);
        controller.abort();
        const error = await work;
        expect(error.name === "AbortError", "how it ends", `${isStuck}`, status, options, error.message);
        // Without a signal, the time without progress ends it.
        const client = new Sluice({ url: stub.url, token: "key", retries: 0, timeout: 100 });
        const late = await soon(client.download(object, "to" in options ? { to } : {}));
        const isLost = late.source === "network" || late.status === 403;
        expect(isLost, "how it ends in time", `${isStuck}`, status, options, late.message);
      }
      globalThis.fetch = fetch;
      // As it happens in Node: the signal fires when a file gets its first bytes, which are also the last ones.
      stub.before = async ({ method }) => (method === "GET" ? [200, "x".repeat(100_000), { etag: "x" }] : undefined);
      const controller = new AbortController();
      const onProgress = () => controller.abort();
      await rm(`${to}.sluice-part`, { force: true });
      const error = await soon(clientOf(stub).download(object, { to, signal: controller.signal, onProgress }));
      expect(error.name === "AbortError", "how a download to a file ends", error.message);
    } finally {
      globalThis.fetch = fetch;
      await rm(folder, { recursive: true });
    }
  },

  async progressFails(stub) {
    const folder = await mkdtemp(`${tmpdir()}/sluice-progress.`);
    const object = { bucket: "demo", key: "a.bin" };
    const to = `${folder}/a.bin`;
    try {
      for (const isLast of [false, true]) {
        // The store is silent after the beginning, or that is all.
        const length = isLast ? 5 : 10;
        stub.before = async ({ method }) =>
          method === "GET" ? [200, "begun", { etag: "x", "content-length": length }] : undefined;
        for (const options of [{}, { to }, { to: new WritableStream() }]) {
          stub.seen = [];
          const fault = new TypeError("bar is undefined");
          const onProgress = () => {
            throw fault;
          };
          const work = clientOf(stub).download(object, { ...options, onProgress });
          const { result } = await soon(work.catch((thrown) => ({ thrown })));
          const count = stub.seen.filter(({ method }) => method === "GET").length;
          expect(result?.thrown === fault && count === 1, "what is thrown", isLast, options, String(result), count);
        }
      }
      expect(`${await readFile(`${to}.sluice-part`)}` === "begun", "what has arrived stays", await readdir(folder));
      stub.before = async ({ path }) => (path === "/store/form-1" ? [204, ""] : undefined);
      const form = { id: "form-1", url: `${stub.url}/store/form-1`, method: "POST", fields: {}, key: "a.bin" };
      for (const send of [
        (client, options) => client.upload(fileOf(KiB), { ...target, ...options }),
        (client, options) => client.upload(fileOf(6 * KiB), { ...target, parallel: 1, ...options }),
        (client, options) => client.sendForm(form, fileOf(KiB), options),
      ]) {
        // Only the first call fails, or each with an error of its own.
        for (const isAlways of [false, true]) {
          const faults = [];
          stub.seen = [];
          const onProgress = () => {
            if (!isAlways && faults.length) return;
            faults.push(new TypeError(`bar is undefined, ${faults.length}`));
            throw faults.at(-1);
          };
          const { result } = await soon(send(clientOf(stub), { onProgress }).catch((thrown) => ({ thrown })));
          const count = stub.seen.filter(({ path }) => path.startsWith("/store/")).length;
          const isFirst = result?.thrown === faults[0] && count < 2;
          expect(isFirst, "what an upload throws", `${send}`, isAlways, `${result?.thrown}`, count);
        }
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  },

  async connecting(stub) {
    const { lookup } = dns;
    dns.lookup = () => {};
    try {
      const client = new Sluice({ url: stub.url, token: "key", retries: 0, timeout: 1000 });
      const link = client.link.bind(client);
      client.link = async (...request) => Object.assign(await link(...request), { url: "http://store.example/a.bin" });
      const error = await soon(client.upload(fileOf(KiB), target));
      expect(error.source === "network" && /The store/.test(error.message), "how it ends", String(error));
    } finally {
      dns.lookup = lookup;
    }
  },

  async refreshes(stub) {
    const asked = [];
    const token = async ({ refresh }) => (asked.push(refresh), "key");
    const client = new Sluice({ url: stub.url, token, retries: 2 });
    const answers = [[401, { code: "ExpiredToken" }], "reset"];
    stub.before = async () => answers.shift();
    await client.link({ action: "GetObject", bucket: "demo", key: "a.bin" });
    expect(asked.join() === "false,true,false", "the questions", asked);
  },

  async badToken(stub) {
    const request = { action: "GetObject", bucket: "demo", key: "a.bin" };
    const secret = "s3cret";
    const bad = [
      undefined, null, "", " \n", `<html>\n${secret}</html>`, `${secret} ${secret}`, `${secret}\u0142`, `${secret}\0`,
      { token: secret }, fetch(`data:,${secret}`),
    ];
    for (const token of bad) {
      for (const given of [token, () => token]) {
        const error = await refused(new Sluice({ url: stub.url, token: given, retries: 2 }).link(request));
        const isTold = error.source === "client" && error.code === "InvalidArgument" && !error.mayPass;
        expect(isTold && stub.seen.length === 0, "what is thrown", String(token), String(error), stub.seen.length);
        expect(!error.message.includes(secret), "it tells the token", error.message);
      }
    }
    // A file ends with a line break.
    const found = await refused(new Sluice({ url: stub.url, token: async () => "key\r\n" }).link(request));
    expect(found.result?.id, "a token with a line break at its end", String(found));
  },

  async lives(stub) {
    const path = "/v1/presigned-urls";
    for (const [life, wait, count] of [[4, 0, 1], [0.4, 300, 2]]) {
      stub.life = life;
      stub.seen = [];
      // The first answer is late.
      stub.before = async (told) => void (told.path === path && stub.count(path) === 1 && (await later(wait)));
      const done = await clientOf(stub).upload(fileOf(KiB), target);
      expect(done.state === "landed" && stub.count(path) === count, "the links", life, stub.count(path));
    }
  },

  async renewals(stub) {
    const path = "/v1/presigned-urls";
    const refusal = [403, "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"];
    hurry();
    // The link ends before it is used, or the store refuses it.
    for (const life of [0.001, 600]) {
      stub.life = life;
      stub.seen = [];
      stub.before = async (told) => {
        if (told.method === "PUT") return refusal;
        return told.path === path && stub.count(path) > 1 ? [503, { code: "ServiceUnavailable" }] : undefined;
      };
      const client = new Sluice({ url: stub.url, token: "key", retries: 3 });
      const error = await refused(client.upload(fileOf(KiB), target));
      const count = stub.count(path);
      expect(error.status === 503 && error.mayPass && count === 1 + 4, "how often it is asked for", life, count);
    }
  },

  async asleep(stub) {
    const path = "/v1/presigned-urls";
    const { now } = Date;
    const real = performance.now.bind(performance);
    const hours = (count) => count * 3_600_000;
    hurry();
    // Only one of the clocks has seen the time pass: during sleep, or if somebody sets the other back.
    for (const [date, mark, count] of [[1, 0, 2], [0, 1, 2], [-1, 1, 2], [-1, 0, 1], [0, 0, 1]]) {
      const puts = [];
      stub.seen = [];
      stub.before = async ({ method, path }) => {
        if (method !== "PUT") return undefined;
        puts.push(path);
        if (puts.length > 1) return undefined;
        Date.now = () => now() + hours(date);
        performance.now = () => real() + hours(mark);
        return "reset";
      };
      try {
        const done = await clientOf(stub).upload(fileOf(KiB), target);
        expect(done.state === "landed" && stub.count(path) === count, "the links", date, mark, stub.count(path));
        expect(new Set(puts).size === count, "the links that are used", date, mark, puts);
      } finally {
        Date.now = now;
        delete performance.now;
      }
    }
  },

  async renewedAgain(stub) {
    const path = "/v1/presigned-urls";
    hurry();
    const refusal = [403, "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"];
    // Each link ends once the store has sent a piece.
    const run = async (answers) => {
      const ended = new Set();
      stub.seen = [];
      stub.before = async ({ method, path, range }) => {
        if (method !== "GET") return undefined;
        if (ended.has(path)) return refusal;
        ended.add(path);
        const next = answers.shift();
        if (typeof next !== "string") return next ?? refusal;
        const from = Number(range?.match(/\d+/)[0] ?? 0);
        return [from ? 206 : 200, next, { etag: "x", "content-length": 9 - from, connection: "close" }];
      };
      const options = { bucket: "demo", key: "a.bin" };
      const found = await refused(new Sluice({ url: stub.url, token: "key", retries: 4 }).download(options));
      return { found, links: stub.count(path), text: await found.result?.blob.text() };
    };
    const whole = await run(["abc", "def", "ghi"]);
    expect(whole.text === "abcdefghi" && whole.links === 3, "a download by three links", String(whole.found), whole);
    const twice = await run(["abc"]);
    expect(twice.found.status === 403 && twice.links === 2, "a renewed link that is refused", twice.links);
    const first = await run([]);
    expect(first.found.status === 403 && first.links === 2, "a link that is refused at once", first.links);
  },

  async widgets() {
    const told = [];
    let arrive;
    const client = { upload: () => new Promise((resolve) => (arrive = resolve)) };
    const tell = (name) => () => told.push(name);
    const { abort } = filePond(client, () => target)(
      "file", fileOf(1), {}, tell("load"), tell("error"), tell("progress"), tell("abort"));
    abort();
    arrive({ key: "a.bin" });
    await later(0);
    expect(told.join() === "abort", "what FilePond is told", told);
    const zone = { emit() {}, _finished: tell("finished"), _errorProcessing: tell("error processing") };
    const file = fileOf(1);
    dropzone(client, zone, () => target).uploadFiles([file]);
    file.xhr.abort();
    arrive({ key: "a.bin" });
    await later(0);
    expect(told.join() === "abort", "what Dropzone is told", told);
  },

  async answerGone(stub) {
    const gone = [409, { code: "IdempotentAnswerGone", title: "The answer is gone" }];
    const ask = async (...answers) => {
      stub.seen = [];
      stub.before = async () => answers.shift();
      const token = async ({ refresh }) => `${refresh}`;
      const client = new Sluice({ url: stub.url, token, retries: 2 });
      const found = await refused(client.link({ action: "GetObject", bucket: "demo", key: "a.bin" }));
      const keys = [...new Set(stub.seen.map(({ key }) => key))];
      return { found, keys: stub.seen.map(({ key }) => keys.indexOf(key)).join() };
    };
    const lost = await ask("reset", gone);
    expect(lost.found.result && lost.keys === "0,0,1", "after a lost answer", String(lost.found), lost.keys);
    const refreshed = await ask([401, { code: "ExpiredToken" }], gone);
    expect(refreshed.found.result && refreshed.keys === "0,0,1", "after a new token", String(refreshed.found));
    const twice = await ask(gone, gone);
    expect(twice.found.code === "IdempotentAnswerGone" && twice.keys === "0,1", "a second time", twice.keys);
  },

  async completedBefore(stub) {
    const file = fileOf(6 * KiB);
    const { now } = Date;
    const minutes = (count) => (Date.now = () => now() + count * 60_000);
    try {
      const client = clientOf(stub);
      // An answer is lost again while another upload goes on: the time at which the first completion began counts.
      for (const [at, isAsked, id] of [
        [0, true, "upload-1"], [59, true, "upload-1"], [61, true, "upload-2"],
        // A completion that did not begin at the gateway does not count.
        [122, false, "upload-3"], [300, true, "upload-3"], [359, false, "upload-3"],
        // The clock was set back. When the completion began is not known.
        [299, true, "upload-4"],
      ]) {
        minutes(at);
        await interrupted(client, isAsked, file);
        expect(stub.uploads.at(-1).id === id, "the upload", at, stub.uploads.at(-1).id);
      }
      minutes(361);
      const done = await client.upload(file, target);
      expect(done.id === "upload-5" && done.state === "landed", "the last upload", done);
    } finally {
      Date.now = now;
    }
  },

  async gone(stub) {
    const file = fileOf(6 * KiB);
    const table = await readFile(new URL("../../../clients/uploads-gone.json", import.meta.url), "utf8");
    for (const { name, at, status, code, resume, abort } of JSON.parse(table).cases) {
      const states = new Map();
      const client = clientOf(stub, states);
      const refusal = [status, code ? { code, status } : "<html>"];
      const begin = async () => {
        stub.uploads = [];
        stub.before = async () => {};
        await interrupted(client, false, file);
      };
      await begin();
      stub.before = async ({ method, path }) =>
        method === "GET" && path.endsWith(at === "parts" ? "/parts" : "/upload-1") ? refusal : undefined;
      const found = await refused(client.upload(file, target));
      if (resume === "anew") {
        expect(found.result?.id === "upload-2" && states.size === 0, name, String(found), states.size);
      } else {
        expect(found.status === status && states.size === 1, name, String(found), states.size);
        stub.before = async () => {};
        const { id } = await client.upload(file, target);
        expect(id === "upload-1", `${name}: it goes on once the answer is another`, id);
      }
      if (!abort) continue;
      await begin();
      stub.before = async ({ method }) => (method === "DELETE" ? refusal : undefined);
      const ended = await refused(client.upload(file, { ...target, signal: AbortSignal.abort() }));
      expect(ended.name === "AbortError" && states.size === 0, `${name}: it is aborted`, String(ended), states.size);
    }
  },

  async conflict(stub) {
    const answerOf = (status, code) => [status, `<Error><Code>${code}</Code></Error>`];
    const answers = [];
    stub.before = async ({ method }) => (method === "PUT" ? answers.shift() : undefined);
    const upload = () => refused(clientOf(stub).upload(fileOf(KiB), { ...target, ifNoneMatch: "*" }));
    answers.push(answerOf(409, "ConditionalRequestConflict"));
    const { result } = await upload();
    expect(result?.state === "landed", "after a conflict", result);
    // The object is that of the other upload.
    answers.push(answerOf(409, "ConditionalRequestConflict"), answerOf(412, "PreconditionFailed"));
    stub.before = async ({ method, path }) =>
      method === "PUT" ? answers.shift() : path.endsWith("confirm") ? [200, { state: "landed", size: KiB }] : undefined;
    const error = await upload();
    expect(error.status === 412, "the object of another upload", error.status, error.result);
  },

  async retries(stub) {
    const table = await readFile(new URL("../../../clients/retries.json", import.meta.url), "utf8");
    for (const { name, from, status, retryAfter, problem, code, waits } of JSON.parse(table).cases) {
      const content = problem ?? (code ? `<Error><Code>${code}</Code></Error>` : "<html>");
      const refusal = [status, content, retryAfter === undefined ? {} : { "retry-after": retryAfter }];
      stub.before = async ({ method }) => {
        if (from === "part") return [200, { results: [problem] }];
        return from === "gateway" || method === "PUT" ? refusal : undefined;
      };
      const client = new Sluice({ url: stub.url, token: "key", store: memoryStore(), retries: 0 });
      const ask = {
        gateway: () => client.link({ action: "GetObject", bucket: "demo", key: "a.bin" }),
        part: () => client.partLink("upload-1", { partNumber: 1 }),
        store: () => client.upload(fileOf(KiB), target),
      };
      const error = await refused(ask[from]());
      const found = error.mayPass ? error.retryAfter ?? 0 : null;
      expect(error.status === status && found === waits, name, found, waits, String(error));
    }
  },

  async galleryFails(stub) {
    for (const isFull of [true, false]) {
      const kept = new Map();
      const find = await open(stub.url, kept);
      await until(() => find("who").textContent === "user:alice");
      if (isFull) kept.set = () => { throw new Error("no space"); };
      else stub.before = async ({ path }) => (path.endsWith("batch") ? [403, { title: "No" }] : undefined);
      choose(find, fileOf(10));
      const message = find("message");
      await until(() => message.textContent);
      const { state } = lastRow(find);
      expect(state.textContent === "has arrived" && !state.classList.contains("bad"), "the row", state.textContent);
      expect(message.classList.contains("bad"), "the message is marked", message.textContent);
      expect((isFull ? /no space/ : /No/).test(message.textContent), "the message", message.textContent);
    }
  },

  async goneObject(stub) {
    const kept = new Map();
    const find = await open(stub.url, kept);
    await until(() => find("who").textContent === "user:alice");
    choose(find, fileOf(10));
    await until(() => find("gallery").children.length === 1);
    const answers = [[404, "<Error><Code>NoSuchKey</Code></Error>"], [416, ""], [206, "x"]];
    stub.before = async ({ method, path }) =>
      method === "GET" && path.startsWith("/store/") ? answers.shift() : undefined;
    const [anchor] = find("gallery").children[0].children;
    anchor.click();
    const message = find("message");
    await until(() => message.classList.contains("bad"));
    expect(/404/.test(message.textContent) && !location.visited, "what the page says", message.textContent);
    // An empty file has no first byte.
    for (const rest of [1, 0]) {
      location.visited = undefined;
      anchor.click();
      await until(() => location.visited);
      const isFile = location.visited.startsWith(`${stub.url}/store/`);
      expect(isFile && answers.length === rest, "the file", location.visited, answers.length);
    }
  },

  async galleryOnce(stub) {
    const find = await open(stub.url);
    await until(() => find("who").textContent === "user:alice");
    choose(find, fileOf(10), fileOf(10, "b.bin"), fileOf(10, "c.bin"));
    await until(() => find("gallery").children.length === 3);
    const count = stub.count("/v1/presigned-urls/batch");
    expect(count === 1, "how often links are asked for", count);
  },

  async cancelRow(stub) {
    const long = fileOf(17 * KiB * KiB);
    const find = await open(stub.url);
    await until(() => find("who").textContent === "user:alice");
    // A row is paused, and cancelled before it has stopped.
    let hold = held(stub, ({ method }) => method === "PUT");
    choose(find, long);
    await until(() => hold.count === 2);
    const { pause, cancel } = lastRow(find);
    pause.click();
    cancel.click();
    await until(() => stub.uploads[0].state === "aborted", "the upload is given up");
    expect(find("uploads").children.length === 0, "its row is there");
    // A row is paused, and another one of the same file goes on.
    hold.release();
    hold = held(stub, ({ method }) => method === "PUT");
    choose(find, long);
    await until(() => hold.count === 2);
    const paused = lastRow(find);
    paused.pause.click();
    await until(() => paused.state.textContent === "is paused");
    choose(find, long);
    await until(() => hold.count === 4);
    paused.cancel.click();
    await later(200);
    hold.release();
    const { state } = lastRow(find);
    await until(() => /arrived|aborted/.test(state.textContent), "the other row ends");
    expect(state.textContent === "has arrived", "how the other row ends", state.textContent);
    const states = stub.uploads.map((one) => one.state).join();
    expect(states === "aborted,completed", "the uploads", states);
  },
};

const name = process.argv[2];
const stub = await new Stub().start();
const late = later(30_000).then(() => {
  throw new Error("the step has not ended after 30 s");
});
try {
  await Promise.race([late, steps[name](stub)]);
  process.exit(0);
} catch (error) {
  console.error(error.stack);
  process.exit(1);
}
