"""Each view opens, shows its rows, and is well formed."""

import json
import re
import time

from playwright.sync_api import expect

from forms import field
from rows import LONG, TAG, Refused
from visits import seen

STEPS = []


def step(function):
    STEPS.append(function)
    return function


# What each view has to show, by name.
EXPECTED = {
    "home": "user:alice",
    "access": "May it?",
    "grants": f"user:{TAG}",
    "try": "First the gateway is only asked",
    "quotas": f"user:{TAG}",
    "ledger": LONG[:31],
    "denials": f"user:{TAG}",
    "uploads": "alice/note.txt",
    "audit": "user:root",
    "requests": "Request",
    "buckets": "BUCKET",
    "credentials": "BUCKET",
    "issuers": "127.0.0.1",
    "api-keys": TAG,
    "groups": f"group:{TAG}",
    "tickets": TAG,
    "multipart": TAG,
    "gateways": "live",
    "emergency": "Which person?",
    "offboarding": "List what the user has",
}


def opens(name: str):
    def open_view(walk):
        visit = walk.admin
        visit.go(f"#/{name}")
        assert visit.page.locator(".page-head h1").count() == 1, "it has one heading"
        assert visit.page.locator("main .message.bad").count() == 0, visit.main.inner_text()
        seen(visit.page, EXPECTED[name].replace("BUCKET", walk.order["bucket"]))
        visit.judge(name)

    open_view.__name__ = f"the view {name} opens"
    return open_view


STEPS += [opens(name) for name in EXPECTED]


@step
def no_other_view_exists(walk):
    names = walk.admin.page.evaluate("import('/console/views.js').then((all) => all.views.map((view) => view.name))")
    assert set(names) == set(EXPECTED), set(names) ^ set(EXPECTED)


@step
def each_row_has_a_page(walk):
    """The pages of single rows, and answers to questions, as an address opens them."""
    bucket, ids = walk.order["bucket"], walk.world.ids
    addresses = {
        f"grants/{ids['grant']}": "Changed <img",
        f"quotas/{ids['quota']}": "500",
        f"ledger/{ids['issuance']}": "alice/note.txt",
        f"access?principal=user:alice&bucket={bucket}&key=alice/a.txt": "Permitted",
        "access?principal=user:alice": "shared/",
        f"access?bucket={bucket}&key=alice/private/a.txt": "user:alice",
        f"try?principal=user:alice&bucket={bucket}&key=alice/private/a.txt": "Refused",
        f"grants?principal=user:nobody": "No grant matches",
    }
    for address, text in addresses.items():
        walk.admin.go(f"#/{address}")
        seen(walk.admin.page, text)
        walk.admin.judge(address[:40])
    # A change, and the request that made it.
    walk.admin.go("#/audit?kind=Grant&operation=update")
    walk.admin.page.locator("tbody .row-link").first.click()
    walk.admin.settle()
    seen(walk.admin.page, f"Changed {TAG}")
    walk.admin.judge("a change")
    walk.admin.main.get_by_role("link", name="The request").click()
    walk.admin.settle()
    assert "#/requests/" in walk.admin.page.url
    walk.admin.judge("a request")


@step
def a_question_that_is_wrong_keeps_its_form(walk):
    """A field under "More" that makes no sense, and a user whom the gateway does not know for one."""
    visit, bucket = walk.admin, walk.order["bucket"]
    visit.go(f"#/access?principal=user:alice&bucket={bucket}&key=alice/a.txt")
    asked = visit.page.url
    more = visit.main.locator("summary").filter(has_text="More about the request")
    more.click()
    field(visit, "Content length").fill("many")
    more.click()
    visit.press("Ask")
    expect(field(visit, "Content length")).to_be_focused()
    assert field(visit, "Content length").get_attribute("aria-invalid") == "true"
    assert visit.page.url == asked, "another question would be asked"
    visit.judge("a question that is wrong", on_phone=False)
    field(visit, "Content length").fill("5")
    visit.press("Ask")
    visit.settle()
    assert visit.page.url.startswith(asked) and "contentLength%22:5" in visit.page.url, "what is under More was not asked"
    with visit.refused(400):
        visit.go(f"#/access?principal=alice&bucket={bucket}&key=alice/a.txt")
        expect(visit.main.get_by_role("alert")).to_be_visible()
        assert field(visit, "Principal").input_value() == "alice"
        visit.judge("a question that is refused", on_phone=False)


