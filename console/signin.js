// Ways to sign in: OpenID Connect's code flow with PKCE, and the link that works once.

import { Problem } from "./api.js";

const place = "sluice.signin";

const base64URL = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
const random = () => base64URL(crypto.getRandomValues(new Uint8Array(32)));
const redirectURI = () => `${location.origin}/console/`;

/** Tests whether a page at this address may be asked for a sign-in: only `https`, and `http` on this machine. */
function isSafe(address) {
  const url = new URL(address);
  return (
    url.protocol === "https:" ||
    (url.protocol === "http:" && ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname))
  );
}

/**
 * Leaves for an issuer's page.
 *
 * @param {object} issuer An entry of `issuers` in `config.json`.
 * @param {object} options `keep` keeps the token in the tab; `hash` is the address to return to.
 */
export async function leaveFor(issuer, { keep, hash }) {
  if (!issuer.authorizationEndpoint || !issuer.tokenEndpoint) {
    const detail = "The gateway could not read them from the issuer. Try again later, or validate the issuer.";
    throw new Problem({ title: "The issuer's endpoints are not known", code: "SignIn", detail });
  }
  if (!isSafe(issuer.authorizationEndpoint) || !isSafe(issuer.tokenEndpoint))
    throw new Problem({ title: "The issuer's endpoints are not https" });
  const verifier = random();
  const attempt = { issuer: issuer.id, state: random(), nonce: random(), verifier, keep: keep === true, hash };
  sessionStorage.setItem(place, JSON.stringify(attempt));
  if (!crypto.subtle) {
    const detail = "Browsers provide the cryptography for signing in only to pages that are served over TLS, or from this machine.";
    throw new Problem({ title: "This page is not served over TLS", code: "SignIn", detail });
  }
  const challenge = base64URL(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
  const url = new URL(issuer.authorizationEndpoint);
  const parameters = {
    response_type: "code",
    client_id: issuer.clientID,
    redirect_uri: redirectURI(),
    scope: (issuer.scopes ?? ["openid"]).join(" "),
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: challenge,
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url.href);
}

/** Tests whether the address brings the answer of an issuer. */
export function isReturning() {
  const query = new URLSearchParams(location.search);
  return query.has("state") && (query.has("code") || query.has("error"));
}

/**
 * Takes the answer of an issuer from the address, checks it, and exchanges the code for a token.
 *
 * @param {object[]} issuers Those of `config.json`.
 * @returns {Promise<{credential: string, keep: boolean, hash: string}>}
 */
export async function takeReturn(issuers) {
  const query = new URLSearchParams(location.search);
  const attempt = JSON.parse(sessionStorage.getItem(place) ?? "null");
  sessionStorage.removeItem(place);
  history.replaceState(null, "", `/console/${attempt?.hash ?? ""}`);
  const refuse = (detail) => {
    throw new Problem({ title: "Sign-in failed", code: "SignIn", detail });
  };
  if (!attempt || query.get("state") !== attempt.state)
    refuse("The answer belongs to no sign-in that this tab began. Try again.");
  const issuer = issuers.find((other) => other.id === attempt.issuer);
  if (!issuer?.tokenEndpoint) refuse("The issuer offers no sign-in at present.");
  // An issuer that names itself in its answers (RFC 9207) does so always.
  const names = query.get("iss");
  if (names === null ? issuer.namesItself : names !== issuer.issuer) refuse("Another issuer answered.");
  if (query.has("error")) refuse(`${query.get("error_description") ?? "The issuer refused"} (${query.get("error")}).`);
  const tokens = await exchange(issuer, query.get("code"), attempt.verifier, refuse);
  checkToken(tokens.id_token, issuer, attempt.nonce, refuse);
  const credential = tokens[issuer.send];
  if (!credential) refuse(`The issuer sent no ${issuer.send}.`);
  return { credential, keep: attempt.keep, hash: attempt.hash ?? "" };
}

async function exchange(issuer, code, verifier, refuse) {
  let answer;
  try {
    answer = await fetch(issuer.tokenEndpoint, {
      method: "POST",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "error",
      cache: "no-store",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code,
        redirect_uri: redirectURI(),
        client_id: issuer.clientID,
        code_verifier: verifier,
      }),
    });
  } catch {
    return refuse(
      "This page cannot reach the issuer's token endpoint, which must permit this origin (CORS). Validate the issuer.",
    );
  }
  const tokens = await answer.json().catch(() => ({}));
  if (!answer.ok)
    refuse(`The token endpoint answered ${answer.status}: ${tokens.error_description ?? tokens.error ?? "no reason"}.`);
  return tokens;
}

/** Checks what OpenID Connect Core 3.1.3.7 asks of a client that received the token from the issuer itself over TLS. */
function checkToken(token, issuer, nonce, refuse) {
  if (!token) refuse("The issuer sent no ID token. Its scopes must contain openid.");
  let claims;
  try {
    const part = token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (character) => character.charCodeAt(0))));
  } catch {
    return refuse("The ID token cannot be read.");
  }
  const audiences = [claims.aud].flat();
  if (claims.iss !== issuer.issuer) refuse("The ID token names another issuer.");
  if (!audiences.includes(issuer.clientID)) refuse("The ID token is for another client.");
  if (audiences.length > 1 && claims.azp !== undefined && claims.azp !== issuer.clientID)
    refuse("The ID token was made for another client.");
  if (claims.nonce !== nonce) refuse("The ID token belongs to another sign-in.");
  if (!(claims.exp * 1000 > Date.now() - 60_000)) refuse("The ID token has expired. Check the clock of this machine.");
  return claims;
}

/** Takes the key of a link that works once from the address, so that neither history nor a reload holds it. */
export function takeOnce() {
  const found = /^#once=(.+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, "", "/console");
  return found[1];
}

/**
 * Exchanges the key of such a link for a fresh one. The old one ends at once, so that the link opens nothing any more.
 *
 * @returns {Promise<string>} The fresh key.
 */
export async function exchangeOnce(api, key) {
  try {
    const { data: caller } = await api.call("getCaller", { bearer: key });
    if (caller.credential.kind !== "api-key") throw new Problem({ title: "The link holds no API key", code: "SignIn" });
    const { data } = await api.call("rotateAPIKey", { path: { id: caller.credential.id }, bearer: key });
    return data.key;
  } catch (error) {
    if (error.status === 401)
      throw new Problem({
        title: "The link does not work any more",
        code: "SignIn",
        detail: "It works once. Ask for a new one.",
      });
    if (error.status === 403)
      throw new Problem({
        title: "The link opens nothing",
        code: "SignIn",
        detail:
          "Only the key of an admin without limits can be in such a link. This key still works: enter it below, or " +
          "have it rotated or deleted.",
      });
    throw error;
  }
}
