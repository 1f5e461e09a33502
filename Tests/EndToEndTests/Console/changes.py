"""One change through each form. What was changed is read from the gateway, not from the page."""

import json
import re
import time
from urllib.parse import quote

from playwright.sync_api import expect

from rows import TAG
from visits import seen

STEPS = []


def step(function):
    STEPS.append(function)
    return function


def fill(visit, **fields: str) -> None:
    """Fills fields of the form in the dialog, by label."""
    for label, text in fields.items():
        visit.dialog.get_by_label(label.replace("_", " "), exact=False).first.fill(text)


@step
def a_grant_is_created_reviewed_changed_and_deleted(walk):
    visit, gateway = walk.admin, walk.world.gateway
    visit.go("#/grants?principal=user:zoe")
    seen(visit.page, "No grant matches")
    visit.press("New grant")
    dialog = visit.dialog
    dialog.get_by_label("PutObject").check()
    fill(visit, Bucket=walk.order["bucket"], Note=TAG)

    # What is written while the review is under way was not looked at.
    with visit.unanswered("**/grants:apply*", "Review"):
        fill(visit, Principal="zoe")
    expect(dialog.get_by_text("The dry run accepts it.")).to_have_count(0)
    expect(dialog.get_by_role("button", name="Create", exact=True)).to_have_count(0)

    visit.press("Review", dialog)
    expect(dialog.get_by_text("Write user:name, group:name or *.")).to_be_visible()
    fill(visit, Principal="user:zoe")
    dialog.get_by_label("Prefix", exact=False).last.fill("zoe/")
    dialog.locator("summary").filter(has_text="Conditions").click()
    fill(visit, Max_bytes="10 MiB", Max_TTL="15 min")
    visit.judge("the form of a grant")
    visit.press("Review", dialog)
    expect(dialog.get_by_text("The dry run accepts it.")).to_be_visible()
    visit.settle()
    assert not gateway.items("grants?principal=user:zoe"), "a review changes nothing"
    visit.judge("the review of a grant")
    visit.press("Create", dialog)
    visit.done("In force on every gateway")
    (made,) = gateway.items("grants?principal=user:zoe")
    assert made["prefix"] == "zoe/" and made["actions"] == ["PutObject"] and made["note"] == TAG, made
    assert made["conditions"] == {"maxBytes": 10_485_760, "maxTTL": 900}, made

    # Somebody else changes it while the form is open.
    visit.choose(visit.row("zoe/"), "Edit")
    fill(visit, Note="Mine")
    gateway.admin("PATCH", f"grants/{made['id']}", {"note": "Theirs"}, If_Match="*")
    with visit.refused(412, 409):
        visit.press("Review", visit.dialog)
        visit.settle()
        if visit.dialog.get_by_role("button", name="Save", exact=True).count():
            visit.press("Save", visit.dialog)
        seen(visit.page, "The row has changed")
    visit.press("Cancel", visit.dialog)
    visit.press("Discard", visit.dialog)
    visit.choose(visit.row("zoe/"), "Edit")
    fill(visit, Note="Mine after all")
    visit.press("Review", visit.dialog)
    visit.press("Save", visit.dialog)
    visit.done("In force on every gateway")
    assert gateway.items("grants?principal=user:zoe")[0]["note"] == "Mine after all"

    # Nor is a grant deleted that somebody else changes while the question is open.
    visit.choose(visit.row("zoe/"), "Delete")
    visit.settle()
    gateway.admin("PATCH", f"grants/{made['id']}", {"note": "Theirs again"}, If_Match="*")
    with visit.refused(412):
        visit.press("Delete", visit.dialog)
        seen(visit.page, "The row has changed")
    visit.press("Cancel", visit.dialog)
    assert gateway.admin("GET", f"grants/{made['id']}")["note"] == "Theirs again"
    visit.choose(visit.row("zoe/"), "Delete")
    visit.settle()
    visit.press("Delete", visit.dialog)
    visit.done("Deleted")
    assert not gateway.items("grants?principal=user:zoe")


