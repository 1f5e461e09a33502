"""Dialogs that wait for an answer. A person may leave them, and is told what becomes of the change."""

import json

from playwright.sync_api import expect

from forms import change, field
from rows import Gateway
from visits import Visit, seen

STEPS = []
# How long a dialog waits before it offers to close, in milliseconds.
PATIENCE = 10_000


def step(function):
    STEPS.append(function)
    return function


def arrive(walk) -> Visit:
    """Signs an admin in. The clock of the page can be moved."""
    visit = walk.visit()
    visit.page.clock.install()
    return visit.sign_in(walk.world.keys["root"], "#/home")


def offer(visit):
    """What a dialog offers that has waited for long enough."""
    return visit.dialog.locator(".dialog-late").get_by_role("button", name="Close")


def close_late(visit) -> None:
    visit.page.clock.fast_forward(PATIENCE)
    expect(offer(visit)).to_be_visible()
    visit.judge("a dialog that waits", on_phone=False)
    offer(visit).click()
    expect(visit.dialog).to_have_count(0)


def go_back(visit) -> None:
    visit.page.go_back()
    expect(visit.dialog).to_have_count(0)


def refuse(route) -> None:
    problem = {"title": "The store cannot be reached", "status": 503, "code": "Unavailable", "detail": "Try it later."}
    route.fulfill(status=503, content_type="application/problem+json", body=json.dumps(problem))


def told(visit, words: str) -> None:
    expect(visit.page.locator(".toast").filter(has_text=words).first).to_be_visible()


def closed_place(walk, prefix: str) -> tuple:
    """Makes uploads in parts for an emergency to end. Returns a function that tells their states."""
    world = walk.world
    name = prefix.rstrip("/")
    user = world.person(name)
    world.grant(f"user:{name}", prefix)
    ids = [
        user.call("POST", "/v1/multipart-uploads", {
            "bucket": world.bucket, "key": f"{prefix}{index}.bin", "contentType": "text/plain",
            "contentLength": 6_000_000})["id"]
        for index in range(2)]
    return lambda: [world.gateway.admin("GET", f"multipart-uploads/{id}")["state"] for id in ids]


def ask_to_close(visit, bucket: str, prefix: str) -> None:
    """Asks to revoke all access to a prefix, up to the last button."""
    visit.go(f"#/emergency?about=place&bucket={bucket}&prefix={prefix}")
    visit.press("Revoke all of it")
    visit.settle()
    visit.dialog.locator("input[type=text]").fill(bucket)


@step
def a_dialog_waits_anew_after_each_answer(walk):
    visit, world = arrive(walk), walk.world
    for index in range(3):
        world.gateway.admin("POST", "groups/group%3Aslow/members", {"member": f"user:slow.{index}"})
    visit.go("#/groups/group:slow")
    visit.page.get_by_label("Choose all rows").check()
    visit.press("Remove")
    with visit.unanswered("**/members/*", "Remove") as held:
        visit.page.clock.fast_forward(PATIENCE * 0.55)
        with visit.page.expect_request("**/members/*"):
            held.pop().continue_()
        visit.page.clock.fast_forward(PATIENCE * 0.55)
        expect(offer(visit)).to_have_count(0)
        visit.page.clock.fast_forward(PATIENCE * 0.6)
        expect(offer(visit)).to_be_visible()
    visit.done("3 members removed")
    assert not world.gateway.items("groups/group%3Aslow/members")


@step
def what_failed_is_told_after_its_dialog_was_left(walk):
    visit, world = arrive(walk), walk.world
    states = closed_place(walk, "late/")
    ask_to_close(visit, world.bucket, "late/")
    with visit.refused(503):
        with visit.unanswered("**/admin/v1/multipart-uploads/*", "Revoke", refuse):
            close_late(visit)
        told(visit, "Not everything was revoked. Abort 2 unfinished uploads: The store cannot be reached")
    assert states() == ["open", "open"]

    # The rows that are left are listed, and those that are done are not.
    for index in range(2):
        world.gateway.admin("POST", "groups/group%3Aleft/members", {"member": f"user:left.{index}"})
    visit.go("#/groups/group:left")
    visit.page.get_by_label("Choose all rows").check()
    visit.press("Remove")
    with visit.refused(503):
        with visit.unanswered("**/members/*", "Remove", refuse) as held:
            with visit.page.expect_request("**/members/*"):
                held.pop().continue_()
            close_late(visit)
        told(visit, "The store cannot be reached")
    expect(visit.page.locator("main tbody tr")).to_have_count(1)
    assert len(world.gateway.items("groups/group%3Aleft/members")) == 1