@step
def an_outage_is_said_where_the_gateway_is_watched(walk):
    """The pages look every few seconds; here, twice a second. A menu that is open stays open meanwhile."""
    visit = walk.visit()
    visit.context.add_init_script(
        "{ const every = setInterval; window.setInterval = (run, delay) => every(run, Math.min(delay, 500)); }")
    visit.sign_in(walk.world.keys["root"], "#/gateways")
    visit.main.get_by_role("button", name="Columns").click()
    for _ in range(2):
        with visit.page.expect_response("**/admin/v1/gateways*"):
            pass
    expect(visit.page.locator(".menu:popover-open")).to_have_count(1)
    status = visit.main.locator(".live-status")
    expect(status).to_have_text("Waits until you leave the table")
    visit.page.keyboard.press("Escape")
    visit.page.route("**/admin/v1/gateways*", lambda route: route.abort())
    expect(status).to_have_text("The gateway cannot be reached")
    expect(status).to_have_class(re.compile(r"\bbad\b"))
    visit.page.unroute("**/admin/v1/gateways*")
    expect(status).to_have_text("Waits until you leave the table")
    expect(status).not_to_have_class(re.compile(r"\bbad\b"))
    visit.page.evaluate("document.activeElement.blur()")
    expect(status).to_have_text("")

    visit.go("#/ledger?live=true")
    expect(status).to_have_text("0 new rows")
    visit.page.route("**/admin/v1/issuances*", lambda route: route.abort())
    expect(status).to_have_text("The gateway cannot be reached")
    expect(status).to_have_class(re.compile(r"\bbad\b"))
    visit.page.unroute("**/admin/v1/issuances*")
    expect(status).to_have_text("0 new rows")
    expect(status).not_to_have_class(re.compile(r"\bbad\b"))
    visit.problems = [found for found in visit.problems if "net::ERR_FAILED" not in found]


@step
def filters_live_in_the_address(walk):
    visit = walk.admin
    visit.go("#/grants")
    field = visit.main.get_by_role("group", name="Filters").get_by_label("Principal")
    field.fill("user:alice")
    field.press("Enter")
    visit.settle()
    assert "principal=user" in visit.page.url
    found = visit.page.locator("main tbody tr")
    expect(found.filter(has_text=walk.world.bucket)).to_have_count(2)
    expect(found.filter(has_text=f"user:{TAG}")).to_have_count(0)
    expect(field).to_be_focused()
    visit.go("#/audit")
    kind = visit.main.get_by_role("group", name="Filters").get_by_label("Kind")
    kind.focus()
    kind.select_option("Grant")
    visit.settle()
    assert "kind=Grant" in visit.page.url
    expect(kind).to_be_focused()
    visit.go("#/grants?principal=user:alice")
    visit.go("#/ledger")
    visit.page.go_back()
    visit.settle()
    expect(found.filter(has_text=walk.world.bucket)).to_have_count(2)
    expect(found.filter(has_text=f"user:{TAG}")).to_have_count(0)


