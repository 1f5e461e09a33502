"""One change through each form of stores and identities. What was changed is read from the gateway, or used."""

import csv
import json
import re

from playwright.sync_api import expect

from rows import TAG, Gateway, Refused, quoted
from visits import seen

STEPS = []


def step(function):
    STEPS.append(function)
    return function


def field(visit, label: str):
    """The field of the form that has this label, without its "optional": of the dialog, once one is open."""
    within = visit.page.locator("dialog[open], body:not(:has(dialog[open])) main")
    written = visit.page.locator("input:not([type=radio]), select, textarea")
    return within.get_by_label(label, exact=False).and_(written).first


def secret_once(visit, shown: str) -> str:
    """Takes the secret out of the dialog that shows it this once, and closes it."""
    expect(visit.dialog.get_by_text(shown)).to_be_visible()
    visit.judge(shown, on_phone=False)
    secret = visit.dialog.locator(".secret code, .secret pre").first.inner_text().strip()
    visit.press("I have kept it", visit.dialog)
    expect(visit.dialog).to_have_count(0)
    # A dialog that has closed leaves the page a moment later, and the secret with it.
    visit.page.wait_for_function("secret => !document.documentElement.outerHTML.includes(secret)", arg=secret)
    return secret


def change(visit) -> None:
    """Opens the form of the row that the page is about, which is read again for it."""
    visit.press("Change")
    expect(visit.dialog).to_be_visible()


def stays(visit, pattern: str, name: str) -> None:
    """Presses a button of the dialog, and expects that the dialog cannot be left before the gateway has answered."""
    with visit.unanswered(pattern, name):
        for _ in range(3):
            visit.page.keyboard.press("Escape")
        for other in ("Cancel", "Close"):
            visit.press(other, visit.dialog)
        expect(visit.dialog.get_by_text("Discard what you wrote?")).to_have_count(0)
        expect(visit.dialog.get_by_role("button", name=name, exact=True)).to_be_visible()


def is_accepted(origin: str, key: str) -> bool:
    """Whether a key authenticates somebody."""
    try:
        Gateway(origin, key).call("GET", "/v1/access")
    except Refused as refusal:
        assert refusal.status == 401, refusal
        return False
    return True


@step
def a_bucket_is_added_step_by_step_and_tested_at_the_store(walk):
    """The steps for a new bucket, with a new credential; the store's answers; then the secret of its events."""
    visit, world, order = walk.admin, walk.world, walk.order
    name = order["newBucket"]
    visit.go("#/buckets?new=1")
    visit.judge("the choice of a provider")
    visit.main.get_by_role("button", name="S3-compatible").click()
    visit.settle()
    visit.press("Enter a credential")
    field(visit, "Name").fill(f"For {TAG}")
    field(visit, "Access key ID").fill(order["accessKeyID"])
    field(visit, "Secret access key").fill(order["secretAccessKey"])
    visit.judge("the form of a credential")
    visit.press("Create", visit.dialog)
    visit.done("The credential is stored sealed")
    field(visit, "Name").fill(name)
    visit.press("Create and test")
    assert field(visit, "Endpoint").get_attribute("aria-invalid") == "true", "the endpoint is asked for"
    field(visit, "Endpoint").fill(order["store"])
    field(visit, "Region").fill(order["region"])
    field(visit, "Addressing").select_option("path")
    visit.judge("the form of a bucket")
    visit.press("Create and test")
    seen(visit.page, "Links to this bucket work")
    visit.settle()
    visit.judge("the test of a bucket")
    steps = visit.main.locator(".checks-list li").all_inner_texts()
    assert any("Upload with a link" in line and "passed" in line for line in steps), steps
    assert order["secretAccessKey"] not in visit.page.content(), "the page does not hold the secret"
    bucket = world.gateway.admin("GET", f"buckets/{name}")
    assert bucket["provider"] == "s3" and bucket["endpoint"] == order["store"], bucket
    assert world.gateway.admin("GET", f"storage-credentials/{bucket['credentialID']}")["name"] == f"For {TAG}"

    # The secret that the store sends with its notifications.
    with visit.refused(404):  # The gateway says so that there is no secret yet.
        visit.go(f"#/buckets/{name}")
    visit.press("Make a secret")
    stays(visit, "**/event-secret", "Make")
    first = secret_once(visit, "The event secret")
    assert first not in json.dumps(world.gateway.admin("GET", f"buckets/{name}/event-secret"))
    visit.press("Rotate")
    field(visit, "The previous secret stays valid for").fill("1 h")
    visit.press("Rotate", visit.dialog)
    second = secret_once(visit, "The event secret")
    kept = world.gateway.admin("GET", f"buckets/{name}/event-secret")
    assert second != first and kept["previousExpiresAt"], kept
    world.secrets += [first, second]
    visit.settle()
    visit.judge("a bucket")
    with visit.refused(404):
        visit.press("Delete")
        visit.press("Delete", visit.dialog)
        visit.done("Deleted")
        seen(visit.page, "No event secret yet")

        # A change of the bucket, and its end.
        change(visit)
        field(visit, "Max TTL").fill("2 h")
        visit.press("Save", visit.dialog)
        visit.done("In force on every gateway")
    assert world.gateway.admin("GET", f"buckets/{name}")["maxTTL"] == 7200
    visit.press("More")
    visit.page.get_by_role("menuitem", name="Delete").click()
    visit.dialog.locator("input[type=text]").fill(name)
    visit.press("Delete", visit.dialog)
    visit.done("Deleted")
    assert name not in [row["name"] for row in world.gateway.items("buckets")]