@step
def a_change_goes_on_when_the_person_goes_back(walk):
    visit, world = arrive(walk), walk.world
    states = closed_place(walk, "gone/")
    ask_to_close(visit, world.bucket, "gone/")
    with visit.unanswered("**/grants:apply*", "Revoke"):
        go_back(visit)
        assert visit.heading() == "Home"
    told(visit, "Revoked on every gateway")
    assert states() == ["aborted", "aborted"]
    assert visit.page.url.endswith("#/home"), "the person stays where it went"

    # Nobody goes on in the name of a person who has signed out.
    made = world.grant("user:gone", "kept/")
    visit.go(f"#/grants/{made}")
    visit.press("Delete")
    visit.settle()
    with visit.unanswered(f"**/grants/{made}", "Delete", lambda route: route.abort()):
        go_back(visit)
        visit.press("Signed in as user:root", visit.page.locator(".bar"))
        visit.page.get_by_role("menuitem", name="Sign out").click()
        visit.page.locator(".sign-in").wait_for()
    expect(visit.page.locator(".toast")).to_have_count(0)
    world.gateway.admin("DELETE", f"grants/{made}")


@step
def a_secret_is_shown_after_its_dialog_was_left(walk):
    visit, world = arrive(walk), walk.world
    made = world.gateway.admin("POST", "api-keys", {"name": "left", "principal": "user:left"})
    world.secrets.append(made["key"])
    visit.go(f"#/api-keys/{made['id']}")
    for leave in (close_late, go_back):
        visit.press("Rotate")
        visit.dialog.get_by_label("The previous secret stays valid for").fill("0 s")
        with visit.unanswered("**/admin/v1/api-keys/*", "Rotate"):
            leave(visit)
        expect(visit.dialog.get_by_text("The rotated API key")).to_be_visible()
        secret = visit.dialog.locator(".secret code").first.inner_text().strip()
        world.secrets.append(secret)
        assert Gateway(world.origin, secret).call("GET", "/v1/access")["principal"] == "user:left"
        visit.press("I have kept it", visit.dialog)
        visit.settle()
    assert visit.page.url.endswith("#/home"), "the person stays where it went"
    world.gateway.admin("DELETE", f"api-keys/{made['id']}", If_Match="*")


def return_is_asked_about(walk, visit) -> None:
    """Goes back from a form and from a new secret, and then from the list of keys."""
    world = walk.world
    visit.sign_in(world.keys["root"], "#/home")
    visit.go("#/groups")
    visit.go("#/api-keys")
    visit.page.evaluate("document.querySelector('main h1').dataset.mark = 'same'")

    def asked(words: str) -> None:
        visit.page.go_back()
        expect(visit.dialog.get_by_text(words)).to_be_visible()
        visit.page.wait_for_url("**/#/api-keys")
        visit.settle()
        expect(visit.main.locator("h1")).to_have_attribute("data-mark", "same")

    visit.press("New API key")
    field(visit, "Name").fill("not lost")
    field(visit, "Principal").fill("user:kept")
    for _ in range(2):
        asked("Discard what you wrote?")
    assert field(visit, "Name").input_value() == "not lost"
    visit.press("Create", visit.dialog)
    expect(visit.dialog.get_by_text("The new API key")).to_be_visible()
    secret = visit.dialog.locator(".secret code").first.inner_text().strip()
    world.secrets.append(secret)
    asked("Did you keep it?")
    assert Gateway(world.origin, secret).call("GET", "/v1/access")["principal"] == "user:kept"
    expect(visit.dialog.locator(".secret code").first).to_have_text(secret)
    go_back(visit)
    visit.page.wait_for_url("**/#/groups")
    expect(visit.main.locator("h1")).to_have_text("Groups")
    visit.page.go_forward()
    expect(visit.main.locator("h1")).to_have_text("API keys")
    visit.settle()
    (made,) = world.gateway.items("api-keys?principal=user:kept")
    world.gateway.admin("DELETE", f"api-keys/{made['id']}", If_Match="*")


