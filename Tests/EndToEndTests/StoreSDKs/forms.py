"""Forms as the stores' own SDKs make them."""

import base64
import datetime
import hmac
import json
import types

import google.auth.credentials
import google.cloud.storage as gcs
import google.cloud.storage.client as gcs_client
import oss2

from asked import META
from links import CLOCK, UTC, account, boto_client, google_place, google_signature, in_front, kept


# Forms. Of the SDKs only those of Google and AWS make them; for Alibaba OSS the SDK's own key derivation signs.

def form_fields(bucket, request):
    # Alibaba OSS prefers this field to the type of the file's part, and that to `Content-Type`.
    name = "x-oss-content-type" if bucket["provider"] == "oss" else "Content-Type"
    fields = {name: request["contentTypes"][0]} if len(request["contentTypes"]) == 1 else {}
    for name, value in request.get("metadata", {}).items():
        fields[META[bucket["provider"]] + name.lower()] = value
    if "successActionStatus" in request:
        fields["success_action_status"] = str(request["successActionStatus"])
    if bucket["provider"] == "oss":
        fields["x-oss-object-acl"] = "default"
    return fields


def form_conditions(request):
    conditions = [["content-length-range", request.get("minBytes", 0), request["maxBytes"]]]
    if len(request["contentTypes"]) > 1:
        conditions.append(["in", "$x-oss-content-type", request["contentTypes"]])
    return conditions


def form_key(request):
    return request["key"] if "key" in request else request["keyStartsWith"] + "${filename}"


def anonymous_client(bucket):
    return gcs.Client(
        project="p", credentials=google.auth.credentials.AnonymousCredentials(),
        client_options={"api_endpoint": bucket["endpoint"]})


def google_form(bucket, request, fields, conditions, seconds, policy):
    place = {name: value for name, value in google_place(bucket).items() if name != "api_access_endpoint"}
    signer = account(bucket) if bucket["scheme"] == "gcs-v4-rsa" else types.SimpleNamespace(
        signer_email=bucket["accessKeyID"], sign_bytes=lambda data: bytes.fromhex(google_signature(bucket, data)))
    gcs_client.ensure_signed_credentials = lambda _: None  # it asks for a class of Google's
    made = kept(anonymous_client, bucket["name"]).generate_signed_post_policy_v4(
        bucket["name"], form_key(request), seconds, conditions=conditions, fields=fields, credentials=signer, **place)
    signature = signer.sign_bytes(policy.encode()).hex()
    text = base64.b64decode(made["fields"]["policy"]).decode()
    fields = made["fields"]
    # The SDK knows one algorithm and one location.
    algorithm = {"gcs-v4-hmac": "GOOG4-HMAC-SHA256", "gcs-v4-rsa": "GOOG4-RSA-SHA256"}[bucket["scheme"]]
    for one, other in (("GOOG4-RSA-SHA256", algorithm), ("/auto/storage/", f"/{bucket['region']}/storage/")):
        text = text.replace(one, other)
        fields = {**fields, **{n: fields[n].replace(one, other) for n in ("x-goog-algorithm", "x-goog-credential")}}
    return made["url"], fields, json.loads(text), "x-goog-signature", signature


def boto_form(bucket, request, fields, conditions, seconds, policy):
    named = conditions + [{name: value} for name, value in fields.items()]
    made = kept(boto_client, bucket["name"]).generate_presigned_post(
        bucket["name"], form_key(request), Fields=dict(fields), Conditions=named, ExpiresIn=seconds)
    key = ("AWS4" + bucket["secretAccessKey"]).encode()
    for part in (CLOCK.instant.strftime("%Y%m%d"), bucket["region"], "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, policy.encode(), "sha256").hexdigest()
    url = made["url"].rstrip("/") + "/"
    return url, made["fields"], json.loads(base64.b64decode(made["fields"]["policy"])), "x-amz-signature", signature


def oss_form(bucket, request, fields, conditions, seconds, policy):
    provider = oss2.credentials.StaticCredentialsProvider(
        bucket["accessKeyID"], bucket["secretAccessKey"], bucket.get("sessionToken"))
    token = {"x-oss-security-token": bucket["sessionToken"]} if "sessionToken" in bucket else {}
    if bucket["scheme"] == "oss-v4":
        stamp = CLOCK.instant.strftime("%Y%m%dT%H%M%SZ")
        place = types.SimpleNamespace(region=bucket["region"], cloudbox_id=None, product="oss")
        key = oss2.ProviderAuthV4(provider)._ProviderAuthV4__get_signing_key(place, provider.get_credentials(), stamp)
        scope = f"{stamp[:8]}/{bucket['region']}/oss/aliyun_v4_request"
        own = {
            "x-oss-signature-version": "OSS4-HMAC-SHA256", "x-oss-credential": f"{bucket['accessKeyID']}/{scope}",
            "x-oss-date": stamp, **token,
        }
        named, name, signature = own, "x-oss-signature", hmac.new(key, policy.encode(), "sha256").hexdigest()
    else:
        own, named, name = {"OSSAccessKeyId": bucket["accessKeyID"], **token}, {}, "Signature"
        digest = hmac.digest(bucket["secretAccessKey"].encode(), policy.encode(), "sha1")
        signature = base64.b64encode(digest).decode()
    path = f"/{bucket['name']}/" if bucket["addressing"] == "path" else "/"
    origin = in_front(bucket) if bucket["addressing"] == "virtual" else bucket["endpoint"]
    key = form_key(request)
    exact = {"bucket": bucket["name"], "key": key, **fields, **named}
    document = {
        "expiration": (CLOCK.instant + datetime.timedelta(seconds=seconds)).isoformat(),
        "conditions": conditions + [{name: value} for name, value in exact.items()],
    }
    return origin + path, {**fields, **own, "key": key, "policy": policy, name: signature}, document, name, signature


FORMS = {"oss": oss_form, "gcs": google_form, "s3": boto_form}


def same_policy(document):
    """A policy without what it may say in several ways: order, `eq` or an object, and the form of the instant."""
    conditions = []
    for condition in document["conditions"]:
        if isinstance(condition, dict):
            (name, value), = condition.items()
            condition = ["eq", "$" + name, value]
        operator, name, value = condition
        if operator == "eq" and name == "$key" and value.endswith("${filename}"):
            operator, value = "starts-with", value.removesuffix("${filename}")
        conditions.append(json.dumps([operator, name.lower() if isinstance(name, str) else name, value]))
    instant = datetime.datetime.fromisoformat(document["expiration"].replace("Z", "+00:00"))
    return sorted(conditions), instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
