"""Who may do what: auditors, and admins whose role is limited."""

import re

from playwright.sync_api import expect

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


@step
def a_limited_admin_sees_and_changes_what_lies_inside(walk):
    visit, world = walk.visit(), walk.world
    visit.sign_in(world.keys["delegate"], "#/grants")
    expect(visit.page.locator(".bar").get_by_text("Admin, limited")).to_be_visible()
    assert visit.page.locator("main tbody tr").count() == 1, visit.main.inner_text()
    seen(visit.page, "team/bob/")
    text = visit.page.locator(".nav").inner_text()
    assert "API keys" not in text and "Credentials" not in text and "Grants" in text, text
    for name in visit.page.evaluate(
            "[...document.querySelectorAll('.nav-lists a')].map((link) => link.hash.slice(2))"):
        visit.go(f"#/{name}")
        assert visit.page.locator("main .message.bad").count() == 0, f"{name}: {visit.main.inner_text()}"
        shown = visit.main.inner_text()
        assert "alice/" not in shown and "shared/" not in shown, f"{name} shows what lies outside: {shown}"
    # What an address names is refused as well.
    visit.go("#/api-keys")
    assert visit.heading() == "Nothing here"
    with visit.refused(404):
        visit.go(f"#/grants/{world.ids['grant']}")
        expect(visit.page.get_by_role("alert")).to_contain_text("NoSuchGrant")

    # A grant inside is made; one outside is refused by the gateway, and the form says why.
    visit.go("#/grants")
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