@step
def going_back_asks_before_something_is_lost(walk):
    """A new secret that nobody has yet, and what somebody wrote. Some browsers do not number the entries of history."""
    old, visit = walk.visit(), walk.visit()
    old.context.add_init_script("Object.defineProperty(window, 'navigation', { value: undefined })")
    return_is_asked_about(walk, old)
    return_is_asked_about(walk, visit)

    # An address that somebody enters is like a link.
    visit.press("New API key")
    field(visit, "Name").fill("linked")
    visit.page.evaluate("location.hash = '#/issuers'")
    expect(visit.dialog.get_by_text("Discard what you wrote?")).to_be_visible()
    visit.page.wait_for_url("**/#/api-keys")
    visit.press("Discard", visit.dialog)
    visit.page.go_back()
    expect(visit.main.locator("h1")).to_have_text("Groups")
    visit.settle()


def lose(visit, pattern: str, name: str, within=None) -> str | None:
    """Presses a button whose request takes effect, and loses the answer. Returns the key of the request, if any."""
    keys = []

    def take(route) -> None:
        if route.request.method == "GET":
            route.continue_()
            return
        keys.append(route.request.headers.get("idempotency-key"))
        route.fetch()
        route.abort()

    visit.page.route(pattern, take)
    visit.press(name, within or visit.dialog)
    expect(visit.page.get_by_role("alert").filter(has_text="The gateway cannot be reached")).to_be_visible()
    visit.page.unroute(pattern)
    visit.problems = [found for found in visit.problems if "net::ERR_FAILED" not in found]
    return keys[0]


@step
def what_is_sent_again_takes_effect_once(walk):
    """The answer to a new row, and to a rotation, is lost. The person presses the button again."""
    visit, world = arrive(walk), walk.world
    visit.go("#/api-keys")
    visit.press("New API key")
    field(visit, "Name").fill("sent twice")
    field(visit, "Principal").fill("user:again")
    first = lose(visit, "**/admin/v1/api-keys", "Create")
    with visit.page.expect_request(lambda request: request.method == "POST") as request:
        visit.press("Create", visit.dialog)
    assert request.value.headers["idempotency-key"] == first
    expect(visit.dialog.get_by_text("The new API key")).to_be_visible()
    secret = visit.dialog.locator(".secret code").first.inner_text().strip()
    (made,) = world.gateway.items("api-keys?principal=user:again")
    visit.press("I have kept it", visit.dialog)

    visit.go(f"#/api-keys/{made['id']}")
    visit.press("Rotate")
    visit.dialog.get_by_label("The previous secret stays valid for").fill("1 h")
    lose(visit, "**/admin/v1/api-keys/*", "Rotate")
    visit.press("Rotate", visit.dialog)
    expect(visit.dialog.get_by_text("The rotated API key")).to_be_visible()
    turned = visit.dialog.locator(".secret code").first.inner_text().strip()
    for key in (secret, turned):
        assert Gateway(world.origin, key).call("GET", "/v1/access")["principal"] == "user:again"
    # A copy that failed keeps nothing.
    visit.page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('No copy is made')); }")
    visit.press("Copy the secret", visit.dialog)
    told(visit, "No copy is made")
    visit.page.keyboard.press("Escape")
    expect(visit.dialog.get_by_text("Did you keep it?")).to_be_visible()
    visit.press("I have kept it", visit.dialog)
    visit.settle()
    world.secrets += [secret, turned]
    world.gateway.admin("DELETE", f"api-keys/{made['id']}", If_Match="*")


@step
def a_link_is_issued_once_for_those_who_press_again(walk):
    visit, world = arrive(walk), walk.world
    made = world.grant("user:twice", "twice/")

    def issued() -> int:
        return len(world.gateway.items(f"issuances?prefix=twice/a.txt&bucket={world.bucket}"))

    visit.go(f"#/try?principal=user:twice&bucket={world.bucket}&key=twice/a.txt")
    seen(visit.page, "Permitted")
    first = lose(visit, "**/v1/presigned-urls", "Issue the link", visit.main)
    with visit.page.expect_request("**/v1/presigned-urls") as request:
        visit.press("Issue the link")
    assert request.value.headers["idempotency-key"] == first
    visit.settle()
    seen(visit.page, "Size enforced by")
    assert issued() == 1
    # Another one is asked for on purpose.
    with visit.page.expect_request("**/v1/presigned-urls") as request:
        visit.press("Issue the link")
    assert request.value.headers["idempotency-key"] != first
    visit.settle()
    assert issued() == 2
    world.gateway.admin("DELETE", f"grants/{made}")


