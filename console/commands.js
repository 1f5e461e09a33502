// Writes the lines that do in a shell what the console does: for curl, and for `sluice admin`.

import { target } from "./api.js";
import { isObject } from "./dom.js";
import { words as split } from "./format.js";

/** Quotes a text for bash and zsh. Characters that a person would not see are written as escapes. */
function quote(text) {
  const value = String(text);
  if (value !== "" && /^[\w@%+:,./-][\w@%+=:,./-]*$/.test(value)) return value;
  if (
    /[^\x20-\x7e]/.test(value) &&
    /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u00a0\u2000-\u200a\ud800-\udfff]/u.test(value)
  ) {
    const escapes = [...value].map((character) => {
      const point = character.codePointAt(0);
      if (character === "'" || character === "\\") return `\\${character}`;
      if (/^[\x20-\x7e]$/.test(character) || /^[\p{L}\p{N}]$/u.test(character)) return character;
      return point < 256 && point < 0x80
        ? `\\x${point.toString(16).padStart(2, "0")}`
        : point > 0xffff
          ? `\\U${point.toString(16).padStart(8, "0")}`
          : `\\u${point.toString(16).padStart(4, "0")}`;
    });
    return `$'${escapes.join("")}'`;
  }
  return `'${value.replace(/'/g, "'\\''")}'`;
}

/** Returns the option of `sluice admin` for a name of the contract: `conditions.max-ttl` for `conditions.maxTTL`. */
function optionName(name) {
  return name
    .split(".")
    .map((part) =>
      split(part)
        .map((word) => word.toLowerCase())
        .join("-"),
    )
    .join(".");
}

/** Returns the words of an operation after `sluice admin`; `null` if it has no command. */
function commandWords(contract, operation) {
  const start = "/admin/v1/";
  if (!operation.path.startsWith(start)) return null;
  const all = contract.operations.filter((other) => other.path.startsWith(start));
  const found = [];
  let verb = null;
  let endsWithParameter = false;
  for (const segment of operation.path.slice(start.length).split("/")) {
    const [name, after] = segment.split(":");
    endsWithParameter = segment.startsWith("{");
    if (!endsWithParameter) found.push(name === "storage-credentials" ? "credentials" : name);
    if (after) verb = after;
  }
  if (verb) return [...found, verb];
  const verbs = { POST: "create", PUT: "replace", PATCH: "update", DELETE: "delete" };
  if (endsWithParameter) return [...found, verbs[operation.method] ?? "get"];
  const isCollection = all.some(
    (other) => other.path.startsWith(`${operation.path}/`) || other.path.startsWith(`${operation.path}:`),
  );
  const isAlone = all.filter((other) => other.path === operation.path).length === 1;
  if (!isCollection && isAlone) return found;
  return [...found, verbs[operation.method] ?? (isCollection || operation.takes("pageToken") ? "list" : "get")];
}

/** Returns a body without its secrets: those that the contract marks `writeOnly` become `…`. */
export function redacted(contract, schema, value) {
  if (Array.isArray(value)) return value.map((item) => redacted(contract, contract.resolve(schema).items, item));
  if (!isObject(value)) return value;
  const members = new Map(contract.members(schema ?? {}).map((member) => [member.name, member]));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      members.get(name)?.secret && item !== null ? "…" : redacted(contract, members.get(name)?.schema, item),
    ]),
  );
}

