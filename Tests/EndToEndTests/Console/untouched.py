"""Forms change only what somebody touched, and copies are exact, whatever the fields can show of a value."""

import json
import subprocess
from urllib.parse import quote

from playwright.sync_api import expect

from forms import field
from rows import TAG

STEPS = []

# What fields show in a shorter or another form. The times are the second and the first 02:30 of a night in Berlin.
BYTES = 10_000_000_000
REPEATED_HOUR = "2027-10-31T01:30:00.123Z"
FIRST_HOUR = "2027-10-31T00:30:00.500Z"
LINES = f"First line\n\tsecond line  \n\n{TAG}"

# Values of every kind of field, by the names and schemas that make the kinds.
KINDS = """
async () => {
  const [{ Contract }, { schemaForm, mergePatch }] = await Promise.all(
    ["contract", "form"].map((name) => import(`/console/${name}.js`)));
  const contract = new Contract(await (await fetch("/openapi.json")).json());
  const text = { type: "string" }, integer = { type: "integer" }, time = { type: "string", format: "date-time" };
  const choice = { type: "string", enum: ["one", "two", "three"] };
  const list = { type: "array", items: text };
  const nested = {
    type: "object", required: ["label"],
    properties: { label: text, maxBytes: integer, requires: { type: "boolean" }, at: time, lines: list },
  };
  const sizes = [0, 1, 500, 1000, 1023, 1024, 1025, 1536, 1_000_000, 9_762_242, 9_762_243, 2 ** 30 + 1024];
  for (let size = 1; size < 2 ** 53; size = size * 3 + 1024) sizes.push(size, Math.ceil(size / 1024) * 1024);
  const cases = [
    ["maxBytes", integer, [...sizes, 10 ** 10, 5 * 2 ** 40]],
    ["maxTTL", integer, [0, 1, 59, 60, 61, 90, 3600, 3661, 86_399, 86_400, 90_061, 604_799, 604_800]],
    ["count", integer, [0, 7, 1000, 12_345_678, Number.MAX_SAFE_INTEGER]],
    ["at", time, ["2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z", "2027-10-31T01:30:00.120Z", "2027-03-28T01:00:00Z",
      "2027-10-31T02:30:00.123456Z", "2027-06-01T12:00:00+02:00", "0999-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]],
    ["note", text, ["", " ", "\\n", "one\\ntwo", "one\\r\\ntwo", "tab\\tand end \\n", "007"]],
    ["path", text, ["", " ", "one\\ntwo", "007", "1e3", "\\u202e"]],
    ["kind", choice, ["one", "three", "a fourth"]],
    ["kind", { ...choice, default: "two" }, ["one", "two", "a fourth"]],
    ["flag", { type: "boolean" }, [true, false]],
    ["flag", { type: "boolean", default: true }, [true, false]],
    ["flag", { type: "boolean", default: false }, [true, false]],
    ["parts", { type: "array", items: choice }, [[], ["three", "one"], ["one", "a fourth"], ["one", "one"]]],
    ["lines", list, [[], [""], [" "], ["b", "a", "b"], ["one\\ntwo"], ["007", ""]]],
    ["labels", { type: "object", additionalProperties: text }, [{}, { b: "1\\n2", a: "" }, { "": "unnamed" }]],
    ["any", { type: "object" }, [{}, { b: [1, null, "x"], a: { c: 1.5 } }]],
    ["inner", nested, [{}, { label: "" }, { requires: false, label: "x", other: 1 },
      { at: "2027-10-31T01:30:00.120Z", lines: [], maxBytes: 10 ** 10, label: "" }]],
    ["rows", { type: "array", items: nested }, [[], [{}], [{ maxBytes: 10 ** 10, label: "a\\nb", other: 1 }]]],
  ];
  const found = [];
  let count = 0;
  for (const [name, schema, values] of cases) {
    for (const value of [undefined, ...values]) {
      const row = value === undefined ? {} : { [name]: value };
      const said = (form) => JSON.stringify(form.value());
      const build = () => schemaForm(contract, { type: "object", properties: { [name]: schema } }, { value: row });
      const form = build();
      count += 1;
      if (said(form) !== JSON.stringify(row)) found.push(`untouched, ${JSON.stringify(row)} became ${said(form)}`);
      // A text that was changed and changed back is the one that was there.
      for (const input of form.element.querySelectorAll("textarea, input[type=text]")) {
        const before = input.value;
        input.value = `${before}1`;
        input.dispatchEvent(new Event("input"));
        input.value = before;
        input.dispatchEvent(new Event("input"));
      }
      if (said(form) !== JSON.stringify(row)) found.push(`put back, ${JSON.stringify(row)} became ${said(form)}`);
      // Sizes and durations are shown such that a person who writes the same gets the same.
      if (typeof value !== "number") continue;
      const again = schemaForm(contract, { type: "object", properties: { [name]: schema } }, {});
      const input = again.element.querySelector("input");
      input.value = form.element.querySelector("input").value;
      if (again.value()[name] !== value) found.push(`${input.value} is shown for ${value}`);
    }
  }
  // What cannot be read is marked, also where nothing else is in an object, and is not taken for an end of the object.
  for (const inner of [undefined, { maxBytes: 1024 }]) {
    const sized = { type: "object", properties: { maxBytes: integer, label: text } };
    const form = schemaForm(contract, { properties: { inner: sized } }, { value: { inner } });
    const [input, label] = form.element.querySelectorAll("details input[type=text]");
    input.value = "2 megs";
    if (form.check() || input.getAttribute("aria-invalid") !== "true") found.push("2 megs is a size");
    input.value = "";
    if (!form.check()) found.push("an object may not be left out");
    label.value = "x";
    if (!form.check() || form.value().inner.label !== "x") found.push(`x became ${JSON.stringify(form.value())}`);
  }
  const pairs = schemaForm(contract, { properties: { labels: { type: "object", additionalProperties: text } } }, {});
  [...pairs.element.querySelectorAll("button")].find((button) => button.textContent.includes("Add")).click();
  const [name, meaning] = pairs.element.querySelectorAll("input");
  meaning.value = "1";
  if (pairs.check()) found.push("a value without a name is dropped");
  name.value = "a";
  if (!pairs.check() || pairs.value().labels.a !== "1") found.push(`a: 1 became ${JSON.stringify(pairs.value())}`);
  // A required text may be empty if its pattern says so.
  const place = { ...text, pattern: "^(.*/)?$" };
  const empty = schemaForm(contract, { required: ["prefix"], properties: { prefix: place } }, {});
  if (!empty.check() || empty.value().prefix !== "") found.push(`the empty prefix became ${empty.value().prefix}`);
  // A flag that is unticked is absent, unless its default would then hold.
  for (const [schema, unticked] of [[{ type: "boolean" }, undefined], [{ type: "boolean", default: true }, false]]) {
    const form = schemaForm(contract, { properties: { flag: schema } }, { value: { flag: true } });
    form.element.querySelector("input").checked = false;
    if (form.value().flag !== unticked) found.push(`the unticked flag became ${form.value().flag}`);
  }
  // The repeated hour is said as the one it is.
  const form = schemaForm(contract, { properties: { at: time } }, { value: { at: "2027-10-31T01:30:00Z" } });
  if (!form.element.textContent.includes("01:30:00 UTC")) found.push(`the time is ${form.element.textContent}`);
  // A number that no number of the page can stand for is not taken for another.
  const large = schemaForm(contract, { properties: { count: integer } }, {});
  large.element.querySelector("input").value = "9007199254740993";
  if (large.check() || large.value().count !== undefined) found.push(`9007199254740993 became ${large.value().count}`);
  // A key in PEM has lines. The line break after it is no part of a secret.
  const secret = schemaForm(contract, { properties: { cdnSecret: { ...text, writeOnly: true } } }, {});
  document.body.append(secret.element);
  const input = secret.element.querySelector("textarea, input");
  input.value = "-----BEGIN\\nEND-----\\n";
  if (secret.value().cdnSecret !== "-----BEGIN\\nEND-----") found.push(`the secret became ${secret.value().cdnSecret}`);
  if (input.type !== "password" && getComputedStyle(input).webkitTextSecurity !== "disc") found.push("it can be read");
  secret.element.remove();
  return { count, found };
}
"""