@step
def a_storage_credential_is_made_rotated_and_deleted(walk):
    visit, world = walk.admin, walk.world
    visit.go("#/credentials")
    visit.press("New credential")
    field(visit, "Name").fill("rotating")
    field(visit, "Access key ID").fill("AKIDFIRST")
    field(visit, "Secret access key").fill("first-secret-of-the-console")
    visit.press("Create", visit.dialog)
    visit.done("The credential is stored sealed")
    visit.settle()
    made = world.gateway.admin("GET", f"storage-credentials/{visit.page.url.rsplit('/', 1)[1]}")
    assert made["name"] == "rotating" and made["accessKeyID"] == "AKIDFIRST", made
    visit.press("Rotate")
    expect(visit.dialog).to_be_visible()
    field(visit, "Access key ID").fill("AKIDSECOND")
    field(visit, "Secret access key").fill("second-secret-of-the-console")
    visit.judge("the form of a rotation")
    visit.press("Sign with the new key", visit.dialog)
    visit.done("The next link is signed with the new key")
    visit.settle()
    turned = world.gateway.admin("GET", f"storage-credentials/{made['id']}")
    assert turned["accessKeyID"] == "AKIDSECOND" and turned["previousKey"]["accessKeyID"] == "AKIDFIRST", turned
    seen(visit.page, "AKIDFIRST")
    assert "secret-of-the-console" not in visit.page.content(), "the page does not hold the secrets"
    visit.judge("a credential")
    world.secrets += ["first-secret-of-the-console", "second-secret-of-the-console"]
    visit.press("More")
    visit.page.get_by_role("menuitem", name="Delete").click()
    visit.dialog.locator("input[type=text]").fill("rotating")
    visit.press("Delete", visit.dialog)
    visit.done("Deleted")
    assert "rotating" not in [row["name"] for row in world.gateway.items("storage-credentials")]


