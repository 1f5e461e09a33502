"""Visits of a browser to the console. A visit notes what no page of the console may do."""

import contextlib
import importlib.util
import pathlib
import time
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request, expect

DESKTOP = (1360, 860)
PHONE = (390, 844)
# How long the browser may take for anything. On an idle machine, nothing takes a second.
PATIENCE = 20_000
expect.set_options(timeout=PATIENCE)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
AXE = (pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).parent / "axe.min.js").read_text()

# Runs in each page before its own scripts. It reports breaches of the page's policy where console messages are read,
# and counts what the page waits for: answers, bodies of answers, and uploads.
LISTENER = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
window.awaited = 0;
const counting = (original) => function (...all) {
  awaited += 1;
  return original.apply(this, all).finally(() => { awaited -= 1; });
};
window.fetch = counting(window.fetch);
for (const name of ["arrayBuffer", "blob", "json", "text"])
  Response.prototype[name] = counting(Response.prototype[name]);
const { send } = XMLHttpRequest.prototype;
XMLHttpRequest.prototype.send = function (...all) {
  awaited += 1;
  this.addEventListener("loadend", () => { awaited -= 1; });
  return send.apply(this, all);
};
"""

# Text that a row could use to mislead people or to become part of the page.
FOREIGN = """
() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    if (/[\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(walker.currentNode.data))
      found.push(`an invisible character in: ${walker.currentNode.data.slice(0, 80)}`);
  const foreign = "img:not([src^='/console/']), iframe, object, [onerror], body script";
  for (const element of document.querySelectorAll(foreign))
    found.push(`an element out of a row: ${element.outerHTML.slice(0, 80)}`);
  return found;
}
"""

# Resolves once the page waits for nothing and shows nothing that stands for what is to come, at two glances in a row.
# A button that opened a dialog is busy until the dialog closes.
SETTLED = """
async (patience) => {
  const loading = ".bone, .bone-row, .table-box[aria-busy=true], .spinner, dialog[open] button[aria-busy=true]";
  const end = performance.now() + patience;
  for (let quiet = 0; quiet < 2; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const waits = window.awaited > 0 || document.readyState !== "complete" || document.querySelector(loading);
    quiet = waits ? 0 : quiet + 1;
    if (performance.now() > end)
      return `${window.awaited} answers are missing, and ${document.querySelectorAll(loading).length} places are empty`;
  }
  return null;
}
"""

# Goes to an address of the console, and resolves once the page has heard of it.
GO = """
(address) => new Promise((resolve) => {
  if (location.hash === address) return resolve();
  addEventListener("hashchange", () => setTimeout(resolve, 0), { once: true });
  location.hash = address;
})
"""

PAINTED = "() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"

WIDEST = """
() => document.documentElement.scrollWidth <= innerWidth ? [] : 
  [...document.querySelectorAll("dialog[open] *, #app *")]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => `${element.tagName}.${element.className}`).slice(0, 5)
