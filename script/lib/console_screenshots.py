"""Takes the pictures of docs/console.md.

    console_screenshots.py ADDRESS FOLDER

ADDRESS opens the console of the demo once.
"""

import pathlib
import sys
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

LARGEST = 150_000
IS_LOADING = "document.querySelector('.bone, .bone-row, .table-box[aria-busy=true]') !== null"
# Pictures by name: the address, the colours, and the size.
PICTURES = {
    "console-home": ("#/home?range=7d", "light", (1280, 800)),
    "console-access": ("#/access?principal=user:alice&bucket=demo&key=users/alice/report.pdf", "dark", (1280, 800)),
    "console-grants-phone": ("#/grants", "light", (390, 780)),
}


def main() -> None:
    address, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    url = urlsplit(address)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--no-proxy-server"])
        page = browser.new_page(locale="en-GB", timezone_id="UTC", reduced_motion="reduce")
        page.goto(address)
        page.locator(".shell").wait_for()
        for name, (place, colours, (width, height)) in PICTURES.items():
            page.emulate_media(color_scheme=colours)
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate("place => { location.hash = place }", place)
            page.wait_for_timeout(500)
            while page.evaluate(IS_LOADING):
                page.wait_for_timeout(100)
            page.wait_for_timeout(500)
            page.evaluate("() => { document.activeElement?.blur(); scrollTo(0, 0) }")
            path = folder / f"{name}.png"
            page.screenshot(path=path)
            size = path.stat().st_size
            if size > LARGEST:
                sys.exit(f"{path} has {size} bytes")
            print(f"{path} {size} bytes, of {url.netloc}")
        browser.close()


main()
