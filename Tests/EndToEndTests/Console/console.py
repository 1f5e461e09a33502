"""Drives the console of a gateway in Chromium, and reports what was wrong.

The first argument is JSON: {"origin", "key", "bucket", "store", "region", "accessKeyID", "secretAccessKey",
"newBucket", "provider", "chromium", "pictures"?}; names of steps may follow, and each can be taken alone. `key` is an
admin's; `store` is the origin of the bucket's store, which permits pages of `origin` to upload; `newBucket` exists
there, and the gateway does not know it; `provider` is the name of an OpenID provider at which everybody may sign in;
`pictures` is a folder for pictures of the steps that fail. Prints
{"steps": [{"name", "seconds", "problems"}], "secrets": [..]}.
"""

import json
import sys
import time
import traceback

from playwright.sync_api import sync_playwright

import changes
import entering
import focus
import forms
import roles
import rows
import untouched
import views
import waiting
from visits import Visit

STEPS = [
    *entering.STEPS, *views.STEPS, *changes.STEPS, *forms.STEPS, *focus.STEPS, *waiting.STEPS, *untouched.STEPS,
    *roles.STEPS]


class Walk:
    """What the steps share: one browser, the rows of the gateway, and a visit that an admin has signed in."""

    def __init__(self, browser, order: dict):
        self.browser = browser
        self.order = order
        self.origin = order["origin"]
        self.world = rows.World(order["origin"], order["key"], order["bucket"], order["provider"])
        self.visits: list[Visit] = []
        self._admin: Visit | None = None

    def visit(self, **options) -> Visit:
        """Opens a tab with a profile of its own. It ends with the step."""
        visit = Visit(self.browser, self.origin, **options)
        self.visits.append(visit)
        return visit

    @property
    def admin(self) -> Visit:
        """The admin's visit, which goes on from step to step."""
        if self._admin is None:
            self._admin = Visit(self.browser, self.origin, also=[self.order["store"]])
            self._admin.sign_in(self.world.keys["root"], "#/requests")
        return self._admin

    def take(self, step) -> dict:
        """Takes a step. What one step finds does not keep the others from being taken."""
        began = time.monotonic()
        problems: list[str] = []
        try:
            step(self)
        except Exception as error:
            at = [frame for frame in traceback.extract_tb(error.__traceback__) if "/Console/" in frame.filename]
            lines = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in at]
            problems.append(f"{' '.join(lines)}: {type(error).__name__}: {error}"[:2000])
        here = self.visits + ([self._admin] if self._admin else [])
        if problems:
            problems += [visit.seen_there() for visit in here]
        for visit in here:
            problems += visit.problems
            visit.problems = []
            visit.refusals = set()
        if problems and "pictures" in self.order:
            for index, visit in enumerate(here):
                visit.page.screenshot(path=f"{self.order['pictures']}/{step.__name__}-{index}.png")
        if problems and self._admin:
            self._admin.end()
            self._admin = None
        for visit in self.visits:
            visit.end()
        self.visits = []
        return {
            "name": step.__name__.replace("_", " "), "seconds": round(time.monotonic() - began, 2),
            "problems": problems}


def main() -> None:
    order = json.loads(sys.argv[1])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=order["chromium"],
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server",
                  "--disable-background-networking", "--disable-component-update",
                  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"])
        walk = Walk(browser, order)
        walk.world.fill()
        wanted = sys.argv[2:]
        steps = []
        for step in STEPS:
            if wanted and step.__name__ not in wanted:
                continue
            report = walk.take(step)
            steps.append(report)
        browser.close()
    print(json.dumps({"steps": steps, "secrets": walk.world.secrets}))


main()
