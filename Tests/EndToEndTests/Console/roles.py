"""Who may do what: auditors, and admins whose role is limited."""

import re

import entering
from playwright.sync_api import expect

from rows import TAG
from visits import seen

STEPS = []


def step(function):
    STEPS.append(function)
    return function


# How a button that changes something begins.
CHANGES = re.compile(
    r"(New|Edit|Change|Delete|Reset|Rotate|Revoke|Remove|Abort|Undo|Import|Test|Validate|Copy as|Add|Create|Confirm|"
    r"Issue the link)\b(?!s)")


def pressed(visit) -> list[str]:
    """What a person can press on the page, with the entries of the first menus."""
    names = visit.page.locator("main button:visible, main a.button:visible").all_inner_texts()
    openers = visit.page.locator("main button[aria-haspopup=menu]:visible")
    for index in range(min(openers.count(), 3)):
        openers.nth(index).click()
        names += visit.page.locator(".menu:popover-open [role^=menuitem]").all_inner_texts()
        visit.page.keyboard.press("Escape")
    return [name.strip() for name in names if name.strip()]


@step
def an_auditor_sees_everything_and_no_button_to_change_it(walk):
    visit = walk.visit()
    sent = []
    visit.page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    visit.sign_in(walk.world.keys["auditor"])
    names = visit.page.evaluate("import('/console/views.js').then((all) => all.views.map((view) => view.name))")
    ids = walk.world.ids
    for address in [*names, f"grants/{ids['grant']}", f"quotas/{ids['quota']}", f"ledger/{ids['issuance']}",
                    "emergency?principal=user:alice", "offboarding?principal=user:alice"]:
        visit.go(f"#/{address}")
        assert visit.page.locator("main .message.bad").count() == 0, f"{address}: {visit.main.inner_text()}"
        assert visit.heading() != "Nothing here" or address.split("?")[0] == "offboarding", address
        wrong = [name for name in pressed(visit) if CHANGES.match(name)]
        assert not wrong, f"{address} offers {wrong}"
    # Keys offer nothing else.
    visit.go("#/grants")
    visit.page.keyboard.press("n")
    expect(visit.dialog).to_have_count(0)
    reads = (":simulate", "/explain", "/simulate", "dryRun")
    written = [line for line in sent if not line.startswith(("GET", "HEAD")) and not line.endswith(reads)]
    assert not written, written


def offered(visit) -> dict[str, str]:
    """Views by name, with the operation that each needs."""
    return visit.page.evaluate(
        "import('/console/views.js').then((all) => Object.fromEntries(all.views.map((v) => [v.name, v.needs ?? ''])))")


def open_to_limited_roles(visit) -> set[str]:
    """The operations that the contract opens to limited roles."""
    return set(visit.page.evaluate(
        """fetch("/openapi.json").then((answer) => answer.json()).then(({ paths }) =>
          Object.values(paths).flatMap((path) => Object.values(path))
            .filter((operation) => operation["x-sluice-delegated"]).map((operation) => operation.operationId))"""))


# What may be pressed to change something on each page, by the beginning of its address. Elsewhere there is nothing.
INSIDE = {
    "grants": {
        "New grant", "Edit", "Change", "Copy as a new grant", "Delete", "Change all that there are",
        "Delete all that there are"},
    "access": {"New grant", "Write a grant", "Draft a grant", "Edit", "Change", "Delete"},
    "audit": {"Undo"},
    "emergency": {"Revoke all of it"},
}


def stays_inside(visit, world) -> None:
    """Opens each page that the person is offered, and follows its links by name; nothing leads outside or nowhere."""
    ids, views, mine = world.ids, offered(visit), open_to_limited_roles(visit)
    listed = visit.page.evaluate("[...document.querySelectorAll('.nav-lists a')].map((link) => link.hash.slice(2))")
    assert {"home", "grants", "ledger", "audit", "access"} <= set(listed), listed
    pages = [
        *listed, f"grants/{ids['inside']}", f"ledger/{ids['issued inside']}", f"buckets/{world.bucket}",
        "access?principal=user:team.bob", f"access?bucket={world.bucket}&key=team/",
        f"access?principal=user:team.bob&bucket={world.bucket}&key=team/bob/a.txt",
        f"emergency?about=place&bucket={world.bucket}&prefix=team/bob/", "emergency?principal=user:team.bob"]
    for address in pages:
        visit.go(f"#/{address}")
        shown = visit.main.inner_text()
        assert visit.heading() != "Nothing here", address
        assert visit.page.locator("main .message.bad").count() == 0, f"{address}: {shown}"
        for outside in ("alice/", "shared/", "leaver/", TAG):
            assert outside not in shown, f"{address} shows {outside}: {shown}"
        allowed = INSIDE.get(re.split("[/?]", address)[0], set())
        wrong = {name for name in pressed(visit) if CHANGES.match(name)} - allowed
        assert not wrong, f"{address} offers {wrong}"
        links = visit.page.evaluate("[...document.querySelectorAll('main a[href^=\"#/\"]')].map((link) => link.hash)")
        for link in links:
            name = re.split("[/?]", link.removeprefix("#/"))[0]
            assert name in views, f"{address} leads to {link}"
            assert not views[name] or views[name] in mine, f"{address} leads to {link}, which the person may not open"
    visit.go("#/ledger")
    seen(visit.page, "team/bob/report.txt")


