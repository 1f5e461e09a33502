// Uses everything that the module exports, so that the compiler judges its types. SLUICE stands for the module.

import {
  MD5, PAUSE, SHA256, Sluice, SluiceError, dropzone, filePond, fileStore, indexedDBStore, memoryStore, uppyOptions,
  uppySigner,
} from "SLUICE";
import type { DownloadResult, Form, Link, ListingLink, StateStore, UploadResult } from "SLUICE";

const own: StateStore = { get: async () => undefined, set: async () => {}, delete: async () => {} };

export async function all(file: File): Promise<number> {
  const client = new Sluice({ url: new URL("https://gateway.example"), token: async ({ refresh }) => `${refresh}` });
  for (const store of [own, memoryStore(), indexedDBStore("x"), fileStore("/x")]) {
    new Sluice({ url: "https://gateway.example", token: "key", store, retries: 1, timeout: 1, parallel: 1, partSize: 1 });
  }
  const controller = new AbortController();
  controller.abort(PAUSE);
  const { signal } = controller;
  const done: UploadResult = await client.upload(file, {
    bucket: "b", keyPrefix: "p/", keyExtension: "png", contentType: "image/png", metadata: { a: "b" }, signal,
    ifNoneMatch: "*", md5: false, confirm: false, resume: false, partSize: 1, parallel: 2,
    onProgress: ({ loaded, total }) => console.log(loaded / (total ?? 1)),
  });
  await client.upload("/path", { bucket: "b", key: "k" });
  await client.upload(new Uint8Array(1), { bucket: "b", key: "k" });
  const got: DownloadResult = await client.download({ bucket: "b", key: "k", versionID: "1" }, { to: "/path", signal });
  await client.download({ bucket: "b", key: "k" }, { to: new WritableStream<Uint8Array>() });
  const url: string = await client.downloadURL({ bucket: "b", key: "k", response: { filename: "a" } }, { signal });
  const link: Link = await client.link({ action: "PutObject", bucket: "b", key: "k", contentLength: 1 });
  await client.link({ action: "DeleteObject", bucket: "b", key: "k", endpoint: "internal" });
  const { prefix }: ListingLink = await client.link({
    action: "ListObjects", bucket: "b", prefix: "p/", list: { maxKeys: 9 },
  });
  console.log(prefix);
  for (const one of await client.batch([{ action: "GetObject", bucket: "b", key: "k" }])) {
    if (one instanceof SluiceError) console.log(one.code === "AccessDenied", one.status, one.detail, one.requestID);
    else console.log(one.url);
  }
  const form: Form = await client.form({ bucket: "b", key: "k", contentTypes: ["image/png"], maxBytes: 1 });
  await client.sendForm(form, file, { contentType: "image/png", signal });
  const { state } = await client.confirm(link.id);
  const begun = await client.startParts({ bucket: "b", key: "k", contentLength: 1 }, { signal });
  await client.completeParts(begun.id, [{ partNumber: 1, etag: "e" }], { signal });
  await client.abortParts(begun.id, { signal });
  // @ts-expect-error: There is no such state.
  console.log(state === "gone");
  // @ts-expect-error: A bucket is required.
  await client.upload(file, { key: "k" });
  const target = (one: { name: string }) => ({ bucket: "b", key: one.name });
  const hooks = uppyOptions(client, target, { partSize: 1 });
  const { uploadId, key } = await hooks.createMultipartUpload(file);
  await hooks.signPart(file, { uploadId, key, partNumber: 1, body: file });
  const sign = uppySigner(client, ({ key }) => ({ bucket: "b", key, contentType: "image/png" }));
  await sign({ method: "PUT", key: "k" });
  filePond(client, target)("file", file, {}, console.log, console.log, console.log, () => {}).abort();
  dropzone(client, { files: [] }, target).files.length;
  const digests = [new MD5(), new SHA256()].map((digest) => digest.update(new Uint8Array(1)).digest().length);
  return done.size + got.size + url.length + digests.length;
}
