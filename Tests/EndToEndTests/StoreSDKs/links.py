"""Links as the stores' own SDKs make them, with their clocks stopped."""

import datetime
import email.utils
import functools
import hashlib
import hmac
import time
import types
from urllib.parse import quote, unquote, urlsplit

import alibabacloud_oss_v2 as oss_v2
import alibabacloud_oss_v2.signer as oss_v2_signer
import boto3
import botocore.auth
import botocore.config
import botocore.signers
import google.cloud.storage as gcs
import google.cloud.storage._signing as gcs_signing
import google.cloud.storage.client as gcs_client
import google.oauth2.service_account
import oss2

UTC = datetime.timezone.utc
BUCKETS = {}


# The SDKs, with their clocks stopped.

class Clock:
    """One instant for all SDKs; each has its own way to it."""

    def __init__(self):
        self.instant = datetime.datetime.now(UTC)
        epoch = types.SimpleNamespace(time=lambda: self.instant.timestamp())
        naive = lambda *_: self.instant.replace(tzinfo=None)
        oss2.auth.time = epoch
        oss2.auth.datetime = types.SimpleNamespace(utcnow=naive)
        gcs_signing._NOW = gcs_client._NOW = lambda *_: self.instant
        botocore.auth.time = types.SimpleNamespace(**{**vars(time), "time": epoch.time})
        botocore.auth.get_current_datetime = botocore.signers.get_current_datetime = naive


CLOCK = Clock()


class PinnedSigner:
    """Gives a signer of the second OSS SDK the instant, and the additional headers that its client leaves out."""

    def __init__(self, signer, additional):
        self.signer, self.additional = signer, additional
        self.is_signed_header = getattr(signer, "is_signed_header", None)

    def sign(self, context):
        context.signing_time, context.additional_headers = CLOCK.instant, self.additional
        self.signer.sign(context)


@functools.cache
def kept(make, name):
    """A client, made once per bucket."""
    return make(BUCKETS[name])


def oss2_client(bucket):
    provider = oss2.credentials.StaticCredentialsProvider(
        bucket["accessKeyID"], bucket["secretAccessKey"], bucket.get("sessionToken"))
    auth = oss2.ProviderAuthV4(provider) if bucket["scheme"] == "oss-v4" else oss2.ProviderAuth(provider)
    return oss2.Bucket(
        auth, bucket["endpoint"], bucket["name"], is_cname=bucket["addressing"] == "cname", region=bucket["region"],
        is_verify_object_strict=False)


def oss2_link(bucket, method, key, headers, query, seconds):
    additional = {"content-length"} if bucket["scheme"] == "oss-v4" else None
    if not key:
        return oss2_listing(bucket, method, headers, query, seconds, additional)
    return kept(oss2_client, bucket["name"]).sign_url(
        method, key, seconds, headers=dict(headers), params=dict(query), slash_safe=True, additional_headers=additional)


def oss2_listing(bucket, method, headers, query, seconds, additional):
    """What `sign_url` does, which refuses to sign for the bucket itself."""
    client = kept(oss2_client, bucket["name"])
    request = oss2.http.Request(
        method, client._make_url(client.bucket_name, "", True), headers=dict(headers), params=dict(query),
        region=client.region, product=client.product, cloudbox_id=client.cloudbox_id)
    return client.auth._sign_url(request, client.bucket_name, "", seconds, in_additional_headers=additional)


def oss_v2_client(bucket):
    config = oss_v2.config.load_default()
    config.region, config.endpoint = bucket["region"], bucket["endpoint"]
    config.use_cname, config.use_path_style = bucket["addressing"] == "cname", bucket["addressing"] == "path"
    config.credentials_provider = oss_v2.credentials.StaticCredentialsProvider(
        bucket["accessKeyID"], bucket["secretAccessKey"], bucket.get("sessionToken"))
    client = oss_v2.Client(config)
    signer = oss_v2_signer.SignerV4() if bucket["scheme"] == "oss-v4" else oss_v2_signer.SignerV1()
    client._client._options.signer = PinnedSigner(signer, {"content-length"})
    return client