@step
def an_issuer_is_added_tested_changed_and_deleted(walk):
    """The provider under its second name, which is an issuer of its own."""
    visit, world = walk.admin, walk.world
    name = world.provider.replace("127.0.0.1", "localhost")
    visit.go("#/issuers")
    visit.press("New issuer")
    field(visit, "Issuer").fill(name)
    field(visit, "Audiences").fill("sluice-console")
    field(visit, "URL").fill(f"{name}/jwks")
    field(visit, "Principal prefix").fill("other:")
    field(visit, "Group prefix").fill("other:")
    visit.judge("the form of an issuer")
    visit.press("Create", visit.dialog)
    visit.done("Its tokens are accepted from now on")
    seen(visit.page, "Tokens of this issuer can be verified")
    visit.settle()
    visit.judge("the test of an issuer")
    (made,) = [row for row in world.gateway.items("issuers") if row["issuer"] == name]
    assert made["audiences"] == ["sluice-console"] and made["principalPrefix"] == "other:", made
    token = world.token("carol", at=name)
    judge_token(visit, token, "The gateway accepts this token", "user:other:carol")

    change(visit)
    field(visit, "Audiences").fill("somebody-else")
    visit.press("Save", visit.dialog)
    visit.done("In force on every gateway")
    visit.settle()
    assert world.gateway.admin("GET", f"issuers/{made['id']}")["audiences"] == ["somebody-else"]
    judge_token(visit, token, "The gateway refuses this token", "Audience (aud)")
    visit.press("More")
    visit.page.get_by_role("menuitem", name="Delete").click()
    visit.dialog.locator("input[type=text]").fill(name)
    visit.press("Delete", visit.dialog)
    visit.done("Deleted")
    assert name not in [row["issuer"] for row in world.gateway.items("issuers")]


def judge_token(visit, token: str, verdict: str, *shown: str) -> None:
    """Pastes a token, has the gateway judge it, and expects that it leaves the page."""
    visit.main.get_by_label("Token", exact=True).fill(token)
    visit.press("Judge it")
    seen(visit.page, verdict)
    for text in shown:
        seen(visit.page, text)
    assert visit.main.get_by_label("Token", exact=True).input_value() == "", "the token leaves the page"
    # The commands are made from what the page keeps of its calls.
    panel = visit.page.get_by_role("complementary", name="Commands")
    visit.page.keyboard.press("c")
    expect(panel).to_contain_text("sluice admin issuers")
    assert token not in visit.page.content(), "nothing shows the token"
    visit.page.keyboard.press("c")
    expect(panel).to_be_hidden()


@step
def optional_parts_of_rows_are_removed(walk):
    """An address and the encryption of a bucket, the sign-in of an issuer, and the limits of a key. None is emptied by
    accident."""
    visit, world = walk.admin, walk.world
    gateway, here = world.gateway, "buckets/optional-parts"
    credential = gateway.admin("POST", "storage-credentials", {
        "name": "optional", "accessKeyID": "AKIDOPTIONAL", "secretAccessKey": "made-up-secret-of-optional"})
    gateway.admin("POST", "buckets", {
        "name": "optional-parts", "credentialID": credential["id"], **world.store(),
        "publicEndpoints": {"internal": {"url": "https://internal.example"}},
        "encryption": {"algorithm": "aws:kms", "keyID": "alias/photos"}})
    with visit.refused(404):  # There is no secret of its events.
        visit.go(f"#/{here}")
        change(visit)
        internal = visit.dialog.locator("details.field").filter(
            has=visit.page.locator("summary", has_text="Internal")).last
        internal.locator("summary").first.evaluate("node => { node.parentElement.open = true }")
        internal.get_by_label("URL").first.fill("")
        field(visit, "Key ID").fill("")
        visit.press("Save", visit.dialog)
        visit.done("In force on every gateway")
        visit.settle()
        row = gateway.admin("GET", here)
        assert "internal" not in row.get("publicEndpoints", {}) and row["encryption"] == {"algorithm": "aws:kms"}, row
        change(visit)
        visit.press("Remove encryption", visit.dialog)
        visit.press("Save", visit.dialog)
        visit.done("In force on every gateway")
        visit.settle()
    assert "encryption" not in gateway.admin("GET", here), gateway.admin("GET", here)
    gateway.admin("DELETE", here, If_Match="*")
    gateway.admin("DELETE", f"storage-credentials/{credential['id']}", If_Match="*")

    issuer = gateway.admin("POST", "issuers", {
        "issuer": "https://sign-in.example", "audiences": ["a"], "algorithms": ["RS256"],
        "keys": {"url": "https://sign-in.example/keys"}, "principalPrefix": "s:", "groupPrefix": "s:",
        "console": {"clientID": "a", "send": "id_token"}})
    visit.go(f"#/issuers/{issuer['id']}")
    change(visit)
    visit.press("Remove console", visit.dialog)
    visit.judge("a part that is removed", on_phone=False)
    visit.press("Keep console", visit.dialog)
    visit.press("Remove console", visit.dialog)
    visit.press("Save", visit.dialog)
    visit.done("In force on every gateway")
    visit.settle()
    assert "console" not in gateway.admin("GET", f"issuers/{issuer['id']}")
    gateway.admin("DELETE", f"issuers/{issuer['id']}", If_Match="*")

    key = gateway.admin("POST", "api-keys", {
        "name": "limited", "principal": "user:limited", "roles": ["auditor"],
        "adminScopes": [{"bucket": world.bucket, "prefix": "limited/"}]})
    world.secrets.append(key["key"])
    visit.go(f"#/api-keys/{key['id']}")
    change(visit)
    visit.dialog.locator(".rows .row").get_by_role("button", name="Remove", exact=True).click()
    visit.press("Save", visit.dialog)
    seen(visit.page, "Add at least one.")
    visit.press("Remove admin scopes", visit.dialog)
    visit.press("Save", visit.dialog)
    visit.done("Saved")
    visit.settle()
    assert "adminScopes" not in gateway.admin("GET", f"api-keys/{key['id']}")
    gateway.admin("DELETE", f"api-keys/{key['id']}", If_Match="*")