@step
def the_keyboard_is_enough(walk):
    visit = walk.admin
    keys = visit.page.keyboard
    visit.go("#/home")
    listed = visit.page.evaluate(
        "import('/console/views.js').then((all) => all.views.filter((v) => v.key).map((v) => [v.key, v.name]))")
    assert len({key for key, _ in listed}) == len(listed), "each key goes to one view"
    for key, name in listed:
        keys.type(f"g{key}")  # Both within a second and a half.
        visit.page.wait_for_url(f"**/#/{name}*")
        visit.settle()
        assert visit.page.evaluate("document.activeElement.matches('h1')"), f"{name}: the focus is on the title"
    keys.press("/")
    keys.type("user:alice")
    visit.page.get_by_role("option").first.wait_for()
    keys.press("ArrowDown")
    keys.press("ArrowUp")
    keys.press("Enter")
    visit.settle()
    assert "#/access?principal=user%3Aalice" in visit.page.url or "#/access?principal=user:alice" in visit.page.url
    keys.press("?")
    expect(visit.dialog).to_be_visible()
    visit.judge("the list of keys", on_phone=False)
    keys.press("Escape")
    expect(visit.dialog).to_have_count(0)
    # What gets the focus while a dialog closes keeps it, so that nothing that is typed is lost.
    keys.press("?")
    expect(visit.dialog).to_be_visible()
    visit.page.evaluate(
        "document.querySelector('dialog[open]').close(); document.querySelector('input[type=search]').focus()")
    expect(visit.page.locator("dialog")).to_have_count(0)
    assert visit.page.evaluate("document.activeElement.matches('input[type=search]')"), "the search keeps the focus"
    visit.page.evaluate("document.activeElement.blur()")

    # Google Cloud Storage has buckets with an underscore.
    search = visit.page.locator("input[type=search]").first
    search.fill("my_app_uploads/users/a.jpg")
    expect(visit.page.get_by_role("option").filter(has_text="Who may reach it?")).to_have_count(1)
    search.fill("")
    visit.page.evaluate("document.activeElement.blur()")

    # A grant without touching the mouse: open, write, leave by Escape, and keep what was written until it is discarded.
    keys.press("/")
    keys.type(f"{walk.world.bucket}/shared/")
    visit.page.get_by_role("option").first.wait_for()
    keys.press("Enter")
    visit.settle()
    rows = visit.main.locator("tbody tr").all_inner_texts()
    assert len(rows) == 1 and "group:staff" in rows[0], f"who may reach the prefix that was typed: {rows}"

    visit.go("#/grants")
    keys.press("n")
    expect(visit.dialog).to_be_visible()
    assert visit.page.evaluate("document.activeElement.closest('dialog') !== null"), "the dialog has the focus"
    keys.type("user:typed")
    keys.press("Escape")
    seen(visit.page, "Discard what you wrote?")
    visit.press("Discard", visit.dialog)
    expect(visit.dialog).to_have_count(0)

    # Tab reaches all that can be pressed, in an order that never gets stuck.
    visit.page.evaluate("() => { document.activeElement.blur(); window.reached = new Set(); }")
    for _ in range(40):
        keys.press("Tab")
        visit.page.evaluate("() => { reached.add(document.activeElement) }")
    reached = visit.page.evaluate("reached.size")
    assert reached > 30, f"40 tabs reach {reached} elements"


@step
def each_page_shows_its_commands(walk):
    visit = walk.admin
    visit.go("#/grants?principal=user:alice")
    visit.page.keyboard.press("c")
    panel = visit.page.get_by_role("complementary", name="Commands")
    expect(panel).to_be_visible()
    lines = panel.inner_text()
    assert "sluice admin grants list --principal user:alice" in lines, lines
    assert "curl" in lines and walk.world.keys["root"] not in lines, "no command shows the key"
    visit.judge("the commands")
    visit.page.keyboard.press("c")
    expect(panel).to_be_hidden()
    # Unlike a member of a body, a filter is never the name of a file.
    visit.go("#/grants?prefix=%40x%2F")
    visit.page.keyboard.press("c")
    expect(panel).to_contain_text("sluice admin grants list --prefix @x/")
    visit.page.keyboard.press("c")
    expect(panel).to_be_hidden()


@step
def keys_can_be_turned_off(walk):
    """Those who dictate press keys by speaking."""
    visit = walk.visit().sign_in(walk.world.keys["root"], "#/grants")
    keys, bar = visit.page.keyboard, visit.page.locator(".bar")
    panel = visit.page.get_by_role("complementary", name="Commands")
    opened = {"n": visit.dialog, "?": visit.dialog, "c": panel, "/": bar.locator("input:focus")}

    def turn(on: bool) -> None:
        visit.press("Signed in as user:root", bar)
        visit.page.get_by_role("menuitem", name="Keys").click()
        visit.dialog.get_by_label("Single keys").set_checked(on)
        visit.judge("the choice of keys", on_phone=False)
        visit.press("Close", visit.dialog)
        expect(visit.dialog).to_have_count(0)
        visit.page.evaluate("document.activeElement.blur()")

    turn(False)
    visit.page.reload()
    visit.sign_in(walk.world.keys["root"], "#/grants")
    visit.page.evaluate("document.activeElement.blur()")
    for key, there in opened.items():
        keys.press(key)
        expect(there.filter(visible=True)).to_have_count(0)
    keys.type("gh")
    visit.settle()
    assert visit.page.url.endswith("#/grants")
    turn(True)
    keys.press("c")
    expect(panel).to_be_visible()


