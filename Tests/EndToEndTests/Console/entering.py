"""Ways to enter, and what enters with the page."""

import base64
import gzip
import json
import urllib.error
import urllib.request

from playwright.sync_api import expect

import rows
from visits import seen

STEPS = []


def step(function):
    STEPS.append(function)
    return function


@step
def the_page_and_all_its_files_are_small(walk):
    """At most 320 KiB in all over the wire: everything that the page can load, as browsers receive it."""
    visit = walk.visit()
    visit.load()
    visit.settle()
    names = visit.page.evaluate(
        """async () => {
          const seen = new Set(), waiting = ["/console/", "/console/config.json", "/openapi.json"];
          for (const entry of performance.getEntriesByType("resource")) waiting.push(new URL(entry.name).pathname);
          while (waiting.length) {
            const path = waiting.pop();
            if (seen.has(path)) continue;
            seen.add(path);
            if (!/[.]js$/.test(path) || path.includes("/vendor/")) continue;
            const answer = await fetch(path);
            if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
            const text = await answer.text();
            for (const [, name] of text.matchAll(/(?:from|import[(]?)\\s*"([^"\\s]+[.]js)"/g))
              waiting.push(new URL(name, new URL(path, location.href)).pathname);
          }
          return [...seen].filter((path) => path.includes("."));
        }""")
    sizes = {}
    for name in names:
        request = urllib.request.Request(walk.origin + name, headers={"Accept-Encoding": "gzip"})
        try:
            with rows.DIRECT.open(request) as answer:
                body = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{name}: {error.code}") from None
        sizes[name] = len(body)
        if answer.headers["Content-Encoding"] == "gzip":
            gzip.decompress(body)
    total = sum(sizes.values())
    walk.total = total
    assert len(sizes) > 40, f"only {sorted(sizes)} were found"
    assert "/console/vendor/chart.js" in sizes, "the chart library was not found"
    assert total <= 320 << 10, f"{total} bytes: {sorted(sizes.items(), key=lambda item: -item[1])[:8]}"


@step
def a_key_opens_the_console_and_is_forgotten(walk):
    visit = walk.visit()
    visit.load("#/grants?bucket=" + walk.order["bucket"])
    visit.judge("sign-in")
    with visit.refused(401):
        visit.page.get_by_label("API key").fill("sluice_000000000000_wrong")
        visit.press("Sign in")
        expect(visit.page.get_by_role("alert")).to_be_visible()
    visit.page.get_by_label("API key").fill(walk.world.keys["root"])
    visit.page.keyboard.press("Enter")
    visit.page.locator(".shell").wait_for()
    visit.settle()
    assert visit.heading() == "Grants" and "bucket=" in visit.page.url, "the address is kept"
    assert visit.page.evaluate("sessionStorage.length") == 0, "nothing is kept"
    visit.page.reload()
    visit.page.locator(".sign-in").wait_for()

    # Kept on request, until the person signs out.
    visit.sign_in(walk.world.keys["root"], "#/quotas", keep=True)
    visit.page.reload()
    visit.page.locator(".shell").wait_for()
    visit.settle()
    assert visit.heading() == "Quotas"
    visit.press("Signed in as user:root", visit.page.locator(".bar"))
    visit.page.get_by_role("menuitem", name="Sign out").click()
    visit.page.locator(".sign-in").wait_for()
    assert visit.page.evaluate("sessionStorage.length") == 0, "nothing remains"
    # A key of a user without a role does not open it.
    with visit.refused(403):
        visit.page.get_by_label("API key").fill(walk.world.keys["alice"])
        visit.press("Sign in")
        expect(visit.page.get_by_role("alert")).to_be_visible()