@step
def a_form_begins_with_the_row_as_it_is_then(walk):
    """Somebody else changes a row while its page is open. The next change here rests on that row."""
    visit, world = walk.admin, walk.world
    gateway = world.gateway
    credential = gateway.admin("POST", "storage-credentials", {
        "name": "now", "accessKeyID": "AKIDNOW", "secretAccessKey": "made-up-secret-of-now"})
    gateway.admin("POST", "buckets", {"name": "as-of-now", "credentialID": credential["id"], **world.store()})
    issuer = gateway.admin("POST", "issuers", {
        "issuer": "https://now.example", "audiences": ["a"], "algorithms": ["RS256"],
        "keys": {"url": "https://now.example/keys"}, "principalPrefix": "now:", "groupPrefix": "now:"})
    key = gateway.admin("POST", "api-keys", {"name": "now", "principal": "user:now"})
    world.secrets += ["made-up-secret-of-now", "made-up-secret-of-theirs", key["key"]]
    kept = f"storage-credentials/{credential['id']}"
    for address, path, theirs, shown, label, text, mine in (
        ("buckets/as-of-now", "buckets/as-of-now", {"maxTTL": 7200}, ("Max TTL", "2 h"), "Default TTL", "7 min",
         {"defaultTTL": 420}),
        (f"issuers/{issuer['id']}", f"issuers/{issuer['id']}", {"groupsClaim": "teams"}, ("Groups claim", "teams"),
         "Subject claim", "oid", {"subjectClaim": "oid"}),
        (f"api-keys/{key['id']}", f"api-keys/{key['id']}", {"groups": ["group:now"]}, ("Groups", "group:now"),
         "Name", "Mine", {"name": "Mine"}),
        (f"credentials/{credential['id']}", kept,
         {"accessKeyID": "AKIDTHEIRS", "secretAccessKey": "made-up-secret-of-theirs"}, None, "Name", "Mine",
         {"name": "Mine"}),
    ):
        with visit.refused(404):  # The bucket has no event secret.
            visit.go(f"#/{address}")
            gateway.admin("PATCH", path, theirs, If_Match="*")
            change(visit)
            if shown:
                expect(field(visit, shown[0])).to_have_value(shown[1])
            field(visit, label).fill(text)
            visit.press("Save", visit.dialog)
            expect(visit.dialog).to_have_count(0)
            visit.settle()
        after = gateway.admin("GET", path)
        unsecret = {name: value for name, value in theirs.items() if name != "secretAccessKey"}
        assert after == after | unsecret | mine, f"{address}: {after}"
    gateway.admin("PATCH", kept, {"name": "Theirs"}, If_Match="*")
    visit.press("Rotate")
    expect(visit.dialog).to_be_visible()
    field(visit, "Access key ID").fill("AKIDTHEN")
    field(visit, "Secret access key").fill("made-up-secret-of-then")
    world.secrets.append("made-up-secret-of-then")
    visit.press("Sign with the new key", visit.dialog)
    visit.done("The next link is signed with the new key")
    visit.settle()
    assert gateway.admin("GET", kept)["accessKeyID"] == "AKIDTHEN"
    for path in ("buckets/as-of-now", kept, f"issuers/{issuer['id']}", f"api-keys/{key['id']}"):
        gateway.admin("DELETE", path, If_Match="*")