@step
def a_refused_request_fits_a_phone(walk):
    visit, world = walk.admin, walk.world
    try:
        world.user("alice").call(
            "POST", "/v1/presigned-urls", {"action": "GetObject", "bucket": world.bucket, "key": "elsewhere/a.txt"})
        raise AssertionError("it is not refused")
    except Refused as refusal:
        request = re.search(r'"requestID":"([^"]+)"', str(refusal))[1]
    visit.go(f"#/requests/{request}")
    seen(visit.page, "What would permit this?")
    seen(visit.page, "Complete it, and it is compared.")
    visit.judge("a refused request")


@step
def a_field_says_which_principals_it_takes(walk):
    visit = walk.admin
    user, group = "Write user:name.", "Write group:name."
    for address, opener, label, word, wrong, words in (
        ("offboarding", None, "Principal", "List what the user has", "group:staff", user),
        ("try", None, "Principal", "Ask what would be decided", "group:staff", user),
        ("api-keys", "New API key", "Principal", "Create", "group:staff", user),
        ("groups", "New group", "Member", "Add", "group:staff", user),
        ("groups", "New group", "Group", "Add", "user:alice", group),
        ("quotas", "New quota", "Principal", "Create", "alice", "Write user:name, group:name or *."),
    ):
        visit.go(f"#/{address}")
        if opener:
            visit.press(opener)
        within = visit.dialog if opener else visit.main
        within.get_by_label(label, exact=True).fill(wrong)
        shown = within.get_by_label(label, exact=True).get_attribute("placeholder")
        assert ("group:" in shown, "user:" in shown) == ("group:" in words, "user:" in words), f"{label}: {shown}"
        visit.press(word, within)
        expect(within.get_by_text(words, exact=True)).to_be_visible()
        if opener:
            visit.page.keyboard.press("Escape")
            discard = visit.dialog.get_by_role("button", name="Discard", exact=True)
            if discard.count():
                discard.click()
            expect(visit.dialog).to_have_count(0)


@step
def what_goes_wrong_is_said(walk):
    """A row that does not exist, and a gateway that does not answer."""
    visit = walk.admin
    with visit.refused(404):
        visit.go("#/grants/01a20520-0000-7000-8000-000000000000")
        box = visit.page.get_by_role("alert")
        expect(box).to_contain_text("NoSuchGrant")
        expect(box.get_by_role("link")).to_have_count(1)
        visit.judge("a problem")
    visit.page.route("**/admin/v1/quotas*", lambda route: route.abort())
    visit.go("#/quotas")
    expect(visit.page.get_by_role("alert").first).to_be_visible()
    visit.problems = [found for found in visit.problems if "net::ERR_FAILED" not in found]
    visit.page.unroute("**/admin/v1/quotas*")
    visit.press("Try again")
    seen(visit.page, f"user:{TAG}")


@step
def the_live_tail_follows(walk):
    visit = walk.admin
    visit.go("#/ledger")
    visit.press("Follow live")
    visit.settle()
    status = visit.main.locator(".live-status")
    expect(status).to_have_text("0 new rows")
    walk.world.issue(walk.world.user("alice"), "alice/while-watching.txt")
    seen(visit.page, "alice/while-watching.txt")
    expect(status).to_have_text("1 new row")
    # While somebody uses the table, a row that arrives waits, and is counted once.
    visit.main.locator(".row-link").first.focus()
    walk.world.issue(walk.world.user("alice"), "alice/while-reading.txt")
    expect(status).to_have_text("2 new rows")
    with visit.page.expect_response("**/admin/v1/issuances*"):
        pass
    visit.settle()
    expect(status).to_have_text("2 new rows")
    expect(visit.row("alice/while-reading.txt")).to_have_count(0)
    visit.page.evaluate("document.activeElement.blur()")
    expect(visit.row("alice/while-reading.txt")).to_be_visible()
    visit.go("#/home")


@step
def a_refresh_replaces_the_charts(walk):
    visit = walk.admin
    visit.go("#/home")
    expect(visit.main.locator(".chart canvas[width]").first).to_be_visible()
    drawn = "() => Object.keys(Chart.instances).length"
    before = visit.page.evaluate(drawn)
    assert before, "Home has charts"
    visit.press("Refresh")
    visit.settle()
    visit.page.wait_for_function(f"count => ({drawn})() === count", arg=before)
    visit.go("#/grants")
    assert visit.page.evaluate(drawn) == 0, "no chart is left"


