"""The focus of the keyboard stays in the page: on what was used, on what stands in its place, or on what it led to."""

import json

from playwright.sync_api import Locator, expect

from forms import field
from visits import PAINTED, PHONE

STEPS = []

# The controls of a page, each as `[tag, type, words]`; of those that are alike, the first. Links to other pages are
# left out, because each page puts the focus on its title. So are fields that open a window of the browser.
CONTROLS = """
() => {
  const words = (one) => one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent;
  window.alike = ([tag, type, text]) => [...document.querySelectorAll(`main ${tag}`)].find(
    (one) => (one.type ?? "") === type && words(one) === text && one.checkVisibility());
  const [path] = location.hash.split("?");
  const isElsewhere = (one) => one.matches("a") && one.hash.split("?")[0] !== path;
  const isWindow = (one) => ["file", "datetime-local"].includes(one.type) || one.target;
  const all = [...document.querySelectorAll("main :is(a[href], button, input, select, summary)")]
    .filter((one) => one.checkVisibility() && !one.disabled && !isElsewhere(one) && !isWindow(one))
    .map((one) => JSON.stringify([one.localName, one.type ?? "", words(one)]));
  return [...new Set(all)].map((one) => JSON.parse(one));
}
"""
FOCUS = "(control) => { const found = alike(control); found?.focus(); return document.activeElement === found; }"
# Where the focus is if nobody can see it there. What is seen of a radio button is its label.
LOST = """
() => {
  const { activeElement: active } = document;
  if (!active || active === document.body) return "nowhere";
  const seen = active.type === "radio" ? active.labels[0] : active;
  const { width, height } = seen.getBoundingClientRect();
  if (!seen.checkVisibility() || width < 2 || height < 2) return `unseen, on ${active.outerHTML.slice(0, 80)}`;
  return null;
}
"""
# What lies over the control that has the focus, or cuts it off.
COVERED = """
() => {
  const { activeElement: active } = document;
  const [{ x, y, width, height }] = active.getClientRects();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  const shown = (one) => one?.outerHTML.slice(0, 120);
  return top && active.contains(top) ? null : `${shown(active)} is below ${shown(top)}`;
}
"""


def step(function):
    STEPS.append(function)
    return function


def lost(visit) -> str | None:
    """Where the focus is that nobody sees, once the browser has taken it off what is hidden."""
    visit.settle()
    visit.page.evaluate(PAINTED)
    return visit.page.evaluate(LOST)


def focused(visit) -> Locator:
    return visit.page.locator("*:focus")


def use(visit, control: list[str]) -> None:
    """Uses a control that has the focus, by the keyboard."""
    tag, kind, _ = control
    keys = visit.page.keyboard
    if tag == "select":
        focused(visit).select_option(index=1)
    elif kind in ("checkbox", "radio"):
        keys.press("Space")
    else:
        if kind in ("text", "search"):
            keys.type("x")
        keys.press("Enter")


def leave(visit) -> None:
    """Leaves a menu or a dialog, in which nothing is kept."""
    visit.page.keyboard.press("Escape")
    discard = visit.dialog.get_by_role("button", name="Discard", exact=True)
    if discard.count():
        discard.click()
    expect(visit.dialog).to_have_count(0)


def addresses(walk) -> list[str]:
    bucket, ids = walk.order["bucket"], walk.world.ids
    return [
        "home", f"access?principal=user:alice&bucket={bucket}&key=alice/a.txt", "access?principal=user:alice",
        f"access?bucket={bucket}&key=alice/private/a.txt", "grants", f"grants/{ids['grant']}",
        f"try?principal=user:alice&bucket={bucket}&key=alice/a.txt", "quotas", f"quotas/{ids['quota']}", "ledger",
        f"ledger/{ids['issuance']}", "denials", "uploads", "audit", "requests", "buckets", "buckets?new=1",
        f"buckets/{bucket}", "credentials", "issuers", "issuers/token", "api-keys",
        f"api-keys/{ids['key of alice']}", "groups", "groups/group:staff", "tickets", "multipart", "gateways",
        "emergency", "emergency?principal=user:alice", f"emergency?about=place&bucket={bucket}&prefix=alice/",
        "offboarding?principal=user:alice"]


@step
def no_control_of_a_view_loses_the_focus(walk):
    """Each control of each view is used once, and each dialog that it opens is left."""
    visit = walk.visit().sign_in(walk.world.keys["root"], "#/home")
    found, count = [], 0
    for address in addresses(walk):
        with visit.refused(400, 404, 409, 422):
            visit.go(f"#/{address}")
            for control in visit.page.evaluate(CONTROLS):
                if not visit.page.url.endswith(f"#/{address}"):
                    visit.go(f"#/{address}")
                if not visit.page.evaluate(FOCUS, control):
                    continue
                count += 1
                use(visit, control)
                gone = lost(visit)
                if not gone and visit.page.locator("dialog[open], .menu:popover-open").count():
                    leave(visit)
                    gone = lost(visit)
                if gone:
                    found.append(f"{address}: after {control} the focus is {gone}")
    assert not found, "\n".join([f"{len(found)} of {count}", *found])
    assert count > 150, f"only {count} controls were used"