@step
def a_limited_admin_sees_what_lies_inside(walk):
    """By an API key; and by a token of the issuer, whose claim confers the limited role."""
    world = walk.world
    by_key = walk.visit().sign_in(world.keys["delegate"], "#/grants")
    expect(by_key.page.locator(".bar").get_by_text("Admin, limited")).to_be_visible()
    found = by_key.page.locator("main tbody tr").all_inner_texts()
    assert found and all("user:team." in row for row in found), found
    seen(by_key.page, "team/bob/")
    text = by_key.page.locator(".nav").inner_text()
    assert "API keys" not in text and "Credentials" not in text and "Grants" in text, text
    stays_inside(by_key, world)
    # What an address names is refused as well.
    by_key.go("#/api-keys")
    assert by_key.heading() == "Nothing here"
    by_key.judge("a page that is not for limited roles", on_phone=False)
    with by_key.refused(404):
        by_key.go(f"#/grants/{world.ids['grant']}")
        expect(by_key.page.get_by_role("alert")).to_contain_text("NoSuchGrant")

    by_token = walk.visit(also=[walk.order["provider"]])
    entering.at_the_provider(by_token, "team.lead", "#/grants")
    expect(by_token.page.locator(".bar").get_by_text("Admin, limited")).to_be_visible()
    seen(by_token.page, "team/bob/")
    stays_inside(by_token, world)


@step
def an_auditor_of_everything_may_be_an_admin_of_a_part(walk):
    """It sees all rows. Of what changes rows, it is offered what limited admins are."""
    visit = walk.visit(also=[walk.order["provider"]])
    entering.at_the_provider(visit, "team.head", "#/grants")
    expect(visit.page.locator(".bar").get_by_text("Admin, limited")).to_be_visible()
    seen(visit.page, "shared/")
    assert "New grant" in pressed(visit)
    visit.press("Signed in as user:corp:team.head", visit.page.locator(".bar"))
    expect(visit.page.locator(".account")).to_contain_text("team/")
    visit.page.keyboard.press("Escape")
    assert "Offboarding" not in visit.page.locator(".nav").inner_text()
    for address in ("api-keys", "credentials", "issuers", "quotas", "groups", f"buckets/{walk.world.bucket}"):
        with visit.refused(404):  # The bucket has no event secret.
            visit.go(f"#/{address}")
        assert visit.heading() != "Nothing here", address
        wrong = [name for name in pressed(visit) if CHANGES.match(name)]
        assert not wrong, f"{address} offers {wrong}"


@step
def a_limited_admin_changes_what_lies_inside(walk):
    """A grant inside is made, changed and deleted; one outside is refused by the gateway, and the form says why."""
    visit, world = walk.visit(), walk.world
    visit.sign_in(world.keys["delegate"], "#/grants")
    visit.press("New grant")
    dialog = visit.dialog
    dialog.get_by_label("Principal", exact=False).first.fill("user:team.new")
    dialog.get_by_label("GetObject").check()
    dialog.get_by_label("Bucket", exact=False).first.fill(world.bucket)
    dialog.get_by_label("Prefix", exact=False).last.fill("elsewhere/")
    with visit.refused(403):
        visit.press("Review", dialog)
        expect(dialog.get_by_role("alert")).to_contain_text("OutsideAdminScope")
        visit.judge("a refusal outside of the scopes", on_phone=False)
    dialog.get_by_label("Prefix", exact=False).last.fill("team/new/")
    visit.press("Review", dialog)
    visit.settle()
    visit.press("Create", dialog)
    visit.done("In force on every gateway")
    (made,) = world.gateway.items("grants?principal=user:team.new")
    assert made["createdBy"] == "user:delegate" and made["prefix"] == "team/new/", made

    visit.choose(visit.row("team/new/"), "Edit")
    dialog.get_by_label("Note", exact=False).first.fill("By the lead")
    visit.press("Review", dialog)
    visit.settle()
    visit.judge("the review of a limited admin")
    visit.press("Save", dialog)
    visit.done("In force on every gateway")
    assert world.gateway.admin("GET", f"grants/{made['id']}")["note"] == "By the lead"
    visit.choose(visit.row("team/new/"), "Delete")
    visit.settle()
    visit.press("Delete", dialog)
    visit.done("Deleted")
    assert not world.gateway.items("grants?principal=user:team.new")

    # Closing a place for everybody reaches people outside: the gateway refuses it, and the page says so.
    visit.go(f"#/emergency?about=place&bucket={world.bucket}&prefix=team/bob/")
    before = world.gateway.items(f"grants?bucket={world.bucket}&pageSize=1000")
    visit.press("Revoke all of it")
    visit.settle()
    visit.dialog.locator("input[type=text]").last.fill(world.bucket)
    with visit.refused(403):
        visit.dialog.locator(".dialog-foot .button.danger").click()
        seen(visit.page, "OutsideAdminScope")
        visit.judge("an emergency that is refused", on_phone=False)
    assert world.gateway.items(f"grants?bucket={world.bucket}&pageSize=1000") == before, "nothing was changed"