def step(function):
    STEPS.append(function)
    return function


def nothing_has_changed(visit) -> None:
    """Expects that the form says so, and closes it."""
    expect(visit.dialog).to_be_visible()
    visit.dialog.locator("summary").filter(has_text="Show command").click()
    expect(visit.dialog.get_by_text("Nothing has changed.", exact=True).first).to_be_visible()
    for word in ("Review", "Save"):
        if visit.dialog.get_by_role("button", name=word, exact=True).count():
            visit.press(word, visit.dialog)
    if visit.dialog.count():
        expect(visit.dialog.get_by_text("Nothing has changed.", exact=True).last).to_be_visible()
        visit.press("Cancel", visit.dialog)
    if visit.dialog.get_by_role("button", name="Discard", exact=True).count():
        visit.press("Discard", visit.dialog)  # Somebody wrote, and put back what there was.
    expect(visit.dialog).to_have_count(0)


def sent(visit, operation: str, word: str) -> dict:
    """Presses a button of the dialog, and returns the body of the request that follows."""
    with visit.page.expect_request(lambda request: request.method == operation) as request:
        visit.press(word, visit.dialog)
    return json.loads(request.value.post_data)


def edit(visit, text: str) -> None:
    """Opens the form of the grant in the row that has the text."""
    visit.choose(visit.row(text), "Edit")
    expect(visit.dialog).to_be_visible()