@step
def what_stands_in_the_place_of_a_control_has_the_focus(walk):
    visit, world = walk.visit().sign_in(walk.world.keys["root"], "#/home"), walk.world
    keys, main = visit.page.keyboard, visit.main

    # The choice of a range, a tab, and a question.
    main.get_by_label("24 hours").focus()
    for words in ("7 days", "30 days"):
        keys.press("ArrowRight")
        visit.settle()
        expect(focused(visit)).to_have_accessible_name(words)
    visit.go("#/uploads")
    main.get_by_role("link", name="Landed", exact=True).focus()
    keys.press("Enter")
    visit.settle()
    expect(focused(visit)).to_have_text("Landed")
    expect(focused(visit)).to_have_attribute("aria-current", "page")
    visit.go("#/offboarding")
    field(visit, "Principal").focus()
    keys.type("user:focus")
    keys.press("Enter")
    visit.settle()
    expect(field(visit, "Principal")).to_be_focused()
    expect(field(visit, "Principal")).to_have_value("user:focus")
    # Another page in the same place begins at its title.
    visit.go("#/buckets")
    main.get_by_role("link", name="New bucket", exact=True).focus()
    keys.press("Enter")
    visit.settle()
    expect(focused(visit)).to_have_text("New bucket")

    # Rows: all of them, and then each in turn, from the last.
    names = [f"user:focus.{index}" for index in range(3)]
    for name in names:
        world.gateway.admin("POST", "groups/group%3Afocus/members", {"member": name})
    visit.go("#/groups/group:focus")
    every = main.get_by_label("Choose all rows")
    every.focus()
    keys.press("Space")
    expect(every).to_be_focused()
    expect(every).to_be_checked()
    visit.press("Clear")
    expect(every).to_be_focused()
    rows = main.locator("tbody tr")
    for left in (2, 1):
        visit.choose(rows.last, "Remove from the group")
        visit.press("Remove", visit.dialog)
        expect(rows).to_have_count(left)
        expect(rows.last.get_by_role("button", name="Row actions")).to_be_focused()
    rows.get_by_label("Choose row").check()
    visit.press("Remove")
    visit.press("Remove", visit.dialog)
    visit.done("1 member removed")
    assert not lost(visit), "the last row is gone"

    # A row that was changed, and a menu that stays open.
    made = [world.grant("user:focus", f"focus/{index}/") for index in range(2)]
    visit.go("#/grants?principal=user:focus")
    row = visit.row("focus/0/")
    visit.choose(row, "Edit")
    field(visit, "Note").fill("Changed")
    for word in ("Review", "Save"):
        visit.press(word, visit.dialog)
        visit.settle()
    expect(visit.dialog).to_have_count(0)
    expect(row.get_by_role("button", name="Row actions")).to_be_focused()
    main.get_by_role("button", name="Columns").focus()
    for _ in range(2):
        keys.press("Enter")
        expect(visit.page.locator(".menu:popover-open [role=menuitemcheckbox]").first).to_be_focused()
    keys.press("Escape")
    expect(main.get_by_role("button", name="Columns")).to_be_focused()

    # The panel of commands.
    keys.press("c")
    visit.page.get_by_role("complementary", name="Commands").get_by_role("button", name="Close").press("Enter")
    expect(visit.page.get_by_role("button", name="Show command")).to_be_focused()

    # A message that is closed. Those of the steps before go away by themselves, some time.
    close = visit.page.get_by_role("button", name="Close message")
    close.evaluate_all("buttons => buttons.forEach(button => button.click())")
    expect(close).to_have_count(0)
    visit.page.evaluate("import('/console/toast.js').then(({ toast }) => { toast('One'); toast('Two'); })")
    expect(close).to_have_count(2)
    close.first.press("Enter")
    expect(close).to_be_focused()
    close.press("Enter")
    expect(focused(visit)).to_have_text("Grants")

    # A part of a form.
    visit.go("#/api-keys")
    visit.press("New API key")
    for _ in range(2):
        visit.press("Add admin scope", visit.dialog)
    remove = visit.dialog.get_by_role("button", name="Remove", exact=True)
    remove.last.press("Enter")
    expect(remove).to_have_count(1)
    expect(remove).to_be_focused()
    remove.press("Enter")
    expect(visit.dialog.get_by_role("button", name="Add admin scope")).to_be_focused()
    leave(visit)

    # The end of an offboarding is what is said of it.
    visit.go("#/offboarding?principal=user:focus")
    main.get_by_role("button", name="Remove").first.click()
    visit.dialog.locator("input[type=text]").fill("user:focus")
    visit.press("Remove", visit.dialog)
    visit.settle()
    expect(focused(visit)).to_contain_text("2 rows removed")
    assert not [id for id in made if id in json.dumps(world.gateway.items("grants?principal=user:focus"))]


@step
def on_a_phone_each_stop_of_tab_is_seen(walk):
    """The headings of tables, too, which have no room there: they sort, and choose all rows."""
    visit = walk.visit(size=PHONE).sign_in(walk.world.keys["root"], "#/home")
    for address in ("uploads", "grants", "api-keys", "groups/group:staff"):
        visit.go(f"#/{address}")
        visit.main.get_by_role("button", name="Filters").focus()
        heads = 0
        for _ in range(16):
            visit.page.keyboard.press("Tab")
            found = visit.page.evaluate(COVERED)
            assert not found, f"{address}: {found}"
            heads += visit.main.locator("thead *:focus").count()
        assert heads > 1, f"{address}: {heads} stops in the headings"
    visit.main.get_by_label("Choose all rows").focus()
    visit.judge("the headings of a table on a phone", on_phone=False)
    visit.page.keyboard.press("Space")
    expect(visit.main.get_by_label("Choose row").first).to_be_checked()
    expect(visit.main.get_by_label("Choose all rows")).to_be_focused()
