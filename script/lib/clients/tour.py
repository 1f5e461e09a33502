"""Uses the generated client as an app and an admin would."""

import hashlib
import importlib
import uuid

import httpx

CONTENT = b"Hello from a generated client"


def flaws(made, settings):
    from sluice_client import AuthenticatedClient, models
    from sluice_client.types import UNSET

    base = settings["SLUICE_URL"]
    app = AuthenticatedClient(base_url=base, token=settings["SLUICE_KEY"])
    admin = AuthenticatedClient(base_url=base, token=settings["SLUICE_ADMIN_KEY"])
    calls = {module.__name__.rpartition(".")[2]: module for module in made.operations()}
    faults = []

    def call(client, name, *arguments, **options):
        return calls[name].sync_detailed(*arguments, client=client, **options)

    def expect(is_so, what):
        if not is_so:
            faults.append(what)

    # An app uploads, confirms and downloads.
    key = f"users/alice/{uuid.uuid4()}.txt"
    request = models.PresignedURLRequest(
        action=models.RequestedAction.PUTOBJECT, bucket="demo", key=key, content_type="text/plain",
        content_length=len(CONTENT))
    link = call(app, "issue_presigned_url", body=request).parsed
    expect(isinstance(link, models.PresignedURL), f"an upload link: {link}")
    stored = httpx.request(link.method.value, link.url, headers=link.headers.additional_properties, content=CONTENT)
    expect(stored.status_code == 200, f"the upload: {stored.status_code} {stored.text}")
    upload = call(app, "confirm_upload", link.id, body=models.NoMembers()).parsed
    expect(isinstance(upload, models.Upload) and upload.state is models.UploadState.LANDED, f"the confirmation: {upload}")
    batch = call(app, "issue_presigned_url_batch", body=models.PresignedURLBatchRequest(items=[
        models.PresignedURLRequest(action=models.RequestedAction.GETOBJECT, bucket="demo", key=key),
        models.PresignedURLRequest(action=models.RequestedAction.GETOBJECT, bucket="demo", key="somebody/else.txt")]))
    found, refused = batch.parsed.results
    expect(isinstance(found, models.PresignedURL) and httpx.get(found.url).content == CONTENT, f"a batch: {found}")
    expect(isinstance(refused, models.Problem) and refused.code is models.ProblemCode.ACCESSDENIED, f"{refused}")

    # Parts.
    begun = call(app, "start_multipart_upload", body=models.NewMultipartUpload(
        bucket="demo", key=key, content_type="text/plain")).parsed
    parts = call(app, "issue_multipart_parts", begun.id, body=models.MultipartPartsRequest(parts=[
        models.MultipartPartsRequestPartsItem(part_number=1)])).parsed.results
    expect(isinstance(parts[0], models.MultipartPartURL), f"a link to a part: {parts}")
    sent = httpx.put(parts[0].url, headers=parts[0].headers.additional_properties, content=CONTENT)
    whole = call(app, "complete_multipart_upload", begun.id, body=models.MultipartCompletion(parts=[
        models.MultipartCompletionPartsItem(part_number=1, etag=sent.headers["etag"])])).parsed
    expect(whole.state is models.MultipartState.COMPLETED, f"an upload in parts: {whole}")

    # Refusals are typed problems.
    denied = call(app, "issue_presigned_url", body=models.PresignedURLRequest(
        action=models.RequestedAction.GETOBJECT, bucket="demo", key="somebody/else.txt"))
    expect(denied.status_code == 403 and denied.parsed.type_ is models.ProblemType.VALUE_3, f"a refusal: {denied.parsed}")
    expect(denied.parsed.request_id == denied.headers["x-request-id"], "a refusal names its request")

    # An admin makes, changes and removes a grant.
    grant = call(admin, "create_grant", body=models.NewGrant(
        principal="user:carol", bucket="demo", prefix=f"users/{uuid.uuid4()}/",
        actions=[models.RequestedAction.PUTOBJECT, models.RequestedAction.GETOBJECT], note="From a generated client",
        conditions=models.GrantConditions(max_ttl=60)))
    expect(isinstance(grant.parsed, models.Grant), f"a new grant: {grant.parsed}")
    listed = call(admin, "list_grants", principal="user:carol").parsed
    expect(grant.parsed.id in [row.id for row in listed.items], "the list has the grant")
    patched = call(admin, "patch_grant", grant.parsed.id, if_match=grant.headers["etag"], body=models.GrantPatch(
        note=None, conditions=models.GrantConditionsPatch(max_ttl=None, max_bytes=1024)))
    row = patched.parsed
    expect(isinstance(row, models.Grant) and row.conditions.max_bytes == 1024 and row.conditions.max_ttl is UNSET
           and not row.note, f"the grant after a patch: {row}")
    late = call(admin, "patch_grant", grant.parsed.id, if_match=grant.headers["etag"],
                body=models.GrantPatch(note="too late"))
    expect(isinstance(late.parsed, models.Problem) and late.parsed.code is models.ProblemCode.PRECONDITIONFAILED,
           f"a late patch: {late.parsed}")
    gone = call(admin, "delete_grant", grant.parsed.id)
    expect(gone.status_code == 204, f"a deletion: {gone.status_code}")
    explained = call(admin, "explain", body=models.ExplainRequest(
        principal="user:alice", action="GetObject", bucket="demo", key=key)).parsed
    expect(explained.permitted is True, f"an explanation: {explained}")

    # The other generator's models take what the gateway answers.
    typed = importlib.import_module("sluice_models")
    body = httpx.get(f"{base}/v1/access", headers={"Authorization": f"Bearer {settings['SLUICE_KEY']}"}).json()
    access = typed.Access.model_validate(body)
    expect(access.principal.root == "user:alice" and access.grants, f"models: {access}")
    written = typed.PresignedURLRequest(action="GetObject", bucket="demo", key=key)
    answer = httpx.post(f"{base}/v1/presigned-urls", content=written.model_dump_json(exclude_none=True),
                        headers={"Authorization": f"Bearer {settings['SLUICE_KEY']}", "Content-Type": "application/json"})
    again = typed.PresignedURL.model_validate(answer.json())
    expect(hashlib.md5(httpx.get(str(again.url)).content).digest() == hashlib.md5(CONTENT).digest(), "the models' link")
    return faults