def oss_v2_link(bucket, method, key, headers, query, seconds):
    if bucket["scheme"] == "oss-v1" and "x-oss-process" in query:
        return None  # its V1 signer does not know this sub-resource
    if not key or method == "DELETE":
        return None  # it presigns only what reads and writes objects
    model = {"GET": oss_v2.GetObjectRequest, "HEAD": oss_v2.HeadObjectRequest, "PUT": oss_v2.PutObjectRequest}[method]
    request = model(bucket=bucket["name"], key=key, headers=dict(headers), parameters=dict(query))
    return kept(oss_v2_client, bucket["name"]).presign(
        request, expiration=CLOCK.instant + datetime.timedelta(seconds=seconds)).url


def google_account(bucket):
    return google.oauth2.service_account.Credentials.from_service_account_info({
        "client_email": bucket["email"], "private_key": bucket["secretAccessKey"],
        "token_uri": "https://oauth2.googleapis.com/token"})


def account(bucket):
    return kept(google_account, bucket["name"])


def google_client(bucket):
    return gcs.Client(project="p", credentials=account(bucket))


def google_place(bucket):
    """How the SDK is told where a bucket is."""
    return {
        "path": {"api_access_endpoint": bucket["endpoint"]},
        "virtual": {"api_access_endpoint": bucket["endpoint"], "virtual_hosted_style": True},
        "cname": {"bucket_bound_hostname": bucket["endpoint"]},
    }[bucket["addressing"]]


def google_link(bucket, method, key, headers, query, seconds):
    if bucket["scheme"] == "gcs-v4-hmac" or bucket["region"] != "auto" or not key:
        return google_derived_link(bucket, method, key, headers, query, seconds)
    headers, query = dict(headers), dict(query)
    options = {
        "method": method, "content_type": headers.pop("content-type", None), "content_md5": headers.pop("content-md5", None),
        "response_type": query.pop("response-content-type", None), "headers": headers,
        "response_disposition": query.pop("response-content-disposition", None), "credentials": account(bucket),
    }
    assert not query
    if bucket["scheme"] == "gcs-v2-rsa" and bucket["addressing"] != "path":
        # The SDK leaves the bucket out of what it signs when it names it in the host; the documentation has it there
        # always.
        place = bucket["endpoint"] if bucket["addressing"] == "cname" else in_front(bucket)
        del options["credentials"]
        url = gcs_signing.generate_signed_url_v2(
            account(bucket), f"/{bucket['name']}/{quote(key, safe='/~')}", int(CLOCK.instant.timestamp()) + seconds,
            api_access_endpoint=place, **options)
        return url.replace(f"{place}/{bucket['name']}/", f"{place}/", 1)
    client = kept(google_client, bucket["name"])
    version = "v2" if bucket["scheme"] == "gcs-v2-rsa" else "v4"
    return client.bucket(bucket["name"]).blob(key).generate_signed_url(
        version=version, expiration=datetime.timedelta(seconds=seconds), **options, **google_place(bucket))


def in_front(bucket):
    scheme, _, host = bucket["endpoint"].partition("://")
    return f"{scheme}://{bucket['name']}.{host}"