@step
def numbers_say_no_less_than_there_is(walk):
    """More uploads than are read, keys of all lives, quotas beyond a page, and refusals of many codes."""
    visit = walk.admin

    def moment(hours: float) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + hours * 3600))

    zero = {"bytesBound": 0, "bytesReserved": 0, "bytesUnsettled": 0, "bytesLanded": 0}
    key = {"id": "1", "name": "ending", "principal": "user:ending", "roles": [], "expiresAt": moment(24)}
    quota = {
        "id": "1", "principal": "user:full", "metric": "urls", "period": "day", "sharing": "each", "limit": 1,
        "use": {"highest": 1, "holders": 1, "used": 1}}
    answers = {
        "usage[?](.*&)?groupBy=action": {
            "items": [{"startsAt": moment(0), "actions": ["PutObject"], "urls": 6000, **zero}]},
        "uploads[?]": {"items": []},
        "api-keys[?]": {
            "items": [key | {"createdAt": moment(0)}] * 5 + [key | {"createdAt": moment(-240)}] * 6},
        "quotas[?](.*&)?nearLimit=0.8": {"items": [quota] * 100, "nextPageToken": "more"},
        "quotas[?](.*&)?nearLimit=1(&|$)": {"items": [quota] * 101},
        "denials[?](.*&)?groupBy=code": {
            "items": [{"startsAt": moment(0), "code": f"Code{count}", "count": count} for count in range(1, 8)]},
    }

    def tells(answer):
        body = json.dumps(answer)
        return lambda route: route.fulfill(status=200, content_type="application/json", body=body)

    routes = []
    for path, answer in answers.items():
        routes.append(re.compile(f"/admin/v1/{path}"))
        visit.page.route(routes[-1], tells(answer))
    visit.go("#/grants")
    visit.go("#/home")
    for words in (
            "No upload in this range is older than an hour", "6 API keys end within 14 days",
            "101 quotas are used up"):
        seen(visit.page, words)
    visit.judge("Home with more than it reads", on_phone=False)
    visit.go("#/denials")
    visit.main.locator("summary").filter(has_text="Numbers").first.click()
    seen(visit.page, "Others 3")
    visit.go("#/grants")
    for route in routes:
        visit.page.unroute(route)


@step
def an_emergency_says_nothing_that_was_not_read(walk):
    """Lists that cannot be read, and lists that are longer than what is read of them."""
    visit, bucket = walk.admin, walk.order["bucket"]
    place = f"#/emergency?about=place&bucket={bucket}&prefix=nowhere/"
    lists = re.compile(r"/admin/v1/(tickets|multipart-uploads|issuances)[?]")
    clear = ("No ticket is alive", "No upload in parts is open", "Nothing that was issued can still be used")
    visit.go(place)
    for words in clear:
        seen(visit.page, words)

    def refuse(route) -> None:
        problem = {"title": "The database cannot be reached", "status": 503, "code": "Unavailable"}
        route.fulfill(status=503, content_type="application/problem+json", body=json.dumps(problem))

    row = {"id": "1", "key": "elsewhere", "prefix": "elsewhere/", "delivery": "presigned-url"}
    endless = json.dumps({"items": [row] * 500, "nextPageToken": "more"})
    for answer, shown in (
            (refuse, "The database cannot be reached"),
            (lambda route: route.fulfill(status=200, content_type="application/json", body=endless),
             "There are more in this bucket than were read.")):
        visit.page.route(lists, answer)
        with visit.refused(503):
            visit.go("#/home")
            visit.go(place)
            seen(visit.page, shown)
            for words in clear:
                expect(visit.main.get_by_text(words)).to_have_count(0)
            visit.judge(f"an emergency: {shown}", on_phone=False)
        visit.page.unroute(lists)
    seen(visit.page, "Not everything was read")
    visit.go("#/home")