def content(grant: dict) -> dict:
    """A grant without what the gateway sets."""
    return {name: value for name, value in grant.items() if name not in ("id", "createdBy", "createdAt")}


def exact_grant(world, principal: str) -> dict:
    made = world.grant(
        principal, "exact/", note=LINES, notBefore=FIRST_HOUR, notAfter=REPEATED_HOUR,
        conditions={
            "maxBytes": BYTES, "maxTTL": 3661, "contentTypes": ["text/plain", "image/*"],
            "sourceCIDRs": ["10.0.0.0/8"], "requireContentMD5": False, "forceDownload": True})
    return world.gateway.admin("GET", f"grants/{made}")


@step
def every_kind_of_field_returns_what_it_was_given(walk):
    answer = walk.admin.page.evaluate(KINDS)
    assert answer["count"] > 150, answer
    assert not answer["found"], "\n".join(answer["found"][:20])


@step
def a_form_of_a_grant_changes_only_what_somebody_touched(walk):
    visit, gateway = walk.admin, walk.world.gateway
    made = exact_grant(walk.world, "user:exact")
    visit.go("#/grants?principal=user:exact")
    edit(visit, "exact/")
    assert field(visit, "Note").input_value() == LINES
    assert field(visit, "Max bytes").input_value() == str(BYTES)
    visit.judge("the form of a grant with values that fields show in other words", on_phone=False)
    nothing_has_changed(visit)

    # What was written and put back is not touched.
    edit(visit, "exact/")
    for label in ("Max bytes", "Note", "Not after", "Content types"):
        before = field(visit, label).input_value()
        field(visit, label).fill("2028-01-01T00:00:00" if label == "Not after" else "1")
        field(visit, label).fill(before)
    visit.dialog.get_by_label("DeleteObject").check()
    visit.dialog.get_by_label("DeleteObject").uncheck()
    nothing_has_changed(visit)

    edit(visit, "exact/")
    field(visit, "Max TTL").fill("20 min")
    review = sent(visit, "POST", "Review")
    expect(visit.dialog.get_by_text("The dry run accepts it.")).to_be_visible()
    expected = content(made) | {"conditions": made["conditions"] | {"maxTTL": 1200}}
    assert content(review["writes"][0]) | {"ifMatch": None} == expected | {"ifMatch": None}, review
    assert sent(visit, "PATCH", "Save") == {"conditions": {"maxTTL": 1200}}
    visit.done("In force on every gateway")
    assert content(gateway.admin("GET", f"grants/{made['id']}")) == expected

    edit(visit, "exact/")
    field(visit, "Note").fill(f"{LINES}\nThe last line")
    visit.press("Review", visit.dialog)
    expect(visit.dialog.get_by_text("The dry run accepts it.")).to_be_visible()
    assert sent(visit, "PATCH", "Save") == {"note": f"{LINES}\nThe last line"}
    visit.done("In force on every gateway")
    assert content(gateway.admin("GET", f"grants/{made['id']}")) == expected | {"note": f"{LINES}\nThe last line"}

    # A flag that is unticked is removed: the gateway refuses it where the actions do not fit, whatever it says.
    edit(visit, "exact/")
    visit.dialog.get_by_label("Force download").uncheck()
    visit.press("Review", visit.dialog)
    expect(visit.dialog.get_by_text("The dry run accepts it.")).to_be_visible()
    assert sent(visit, "PATCH", "Save") == {"conditions": {"forceDownload": None}}
    visit.done("In force on every gateway")
    assert "forceDownload" not in gateway.admin("GET", f"grants/{made['id']}")["conditions"]


