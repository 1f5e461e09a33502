// A page that uploads files and shows links to them. The key stays in the memory of the page. The names of what was
// uploaded are kept in the browser, because the gateway lists no objects.

import { PAUSE, Sluice, SluiceError } from "../../clients/javascript/sluice.js";

const find = (id) => document.getElementById(id);
const form = find("sign-in");
const place = find("place");
const gallery = find("gallery");
let client;
let who;

/** Makes an element. */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function say(text, isBad = false) {
  find("message").textContent = text;
  find("message").classList.toggle("bad", isBad);
}

// Sign in

/** The places where the caller may upload: pairs of bucket and prefix. */
async function placesOf(gateway, token) {
  const answer = await fetch(`${gateway}/v1/access`, { headers: { authorization: `Bearer ${token}` } });
  const access = await answer.json();
  if (!answer.ok) throw new Error(access.detail ?? access.title);
  const isOpen = ({ effect, actions, prefix }) =>
    effect === "allow" && actions.includes("PutObject") && (prefix === "" || prefix.endsWith("/"));
  who = access.principal;
  return access.grants.filter(isOpen).map(({ bucket, prefix }) => ({ bucket, prefix }));
}

async function signIn(event) {
  event.preventDefault();
  say("");
  const { gateway, token } = Object.fromEntries(new FormData(form));
  try {
    const places = await placesOf(gateway.replace(/\/+$/, ""), token);
    if (!places.length) throw new Error(`${who} may upload nowhere.`);
    client = new Sluice({ url: gateway, token });
    place.replaceChildren(...places.map((one) => make("option", {
      value: JSON.stringify(one), textContent: `${one.bucket}/${one.prefix}` })));
    find("who").textContent = who;
    form.elements.token.value = "";
    show(true);
    await showGallery();
  } catch (error) {
    say(error.message, true);
  }
}

function show(isSignedIn) {
  form.hidden = isSignedIn;
  find("work").hidden = !isSignedIn;
}

function signOut() {
  client = undefined;
  gallery.replaceChildren();
  find("uploads").replaceChildren();
  show(false);
}

// Uploads

const percent = ({ loaded, total }) => (total ? loaded / total : 1);

function upload(file) {
  const { bucket, prefix } = JSON.parse(place.value);
  const bar = make("progress", { max: 1, value: 0, ariaLabel: file.name });
  const state = make("span", { textContent: "waits" });
  const pause = make("button", { type: "button", textContent: "Pause" });
  const cancel = make("button", { type: "button", textContent: "Cancel" });
  const row = make("li", {}, make("span", { textContent: file.name }), bar, state, pause, cancel);
  find("uploads").append(row);
  const target = { bucket, key: prefix + file.name };
  let controller;

  async function run() {
    controller = new AbortController();
    pause.textContent = "Pause";
    state.textContent = "is sent";
    try {
      const { key } = await client.upload(file, {
        ...target, signal: controller.signal, onProgress: (progress) => (bar.value = percent(progress)),
      });
      state.textContent = "has arrived";
      pause.remove();
      cancel.remove();
      remember({ bucket, key, type: file.type });
      await showGallery();
    } catch (error) {
      const isPaused = controller.signal.reason === PAUSE;
      state.textContent = isPaused ? "is paused" : error.message;
      state.classList.toggle("bad", !isPaused);
      pause.textContent = "Continue";
      controller = undefined;
    }
  }

  pause.addEventListener("click", () => (controller ? controller.abort(PAUSE) : run()));
  cancel.addEventListener("click", () => {
    if (controller) controller.abort();
    // What a paused upload has left is discarded.
    else client.upload(file, { ...target, signal: AbortSignal.abort() }).catch(() => {});
    row.remove();
  });
  return run();
}

async function uploadAll(files) {
  for (const file of files) await upload(file);
}

// The gallery

const shelf = () => `uploads of ${who} at ${client.url}`;
const remembered = () => JSON.parse(localStorage.getItem(shelf()) ?? "[]");

function remember(object) {
  const others = remembered().filter(({ bucket, key }) => bucket !== object.bucket || key !== object.key);
  localStorage.setItem(shelf(), JSON.stringify([object, ...others].slice(0, 100)));
}

async function showGallery() {
  const objects = remembered();
  const items = objects.map(({ bucket, key }) => ({ action: "GetObject", bucket, key }));
  const links = items.length ? await client.batch(items) : [];
  gallery.replaceChildren(...objects.map((object, index) => card(object, links[index])));
}

function card({ bucket, key, type }, link) {
  const name = key.split("/").pop();
  if (link instanceof SluiceError) return make("li", {}, `${name}: ${link.message}`);
  const anchor = make("a", { href: link.url, textContent: name });
  // The link may have expired since, and a name makes the browser save the file.
  anchor.addEventListener("click", async (event) => {
    event.preventDefault();
    try {
      location.assign(await client.downloadURL({ bucket, key, response: { filename: name } }));
    } catch (error) {
      say(error.message, true);
    }
  });
  const picture = type.startsWith("image/") ? [make("img", { src: link.url, alt: "", loading: "lazy" })] : [];
  return make("li", {}, ...picture, anchor);
}

// The page

const drop = find("drop");
for (const name of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
    if (name === "drop") uploadAll([...event.dataTransfer.files]);
  });
}
find("files").addEventListener("change", async ({ target }) => {
  const files = [...target.files];
  target.value = "";
  await uploadAll(files);
});
form.addEventListener("submit", signIn);
find("sign-out").addEventListener("click", signOut);

// An address may name the gateway and hold a key, as in `#gateway=http://127.0.0.1:8080&token=…`. It leaves the history.
const given = new URLSearchParams(location.hash.slice(1));
form.elements.gateway.value = given.get("gateway") ?? location.origin;
form.elements.token.value = given.get("token") ?? "";
if (location.hash) history.replaceState(null, "", location.pathname);
if (given.get("token")) form.requestSubmit();
