"""Uses the web example as a person does."""

import hashlib
import re
import time
from pathlib import Path

from browser import until

# Drops a file on an element, as a browser does when a person lets go of it.
DROP = """([selector, name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, { type: "text/plain" }));
    for (const kind of ["dragover", "drop"]) {
        document.querySelector(selector).dispatchEvent(
            new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
    }
}"""
PICTURE = ('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>')


def flaws(made, pages):
    context = pages.browser.new_context()
    context.set_default_timeout(30_000)
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        address = f"{made.pages.base}/examples/web/index.html"
        page.goto(address)
        sign_in(made, page, "nobody")
        page.locator("#message.bad").wait_for()
        sign_in(made, page, made.token)
        choose_place(made, page)
        if page.input_value("[name=token]") or made.token in page.content():
            yield "the page keeps the key where it can be seen"
        yield from upload(made, page)
        yield from give_up(made, page)
        # Nothing but what is behind `#` differs, and the page loads itself anew.
        with page.expect_event("load"):
            page.goto(f"{address}#gateway={made.front.base}&token={made.token}")
        page.locator("#gallery li").first.wait_for()
        if "token" in page.url or page.locator("#gallery li").count() != 3:
            yield f"after another address: {page.url}, {page.locator('#gallery').inner_text()}"
        page.click("#sign-out")
        if page.locator("#gallery li").count():
            yield "the gallery is there after signing out"
        yield from change_users(made, page)
        # The browser itself reports the refusal of the key, and the connection that was cut.
        yield from (line for line in complaints if "401" not in line and "ERR_CONNECTION_RESET" not in line)
    finally:
        context.close()


def give_up(made, page):
    """Pauses an upload, and cancels it then."""
    made.store.plan = [{"kind": "delay", "method": "PUT", "seconds": 3, "skip": 1}]
    name = "given up.bin"
    (made.folder / name).write_bytes(bytes(40 << 20))
    page.set_input_files("#files", [made.folder / name])
    row = page.locator("#uploads li", has_text=name)
    until(page, "document.querySelector('#uploads li:last-child progress').value > 0.1")
    row.get_by_text("Pause").click()
    row.get_by_text("is paused").wait_for()
    state = made.state_of_parts(f"files/{name}")
    if state != "open":
        yield f"the upload that is paused is {state}"
    row.get_by_text("Cancel").click()
    made.store.plan = []
    end = time.monotonic() + 10
    while made.state_of_parts(f"files/{name}") not in ("aborting", "aborted"):
        if time.monotonic() > end:
            yield f"the upload that is cancelled is {made.state_of_parts(f'files/{name}')}"
            break
        time.sleep(0.1)
    if page.locator("#uploads li", has_text=name).count():
        yield "the upload is shown after it was cancelled"


def change_users(made, page):
    """Signs out while the gallery is asked for, a file in parts is sent and another one waits. Signs in as another
    user, and later again as the first one, who goes on."""
    made.grant("bob/", made.bucket, {}, "user:bob")
    bob = made.gateway.create("/admin/v1/api-keys", {"name": "key of bob", "principal": "user:bob"})["key"]
    long, following, own = [made.folder / name for name in ("long.bin", "following.bin", "own.bin")]
    for file, size in ((long, 20 << 20), (following, 1000), (own, 1000)):
        file.write_bytes(bytes(size))
    pending = set()
    page.on("request", lambda request: pending.add(request) if request.resource_type in ("fetch", "xhr") else None)
    page.on("requestfinished", lambda request: pending.discard(request))
    page.on("requestfailed", lambda request: pending.discard(request))
    made.front.plan = [{"kind": "delay", "method": "POST", "path": "/batch", "seconds": 3}]
    sign_in(made, page, made.token)
    choose_place(made, page)
    made.store.plan, made.store.happened = [{"kind": "delay", "method": "PUT", "seconds": 3}], []
    page.set_input_files("#files", [long, following])
    until(page, lambda: made.store.happened)
    page.click("#sign-out")
    sign_in(made, page, bob)
    page.locator("#who", has_text="user:bob").wait_for()
    until(page, lambda: not pending)
    if page.locator("#gallery li").count() or page.locator("#uploads li").count():
        yield f"what the next user finds: {page.locator('#work').inner_text()}"
    page.set_input_files("#files", own)
    page.locator("#uploads li", has_text=own.name).get_by_text("has arrived").wait_for()
    page.locator("#gallery li", has_text=own.name).wait_for()
    shown = page.locator("#gallery li").all_inner_texts()
    keys = [item["Key"] for item in made.s3.list_objects_v2(Bucket=made.bucket, Prefix="bob/").get("Contents", [])]
    if shown != [own.name] or keys != [f"bob/{own.name}"]:
        yield f"what the next user has after an upload: {shown} and {keys}"
    if made.state_of_parts(f"files/{long.name}") != "open":
        yield f"the upload that signing out interrupted is {made.state_of_parts(f'files/{long.name}')}"
    page.click("#sign-out")
    sign_in(made, page, made.token)
    choose_place(made, page)
    page.set_input_files("#files", long)
    page.locator("#uploads li", has_text="has arrived").wait_for()
    if made.starts(f"files/{long.name}") != [1, 1]:
        yield f"the upload was started and completed {made.starts(f'files/{long.name}')} times"


def choose_place(made, page):
    page.locator("#place").select_option(label=f"{made.bucket}/files/")


def sign_in(made, page, token):
    page.fill("[name=gateway]", made.front.base)
    page.fill("[name=token]", token)
    page.click("#sign-in button")


def upload(made, page):
    arrived = page.locator("#uploads li", has_text="has arrived")
    page.evaluate(DROP, ["#drop", "dropped.txt", "Hello"])
    arrived.nth(0).wait_for()
    # A file that needs parts, and a picture.
    picture = made.folder / "example.svg"
    picture.write_text(PICTURE)
    made.store.plan = [{"kind": "cut", "method": "PUT", "after": 100_000}]
    page.set_input_files("#files", [made.folder / "large.bin", picture])
    arrived.nth(2).wait_for()
    bars = page.eval_on_selector_all("#uploads progress", "bars => bars.map((bar) => bar.value)")
    if bars != [1, 1, 1] or made.store.plan:
        yield f"the bars are at {bars}; faults that did not happen: {made.store.plan}"
    if made.md5_of_object("files/large.bin") != made.digests["large.bin"]:
        yield "the object differs from the file"
    page.locator("#gallery li").nth(2).wait_for()
    page.wait_for_timeout(200)
    shown = page.eval_on_selector_all("#gallery img", "all => all.map((one) => one.naturalWidth)")
    if shown != [9]:
        yield f"the picture is not shown: {shown}"
    with page.expect_download() as waiting:
        page.click("#gallery a:has-text('large.bin')")
    download = waiting.value
    if download.suggested_filename != "large.bin" or not re.fullmatch("http://.*", download.url):
        yield f"the download is {download.suggested_filename}"
    if hashlib.md5(Path(download.path()).read_bytes()).hexdigest() != made.digests["large.bin"]:
        yield "the download differs from the file"