def google_derived_link(bucket, method, key, headers, query, seconds):
    """For HMAC keys and for locations other than `auto`, which the SDK does not sign for: its own canonical headers and
    query, and the rest as Google's documentation has it."""
    origin = in_front(bucket) if bucket["addressing"] == "virtual" else bucket["endpoint"]
    path = (f"/{bucket['name']}" if bucket["addressing"] == "path" else "") + "/" + quote(key, safe="/~")
    stamp = CLOCK.instant.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{bucket['region']}/storage/goog4_request"
    algorithm = "GOOG4-HMAC-SHA256" if bucket["scheme"] == "gcs-v4-hmac" else "GOOG4-RSA-SHA256"
    lines, pairs = gcs_signing.get_canonical_headers({**headers, "host": urlsplit(origin).netloc})
    names = ";".join(name for name, _ in pairs)
    own = {
        "X-Goog-Algorithm": algorithm, "X-Goog-Credential": f"{bucket.get('email') or bucket['accessKeyID']}/{scope}",
        "X-Goog-Date": stamp, "X-Goog-Expires": seconds, "X-Goog-SignedHeaders": names,
    }
    parameters = gcs_signing._url_encode({**query, **own})
    canonical = "\n".join([method, path, parameters, *lines, "", names, "UNSIGNED-PAYLOAD"])
    text = "\n".join([algorithm, stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    return f"{origin}{path}?{parameters}&X-Goog-Signature={google_signature(bucket, text.encode())}"


def google_signature(bucket, data):
    if bucket["scheme"] == "gcs-v4-rsa":
        return account(bucket).sign_bytes(data).hex()
    key = ("GOOG4" + bucket["secretAccessKey"]).encode()
    for part in (CLOCK.instant.strftime("%Y%m%d"), bucket["region"], "storage", "goog4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, data, "sha256").hexdigest()


def taken_apart(url):
    """Origin, raw path, and sorted decoded pairs. A raw plus is refused, because servers read it differently."""
    parts = urlsplit(url)
    assert "+" not in parts.query and not parts.fragment
    pairs = [(unquote(n, errors="strict"), unquote(v, errors="strict") if e else None) for n, e, v in (
        pair.partition("=") for pair in parts.query.split("&"))]
    return f"{parts.scheme}://{parts.netloc}", parts.path, sorted(pairs, key=str)


BOTO_PARAMETERS = {
    "content-type": "ContentType", "content-md5": "ContentMD5", "content-length": "ContentLength",
    "if-none-match": "IfNoneMatch", "x-amz-checksum-sha256": "ChecksumSHA256", "response-cache-control": "ResponseCacheControl",
    "response-content-disposition": "ResponseContentDisposition", "response-content-encoding": "ResponseContentEncoding",
    "response-content-language": "ResponseContentLanguage", "response-content-type": "ResponseContentType",
    "response-expires": "ResponseExpires", "prefix": "Prefix", "delimiter": "Delimiter", "max-keys": "MaxKeys",
    "continuation-token": "ContinuationToken", "start-after": "StartAfter", "encoding-type": "EncodingType",
}


def boto_client(bucket):
    version = "s3v4" if bucket["scheme"] == "aws-v4" else "s3"
    return boto3.client(
        "s3", endpoint_url=bucket["endpoint"], region_name=bucket["region"], aws_access_key_id=bucket["accessKeyID"],
        aws_secret_access_key=bucket["secretAccessKey"],
        config=botocore.config.Config(
            signature_version=version, s3={"addressing_style": bucket["addressing"]},
            request_checksum_calculation="when_required"))


def boto_link(bucket, method, key, headers, query, seconds):
    parameters = {"Bucket": bucket["name"], **({"Key": key} if key else {})}
    query = {name: value for name, value in query.items() if name != "list-type"}
    for name, value in [*headers.items(), *query.items()]:
        if name.startswith("x-amz-meta-"):
            parameters.setdefault("Metadata", {})[name.removeprefix("x-amz-meta-")] = value
        else:
            value = int(value) if name in ("content-length", "max-keys") else value
            value = email.utils.parsedate_to_datetime(value) if name == "response-expires" else value
            parameters[BOTO_PARAMETERS[name]] = value
    operation = {"PUT": "put_object", "GET": "get_object", "HEAD": "head_object", "DELETE": "delete_object"}[method]
    operation = operation if key else "list_objects_v2"
    url = kept(boto_client, bucket["name"]).generate_presigned_url(operation, Params=parameters, ExpiresIn=seconds)
    if bucket["scheme"] == "aws-v2":
        # The SDK repeats all signed headers in the query, where they are not signed; the gateway repeats only type and
        # MD5.
        front, _, query = url.partition("?")
        url = front + "?" + "&".join(pair for pair in query.split("&") if not pair.startswith("x-amz-meta-"))
    return url


LINKS = {
    "oss-v4": [oss2_link, oss_v2_link], "oss-v1": [oss2_link, oss_v2_link], "gcs-v4-rsa": [google_link],
    "gcs-v4-hmac": [google_link], "gcs-v2-rsa": [google_link], "aws-v4": [boto_link], "aws-v2": [boto_link],
}
