"""Runs steps in pages of Chromium."""

import os
import threading
import time

from playwright.sync_api import sync_playwright

from trouble import judge, plan
from world import MIB

PATIENCE = 600_000


class Pages:
    """Chromium with one page, which has the files. Use it in a `with` statement."""

    def __init__(self, made):
        self.made = made

    def __enter__(self):
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--no-proxy-server", "--disable-gpu", "--js-flags=--expose-gc"])
        self.context = self.browser.new_context()
        self.context.set_default_timeout(PATIENCE)
        self.page = self.open()
        return self

    def __exit__(self, *_):
        self.browser.close()
        self.playwright.stop()

    def open(self, *more):
        page = self.context.new_page()
        page.goto(f"{self.made.pages.base}/test.html")
        page.set_input_files("#files", [self.made.folder / name for name in (*self.made.sizes, *more)])
        until(page, "window.isReady")
        return page

    def run(self, step, **more):
        return self.page.evaluate("([step, config]) => window.run(step, config)",
                                  [step, self.made.configuration("page", **more)])

    def rewritten(self):
        """An upload of a file that another program writes anew meanwhile."""
        path = self.made.folder / "changing.bin"
        path.write_bytes((self.made.folder / "six.bin").read_bytes())
        # Chromium compares times by the second.
        os.utime(path, (1_700_000_000, 1_700_000_000))
        page = self.open("changing.bin")
        config = self.made.configuration("page")
        page.evaluate("config => { window.ended = window.run('rewritten', config).then(() => '', String); }", config)
        until(page, "Boolean(window.rewrite)")
        path.write_bytes(b"another file")
        page.evaluate("window.rewrite()")
        flaw = page.evaluate("window.ended")
        page.close()
        if flaw:
            yield flaw

    def large(self):
        """The large upload in a page that is closed half way, and in another one; and its memory beside that of a small
        one."""
        key, size = "files/page/large.mp4", self.made.sizes["large.bin"]
        small = self.growth(self.open(), "files/page/one.mp4", "one.bin")[1]
        before = plan(self.made)
        config = self.made.configuration("page", key=key)
        page = self.open()
        page.evaluate("config => { window.ended = ''; const end = (how) => { window.ended = `it ended: ${how}`; };"
                      " window.run('large', config).then(() => end('all has arrived'), end); }", config)
        until(page, f"window.ended || window.told > {size // 2}")
        if flaw := page.evaluate("window.ended"):
            yield flaw
        page.close()
        time.sleep(0.5)
        page = self.open()
        result, most = self.growth(page, key, "large.bin")
        yield from judge(self.made, key, result, before)
        print(f"      Chromium: {most / MIB:.0f} MiB of memory, and {small / MIB:.0f} MiB for 1 MiB", flush=True)
        if most - small > 64 * MIB:
            yield f"the page took {(most - small) / MIB:.0f} MiB more than an upload of 1 MiB"

    def growth(self, page, key, name):
        """Uploads a file, closes the page, and answers the result and by how much the page grew."""
        config = self.made.configuration("page", key=key, large=name)
        with Memory() as memory:
            result = page.evaluate("config => window.run('large', config)", config)
        page.close()
        return result, memory.most


def until(page, condition):
    """Waits for a condition: an expression of the page, or a function. Playwright's own waiting needs `eval`, which the
    policy of the pages forbids."""
    end = time.monotonic() + PATIENCE / 1000
    while not (condition() if callable(condition) else page.evaluate(condition)):
        if time.monotonic() > end:
            raise RuntimeError(f"{condition} has not come true")
        page.wait_for_timeout(20)


class Memory:
    """By how much a process with pages grows at the most, of those that this program has started."""

    def __enter__(self):
        self.before = {number: anonymous(number) for number in renderers()}
        self.most, self.stop = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def watch(self):
        while not self.stop.wait(0.2):
            self.most = max(self.most, *(anonymous(number) - held for number, held in self.before.items()))


def renderers():
    """Processes of Chromium with pages below this one."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                parents[int(name)] = int(stat.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    for number in parents:
        above = number
        while above > 1 and above != os.getpid():
            above = parents.get(above, 0)
        if above == os.getpid() and b"--type=renderer" in text(f"/proc/{number}/cmdline"):
            yield number


def anonymous(number):
    """Bytes that a process holds for itself."""
    for line in text(f"/proc/{number}/status").splitlines():
        if line.startswith(b"RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def text(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
