"""Measures how soon each view of the console paints, and how soon its data is there; prints JSON.

    console_times.py ORIGIN ROUNDS < VIEWS

VIEWS is a JSON object: `keys`, API keys by the name of their owner, and `views`, for each name of a view the part of
its address after `#/`. Each round opens each view in a new browser context with an empty cache, signed in. A time is
counted from the navigation, in milliseconds, and the median of the rounds is printed: `{owner: {view: {paint, data,
slowest, problems}}}`, where `slowest` is the operation that took longest, with its time, and `problems` what the view
says of operations that failed.
"""

import json
import statistics
import sys

from playwright.sync_api import Error, sync_playwright

PATIENCE = 30_000
IS_THERE = """() => {
    const main = document.querySelector("main");
    if (!main || !main.querySelector("h1")) return false;
    if (document.querySelector(".bone, .bone-row, .table-box[aria-busy=true]")) return false;
    return performance.now();
}"""
PAINT = """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null"""
SLOWEST = """() => {
    const calls = performance.getEntriesByType("resource").filter((one) => one.name.includes("/admin/"));
    calls.sort((one, other) => other.duration - one.duration);
    return calls.length ? [new URL(calls[0].name).pathname, calls[0].duration] : ["", 0];
}"""
PROBLEMS = """() => [...document.querySelectorAll("main .message.bad")].map((one) => one.innerText.slice(0, 200))"""


def main():
    origin, rounds = sys.argv[1], int(sys.argv[2])
    wanted = json.load(sys.stdin)
    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--no-proxy-server"])
        for owner, key in wanted["keys"].items():
            # The first page of a browser pays for starting it.
            look(browser, origin, key, next(iter(wanted["views"].values())))
            for name, place in wanted["views"].items():
                samples = [look(browser, origin, key, place) for _ in range(rounds)]
                slowest = max((one["slowest"] for one in samples), key=lambda call: call[1])
                found.setdefault(owner, {})[name] = {
                    "paint": median(samples, "paint"), "data": median(samples, "data"), "slowest": slowest,
                    "problems": samples[-1]["problems"]}
                print(f"{owner} {name}: {found[owner][name]}", file=sys.stderr, flush=True)
        browser.close()
    json.dump(found, sys.stdout)


def look(browser, origin, key, place):
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    try:
        context.add_init_script(f"sessionStorage.setItem('sluice.session', {json.dumps(key)})")
        page = context.new_page()
        page.goto(f"{origin}/console/#/{place}", wait_until="commit")
        try:
            data = page.wait_for_function(IS_THERE, polling="raf", timeout=PATIENCE).json_value()
        except Error:
            data = float(PATIENCE)
        return {"paint": page.evaluate(PAINT), "data": data, "slowest": page.evaluate(SLOWEST),
                "problems": page.evaluate(PROBLEMS)}
    finally:
        context.close()


def median(samples, name):
    values = [one[name] for one in samples if one[name] is not None]
    return statistics.median(values) if values else None


main()