@step
def a_pasted_token_is_decoded_and_judged(walk):
    """A good token, one that somebody changed, one of nobody's, and what is no token. None is kept."""
    visit, world = walk.admin, walk.world
    visit.go("#/issuers")
    visit.main.get_by_role("link", name="Judge a token").click()
    visit.settle()
    visit.judge("the page of a token")
    visit.main.get_by_label("Token", exact=True).fill("no.token")
    seen(visit.page, "This is no JWT")
    token = world.token("carol")
    world.secrets.append(token)
    judge_token(visit, token, "The gateway accepts this token", "user:corp:carol", "admin")
    visit.judge("the verdict on a token")
    # Its claims are shown as text, whatever they hold.
    head, body, tail = token.split(".")
    forged = f"{head}.{quoted({'iss': world.provider, 'sub': TAG, 'aud': 'sluice-console', 'exp': 1})}.{tail}"
    judge_token(visit, forged, "The gateway refuses this token", TAG, "Signature")
    visit.judge("the verdict on a forged token")
    stranger = f"{head}.{quoted({'iss': f'https://{TAG}', 'sub': 'carol'})}.{tail}"
    judge_token(visit, stranger, "No issuer has this name")


@step
def an_api_key_with_scopes_is_made_rotated_changed_and_deleted(walk):
    visit, world = walk.admin, walk.world
    visit.go("#/api-keys")
    visit.press("New API key")
    field(visit, "Name").fill(f"Part {TAG}")
    field(visit, "Principal").fill("user:part")
    visit.dialog.get_by_label("admin", exact=True).check()
    visit.press("Add admin scope", visit.dialog)
    scope = visit.dialog.locator(".rows .row").first
    scope.get_by_label("Bucket").fill(world.bucket)
    scope.get_by_label("Prefix").fill("part/")
    scope.get_by_label("Principals").fill("user:part.*")
    # Without a prefix, a scope is a whole bucket.
    visit.press("Add admin scope", visit.dialog)
    whole = visit.dialog.locator(".rows .row").nth(1)
    whole.get_by_label("Bucket").fill(world.bucket)
    whole.get_by_label("Principals").fill("user:whole.*")
    visit.judge("the form of an API key")
    stays(visit, "**/admin/v1/api-keys", "Create")
    key = secret_once(visit, "The new API key")
    caller = Gateway(world.origin, key).admin("GET", "caller")
    assert caller["roles"] == ["admin"], caller
    assert caller["adminScopes"] == [
        {"bucket": world.bucket, "prefix": "part/", "principals": ["user:part.*"]},
        {"bucket": world.bucket, "prefix": "", "principals": ["user:whole.*"]}], caller
    visit.row("user:part").locator(".row-link").click()
    visit.settle()
    seen(visit.page, "What the roles are limited to")
    visit.judge("an API key")
    identity = visit.page.url.rsplit("/", 1)[1]
    visit.press("Rotate")
    field(visit, "The previous secret stays valid for").fill("0 s")
    visit.press("Rotate", visit.dialog)
    again = secret_once(visit, "The rotated API key")
    assert is_accepted(world.origin, again) and not is_accepted(world.origin, key), "only the new secret works"
    world.secrets += [key, again]
    visit.settle()
    change(visit)
    field(visit, "Name").fill("Changed")
    visit.press("Save", visit.dialog)
    visit.done("Saved")
    visit.settle()
    changed = world.gateway.admin("GET", f"api-keys/{identity}")
    assert changed["name"] == "Changed" and changed["adminScopes"] == caller["adminScopes"], changed
    visit.press("More")
    visit.page.get_by_role("menuitem", name="Delete").click()
    visit.press("Delete", visit.dialog)
    visit.done("Deleted")
    assert not is_accepted(world.origin, again), "a deleted key opens nothing"