@step
def many_grants_are_changed_at_once(walk):
    visit, world = walk.admin, walk.world
    for index in range(3):
        world.grant("user:many", f"many/{index}/")
    visit.go("#/grants?principal=user:many")
    for index in range(2):
        visit.page.locator("tbody .tick-cell input").nth(index).check()
    visit.press("Change")
    visit.dialog.get_by_label("Member", exact=True).select_option("conditions")
    visit.press("Review", visit.dialog)
    seen(visit.page, "Write a value, or choose to remove it from the grants.")
    visit.dialog.get_by_label("Member", exact=True).select_option("note")
    fill(visit, Note="Reviewed")
    with visit.unanswered("**/grants:apply*", "Review"):
        fill(visit, Note="Changed together")
    expect(visit.dialog.get_by_text("Accepted by the dry run")).to_have_count(0)
    expect(visit.dialog.get_by_role("button", name="Review", exact=True)).to_be_visible()
    visit.press("Review", visit.dialog)
    visit.settle()
    visit.judge("a change of many grants")
    expect(visit.dialog.locator(".diff ins", has_text="Changed together")).to_have_count(2)
    visit.press("Change 2 grants", visit.dialog)
    visit.done("Changed 2 grants")
    notes = [row.get("note") for row in world.gateway.items("grants?principal=user:many")]
    assert notes.count("Changed together") == 2, notes
    visit.press("More")
    visit.page.get_by_role("menuitem", name="Delete all that match").click()
    visit.settle()
    visit.press("Delete", visit.dialog)
    visit.done("Deleted 3 grants")
    assert not world.gateway.items("grants?principal=user:many")


@step
def grants_are_imported_from_a_file(walk):
    visit, world = walk.admin, walk.world
    line = f'{{"principal":"user:imported","bucket":"{world.bucket}","prefix":"imported/","actions":["GetObject"]}}\n'
    visit.go("#/grants?principal=user:imported")
    visit.press("More")
    visit.page.get_by_role("menuitem", name="Import a file").click()
    visit.dialog.locator("input[type=file]").set_input_files(
        {"name": "grants.ndjson", "mimeType": "application/x-ndjson", "buffer": line.encode()})
    visit.press("Try", visit.dialog)
    visit.settle()
    seen(visit.page, "imported/")
    assert not world.gateway.items("grants?principal=user:imported"), "a try changes nothing"
    visit.judge("an import")
    visit.dialog.locator(".dialog-foot .button.primary").click()
    visit.settle()
    assert len(world.gateway.items("grants?principal=user:imported")) == 1
    if visit.dialog.count():
        visit.dialog.get_by_role("button", name="Close").last.click()
    expect(visit.dialog).to_have_count(0)


@step
def a_quota_is_created_changed_reset_and_deleted(walk):
    visit, gateway = walk.admin, walk.world.gateway
    visit.go("#/quotas")
    visit.page.keyboard.press("n")
    fill(visit, Principal="user:alice", Limit="100000000", Bucket=walk.order["bucket"])
    visit.dialog.get_by_label("Metric").select_option("bytes")
    visit.dialog.get_by_label("Period").select_option("month")
    visit.judge("the form of a quota")
    visit.press("Create", visit.dialog)
    visit.done("The quota counts from now on")
    (made,) = [row for row in gateway.items("quotas?principal=user:alice") if row["metric"] == "bytes"]
    assert made["limit"] == 100_000_000 and made["period"] == "month", made
    visit.settle()
    assert visit.page.url.endswith(f"#/quotas/{made['id']}")
    visit.press("Change the limit")
    fill(visit, Limit="2 GiB")
    visit.press("Save", visit.dialog)
    visit.done("The limit is in force")
    assert gateway.admin("GET", f"quotas/{made['id']}")["limit"] == 2_147_483_648

    # The quota is of a day, which may have begun since her other links.
    walk.world.issue(walk.world.user("alice"), "alice/counted.txt")
    used = walk.world.ids["quota"]
    assert gateway.admin("GET", f"quotas/{used}")["use"]["used"] > 0
    visit.go(f"#/quotas/{used}")
    visit.press("Reset")
    visit.judge("the question before a reset", on_phone=False)
    visit.press("Reset", visit.dialog)
    visit.done("Reset")
    assert gateway.admin("GET", f"quotas/{used}")["use"]["used"] == 0
    visit.go(f"#/quotas/{made['id']}")
    visit.press("More")
    visit.page.get_by_role("menuitem", name="Delete").click()
    visit.press("Delete", visit.dialog)
    visit.done("Deleted")
    assert not [row for row in gateway.items("quotas?principal=user:alice") if row["metric"] == "bytes"]