@step
def a_link_opens_the_console_once(walk):
    walk.world.person("once", roles=["admin"])
    key = walk.world.keys["once"]
    visit = walk.visit()
    visit.page.goto(f"{walk.origin}/console#once={key}")
    visit.page.locator(".shell").wait_for()
    visit.settle()
    assert key not in visit.page.url and "once" not in visit.page.url
    # Another link in the same tab, which changes only what is behind `#`.
    walk.world.person("twice", roles=["admin"])
    second = walk.world.keys["twice"]
    visit.page.evaluate("address => { location.href = address }", f"{walk.origin}/console#once={second}")
    expect(visit.page.get_by_role("button", name="Signed in as user:twice")).to_be_visible()
    visit.settle()
    assert second not in visit.page.url and "once" not in visit.page.url
    for _ in range(2):
        visit.page.go_back()
        assert key not in visit.page.url and second not in visit.page.url, "nor in the history"
    again = walk.visit()
    with again.refused(401):
        again.page.goto(f"{walk.origin}/console#once={key}")
        again.page.locator(".sign-in").wait_for()
        seen(again.page, "The link does not work any more")
    assert key not in again.page.url
    # A key that may not be rotated by its holder opens nothing, and the page says that it still works.
    for name, members in {
            "once.auditor": {"roles": ["auditor"]},
            "once.delegate": {"roles": ["admin"], "adminScopes": [walk.world.team]}}.items():
        limited = walk.world.person(name, **members)
        visit = walk.visit()
        with visit.refused(403):
            visit.page.goto(f"{walk.origin}/console#once={limited.key}")
            visit.page.locator(".sign-in").wait_for()
            seen(visit.page, "This key still works")
        assert limited.admin("GET", "caller")["principal"] == f"user:{name}"


def at_the_provider(visit, user: str, address: str = "") -> None:
    """Signs in as a browser's person would, on the provider's own page."""
    visit.load(address)
    visit.page.get_by_role("button", name="Continue with").click()
    visit.page.locator("input[name=sub]").first.fill(user)
    visit.page.locator("button").first.click()
    visit.page.locator(".shell, .sign-in .message").first.wait_for()
    visit.settle()


@step
def the_issuer_of_the_organisation_opens_the_console(walk):
    provider = walk.order["provider"]
    visit = walk.visit(also=[provider])
    at_the_provider(visit, "carol", "#/audit?kind=Grant")
    expect(visit.page.get_by_role("button", name="Signed in as user:corp:carol")).to_be_visible()
    assert visit.page.url == f"{walk.origin}/console/#/audit?kind=Grant", visit.page.url
    visit.press("Export")
    visit.page.keyboard.press("Escape")

    # Other roles of the same issuer.
    auditor = walk.visit(also=[provider])
    at_the_provider(auditor, "dave")
    expect(auditor.page.locator(".bar").get_by_text("Auditor", exact=True)).to_be_visible()
    reader = walk.visit(also=[provider])
    with reader.refused(403):
        at_the_provider(reader, "eve")
    expect(reader.page.locator(".sign-in .message")).to_be_visible()


def forger(change: dict):
    """Changes claims of the ID token on its way to the page."""
    def forge(route) -> None:
        answer = route.fetch()
        tokens = answer.json()
        head, body, tail = tokens["id_token"].split(".")
        claims = json.loads(base64.urlsafe_b64decode(body + "=="))
        body = base64.urlsafe_b64encode(json.dumps(claims | change).encode()).decode().rstrip("=")
        route.fulfill(response=answer, json=tokens | {"id_token": f"{head}.{body}.{tail}"})

    return forge


@step
def an_answer_that_was_not_asked_for_is_refused(walk):
    """A forged answer of the issuer, or an ID token that is not about this sign-in."""
    provider = walk.order["provider"]
    visit = walk.visit(also=[provider])
    visit.load("?code=stolen&state=guessed")
    visit.page.locator(".sign-in .message").wait_for()
    assert "stolen" not in visit.page.url
    for change in ({"nonce": "other"}, {"iss": "https://elsewhere.example"}, {"aud": "other"}, {"exp": 1}):
        visit = walk.visit(also=[provider])
        visit.page.route("**/oauth2/token", forger(change))
        at_the_provider(visit, "carol")
        expect(visit.page.locator(".sign-in .message")).to_contain_text("ID token")
        assert visit.page.evaluate("sessionStorage.length") == 0