@step
def what_is_removed_again_is_told_as_it_was(walk):
    """The answers to changes of many rows are lost. The person presses each button again."""
    visit, world = arrive(walk), walk.world
    user = world.person("undone")
    for index in range(2):
        world.grant("user:undone", f"undone/{index}/")
    ticket = {"bucket": world.bucket, "prefix": "undone/0/"}
    user.call("POST", "/v1/tickets", ticket)
    visit.go("#/tickets?principal=user:undone")
    visit.press("Revoke all of this user")
    lose(visit, "**/tickets:revoke*", "Revoke all")
    visit.press("Revoke all", visit.dialog)
    told(visit, "1 ticket revoked")

    visit.go("#/grants?principal=user:undone")
    visit.page.get_by_label("Choose all rows").check()
    visit.press("Change")
    visit.dialog.get_by_label("Member", exact=True).select_option("note")
    field(visit, "Note").fill("Changed once")
    visit.press("Review", visit.dialog)
    visit.settle()
    lose(visit, "**/grants:apply*", "Change 2 grants")
    visit.press("Change 2 grants", visit.dialog)
    visit.done("Changed 2 grants")
    visit.settle()
    visit.press("More")
    visit.page.get_by_role("menuitem", name="Delete all that match").click()
    visit.settle()
    lose(visit, "**/grants:apply*", "Delete")
    visit.press("Delete", visit.dialog)
    visit.done("Deleted 2 grants")

    world.grant("user:undone", "undone/2/")
    visit.go("#/offboarding?principal=user:undone")
    visit.main.get_by_role("button", name="Remove").first.click()
    visit.dialog.locator("input[type=text]").fill("user:undone")
    lose(visit, "**/admin/v1/principals/*", "Remove")
    visit.press("Remove", visit.dialog)
    seen(visit.page, "rows removed")
    assert not world.gateway.items("grants?principal=user:undone")


@step
def a_row_that_was_changed_without_an_answer_has_changed(walk):
    visit, world = arrive(walk), walk.world
    made = world.gateway.admin("POST", "api-keys", {"name": "unheard", "principal": "user:unheard"})
    world.secrets.append(made["key"])
    visit.go(f"#/api-keys/{made['id']}")
    change(visit)
    field(visit, "Name").fill("heard")
    lose(visit, f"**/admin/v1/api-keys/{made['id']}", "Save")
    with visit.refused(412):
        visit.press("Save", visit.dialog)
        seen(visit.page, "an attempt of yours did that was not answered")
    visit.press("Cancel", visit.dialog)
    visit.press("Discard", visit.dialog)
    assert world.gateway.admin("GET", f"api-keys/{made['id']}")["name"] == "heard"
    world.gateway.admin("DELETE", f"api-keys/{made['id']}", If_Match="*")


@step
def a_late_answer_closes_no_other_dialog(walk):
    visit, world = arrive(walk), walk.world
    made = world.gateway.admin("POST", "api-keys", {"name": "slow", "principal": "user:slow"})
    world.secrets.append(made["key"])
    visit.go(f"#/api-keys/{made['id']}")
    change(visit)
    field(visit, "Name").fill("renamed late")
    answers = []
    with visit.unanswered(
            f"**/admin/v1/api-keys/{made['id']}", "Save", lambda route: route.fulfill(response=answers[0])) as held:
        close_late(visit)
        # The gateway has changed the row before the next request, and its answer comes after that one's.
        answers.append(held[0].fetch())
        visit.press("Rotate")
        visit.press("Rotate", visit.dialog)
        expect(visit.dialog.get_by_text("The rotated API key")).to_be_visible()
    told(visit, "Saved")
    world.secrets.append(visit.dialog.locator(".secret code").first.inner_text().strip())
    expect(visit.main.locator("h1")).to_have_text("slow")
    visit.press("I have kept it", visit.dialog)
    expect(visit.main.locator("h1")).to_have_text("renamed late")
    visit.settle()
    world.gateway.admin("DELETE", f"api-keys/{made['id']}", If_Match="*")