@step
def a_group_begins_with_a_member_and_ends_with_the_last(walk):
    visit, world = walk.admin, walk.world

    def members() -> list:
        return sorted(row["member"] for row in world.gateway.items("groups/group%3Afresh/members"))

    visit.go("#/groups")
    visit.press("New group")
    field(visit, "Group").fill("group:fresh")
    field(visit, "Member").fill(f"user:{TAG}")
    visit.judge("the form of a group")
    visit.press("Add", visit.dialog)
    visit.done("Added on every gateway")
    visit.settle()
    visit.press("Add a member")
    field(visit, "Member").fill("group:fresh")
    with visit.refused(400, 422):
        visit.press("Add", visit.dialog)
        expect(visit.dialog.locator("[aria-invalid=true]")).to_be_visible()
    field(visit, "Member").fill("user:second")
    visit.press("Add", visit.dialog)
    visit.done("Added on every gateway")
    assert members() == sorted([f"user:{TAG}", "user:second"])
    visit.judge("a group")
    visit.choose(visit.row("user:second"), "Remove from the group")
    stays(visit, "**/members/*", "Remove")
    visit.done("1 member removed")
    assert members() == [f"user:{TAG}"]
    visit.page.locator("tbody .tick-cell input").first.check()
    visit.press("Remove")
    visit.press("Remove", visit.dialog)
    visit.done("1 member removed")
    assert members() == []


@step
def a_new_row_is_listed_once(walk):
    """It stands first at once, and by its name on a later page."""
    visit, world = walk.admin, walk.world
    for index in range(4):
        world.gateway.admin("POST", "groups/group%3Apaged/members", {"member": f"user:paged.{index}"})
    # Pages of three rows.
    lists = re.compile(r"/members\?")
    visit.page.route(lists, lambda route: route.continue_(
        url=route.request.url.replace("pageSize=100", "pageSize=3")))
    visit.go("#/groups/group:paged")
    rows = visit.page.locator("main tbody tr")
    expect(rows).to_have_count(3)
    visit.press("Add a member")
    field(visit, "Member").fill("user:paged.4")
    visit.press("Add", visit.dialog)
    visit.done("Added on every gateway")
    expect(rows).to_have_count(4)
    visit.press("Load more")
    visit.settle()
    visit.page.unroute(lists)
    listed = [text.split()[0] for text in rows.all_inner_texts()]
    assert listed == [f"user:paged.{index}" for index in (4, 0, 1, 2, 3)], listed


@step
def tickets_are_revoked(walk):
    visit, world = walk.admin, walk.world
    holder = world.person("holder")
    world.grant("user:holder", "holder/")
    for index in range(3):
        holder.call("POST", "/v1/tickets", {"bucket": world.bucket, "prefix": f"holder/{TAG}/{index}/"})

    def left() -> int:
        return len(world.gateway.items("tickets?principal=user:holder"))

    visit.go("#/tickets?principal=user:holder")
    expect(visit.page.locator("main tbody tr")).to_have_count(3)
    visit.choose(visit.page.locator("main tbody tr").first, "Revoke")
    visit.judge("the question before a ticket's end", on_phone=False)
    visit.press("Revoke", visit.dialog)
    visit.done("1 ticket revoked")
    assert left() == 2
    visit.page.locator("main .row-link").first.click()
    visit.settle()
    visit.judge("a ticket")
    visit.press("Revoke")
    visit.press("Revoke", visit.dialog)
    visit.done("1 ticket revoked")
    assert left() == 1
    visit.go("#/tickets?principal=user:holder")
    visit.press("Revoke all of this user")
    visit.press("Revoke all", visit.dialog)
    visit.done("1 ticket revoked")
    assert left() == 0


