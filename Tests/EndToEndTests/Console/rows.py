"""Rows for the console to show. Some hold text that is hostile to whoever shows it."""

import base64
import hashlib
import json
import time
import urllib.error
import urllib.request
from urllib.parse import parse_qs, quote, urlencode, urlsplit

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))

TAG = "<img src=x onerror=alert(1)>"
REVERSED = "evil\u202eecila"
LONG = ("k" * 30 + "/") * 32 + "k" * 31

assert len(LONG) == 1023


def quoted(value) -> str:
    """A part of a token: bytes, or JSON, in base64 for URLs."""
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


class StaysHere(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_):
        return None


class Refused(Exception):
    """The gateway's answer to a call that did not succeed."""

    def __init__(self, call: str, status: int, text: str):
        super().__init__(f"{call}: {status} {text}")
        self.status = status


class Gateway:
    """The gateway, as an admin or a user calls it."""

    def __init__(self, origin: str, key: str):
        self.origin = origin
        self.key = key

    def call(self, method: str, path: str, body=None, **fields: str):
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": content}
        headers |= {name.replace("_", "-"): value for name, value in fields.items()}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.origin + path, data, headers, method=method)
        try:
            with DIRECT.open(request) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise Refused(f"{method} {path}", error.code, error.read().decode()) from None
        return json.loads(text) if text else None

    def admin(self, method: str, path: str, body=None, **fields: str):
        return self.call(method, f"/admin/v1/{path}", body, **fields)

    def items(self, path: str) -> list:
        return self.admin("GET", path)["items"]