@step
def a_form_of_a_grant_knows_empty_from_absent(walk):
    """A grant without a note and conditions, and the end of a grant that somebody removes."""
    visit, world = walk.admin, walk.world
    made = world.grant("user:plain", "plain/", notAfter=REPEATED_HOUR)
    visit.go("#/grants?principal=user:plain")
    edit(visit, "plain/")
    nothing_has_changed(visit)
    edit(visit, "plain/")
    field(visit, "Not after").fill("")
    review = sent(visit, "POST", "Review")
    assert "notAfter" not in review["writes"][0], review
    expect(visit.dialog.get_by_text("The dry run accepts it.")).to_be_visible()
    expect(visit.dialog.locator(".diff")).to_contain_text("Not after")
    assert sent(visit, "PATCH", "Save") == {"notAfter": None}
    visit.done("In force on every gateway")
    assert "notAfter" not in world.gateway.admin("GET", f"grants/{made}")


@step
def a_condition_that_cannot_be_read_is_not_dropped(walk):
    """Neither the only one of a grant, nor half a time."""
    visit, world = walk.admin, walk.world
    made = world.grant("user:unread", "unread/", conditions={"maxBytes": 1_048_576})
    visit.go("#/grants?principal=user:unread")
    edit(visit, "unread/")
    field(visit, "Max bytes").fill("2 megs")
    visit.press("Review", visit.dialog)
    expect(visit.dialog.get_by_text("Write a size, such as 10 MiB or 4096.")).to_be_visible()
    field(visit, "Max bytes").fill("1 MiB")
    field(visit, "Not before").press("1")
    visit.press("Review", visit.dialog)
    expect(visit.dialog.get_by_text("Choose a date and a time.")).to_be_visible()
    expect(visit.dialog.get_by_text("The dry run accepts it.")).to_have_count(0)
    visit.press("Cancel", visit.dialog)
    visit.press("Discard", visit.dialog)
    assert world.gateway.admin("GET", f"grants/{made}")["conditions"] == {"maxBytes": 1_048_576}


@step
def a_copy_of_a_grant_is_exact(walk):
    visit, world = walk.admin, walk.world
    made = exact_grant(world, "user:original")
    visit.go("#/grants?principal=user:original")
    visit.choose(visit.row("exact/"), "Copy as a new grant")
    field(visit, "Principal").fill("user:copy")
    visit.press("Review", visit.dialog)
    expect(visit.dialog.get_by_text("The dry run accepts it.")).to_be_visible()
    assert sent(visit, "POST", "Create") == content(made) | {"principal": "user:copy"}
    visit.done("In force on every gateway")
    (copy,) = world.gateway.items("grants?principal=user:copy")
    assert content(copy) == content(made) | {"principal": "user:copy"}, copy


