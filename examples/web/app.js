// A page that uploads files and shows links to them. The key stays in the memory of the page. The names of what was
// uploaded are kept in the browser, because the gateway lists no objects.

import { PAUSE, Sluice, SluiceError } from "../../clients/javascript/sluice.js";

const find = (id) => document.getElementById(id);
const form = find("sign-in");
const place = find("place");
const gallery = find("gallery");
// The session of who is signed in: a client, the principal, and a controller that ends the uploads.
let current;

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

/** Tells nobody but the user whom it concerns. */
function warn(session, text) {
  if (session === current) say(text, true);
}

// Sign in

/** The caller, the places where they may upload (pairs of bucket and prefix), and whether there may be more. */
async function accessOf(gateway, token) {
  const answer = await fetch(`${gateway}/v1/access`, { headers: { authorization: `Bearer ${token}` } });
  const access = await answer.json();
  if (!answer.ok) throw new Error(access.detail ?? access.title);
  const isOpen = ({ effect, actions, prefix }) =>
    effect === "allow" && actions.includes("PutObject") && (prefix === "" || prefix.endsWith("/"));
  const places = access.grants.filter(isOpen).map(({ bucket, prefix }) => ({ bucket, prefix }));
  return { who: access.principal, places, hasMore: access.isTruncated };
}

async function signIn(event) {
  event.preventDefault();
  say("");
  const { gateway, token } = Object.fromEntries(new FormData(form));
  try {
    const { who, places, hasMore } = await accessOf(gateway.replace(/\/+$/, ""), token);
    if (!places.length) {
      throw new Error(hasMore ? `${who} has more grants than this page shows.` : `${who} may upload nowhere.`);
    }
    current = { client: new Sluice({ url: gateway, token }), who, end: new AbortController() };
    place.replaceChildren(
      ...places.map((one) => make("option", {
        value: JSON.stringify(one), textContent: `${one.bucket}/${one.prefix}` })),
      ...(hasMore ? [make("option", { disabled: true, textContent: "and more" })] : []));
    find("who").textContent = who;
    form.elements.token.value = "";
    show(true);
    await showGallery(current);
  } catch (error) {
    say(error.message, true);
  }
}

function show(isSignedIn) {
  form.hidden = isSignedIn;
  find("work").hidden = !isSignedIn;
}

function signOut() {
  // The same user goes on with a file by choosing it again.
  current.end.abort(PAUSE);
  current = undefined;
  gallery.replaceChildren();
  find("uploads").replaceChildren();
  show(false);
}

// Uploads

const percent = ({ loaded, total }) => (total ? loaded / total : 1);

function upload(file, { bucket, prefix }, session) {
  const bar = make("progress", { max: 1, value: 0, ariaLabel: file.name });
  const state = make("span", { textContent: "waits" });
  const pause = make("button", { type: "button", textContent: "Pause" });
  const cancel = make("button", { type: "button", textContent: "Cancel" });
  const row = make("li", {}, make("span", { textContent: file.name }), bar, state, pause, cancel);
  find("uploads").append(row);
  const target = { bucket, key: prefix + file.name };
  let controller;
  let running;

  async function run() {
    controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, session.end.signal]);
    pause.textContent = "Pause";
    state.textContent = "is sent";
    try {
      await session.client.upload(file, {
        ...target, signal, onProgress: (progress) => (bar.value = percent(progress)),
      });
    } catch (error) {
      const isPaused = signal.reason === PAUSE;
      state.textContent = isPaused ? "is paused" : error.message;
      state.classList.toggle("bad", !isPaused);
      pause.textContent = "Continue";
      controller = undefined;
      return;
    }
    state.textContent = "has arrived";
    pause.remove();
    cancel.remove();
    remember(session, { ...target, type: file.type });
  }

  const start = () => (running = run());
  pause.addEventListener("click", async () => {
    if (controller) return controller.abort(PAUSE);
    await start();
    await showGallery(session);
  });
  cancel.addEventListener("click", async () => {
    row.remove();
    if (controller && !controller.signal.aborted) return controller.abort();
    // What a paused upload leaves is discarded once it has stopped.
    await running;
    session.client.upload(file, { ...target, signal: AbortSignal.abort() }).catch(() => {});
  });
  return start();
}

/** Uploads files one after the other, to the place and in the session for which they were chosen. */
async function uploadAll(files) {
  const session = current;
  const target = JSON.parse(place.value);
  for (const file of files) {
    if (session !== current) return;
    await upload(file, target, session);
  }
  await showGallery(session);
}

// The gallery

const shelf = ({ client, who }) => `uploads of ${who} at ${client.url}`;
const remembered = (session) => JSON.parse(localStorage.getItem(shelf(session)) ?? "[]");

function remember(session, object) {
  try {
    const others = remembered(session).filter(({ bucket, key }) => bucket !== object.bucket || key !== object.key);
    localStorage.setItem(shelf(session), JSON.stringify([object, ...others].slice(0, 100)));
  } catch (error) {
    warn(session, `The gallery cannot keep ${object.key}: ${error.message}`);
  }
}

async function showGallery(session) {
  if (session !== current) return;
  try {
    const objects = remembered(session);
    const items = objects.map(({ bucket, key }) => ({ action: "GetObject", bucket, key }));
    const links = items.length ? await session.client.batch(items) : [];
    if (session !== current) return;
    gallery.replaceChildren(...objects.map((object, index) => card(object, links[index], session.client)));
  } catch (error) {
    warn(session, `The gallery cannot be shown: ${error.message}`);
  }
}

function card({ bucket, key, type }, link, client) {
  const name = key.split("/").pop();
  if (link instanceof SluiceError) return make("li", {}, `${name}: ${link.message}`);
  const anchor = make("a", { href: link.url, textContent: name });
  // The link may have expired since, and a name makes the browser save the file.
  anchor.addEventListener("click", async (event) => {
    event.preventDefault();
    try {
      const url = await client.downloadURL({ bucket, key, response: { filename: name } });
      // A refusal of the store would take the place of this page. An empty file has no first byte.
      const { ok, status, body } = await fetch(url, { headers: { range: "bytes=0-0" } });
      body?.cancel().catch(() => {});
      if (!ok && status !== 416) throw new Error(`${name} cannot be fetched: the store answered ${status}.`);
      location.assign(url);
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
// Another such address, opened where the page already is, changes only what is behind `#`.
addEventListener("hashchange", () => location.hash && location.reload());
