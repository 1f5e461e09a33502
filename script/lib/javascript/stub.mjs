// A gateway and a store behind one port, which keep what they are told in memory. The bucket and the rights of callers
// do not matter to them.

import { createHash } from "node:crypto";
import { createServer } from "node:http";

const digest = (bytes) => createHash("md5").update(bytes).digest("hex");

export class Stub {
  /** Uploads in parts, in the order in which they began. */
  uploads = [];
  /** The requests, each with `method`, `path`, `range` and `key`, its idempotency key. */
  seen = [];
  /** Is told of each request first. It may wait, and answer `[status, content]`, or `"reset"`. */
  before = async () => {};
  /** Life of links in seconds. */
  life = 600;
  #links = new Map();
  #server = createServer((request, response) => this.#respond(request, response));

  async start() {
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.#server.address().port}`;
    return this;
  }

  /** How often requests to a path have come. */
  count(path) {
    return this.seen.filter((one) => one.path === path).length;
  }

  async #respond(request, response) {
    const pieces = [];
    try {
      for await (const piece of request) pieces.push(piece);
    } catch {
      // The client has gone.
      return;
    }
    const body = Buffer.concat(pieces);
    const { range, "idempotency-key": key } = request.headers;
    const told = { method: request.method, path: request.url.split("?")[0], key, range };
    this.seen.push(told);
    const early = await this.before(told);
    if (early === "reset") return request.socket.destroy();
    const [status, content, headers] = early ?? this.#answer(told, body);
    response.writeHead(status, headers).end(typeof content === "string" ? content : JSON.stringify(content));
  }

  #answer({ method, path }, body) {
    const { bucket, key, items, parts } = method === "POST" ? JSON.parse(body) : {};
    const [, place, name, more] = path.match(/^\/(?:v1\/)?([^/]*)\/?([^/:]*)[/:]?([^/]*)$/);
    switch (`${method} ${place}`) {
      case "GET access":
        return [200, { principal: "user:alice", grants: [
          { effect: "allow", actions: ["PutObject"], bucket: "demo", prefix: "files/" }] }];
      case "POST presigned-urls":
        return [201, name === "batch" ? { results: items.map((one) => this.#link(one)) } : this.#link({ bucket, key })];
      case "POST issuances":
        return [200, {
          id: name, state: "landed", size: this.#links.get(name)?.size ?? this.#sizeOf(this.#upload(name)),
        }];
      case "PUT store":
        this.#links.get(name).size = body.length;
        this.#links.get(name).part?.({ etag: digest(body), size: body.length });
        return [200, "", { etag: `"${digest(body)}"` }];
      case "POST multipart-uploads":
        if (!name) return [201, this.#begin(bucket, key)];
        if (more === "complete") return this.#complete(name);
        return [200, { results: parts.map(({ partNumber }) => this.#link({ bucket, key }, (part) =>
          this.#upload(name).parts.set(partNumber, { partNumber, ...part }))) }];
      case "GET multipart-uploads": {
        const upload = this.#upload(name);
        return [200, more ? { items: [...upload.parts.values()] } : upload];
      }
      case "DELETE multipart-uploads": {
        const upload = this.#upload(name);
        if (upload.state === "completed") return [409, { code: "Conflict" }];
        upload.state = "aborted";
        return [204, ""];
      }
    }
    return [404, { code: "NotFound", title: `${method} ${path}` }];
  }

  #upload(id) {
    return this.uploads.find((one) => one.id === id);
  }

  #sizeOf({ parts }) {
    return [...parts.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #link({ bucket, key }, part) {
    const id = `link-${this.#links.size + 1}`;
    this.#links.set(id, { part });
    return { id, method: "PUT", bucket, key, url: `${this.url}/store/${id}`, headers: {}, expiresIn: this.life };
  }

  #begin(bucket, key) {
    const upload = { id: `upload-${this.uploads.length + 1}`, bucket, key, state: "open", parts: new Map() };
    this.uploads.push(upload);
    return upload;
  }

  #complete(id) {
    const upload = this.#upload(id);
    if (upload.state === "aborted") return [409, { code: "Conflict", title: "The upload was aborted" }];
    return [200, Object.assign(upload, { state: "completed", etag: `of ${id}` })];
  }
}