@step
def a_file_is_uploaded_as_a_user(walk):
    """The decision, a link for real, the upload to the store, and what the store says of it; then the download."""
    visit, world = walk.admin, walk.world
    before = world.gateway.items("api-keys?principal=user:alice")
    visit.go(f"#/try?principal=user:alice&bucket={world.bucket}&key=alice/tried.txt&action=PutObject")
    visit.main.locator("input[type=file]").set_input_files(
        {"name": "tried.txt", "mimeType": "text/plain", "buffer": b"Hello from the console"})
    visit.press("Ask what would be decided")
    seen(visit.page, "Permitted")
    assert not world.gateway.items(f"issuances?prefix=alice/tried.txt&bucket={world.bucket}"), "asking issues nothing"
    visit.press("Issue the link")
    visit.settle()
    visit.judge("a link")
    visit.press("Upload the file")
    seen(visit.page, "The store answered 200")
    visit.press("Ask the store what arrived")
    visit.settle()
    visit.judge("an upload")
    (issued,) = world.gateway.items(f"issuances?prefix=alice/tried.txt&bucket={world.bucket}")
    assert issued["principal"] == "user:alice" and issued["contentLength"] == 22, issued
    assert world.gateway.items("api-keys?principal=user:alice") == before, "the key that issued it is gone"

    visit.go(f"#/try?principal=user:alice&bucket={world.bucket}&key=alice/tried.txt")
    visit.settle()
    visit.press("Issue the link")
    visit.press("Download it")
    seen(visit.page, "The store answered 200")
    with visit.page.expect_download() as download:
        visit.main.get_by_role("link", name="Save the file").click()
    assert download.value.path().read_bytes() == b"Hello from the console"

    # A credential of the user itself is sent once.
    visit.main.get_by_text("With a credential of the user", exact=True).click()
    credential = visit.main.get_by_label("An API key or a token of user:alice")
    credential.fill(world.keys["alice"])
    visit.press("Issue the link")
    visit.settle()
    expect(credential).to_have_value("")
    links = world.gateway.items(f"issuances?prefix=alice/tried.txt&bucket={world.bucket}")
    assert len(links) == 3, links


@step
def a_listing_of_a_whole_bucket_is_asked_about(walk):
    """Where a key would be, there is nothing. For other actions, that is a mistake."""
    visit, world = walk.admin, walk.world
    made = world.grant("user:lister", "", actions=["ListObjects"])
    asked = f"principal=user:lister&bucket={world.bucket}&action=ListObjects"
    for address in (f"access?ask=may&{asked}", f"try?{asked}", f"denials/why?{asked}"):
        visit.go(f"#/{address}")
        seen(visit.page, "Permitted")
    visit.go(f"#/try?{asked.replace('ListObjects', 'GetObject')}")
    visit.press("Ask what would be decided")
    seen(visit.page, "This is required.")
    world.gateway.admin("DELETE", f"grants/{made}")


@step
def a_refusal_leads_to_the_grant_that_would_permit_it(walk):
    visit, world = walk.admin, walk.world
    visit.go(f"#/try?principal=user:nina&bucket={world.bucket}&key=nina/a.txt")
    seen(visit.page, "Refused")
    visit.main.get_by_role("link", name="Draft a grant").first.click()
    expect(visit.dialog).to_be_visible()
    visit.press("Review", visit.dialog)
    visit.press("Create", visit.dialog)
    visit.done("In force on every gateway")
    (made,) = world.gateway.items("grants?principal=user:nina")
    assert made["prefix"] == "nina/" and made["actions"] == ["GetObject"], made