class World:
    """The rows of these tests, and the keys of the people in them."""

    def __init__(self, origin: str, key: str, bucket: str, provider: str):
        self.origin = origin
        self.bucket = bucket
        self.provider = provider
        # What people with a limited role may see and change.
        self.team = {"bucket": bucket, "prefix": "team/", "principals": ["user:team.*", "group:team"]}
        self.gateway = Gateway(origin, key)
        self.keys: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        # What no log may hold.
        self.secrets: list[str] = []

    def person(self, name: str, **members) -> Gateway:
        """Makes an API key for a user."""
        row = {"name": f"Key of {name}", "principal": f"user:{name}", **members}
        made = self.gateway.admin("POST", "api-keys", row)
        self.keys[name] = made["key"]
        self.secrets.append(made["key"])
        self.ids[f"key of {name}"] = made["id"]
        return Gateway(self.origin, made["key"])

    def store(self) -> dict:
        """Where the bucket of these tests is, for rows of other buckets."""
        members = ("provider", "endpoint", "region", "addressing", "scheme")
        return {name: value for name, value in self.gateway.admin("GET", f"buckets/{self.bucket}").items()
                if name in members}

    def user(self, name: str) -> Gateway:
        """Somebody who has a key."""
        return Gateway(self.origin, self.keys[name])

    def grant(self, principal: str, prefix: str, **members) -> str:
        row = {"principal": principal, "bucket": self.bucket, "prefix": prefix, "actions": ["GetObject", "PutObject"]}
        return self.gateway.admin("POST", "grants", row | members)["id"]

    def quota(self, principal: str, limit: int, **members) -> str:
        row = {"principal": principal, "metric": "urls", "period": "day", "limit": limit}
        return self.gateway.admin("POST", "quotas", row | members)["id"]

    def issue(self, user: Gateway, key: str, action: str = "GetObject", **members):
        """Asks for a link. A refusal is what some of the rows are about."""
        body = {"action": action, "bucket": self.bucket, "key": key, **members}
        if action == "PutObject":
            body |= {"contentType": "text/plain", "contentLength": 5}
        try:
            return user.call("POST", "/v1/presigned-urls", body)
        except Refused as refusal:
            if refusal.status in (401, 403, 429):
                return None
            raise

    def sign_in_at_the_provider(self) -> None:
        """Adds the provider as an issuer, with people of each role; returns once the page offers it."""
        people = {"carol": ["admin"], "dave": ["auditor"], "eve": ["reader"], "team.lead": ["lead"],
                  "team.head": ["auditor", "lead"]}
        for user, roles in people.items():
            content = {"Content-Type": "application/json"}
            body = json.dumps({"roles": roles}).encode()
            url = f"{self.provider}/users/{user}"
            DIRECT.open(urllib.request.Request(url, body, content, method="PUT")).close()
        self.gateway.admin("POST", "issuers", {
            "issuer": self.provider, "audiences": ["sluice-console"], "algorithms": ["RS256"],
            "keys": {"url": f"{self.provider}/jwks"}, "principalPrefix": "corp:", "groupPrefix": "corp:",
            "rolesClaim": "roles", "roles": [
                {"role": "admin", "values": ["admin"]}, {"role": "auditor", "values": ["auditor"]},
                {"role": "admin", "values": ["lead"], "adminScopes": [self.team]}],
            "console": {"clientID": "sluice-console", "scopes": ["openid", "profile"], "send": "id_token"}})
        # The gateway reads these rows again after a while, and a page does not read them again by itself.
        end = time.monotonic() + 30
        while not any("tokenEndpoint" in offer for offer in self.offers()):
            assert time.monotonic() < end, f"the page offers no sign-in: {self.offers()}"
            time.sleep(0.1)

    def token(self, user: str, at: str | None = None) -> str:
        """Signs a user in at the provider, by one of its names, and returns the ID token."""
        provider, back, verifier = at or self.provider, f"{self.origin}/console/", "v" * 43
        asked = {
            "response_type": "code", "client_id": "sluice-console", "redirect_uri": back, "scope": "openid",
            "state": "state", "nonce": "nonce", "code_challenge_method": "S256",
            "code_challenge": quoted(hashlib.sha256(verifier.encode()).digest())}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), StaysHere())
        try:
            opener.open(f"{provider}/oauth2/authorize?{urlencode(asked)}", urlencode({"sub": user}).encode())
        except urllib.error.HTTPError as answer:
            place = answer.headers["Location"]
        code = parse_qs(urlsplit(place).query)["code"][0]
        form = {
            "grant_type": "authorization_code", "code": code, "client_id": "sluice-console", "redirect_uri": back,
            "code_verifier": verifier}
        with DIRECT.open(f"{provider}/oauth2/token", urlencode(form).encode()) as answer:
            return json.load(answer)["id_token"]

    def offers(self) -> list:
        """The issuers that the page offers."""
        with DIRECT.open(f"{self.origin}/console/config.json") as answer:
            return json.load(answer)["issuers"]

    def fill(self) -> None:
        """Makes all rows."""
        admin = self.gateway
        alice = self.person("alice")
        tag, reversed_ = self.person(TAG), self.person(REVERSED)
        self.person("auditor", roles=["auditor"])
        self.person("root", roles=["admin"])
        self.person("delegate", roles=["admin"], adminScopes=[self.team])
        for member in ("user:alice", f"user:{TAG}"):
            admin.admin("POST", f"groups/{quote('group:staff', safe='')}/members", {"member": member})
        admin.admin("POST", f"groups/{quote('group:' + TAG, safe='')}/members", {"member": "user:alice"})

        self.ids["grant"] = self.grant("user:alice", "alice/", note="Her own")
        self.grant(f"user:{TAG}", f"{TAG}/", note=f"<b>{TAG}</b>")
        self.grant(f"user:{REVERSED}", "\u202egpj/", note="\u2066gnp.exe")
        self.grant("user:alice", LONG, actions=["GetObject"], note="The longest key")
        self.grant("group:staff", "shared/", conditions={"maxBytes": 1_048_576, "contentTypes": ["text/*"]})
        self.ids["inside"] = self.grant("user:team.bob", "team/bob/")
        bob = self.person("team.bob")
        self.quota("user:team.bob", 700)
        self.grant("*", "alice/private/", effect="deny")
        self.grant("user:leaver", "leaver/")
        self.ids["quota"] = self.quota("user:alice", 500)
        self.quota(f"user:{TAG}", 2)
        self.quota("group:staff", 10**9, metric="bytes", period="month", sharing="shared")

        for index in range(6):
            self.issue(alice, f"alice/{index}.txt")
        self.ids["issuance"] = self.issue(alice, "alice/note.txt", "PutObject")["id"]
        self.issue(alice, LONG)
        self.issue(bob, "team/bob/report.txt")
        self.ids["issued inside"] = self.issue(bob, "team/bob/upload.txt", "PutObject")["id"]
        self.issue(bob, "team/other.txt")
        for _ in range(4):
            self.issue(tag, f"{TAG}/{TAG}.txt")
        self.issue(reversed_, "\u202egpj/\u202etxt.exe")
        self.issue(alice, f"elsewhere/{TAG}")
        self.issue(Gateway(self.origin, "no-such-key"), "alice/a.txt")
        self.ids["ticket"] = alice.call(
            "POST", "/v1/tickets", {"bucket": self.bucket, "prefix": f"alice/{TAG}/"})["id"]
        leaver = self.person("leaver")
        self.issue(leaver, "leaver/last.txt")
        leaver.call("POST", "/v1/tickets", {"bucket": self.bucket, "prefix": "leaver/"})
        self.ids["upload"] = alice.call(
            "POST", "/v1/multipart-uploads",
            {"bucket": self.bucket, "key": f"alice/{TAG}.bin", "contentType": "text/plain",
             "contentLength": 6_000_000})["id"]
        admin.admin("PATCH", f"grants/{self.ids['grant']}", {"note": f"Changed {TAG}"}, If_Match="*")
        self.sign_in_at_the_provider()
