// Reads the contract (/openapi.json): operations, and schemas as members that forms, tables and help texts are made of.

import { label } from "./format.js";

const methods = ["get", "post", "put", "patch", "delete"];

/** The contract. Forms, tables, filters and help texts are made from it, so that new members appear by themselves. */
export class Contract {
  #root;
  #operations = new Map();

  constructor(root) {
    this.#root = root;
    for (const [path, item] of Object.entries(root.paths)) {
      for (const method of methods) if (item[method]) this.#add(method.toUpperCase(), path, item[method]);
    }
  }

  /** Loads the contract. */
  static async load(url) {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`The contract could not be read (status ${answer.status}).`);
    return new Contract(await answer.json());
  }

  get version() {
    return this.#root.info.version;
  }

  #add(method, path, raw) {
    const types = Object.keys(raw.requestBody?.content ?? {});
    const json = types.find((type) => type.endsWith("json") && type !== "application/x-ndjson");
    const success = Object.entries(raw.responses ?? {}).find(([status]) => status.startsWith("2"))?.[1];
    const answer = this.resolve(success)?.content?.["application/json"]?.schema;
    const parameters = (raw.parameters ?? []).map((parameter) => this.resolve(parameter));
    this.#operations.set(raw.operationId, {
      id: raw.operationId,
      method,
      path,
      parameters,
      summary: raw.summary,
      description: raw.description ?? "",
      access: raw["x-sluice-access"],
      isDelegated: raw["x-sluice-delegated"] === true,
      readsOnly: method === "GET" || raw["x-sluice-reads-only"] === true,
      bodyType: json ?? types[0] ?? null,
      bodyTypes: types,
      body: json ? raw.requestBody.content[json].schema : null,
      bodyRequired: raw.requestBody?.required === true,
      answer: answer ?? null,
      answerTypes: Object.keys(this.resolve(success)?.content ?? {}),
      takes: (name) => parameters.some((parameter) => parameter.name === name),
    });
  }

  /** All operations. */
  get operations() {
    return [...this.#operations.values()];
  }

  /** Returns an operation by its `operationId`. */
  operation(id) {
    const operation = this.#operations.get(id);
    if (!operation) throw new RangeError(`The contract has no operation ${id}.`);
    return operation;
  }

  /** Tests whether there is such an operation. */
  has(id) {
    return this.#operations.has(id);
  }

  /** Returns the operation for a method and a path; `undefined` if there is none. */
  at(method, path) {
    return this.operations.find((operation) => operation.method === method && operation.path === path);
  }

  /** Follows references. Members beside `$ref`, such as a description, replace those of what it refers to. */
  resolve(schema) {
    if (!schema?.$ref) return schema ?? {};
    let found = this.#root;
    for (const part of schema.$ref.slice(2).split("/")) found = found[part.replace(/~1/g, "/").replace(/~0/g, "~")];
    const { $ref, ...beside } = schema;
    return { "x-name": $ref.split("/").at(-1), ...this.resolve(found), ...beside };
  }

  /** Returns a schema by its name. */
  schema(name) {
    return this.resolve({ $ref: `#/components/schemas/${name}` });
  }

  /** Returns the schema of an operation's body. A form for a merge patch is one for the replacement. */
  bodyOf(id) {
    const operation = this.operation(id);
    const whole = operation.method === "PATCH" ? this.at("PUT", operation.path) : operation;
    return this.resolve(whole.body);
  }

  /** Returns the schema of a row that an operation answers with; of a page, that of its items. */
  rowOf(id) {
    const schema = this.resolve(this.operation(id).answer);
    const items = schema.properties?.items;
    return this.operation(id).takes("pageToken") && items ? this.resolve(this.resolve(items).items) : schema;
  }

  /** Returns the filters of a list: its query parameters, without those for paging, as members. */
  filters(id) {
    return this.operation(id)
      .parameters.filter((parameter) => parameter.in === "query" && !["pageSize", "pageToken"].includes(parameter.name))
      .map((parameter) =>
        this.member(
          parameter.name,
          { ...this.resolve(parameter.schema), description: parameter.description },
          parameter.required,
        ),
      );
  }

  /** Returns the members of an object's schema, in the contract's order. */
  members(schema) {
    const whole = this.resolve(schema);
    const required = new Set(whole.required ?? []);
    return Object.entries(whole.properties ?? {}).map(([name, value]) =>
      this.member(name, this.resolve(value), required.has(name)),
    );
  }

  /**
   * Describes one member.
   *
   * @returns {{name, label, help, kind, schema, required, choices, standard, secret}} `kind` is one of `text`, `enum`,
   *   `boolean`, `number`, `bytes`, `duration`, `time`, `id`, `principal`, `bucket`, `set` (of an enumeration), `list`
   *   (of texts), `rows` (of objects), `object`, `map` and `json`.
   */
  member(name, schema, required = false) {
    const items = schema.type === "array" ? this.resolve(schema.items) : null;
    const choices = (
      (items ?? schema).enum ?? (schema.const !== undefined && schema.type !== "boolean" ? [schema.const] : [])
    ).filter((choice) => typeof choice === "string" && !/^(oss|s3):/.test(choice));
    return {
      name,
      schema,
      required,
      choices,
      label: label(name),
      help: joined(schema.description),
      kind: kindOf(name, schema, items, choices),
      standard: schema.default,
      secret: schema.writeOnly === true,
    };
  }

  /**
   * Returns groups of members of which exactly one group may be given: `prefix` or `template` of a grant, the
   * members of an object with `maxProperties: 1`. `null` if there are none.
   */
  alternatives(schema) {
    const whole = this.resolve(schema);
    if (whole.then && whole.properties) return groupsOf(whole);
    if (whole.maxProperties === 1) return Object.keys(whole.properties ?? {}).map((name) => [name]);
    return null;
  }
}

/** Returns the groups of members between which `if`, `then` and `else` decide. */
function groupsOf(schema) {
  return schema.if ? [schema.if.required, ...groupsOf(schema.else)] : [schema.required];
}

function kindOf(name, schema, items, choices) {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (items) {
    if (choices.length) return "set";
    return items.properties ? "rows" : items.type === "string" || items["x-name"] ? "list" : "json";
  }
  if (schema.properties) return "object";
  if (type === "object") return schema.additionalProperties?.type === "string" ? "map" : "json";
  if (type === "boolean") return "boolean";
  if (type === "integer" || type === "number") {
    if (/bytes|contentLength|^size$/i.test(name)) return "bytes";
    return schema["x-name"] === "TTL" || /seconds|expiresIn|resetsIn|ttl|duration/i.test(name) ? "duration" : "number";
  }
  if (choices.length) return "enum";
  if (schema.format === "date-time") return "time";
  if (/Principal$/.test(schema["x-name"] ?? "") || name === "principal" || name === "holder" || name === "member")
    return "principal";
  if (schema["x-name"] === "BucketName" || name === "bucket") return "bucket";
  if (schema.format === "uuid") return "id";
  return type === "string" || schema.pattern ? "text" : "json";
}

/** Joins the lines of a description as its Markdown means them. */
function joined(markdown = "") {
  return markdown.trim().replace(/([^\n])\n(?!\n|- )/g, "$1 ");
}

/** Returns a description as plain text, without the marks of Markdown. */
export function plain(markdown = "") {
  return joined(markdown)
    .replace(/`([^`]*)`/g, "$1")
    .replace(/\*\*([^*]*)\*\*/g, "$1");
}
