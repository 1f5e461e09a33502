// The script of /docs: a search, and requests to the gateway with the reader's own key. The page can be read without
// it. The key stays in the memory of the page.

const articles = [...document.querySelectorAll("main article")];
const entries = [...document.querySelectorAll("nav li")];

/** Makes an element. */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Search

const search = document.getElementById("search");
const texts = new Map();

/** The text by which an operation, a schema or a section is found. */
function textOf(anchor) {
  const target = document.getElementById(anchor);
  const whole = target?.closest("article") ?? target?.parentElement;
  return `${anchor} ${whole?.textContent ?? ""}`.toLowerCase();
}

function find(words) {
  let found = 0;
  for (const entry of entries) {
    const anchor = entry.querySelector("a").hash.slice(1);
    if (!texts.has(anchor)) texts.set(anchor, textOf(anchor));
    const text = texts.get(anchor);
    entry.hidden = !words.every((word) => text.includes(word));
    if (!entry.hidden) found += 1;
  }
  for (const heading of document.querySelectorAll("nav h2")) {
    heading.hidden = [...heading.nextElementSibling.children].every((entry) => entry.hidden);
  }
  search.querySelector("[role=status]").textContent = words.length ? `${found} found` : "";
}

search.hidden = false;
search.querySelector("input").addEventListener("input", ({ target }) => {
  find(target.value.toLowerCase().split(/\s+/).filter(Boolean));
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea")) return;
  event.preventDefault();
  search.querySelector("input").focus();
});

// Requests

const key = document.getElementById("key");
key.hidden = false;
// `sluice dev` listens nowhere else.
document.getElementById("demo").hidden = !["127.0.0.1", "localhost"].includes(location.hostname);

/** The parameters of paths that may have slashes, which stay as they are. */
const withSlashes = ["key", "path", "scope", "file"];

/** Returns the path with the values of a form in place of its parameters. */
function filled(path, form) {
  const whole = path.replace(/\{(\w+)\}/g, (_, name) => {
    const value = encodeURIComponent(form.elements[`path-${name}`].value);
    return withSlashes.includes(name) ? value.replace(/%2F/g, "/") : value;
  });
  const query = form.elements.query.value.trim().replace(/^\?/, "");
  return query ? `${whole}?${query}` : whole;
}

async function send(form, method, path, output) {
  const headers = {};
  const token = key.querySelector("input").value.trim();
  if (token) headers.authorization = `Bearer ${token}`;
  for (const { name, value } of form.querySelectorAll("[name^=header-]")) {
    if (value.trim()) headers[name.slice("header-".length)] = value.trim();
  }
  const body = form.elements.body?.value;
  if (body) headers["content-type"] = form.elements.type.value;
  output.textContent = "…";
  try {
    const options = { method, headers, body: body || undefined, redirect: "manual", credentials: "omit" };
    const answer = await fetch(filled(path, form), options);
    const text = await answer.text();
    const etag = answer.headers.get("etag");
    output.textContent = [answer.type === "opaqueredirect" ? "A redirect" : answer.status, etag && `ETag: ${etag}`,
      shown(text)].filter(Boolean).join("\n");
  } catch (error) {
    output.textContent = error.message;
  }
}

function shown(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text.slice(0, 20_000);
  }
}

function field(label, control) {
  return make("label", {}, label, control);
}

/** The fields for a body: its media type, and an example of it. */
function bodyFields(contents) {
  const body = make("textarea", { name: "body", value: contents[0].example, spellcheck: false });
  const type = make("select", { name: "type" }, ...contents.map((content) => make("option", {}, content.type)));
  type.addEventListener("change", () => {
    if (contents.some(({ example }) => example === body.value)) body.value = contents[type.selectedIndex].example;
  });
  return [field("Content-Type", type), field("Body", body)];
}

/** The form that sends a request, made when it is opened for the first time. */
function formOf({ method, path, headers }, contents) {
  const output = make("code", {});
  const answer = make("pre", { tabIndex: 0, hidden: true }, output);
  answer.setAttribute("aria-live", "polite");
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const fields = names.map((name) => field(name, make("input", { name: `path-${name}`, required: true })));
  fields.push(field("Query", make("input", { name: "query", placeholder: "name=value&…" })));
  for (const name of headers.split(" ").filter(Boolean)) {
    fields.push(field(name, make("input", { name: `header-${name}` })));
  }
  if (contents.length) fields.push(...bodyFields(contents));
  const form = make("form", { className: "try" }, ...fields, make("button", {}, `Send ${method}`), answer);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    answer.hidden = false;
    send(form, method, path, output);
  });
  return form;
}

for (const article of articles) {
  const samples = article.querySelector(".samples");
  if (!samples?.dataset.path) continue;
  const box = make("details", {}, make("summary", {}, "Try it"));
  box.addEventListener("toggle", () => {
    const contents = [...article.querySelectorAll("[data-request] > .content")].map((content) => ({
      type: content.querySelector("code").textContent,
      example: content.querySelector("pre")?.textContent ?? "",
    }));
    if (!box.querySelector("form")) box.append(formOf(samples.dataset, contents));
  });
  samples.append(box);
}
