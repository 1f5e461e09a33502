"""Opens the web example at the address that `sluice dev` prints, and the page of the README."""

import contextlib
import functools
import http.server
import re
import tempfile
import threading
from pathlib import Path

from demo import demo
from example import DROP, PICTURE
from static import README
from world import MODULE

# Sends a form of the OSS bucket, of which one type of two is chosen. The file names a third one, as browsers do.
FORM = """async ([url, token]) => {
    const { Sluice } = await import("/clients/javascript/sluice.js");
    const client = new Sluice({ url, token });
    const contentTypes = ["image/png", "image/webp"];
    const form = await client.form({
        bucket: "demo-oss", keyPrefix: "users/alice/", contentTypes, maxBytes: 1000 });
    const file = new File(["<p>"], "page.html", { type: "text/html" });
    const { key } = await client.sendForm(form, file, { contentType: "image/webp" });
    const object = await (await client.download({ bucket: "demo-oss", key })).blob;
    const refused = await client.sendForm(form, file).catch((error) => error.status);
    return [object.type, object.size, refused];
}"""


def flaws(made, pages):
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-page.", dir="/tmp")))
        settings = stack.enter_context(demo(made.binary, folder))
        context = stack.enter_context(contextlib.closing(pages.browser.new_context()))
        context.set_default_timeout(30_000)
        page = context.new_page()
        complaints = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(settings["example"])
        page.locator("#who", has_text="user:alice").wait_for()
        if "token" in page.url:
            yield f"the key stays in the address: {page.url}"
        page.evaluate(DROP, ["#drop", "dropped.txt", "Hello"])
        arrived = page.locator("#uploads li", has_text="has arrived")
        arrived.nth(0).wait_for()
        picture = folder / "picture.svg"
        picture.write_text(PICTURE)
        page.set_input_files("#files", [picture])
        arrived.nth(1).wait_for()
        bars = page.eval_on_selector_all("#uploads progress", "bars => bars.map((bar) => bar.value)")
        if bars != [1, 1]:
            yield f"the bars are at {bars}"
        page.locator("#gallery li").nth(1).wait_for()
        with page.expect_download() as waiting:
            page.click("#gallery a:has-text('dropped.txt')")
        if Path(waiting.value.path()).read_text() != "Hello":
            yield "the download differs from the file"
        yield from complaints
        complaints.clear()
        sent = page.evaluate(FORM, [settings["SLUICE_URL"], settings["SLUICE_KEY"]])
        if sent != ["image/webp", 3, 403]:
            yield f"a form for two types: {sent}"
        # Of the second form, which the store refuses, the browser itself says this and no more.
        if len(complaints) != 1 or "403 (Forbidden)" not in complaints[0]:
            yield f"a refused form: {complaints}"
        yield from sample_flaws(page, folder, settings)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def sample_flaws(page, folder, settings):
    """Uploads by the page of the README, with the demo's address, bucket and key."""
    (sample,) = re.findall(r"^```html\n(.*?)^```$", README.read_text(), re.M | re.S)
    site = folder / "site"
    site.mkdir()
    (site / "sluice.js").write_bytes(MODULE.read_bytes())
    (site / "sluice-token").write_text(settings["SLUICE_KEY"])
    (site / "index.html").write_text(
        sample.replace("https://sluice.example", settings["SLUICE_URL"]).replace('"photos"', '"demo"'))
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            page.set_input_files("input", [folder / "picture.svg"])
            page.wait_for_function("document.querySelector('output').value")
            said = page.eval_on_selector("output", "(output) => output.value")
            shown = page.eval_on_selector("progress", "(bar) => bar.value")
        finally:
            server.shutdown()
    if not re.fullmatch(r"users/alice/[0-9a-f-]{36}: landed", said) or shown != 1:
        yield f"the page of the README says {said} at {shown}"