@step
def a_draft_out_of_an_address_shows_what_it_asks_for(walk):
    """An action in the words of a store is neither hidden nor dropped."""
    visit, world = walk.admin, walk.world
    draft = {"principal": "user:draft", "bucket": world.bucket, "prefix": "draft/", "actions": ["s3:GetObject"]}
    visit.go(f"#/grants?new={quote(json.dumps(draft))}")
    expect(visit.dialog.get_by_label("s3:GetObject", exact=True)).to_be_checked()
    expect(visit.dialog.get_by_label("GetObject", exact=True)).not_to_be_checked()
    visit.press("Review", visit.dialog)
    expect(visit.dialog.get_by_text("The dry run accepts it.")).to_be_visible()
    visit.press("Create", visit.dialog)
    visit.done("In force on every gateway")
    (made,) = world.gateway.items("grants?principal=user:draft")
    assert made["actions"] == ["GetObject"], made


@step
def forms_of_other_rows_change_only_what_somebody_touched(walk):
    visit, world = walk.admin, walk.world
    gateway = world.gateway
    key = gateway.admin("POST", "api-keys", {
        "name": "Exact", "principal": "user:exact", "groups": ["group:b", "group:a"], "expiresAt": REPEATED_HOUR,
        "roles": ["auditor", "admin"],
        "adminScopes": [{"prefix": "exact/", "bucket": world.bucket, "principals": ["user:exact.*"]}]})
    world.secrets.append(key["key"])
    issuer = next(row["id"] for row in gateway.items("issuers") if row["issuer"] == world.provider)
    credential = gateway.admin("POST", "storage-credentials", {
        "name": "Exact", "accessKeyID": "AKIDEXACT", "secretAccessKey": "exact-secret-of-the-console",
        "sessionToken": "exact-token-of-the-console", "expiresAt": REPEATED_HOUR})
    world.secrets += ["exact-secret-of-the-console", "exact-token-of-the-console"]
    for address, path, label, text, patch in (
        (f"api-keys/{key['id']}", f"api-keys/{key['id']}", "Name", "Renamed", {"name": "Renamed"}),
        (f"issuers/{issuer}", f"issuers/{issuer}", "Subject claim", "oid", {"subjectClaim": "oid"}),
        (f"credentials/{credential['id']}", f"storage-credentials/{credential['id']}", "Name", "Renamed",
         {"name": "Renamed"}),
        (f"buckets/{world.bucket}", f"buckets/{world.bucket}", "Default TTL", "7 min", {"defaultTTL": 420}),
    ):
        before = gateway.admin("GET", path)
        with visit.refused(404):  # A bucket has no event secret.
            visit.go(f"#/{address}")
            visit.press("Change")
            nothing_has_changed(visit)
            visit.press("Change")
            expect(visit.dialog).to_be_visible()
            field(visit, label).fill(text)
            assert sent(visit, "PATCH", "Save") == patch, address
            expect(visit.dialog).to_have_count(0)
            visit.settle()
        after = gateway.admin("GET", path)
        assert after == before | patch, f"{address}: {after}"
        gateway.admin("PATCH", path, {name: before[name] for name in patch}, If_Match="*")


@step
def a_limit_is_shown_exactly(walk):
    visit, world = walk.admin, walk.world
    made = world.quota("user:exact", BYTES, metric="bytes", period="hour")
    visit.go(f"#/quotas/{made}")
    visit.press("Change the limit")
    expect(visit.dialog).to_be_visible()
    assert field(visit, "Limit").input_value() == str(BYTES)
    expect(visit.dialog.get_by_text("10,000,000,000 bytes an hour")).to_be_visible()
    nothing_has_changed(visit)


@step
def a_private_key_keeps_its_lines(walk):
    visit, world = walk.admin, walk.world
    key = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, text=True, check=True).stdout
    world.secrets += key.splitlines()[1:-1]
    visit.go("#/credentials")
    visit.press("New credential")
    field(visit, "Name").fill("A key pair")
    visit.dialog.get_by_text("Key pair", exact=True).first.click()
    field(visit, "ID").fill("KEXACT")
    field(visit, "Private key").fill(key)
    assert sent(visit, "POST", "Create")["keyPair"] == {"id": "KEXACT", "privateKey": key}
    visit.done("The credential is stored sealed")
    assert "A key pair" in [row["name"] for row in world.gateway.items("storage-credentials")]