@step
def a_refused_bucket_is_told_to_a_person_who_left_its_steps(walk):
    visit = arrive(walk)
    visit.go("#/buckets?new=1")
    visit.main.get_by_role("button", name="S3-compatible").click()
    visit.settle()
    visit.main.locator(".choice").first.click()
    for name, value in (("Name", "left-behind"), ("Endpoint", "https://store.example"), ("Region", "eu-west-1")):
        field(visit, name).fill(value)
    with visit.refused(503):
        with visit.unanswered("**/admin/v1/buckets", "Create and test", refuse, within=visit.main):
            visit.page.go_back()
            expect(visit.main.locator("h1")).to_have_text("Home")
        told(visit, "The store cannot be reached")


@step
def no_link_is_issued_for_a_person_who_left(walk):
    visit, world = arrive(walk), walk.world
    before = world.gateway.items("api-keys?principal=user:alice")
    visit.go(f"#/try?principal=user:alice&bucket={world.bucket}&key=alice/left.txt")
    seen(visit.page, "Permitted")
    with visit.unanswered("**/admin/v1/api-keys", "Issue the link", within=visit.main):
        visit.page.go_back()
        expect(visit.main.locator("h1")).to_have_text("Home")
    assert world.gateway.items("api-keys?principal=user:alice") == before, "the key that would have issued it is gone"
    assert not world.gateway.items(f"issuances?prefix=alice/left.txt&bucket={world.bucket}")


@step
def an_answer_about_another_request_is_dropped(walk):
    """The form of a request changes while the gateway decides it."""
    visit, world = arrive(walk), walk.world
    visit.go(f"#/try?principal=user:alice&bucket={world.bucket}&key=alice/a.txt")
    seen(visit.page, "Permitted")
    with visit.unanswered("**/admin/v1/explain", "Ask what would be decided", within=visit.main):
        field(visit, "Key").fill("alice/private/a.txt")
    expect(visit.main.get_by_text("Permitted")).to_have_count(0)
    expect(visit.main.get_by_role("button", name="Issue the link")).to_have_count(0)


@step
def a_replay_ends_with_its_dialog(walk):
    visit, world = arrive(walk), walk.world
    made = world.grant("user:replayed", "replayed/")
    asked = []
    part = {
        "from": "2030-01-01T00:00:00Z", "to": "2030-01-08T00:00:00Z", "examinedFrom": "2030-01-07T00:00:00Z",
        "isComplete": False, "nextPageToken": "more", "examined": 1, "refused": 0, "refusedAlready": 0,
        "permittedAnew": 0, "uncertain": 0, "principals": [], "grants": [], "hasMoreShares": False, "examples": []}
    visit.page.route("**/admin/v1/simulate", lambda route: asked.append(route))

    def answer() -> None:
        asked.pop().fulfill(status=200, content_type="application/json", body=json.dumps(part))

    visit.go(f"#/grants/{made}")
    with visit.page.expect_request("**/admin/v1/simulate"):
        visit.press("Delete")
    with visit.page.expect_request("**/admin/v1/simulate"):
        answer()
    visit.press("Cancel", visit.dialog)
    expect(visit.dialog).to_have_count(0)
    answer()
    visit.settle()
    assert not asked, "nobody looks at the next part"
    visit.page.unroute("**/admin/v1/simulate")
    world.gateway.admin("DELETE", f"grants/{made}")


@step
def an_import_is_told_after_its_dialog_was_left(walk):
    visit, world = arrive(walk), walk.world
    line = {"principal": "user:importer", "bucket": world.bucket, "prefix": "importer/", "actions": ["GetObject"]}

    def send(leave, answer) -> None:
        visit.go("#/grants?principal=user:importer")
        visit.press("More")
        visit.page.get_by_role("menuitem", name="Import a file").click()
        visit.dialog.locator("input[type=file]").set_input_files(
            {"name": "grants.ndjson", "mimeType": "application/x-ndjson", "buffer": json.dumps(line).encode()})
        visit.press("Try", visit.dialog)
        visit.settle()
        with visit.unanswered("**/grants:import*", "Import: 1 change", answer):
            leave(visit)

    with visit.refused(503):
        send(go_back, refuse)
        told(visit, "The store cannot be reached")
    send(close_late, lambda route: route.continue_())
    told(visit, "1 created, 0 changed, 0 deleted")
    seen(visit.page, "importer/")