@step
def an_emergency_tells_what_ends_links_and_what_ends_sessions(walk):
    visit, world = walk.admin, walk.world
    credential = world.gateway.items("storage-credentials")[0]
    link = {
        "id": "1", "principal": "user:held", "bucket": world.bucket, "key": "held/a.txt", "delivery": "presigned-url",
        "credentialID": credential["id"], "expiresAt": "2099-01-01T00:00:00Z"}
    session = link | {"id": "2", "key": "held/", "delivery": "sts"}
    share = {"name": "presigned-url", "count": 5, "lastExpiresAt": "2099-01-01T00:00:00Z"}
    radius = json.dumps({
        "count": 12, "lastExpiresAt": "2099-01-01T00:00:00Z", "principalCount": 3, "principals": [],
        "deliveries": [share | {"name": "sts", "count": 7}, share], "buckets": [], "credentials": [], "grants": [],
        "sessionCount": 7, "sessions": []})
    visit.page.route("**/blast-radius*", lambda route: route.fulfill(
        status=200, content_type="application/json", body=radius))
    issuances = re.compile(r"/admin/v1/issuances[?]")
    for rows, rotations in (([link, session], 1), ([session], 0)):
        answer = json.dumps({"items": rows})
        visit.go("#/home")
        visit.page.route(issuances, lambda route: route.fulfill(
            status=200, content_type="application/json", body=answer))
        visit.go("#/emergency?principal=user:held")
        seen(visit.page, "deny its role everything at the store")
        for words in ("Which credential to rotate", "Signed 1 of these", "Its end also ends 4 other links;"):
            expect(visit.main.get_by_text(words)).to_have_count(rotations)
        visit.judge("an emergency with sessions", on_phone=False)
        visit.page.unroute(issuances)
    visit.page.unroute("**/blast-radius*")
    visit.go("#/home")


def read_lines(path: str) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@step
def lists_can_be_exported(walk):
    visit = walk.admin
    visit.go("#/grants")
    with visit.page.expect_download() as download:
        visit.press("More")
        visit.page.get_by_role("menuitem", name="Export as NDJSON").click()
    grants = read_lines(download.value.path())
    assert any(grant["principal"] == f"user:{TAG}" for grant in grants), grants
    visit.go("#/ledger?principal=user:alice")
    visit.press("Export")
    with visit.page.expect_download() as download:
        visit.press("Export", visit.dialog)
    assert download.value.path().stat().st_size > 500
    visit.page.keyboard.press("Escape")


@step
def the_reference_sends_what_the_contract_asks_for(walk):
    """Samples and forms of `/docs`: the variables, the header fields and the media types of an operation."""
    visit, world = walk.visit(), walk.world
    page = visit.page
    page.goto(f"{walk.origin}/docs")
    page.get_by_label("API key or token").fill(world.keys["root"])
    # The page is on loopback, where `sluice dev` may be.
    expect(page.locator("#demo")).to_be_visible()

    def samples(id: str):
        return page.locator(f"article#{id} .samples")

    def form(id: str):
        samples(id).locator("summary").filter(has_text="Try it").click()
        return samples(id).locator("form")

    for id, variable in (("importGrants", "$SLUICE_ADMIN_"), ("issuePresignedURL", "$SLUICE_")):
        curl = samples(id).locator("pre").first.text_content()
        assert f'"{variable}URL"' in curl and f'"{variable}KEY"' in curl, curl
    assert "-H 'Sluice-Bucket: photos'" in samples("startCompanionUpload").locator("pre").first.text_content()

    grants = form("importGrants")
    assert "\n" not in grants.get_by_label("Body").input_value(), "a grant is a line"
    grants.get_by_label("Query").fill("dryRun=true")
    line = {"principal": "user:docs", "bucket": world.bucket, "prefix": "docs/", "actions": ["GetObject"]}
    table = f"principal,bucket,kind,prefix,actions\nuser:docs,{world.bucket},prefix,docs/,GetObject\n"
    for type, body in (("application/x-ndjson", json.dumps(line)), ("text/csv", table)):
        grants.get_by_label("Content-Type").select_option(type)
        grants.get_by_label("Body").fill(body)
        with page.expect_response("**/grants:import*") as answer:
            grants.get_by_role("button", name="Send POST").click()
        assert answer.value.request.headers["content-type"] == type
        expect(grants.locator("pre")).to_contain_text('"created": 1')
    expect(grants.get_by_label("If-Match")).to_have_count(0)
    expect(form("rotateAPIKey").get_by_label("If-Match")).to_have_count(1)
    expect(form("assumeRoleWithWebIdentity").get_by_label("Content-Type")).to_have_value(
        "application/x-www-form-urlencoded")

    upload = form("startCompanionUpload")
    upload.get_by_label("Sluice-Bucket").fill(world.bucket)
    with visit.refused(400, 403):
        with page.expect_request("**/companion/s3/multipart") as request:
            upload.get_by_role("button", name="Send POST").click()
        assert request.value.headers["sluice-bucket"] == world.bucket
        expect(upload.locator("pre")).to_be_visible()