function json(value) {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The name of the file that the lines read a long body from. */
export const bodyFile = "body.json";

const isLong = (text) => text.length > 1200;

/** Returns a body as JSON, without its secrets. */
function bodyText(contract, id, body) {
  return json(redacted(contract, contract.bodyOf(id), body));
}

/** Returns the content of `bodyFile` for a call; `null` if the lines hold the body themselves. */
export function longBody(contract, id, { body, file } = {}) {
  if (file || !isObject(body)) return null;
  const written = bodyText(contract, id, body);
  return isLong(written) ? written : null;
}

/**
 * Returns the `curl` line of a call, for bash and zsh. `$SLUICE_ADMIN_URL` and `$SLUICE_ADMIN_KEY` stand for address
 * and key.
 *
 * @param {Contract} contract
 * @param {string} id The `operationId`.
 * @param {object} call As for `API.call`; `file` is the name of a file that is the body.
 */
export function curlLine(contract, id, { path, query, body, ifMatch, type, file } = {}) {
  const operation = contract.operation(id);
  const isAdmin = operation.path.startsWith("/admin/");
  const parts = ["curl -sS --fail-with-body"];
  if (operation.method !== "GET" && !(operation.method === "POST" && body !== undefined))
    parts.push(`-X ${operation.method}`);
  parts.push(`"$${isAdmin ? "SLUICE_ADMIN_URL" : "SLUICE_URL"}"${quote(target(operation, { path, query }))}`);
  if (operation.access !== "public")
    // Not as an argument, which every user of the machine can read.
    parts.push(`-H @<(printf 'Authorization: Bearer %s\\n' "$${isAdmin ? "SLUICE_ADMIN_KEY" : "SLUICE_KEY"}")`);
  if (ifMatch) parts.push(`-H ${quote(`If-Match: ${ifMatch}`)}`);
  if (file) parts.push(`-H ${quote(`Content-Type: ${type}`)}`, `--data-binary ${quote(`@${file}`)}`);
  else if (body !== undefined) {
    const written = bodyText(contract, id, body);
    parts.push(
      `-H ${quote(`Content-Type: ${type ?? operation.bodyType}`)}`,
      `-d ${isLong(written) ? `@${bodyFile}` : quote(written)}`,
    );
  }
  return wrapped(parts);
}

/** Returns the `sluice admin` line of a call; `null` if it has none. */
export function adminLine(contract, id, { path = {}, query = {}, body, ifMatch, file } = {}) {
  const operation = contract.operation(id);
  const words = commandWords(contract, operation);
  if (!words) return null;
  const parts = [`sluice admin ${words.join(" ")}`];
  for (const parameter of operation.parameters.filter((parameter) => parameter.in === "path"))
    parts.push(quote(path[parameter.name] ?? ""));
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || name === "pageToken" || name === "pageSize") continue;
    const { schema } = operation.parameters.find((parameter) => parameter.name === name) ?? {};
    const isFlag = contract.resolve(schema).type === "boolean";
    parts.push(option(optionName(name), isFlag ? String(value) === "true" : value));
  }
  if (ifMatch) parts.push(option("if-match", ifMatch));
  if (file) parts.push(option("file", file));
  else if (isObject(body) && isLong(bodyText(contract, id, body))) parts.push(option("file", bodyFile));
  else if (isObject(body)) parts.push(...memberOptions(contract, operation, contract.bodyOf(id), body));
  return wrapped(parts.filter(Boolean));
}

function option(name, value) {
  if (value === true) return `--${name}`;
  return `--${name}${value === false ? "=" : " "}${quote(value)}`;
}

/** Returns a value of a member as an option takes it: with `@` alone in front, it would be the name of a file. */
const literal = (value) => (typeof value === "string" && value.startsWith("@") ? `@${value}` : value);

function memberOptions(contract, operation, schema, body) {
  const members = new Map(contract.members(schema).map((member) => [member.name, member]));
  const removed = [];
  const options = Object.entries(body).flatMap(([name, value]) => {
    const member = members.get(name);
    if (value === undefined) return [];
    if (value === null) {
      if (operation.method === "PATCH") removed.push(optionName(name));
      return [];
    }
    if (member?.kind === "object" && isObject(value)) {
      return contract.members(member.schema).flatMap((inner) => {
        const item = value[inner.name];
        if (item === null) removed.push(optionName(`${name}.${inner.name}`));
        return item === undefined || item === null ? [] : [memberOption(`${name}.${inner.name}`, inner, item)];
      });
    }
    return [memberOption(name, member, value)];
  });
  if (removed.length) options.push(option("unset", removed.join(",")));
  return options;
}

function memberOption(name, member, value) {
  const dashed = optionName(name);
  if (member?.secret) return `--${dashed} @${dashed.split(".").at(-1)}.txt`;
  if (Array.isArray(value)) {
    const isPlain =
      value.length > 0 && value.every((item) => typeof item === "string" && item !== "" && !item.includes(","));
    return option(dashed, isPlain && !value[0].startsWith("[") ? literal(value.join(",")) : json(value));
  }
  return option(dashed, isObject(value) ? json(value) : literal(value));
}

function wrapped(parts) {
  const lines = [];
  let line = parts[0];
  for (const part of parts.slice(1)) {
    if (line.length + part.length > 100) {
      lines.push(`${line} \\`);
      line = `    ${part}`;
    } else line += ` ${part}`;
  }
  return [...lines, line].join("\n");
}