@step
def an_upload_in_parts_is_aborted(walk):
    visit, world = walk.admin, walk.world
    user = world.person("parts")
    world.grant("user:parts", "parts/")
    ids = [
        user.call("POST", "/v1/multipart-uploads", {
            "bucket": world.bucket, "key": f"parts/{TAG}-{index}.bin", "contentType": "text/plain",
            "contentLength": 6_000_000})["id"]
        for index in range(2)]

    def state(index: int) -> str:
        return world.gateway.admin("GET", f"multipart-uploads/{ids[index]}")["state"]

    visit.go("#/multipart?principal=user:parts")
    visit.choose(visit.row(f"{TAG}-0.bin"), "Abort")
    visit.judge("the question before an upload's end", on_phone=False)
    visit.press("Abort", visit.dialog)
    visit.done("1 upload aborted")
    assert (state(0), state(1)) == ("aborted", "open")
    expect(visit.row(f"{TAG}-0.bin").get_by_text("aborted", exact=True)).to_be_visible()
    visit.go(f"#/multipart/{ids[1]}")
    visit.judge("an upload in parts")
    visit.press("Abort")
    visit.press("Abort", visit.dialog)
    visit.done("1 upload aborted")
    assert state(1) == "aborted"


@step
def an_import_shows_its_difference_and_an_export_has_it(walk):
    """A file with a new grant, a changed one and one as it is; then what the export says of them."""
    visit, world = walk.admin, walk.world
    world.grant("user:difference", "difference/same/", note="As it is")
    world.grant("user:difference", "difference/changed/", note="Before")
    lines = [
        {"principal": "user:difference", "bucket": world.bucket, "prefix": f"difference/{name}/",
         "actions": ["GetObject", "PutObject"], "note": note}
        for name, note in {"same": "As it is", "changed": f"After {TAG}", "new": TAG}.items()]
    content = "".join(json.dumps(line) + "\n" for line in lines)

    def notes() -> dict:
        found = world.gateway.items("grants?principal=user:difference")
        return {row["prefix"].split("/")[1]: row["note"] for row in found}

    def take(file: str) -> None:
        visit.dialog.locator("input[type=file]").set_input_files(
            {"name": "grants.ndjson", "mimeType": "application/x-ndjson", "buffer": file.encode()})

    def choose(file: str) -> None:
        visit.go("#/grants?principal=user:difference")
        visit.press("More")
        visit.page.get_by_role("menuitem", name="Import a file").click()
        take(file)

    # A line that cannot be a grant is named.
    choose(content + '{"principal":"nobody"}\n')
    with visit.refused(400, 422):
        visit.press("Try", visit.dialog)
        seen(visit.page, "Line 4 of the file")
        visit.judge("an import that is refused", on_phone=False)
    visit.press("Cancel", visit.dialog)
    # A file that is chosen while another is compared was not looked at.
    choose(content.splitlines(keepends=True)[-1])
    with visit.unanswered("**/grants:import*", "Try"):
        take(content)
    expect(visit.dialog.locator(".tile")).to_have_count(0)
    visit.press("Try", visit.dialog)
    expect(visit.dialog.get_by_text("difference/changed/")).to_be_visible()
    tiles = visit.dialog.locator(".tile").all_inner_texts()
    assert [tile.split()[0:2] for tile in tiles[:2]] == [["Created", "1"], ["Changed", "1"]], tiles
    expect(visit.dialog.get_by_text(f"After {TAG}").first).to_be_visible()
    assert notes() == {"same": "As it is", "changed": "Before"}, "a try changes nothing"
    visit.judge("the difference of an import")
    visit.press("Import: 2 changes", visit.dialog)
    visit.done("1 created, 1 changed, 0 deleted")
    assert notes() == {"same": "As it is", "changed": f"After {TAG}", "new": TAG}

    visit.go("#/grants?principal=user:difference")
    with visit.page.expect_download() as download:
        visit.press("More")
        visit.page.get_by_role("menuitem", name="Export as CSV").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["note"] for row in rows) == sorted(notes().values()), rows