@step
def changes_are_undone_from_the_audit(walk):
    """An update, a deletion and a creation, each as a new change that the person confirms."""
    visit, world = walk.admin, walk.world
    gateway = world.gateway
    made = world.grant("user:undo", "undo/", note="Before")
    gateway.admin("PATCH", f"grants/{made}", {"note": TAG}, If_Match="*")

    def undo(address: str) -> None:
        visit.go(address)
        visit.page.locator("main tbody .row-link").first.click()
        visit.settle()
        visit.press("Undo")
        visit.settle()
        visit.judge("an undo", on_phone=False)
        expect(visit.dialog.get_by_text("It was changed again since")).to_have_count(0)
        visit.press("Undo", visit.dialog)
        visit.done("Undone")

    undo(f"#/audit?resourceID={made}&operation=update")
    assert gateway.admin("GET", f"grants/{made}")["note"] == "Before"
    gateway.admin("DELETE", f"grants/{made}")
    undo(f"#/audit?resourceID={made}&operation=delete")
    (again,) = gateway.items("grants?principal=user:undo")
    assert again["note"] == "Before" and again["prefix"] == "undo/", again
    undo(f"#/audit?resourceID={again['id']}&operation=create")
    assert not gateway.items("grants?principal=user:undo")
    latest = gateway.items("audit?kind=Grant")[0]
    assert latest["actor"] == "user:root" and latest["operation"] == "delete", latest

    # The secret of an issuer is gone with its row. That of a bucket's store, which somebody else wrote, is asked for.
    issuer = gateway.admin("POST", "issuers", {
        "issuer": "https://undo.example", "audiences": ["a"], "algorithms": ["HS256"],
        "keys": {"secret": "a-made-up-secret-of-more-than-32-bytes"}, "principalPrefix": "u:", "groupPrefix": "u:"})
    gateway.admin("DELETE", f"issuers/{issuer['id']}", If_Match="*")
    visit.go(f"#/audit?resourceID={issuer['id']}&operation=delete")
    visit.page.locator("main tbody .row-link").first.click()
    visit.settle()
    seen(visit.page, "This cannot be undone: the secret of the row is gone.")
    expect(visit.page.get_by_role("button", name="Undo", exact=True)).to_have_count(0)

    # The keys of an issuer that are no secret come back.
    keys = {"inline": {"keys": [{
        "kty": "EC", "crv": "P-256", "use": "sig", "kid": "undo",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}}
    issuer = gateway.admin("POST", "issuers", {
        "issuer": "https://inline.example", "audiences": ["a"], "algorithms": ["ES256"], "keys": keys,
        "principalPrefix": "inline:", "groupPrefix": "inline:"})
    gateway.admin("DELETE", f"issuers/{issuer['id']}", If_Match="*")
    undo(f"#/audit?resourceID={issuer['id']}&operation=delete")
    (again,) = gateway.items(f"issuers?issuer={quote('https://inline.example', safe='')}")
    assert again["keys"] == keys, again
    path = f"issuers/{again['id']}"
    gateway.admin("PATCH", path, {"keys": {"inline": None, "url": f"{world.provider}/jwks"}}, If_Match="*")
    undo(f"#/audit?resourceID={again['id']}&operation=update")
    assert gateway.admin("GET", path)["keys"] == keys
    gateway.admin("DELETE", path, If_Match="*")

    # The secret of an API key that was rotated does not come back, and the next master key seals the same secret.
    # A kind that the console makes by a form of its own.
    brief = gateway.admin("POST", "api-keys", {"name": "brief", "principal": "user:undo"})
    undo(f"#/audit?resourceID={brief['id']}&operation=create")
    assert not [row for row in gateway.items("api-keys") if row["id"] == brief["id"]]
    key = gateway.admin("POST", "api-keys", {"name": "rotated", "principal": "user:undo"})
    turned = gateway.admin("POST", f"api-keys/{key['id']}:rotate", If_Match="*")
    world.secrets += [key["key"], turned["key"]]
    visit.go(f"#/audit?resourceID={key['id']}")
    visit.page.locator("main tbody .row-link").first.click()
    visit.settle()
    seen(visit.page, "This cannot be undone: a secret that was replaced does not come back.")
    expect(visit.page.get_by_role("button", name="Undo", exact=True)).to_have_count(0)
    gateway.admin("DELETE", f"api-keys/{key['id']}", If_Match="*")
    resealed = visit.page.evaluate(
        """import('/console/views/undo.js').then(({ undoable }) => undoable({ may: () => true }, {
          operation: "update", kind: "Issuer", before: { masterKeyID: "a" }, after: { masterKeyID: "b" } }))""")
    assert "call" not in resealed and resealed["reason"].startswith("There is nothing to undo"), resealed

    other = world.person("undoing", roles=["admin"])
    credential = other.admin("POST", "storage-credentials", {
        "name": "undo", "accessKeyID": "AKIDUNDO", "secretAccessKey": "made-up-secret-of-undo"})
    other.admin("POST", "buckets", {"name": "undo-bucket", "credentialID": credential["id"], **world.store()})
    other.admin("DELETE", "buckets/undo-bucket", If_Match="*")
    visit.go("#/audit?resourceID=undo-bucket&operation=delete")
    visit.page.locator("main tbody .row-link").first.click()
    visit.settle()
    visit.press("Undo")
    visit.settle()
    with visit.refused(400):
        visit.press("Undo", visit.dialog)
        visit.settle()
        visit.dialog.get_by_label("Secret access key").fill("another")
        visit.judge("an undo that wants a secret", on_phone=False)
        visit.press("Undo", visit.dialog)
        visit.settle()
    visit.dialog.get_by_label("Secret access key").fill("made-up-secret-of-undo")
    visit.press("Undo", visit.dialog)
    visit.done("Undone")
    visit.settle()
    assert gateway.admin("GET", "buckets/undo-bucket")["credentialID"] == credential["id"]
    assert "made-up-secret-of-undo" not in visit.page.content(), "the page does not hold the secret"
    world.secrets.append("made-up-secret-of-undo")
    gateway.admin("DELETE", "buckets/undo-bucket", If_Match="*")
    gateway.admin("DELETE", f"storage-credentials/{credential['id']}", If_Match="*")


@step
def an_emergency_is_ended_in_one_step(walk):
    visit, world = walk.admin, walk.world
    victim = world.person("victim")
    world.grant("user:victim", "victim/")
    assert world.issue(victim, "victim/a.txt"), "the victim gets links"
    visit.go("#/emergency?principal=user:victim")
    seen(visit.page, "Links, forms and cookies")
    visit.judge("an emergency")
    visit.press("Revoke all of it")
    visit.settle()
    visit.judge("the question before an emergency's end")
    finish(visit, "user:victim")
    assert not world.gateway.items("api-keys?principal=user:victim"), "its keys are gone"
    allowed = world.gateway.items("grants?principal=user:victim&effect=allow")
    assert not allowed, allowed
    assert world.issue(victim, "victim/a.txt") is None, "it gets nothing any more"


@step
def a_place_is_closed_in_one_step(walk):
    visit, world = walk.admin, walk.world
    user = world.person("reader")
    world.grant("user:reader", "leak/")
    assert world.issue(user, "leak/a.txt")
    visit.go(f"#/emergency?about=place&bucket={world.bucket}&prefix=leak/")
    visit.judge("an emergency of a place")
    visit.press("Revoke all of it")
    visit.settle()
    finish(visit, world.bucket)
    assert world.issue(user, "leak/a.txt") is None, "nobody gets it any more"


@step
def all_grants_of_a_place_are_removed_in_one_step(walk):
    """There are more than a page of a list holds, and one of them goes while the question is open."""
    visit, world = walk.admin, walk.world
    writes = [
        {"principal": "user:spiller", "bucket": world.bucket, "prefix": f"spill/{index}/", "actions": ["GetObject"]}
        for index in range(1101)]
    made = world.gateway.admin("POST", "grants:apply", {"writes": writes})["writes"]
    # Each of many changes of one request is shown, and the others are not counted to the end.
    for grant in (made[0], made[-1]):
        visit.go(f"#/audit?resourceID={grant['id']}")
        visit.page.locator("main tbody .row-link").first.click()
        visit.settle()
        words = re.compile("^(999|1,000) or more other changes of this request")
        expect(visit.main.get_by_text(words).first).to_be_visible()
    visit.go(f"#/emergency?about=place&bucket={world.bucket}&prefix=spill/")
    visit.press("Revoke all of it")
    visit.dialog.get_by_text("Remove the grants here", exact=True).click()
    seen(visit.page, "Remove 1,101 grants")
    visit.settle()
    visit.judge("the removal of many grants")
    world.gateway.admin("DELETE", f"grants/{made[500]['id']}")
    with visit.refused(404):
        finish(visit, world.bucket)
    left = world.gateway.items("grants?principal=user:spiller")
    assert not left, f"{len(left)} grants or more are left"


@step
def an_emergency_is_ended_before_an_update_is(walk):
    """Until `sluice migrate --finish`, the database refuses grants that name actions of the new version."""
    visit, world = walk.admin, walk.world
    user = world.person("early")
    world.grant("user:early", "early/")
    assert world.issue(user, "early/a.txt")
    refusal = json.dumps({
        "title": "The change contradicts existing rows", "status": 409, "code": "Conflict",
        "detail": "The update of the database is not finished, and gateways of the version before know neither "
                  "ListObjects and DeleteObject nor links to a CDN. Run 'sluice migrate --finish' first."})

    def answer(route):
        if "ListObjects" in route.request.post_data:
            route.fulfill(status=409, content_type="application/problem+json", body=refusal)
        else:
            route.continue_()

    def denied(principal: str, prefix: str) -> list:
        rows = world.gateway.items(f"grants?principal={quote(principal)}&effect=deny&prefix={prefix}")
        return [row["actions"] for row in rows if row["bucket"] == world.bucket]

    visit.page.route("**/grants:apply*", answer)
    # Who revokes twice asks for what is there already.
    for _ in range(2):
        visit.go(f"#/emergency?about=place&bucket={world.bucket}&prefix=early/")
        visit.press("Revoke all of it")
        visit.settle()
        with visit.refused(409):
            finish(visit, world.bucket)
        assert denied("*", "early/") == [["GetObject", "PutObject"]], "at a place"
        visit.go("#/emergency?principal=user:caught")
        visit.press("Revoke all of it")
        visit.settle()
        with visit.refused(409):
            finish(visit, "user:caught")
        assert denied("user:caught", "") == [["GetObject", "PutObject"]], "a person"
    visit.page.unroute("**/grants:apply*")
    assert world.issue(user, "early/a.txt") is None, "nobody gets it any more"


@step
def a_person_is_offboarded_in_one_step(walk):
    visit, world = walk.admin, walk.world
    visit.go("#/offboarding?principal=user:leaver")
    seen(visit.page, "What gives access")
    visit.judge("an offboarding")
    visit.main.get_by_role("button", name="Remove 3 rows").click()
    finish(visit, "user:leaver")
    seen(visit.page, "3 rows removed")
    assert not world.gateway.items("api-keys?principal=user:leaver")
    assert not world.gateway.items("grants?principal=user:leaver")


def finish(visit, typed: str) -> None:
    """Confirms a question, and types what it asks for."""
    expect(visit.dialog).to_be_visible()
    field = visit.dialog.locator("input[type=text]")
    if field.count():
        field.last.fill(typed)
    visit.dialog.locator(".dialog-foot .button.danger").click()
    end = time.monotonic() + 20
    visit.settle()
    while visit.dialog.count() and time.monotonic() < end:
        close = visit.dialog.locator(".dialog-foot").get_by_role("button", name="Close")
        if close.count():
            close.click()
        visit.settle()
    expect(visit.dialog).to_have_count(0)