"""


class Visit:
    """One tab with a profile of its own."""

    def __init__(self, browser: Browser, origin: str, *, also=(), size=DESKTOP, scheme="light"):
        """`also` lists other origins that the page may ask."""
        self.origin = origin
        self.origins = {origin, *also}
        self.problems: list[str] = []
        self.refusals: set[int] = set()
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce",
            locale="en-GB", timezone_id="Europe/Berlin")
        self.context.set_default_timeout(PATIENCE)
        self.context.add_init_script(LISTENER)
        self.page = self.context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        self.page.on("dialog", self._refuse_dialog)
        self.page.on("request", self._ask)

    def _hear(self, message: ConsoleMessage) -> None:
        # What the pages of an issuer say is not the console's affair.
        if message.type not in ("error", "warning") or not self.page.url.startswith(self.origin):
            return
        if any(f"responded with a status of {status} " in message.text for status in self.refusals):
            return
        if self.refusals and message.text.startswith("Problem:"):
            return  # The console's own note on what it shows.
        self.problems.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def _refuse_dialog(self, dialog) -> None:
        self.problems.append(f"a window of the browser opened: {dialog.message}")
        dialog.dismiss()

    def _ask(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme in ("blob", "data"):
            return
        # What the pages of an issuer ask for is not the console's affair.
        is_ours = request.is_navigation_request() or request.frame.url.startswith(self.origin)
        if is_ours and f"{url.scheme}://{url.netloc}" not in self.origins:
            self.problems.append(f"a request to another origin: {request.url}")

    @contextlib.contextmanager
    def refused(self, *statuses: int):
        """Tolerates that the browser reports answers with these statuses."""
        self.refusals |= set(statuses)
        yield
        self.settle()
        self.refusals -= set(statuses)

    # Where the visit goes.

    def load(self, address: str = "") -> None:
        """Loads the console anew."""
        self.page.goto(f"{self.origin}/console/{address}")

    def sign_in(self, key: str, address: str = "", *, keep=False) -> "Visit":
        self.load(address)
        self.page.get_by_label("API key").fill(key)
        if keep:
            self.page.get_by_label("Stay signed in").check()
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        self.page.locator(".shell").wait_for()
        self.settle()
        return self

    def go(self, address: str) -> None:
        """Goes to a view without loading the console anew."""
        self.page.evaluate(GO, address)
        self.settle()

    def settle(self) -> None:
        """Waits until nothing is loading."""
        for _ in range(5):
            with contextlib.suppress(Error):  # The page went elsewhere meanwhile.
                missing = self.page.evaluate(SETTLED, PATIENCE)
                if missing:
                    raise TimeoutError(f"{self.page.url} was still loading: {missing}")
                return
        raise TimeoutError(f"{self.page.url} went on and on")

    def seen_there(self) -> str:
        """What a person sees on the page, in short, for messages about what is missing."""
        with contextlib.suppress(Error):
            places = ("dialog[open]", "main", ".toast")
            texts = [text for place in places for text in self.page.locator(place).all_inner_texts()]
            return f"{self.page.url} shows: " + " ¦ ".join(" ".join(text.split())[:500] for text in texts if text)
        return "the page is gone"

    # What it finds there.

    @property
    def main(self) -> Locator:
        return self.page.locator("main")

    @property
    def dialog(self) -> Locator:
        return self.page.locator("dialog[open]")

    def heading(self) -> str:
        return self.page.locator("main h1").inner_text()

    def row(self, text: str) -> Locator:
        return self.page.locator("main tbody tr").filter(has_text=text).first

    def press(self, name: str, within: Locator | None = None) -> None:
        """Presses a button."""
        (within or self.main).get_by_role("button", name=name, exact=True).first.click()

    def choose(self, row: Locator, entry: str) -> None:
        """Chooses an entry of a row's menu."""
        row.get_by_role("button", name="Row actions").click()
        self.page.get_by_role("menuitem", name=entry, exact=True).click()

    @contextlib.contextmanager
    def unanswered(self, pattern: str, name: str, answer=lambda route: route.continue_(), *, within=None):
        """Presses a button of the dialog. What the button asks for is answered when the block has ended.

        `within` is where the button is instead. The block receives the requests that wait, and may answer some of them
        itself.
        """
        held = []
        self.page.route(
            pattern, lambda route: route.continue_() if route.request.method == "GET" else held.append(route))
        try:
            with self.page.expect_request(pattern):
                self.press(name, within or self.dialog)
            # The page tells of a request a moment before its route does.
            end = time.monotonic() + PATIENCE / 1000
            while not held and time.monotonic() < end:
                self.page.wait_for_timeout(5)
            yield held
        finally:
            for route in held:
                answer(route)
            self.page.unroute(pattern)
        self.settle()

    def done(self, words: str) -> None:
        """Expects that the dialog closes and a message says so."""
        expect(self.dialog).to_have_count(0)
        expect(self.page.locator(".toast").filter(has_text=words).first).to_be_visible()

    def judge(self, name: str, *, on_phone=True) -> None:
        """Notes what is wrong with the page that is open: on a desk in light colours, and on a phone in dark ones."""
        self._judge(f"{name}, wide")
        if on_phone:
            self.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
            self.page.emulate_media(color_scheme="dark")
            self.page.evaluate(PAINTED)
            widest = self.page.evaluate(WIDEST)
            if widest:
                self.problems.append(f"{name}: scrolls sideways at {PHONE[0]} px because of {widest}")
            self._judge(f"{name}, narrow and dark")
            self.page.emulate_media(color_scheme="light")
            self.page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
            self.page.evaluate(PAINTED)
        self.problems += [f"{name}: {found}" for found in self.page.evaluate(FOREIGN)]

    def _judge(self, name: str) -> None:
        # What the bar at the top covers is no smaller for it.
        self.page.evaluate("scrollTo(0, 0)")
        # What the debugger evaluates is not bound by the policy of the page.
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(f"{AXE}; 0")
        found = self.page.evaluate(
            "rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", RULES)["violations"]
        for violation in found:
            places = [" ".join(map(str, node["target"])) for node in violation["nodes"][:3]]
            self.problems.append(f"{name}: axe {violation['id']} ({violation['impact']}) at {places}")

    def end(self) -> None:
        self.context.close()


def seen(page: Page, text: str) -> None:
    """Expects that a text is on the page."""
    expect(page.get_by_text(text, exact=False).filter(visible=True).first).to_be_visible()
