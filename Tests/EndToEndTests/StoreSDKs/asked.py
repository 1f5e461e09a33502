"""What a gateway is asked for, drawn at random, and what its answers must bind, before any signature."""

import base64
from urllib.parse import quote

META = {"oss": "x-oss-meta-", "gcs": "x-goog-meta-", "s3": "x-amz-meta-"}
CREATES_ONLY = {
    "oss": ("x-oss-forbid-overwrite", "true"), "gcs": ("x-goog-if-generation-match", "0"), "s3": ("if-none-match", "*"),
}
OVERRIDES = {
    "cacheControl": "response-cache-control", "contentDisposition": "response-content-disposition",
    "contentEncoding": "response-content-encoding", "contentLanguage": "response-content-language",
    "contentType": "response-content-type", "expires": "response-expires",
}
SIGNS_LENGTH = {"oss-v4", "aws-v4", "gcs-v4-rsa", "gcs-v4-hmac"}
SIGNS_LENGTH_RANGE = {"gcs-v4-rsa", "gcs-v4-hmac", "gcs-v2-rsa"}


# What the gateway is asked for.

WORDS = [
    "a", "Z9",
    "with space", " two  spaces ", "plus+plus", "%41", "100%", "%2F", "报告", "二〇二六年", "👩🏽‍🚀", "é", "e\u0301",
    "quote'single", 'quote"double', "tilde~", "star*", "!$&,;=:@()", "a=b&c", "#hash", "back\\slash", "[x]{y}|^`", "<t>", "..a",
    "ß", "İ", "\u200b", "\U0010fffd", "_-.", "?", "?acl", "a?versionId=1",
]
TYPES = [
    "text/plain", "image/png", "application/octet-stream", "text/plain; charset=utf-8", "image/svg+xml", "Text/HTML",
    'multipart/mixed; boundary="a b;c"', "application/vnd.oasis.opendocument.text", "application/x-a+b",
]
PROCESSES = [
    "image/resize,w_100/format,webp", "style/small", "video/snapshot,t_7000,f_jpg,w_800", "image/info",
    "image/crop,x_10,y_10,w_200,h_200,g_se/quality,q_80",
]


def any_key(chance, bucket):
    while True:
        segments = ["".join(chance.choices(WORDS, k=chance.randint(1, 3))) for _ in range(chance.randint(1, 4))]
        key = "/".join(segments)
        if bucket["provider"] == "oss":
            key = key.replace("?", "")  # the gateway refuses these, as they read like sub-resources
        if chance.random() < 0.05:
            key += chance.choice("界🛶k~") * ((1023 - len(key.encode())) // 4)
        if key.strip() and key[0] not in "/\\" and all(s not in ("", ".", "..") for s in key.split("/")):
            return key


def some_metadata(chance):
    names = chance.sample(["owner", "Camera-Model", "a", "a-b", "ab", "x_y", "n1.2", "z!#$%&'*+^`|~"], chance.randint(1, 4))
    values = ["alice", "a  b", "a,b;c=d", '"quoted"', "https://x.example/?q=1&r=%20", "~*'()", "0"]
    return {name: chance.choice(values) for name in names}


def an_upload(chance, bucket):
    scheme, digest = bucket["scheme"], chance.randbytes(32)
    request = {"action": "PutObject", "key": any_key(chance, bucket), "contentType": chance.choice(TYPES)}
    options = {
        "contentMD5": base64.b64encode(digest[:16]).decode(), "contentLength": chance.choice([0, 1, 5, 1 << 20, 5 << 30]),
        "metadata": some_metadata(chance), "method": "PUT",
    }
    if scheme != "aws-v2":
        options["ifNoneMatch"] = "*"
    if scheme == "aws-v4":
        options["checksumSHA256"] = base64.b64encode(digest).decode()
    request.update({name: value for name, value in options.items() if chance.random() < 0.5})
    if scheme in SIGNS_LENGTH_RANGE and chance.random() < 0.2:
        request["key"] = "limited/" + request["key"][:200]
        if request.get("contentLength", 0) > 1 << 20:
            request["contentLength"] = 1 << 20
    return request


def a_download(chance, bucket):
    request = {"action": "GetObject", "key": any_key(chance, bucket)}
    if chance.random() < 0.5:
        request["method"] = chance.choice(["GET", "HEAD"])
    response = {
        "contentType": chance.choice(TYPES),
        "contentDisposition": chance.choice(["inline", "attachment", 'attachment; filename="a b+c.txt"']),
        "cacheControl": chance.choice(["no-cache", "private, max-age=60"]), "contentEncoding": "gzip",
        "contentLanguage": "de-CH, en;q=0.7", "expires": "Thu, 01 Dec 2044 16:00:00 GMT",
    }
    if bucket["provider"] == "gcs":
        response = {name: response[name] for name in ("contentType", "contentDisposition")}
    response = {name: value for name, value in response.items() if chance.random() < 0.4}
    if chance.random() < 0.3:
        response.pop("contentDisposition", None)
        response["filename"] = chance.choice(["cat.png", "Katze – 猫 100%.png", 'a "b"; c*\'.txt', "👩🏽‍🚀"])
    if response and bucket["scheme"] != "gcs-v2-rsa":
        request["response"] = response
    if bucket["provider"] == "oss" and request.get("method") != "HEAD" and chance.random() < 0.3:
        request["process"] = chance.choice(PROCESSES)
        # Under version 1, a process can be bound beside nothing else.
        if bucket["scheme"] == "oss-v1":
            request.pop("response", None)
    return request


def a_listing(chance, bucket):
    request = {"action": "ListObjects", "prefix": any_key(chance, bucket)[:250] + chance.choice(["", "/"])}
    if any(s.strip(" .") == "" and s != "" for s in request["prefix"].split("/")):
        request["prefix"] = "team/"
    options = {
        "delimiter": chance.choice(["/", "::", " & "]), "maxKeys": chance.choice([1, 77, 1000]),
        "continuationToken": chance.choice(["1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J+wm36Hy4vbOwM=", "报告 a"]),
        "startAfter": chance.choice(["team/a b+c", "报告/%41"]), "encodingType": "url",
    }
    paging = {name: value for name, value in options.items() if chance.random() < 0.5}
    if bucket["scheme"] == "aws-v4":
        paging["encodingType"] = "url"  # the SDK always asks for it
    if paging:
        request["list"] = paging
    return request


def a_deletion(chance, bucket):
    return {"action": "DeleteObject", "key": any_key(chance, bucket)}


def makers(bucket):
    """What links a bucket of this scheme can be asked for."""
    made = [an_upload, a_download]
    if bucket["scheme"] != "gcs-v2-rsa":
        made.append(a_deletion)
    # Where the path has the bucket, boto3 names it without a slash at the end, which stores take for the same.
    if bucket["scheme"] in SIGNS_LENGTH and (bucket["scheme"], bucket["addressing"]) != ("aws-v4", "path"):
        made.append(a_listing)
    return made


def place(request):
    """The key in the path; none where the bucket is listed."""
    return request.get("key", "")


METHODS = {"PutObject": "PUT", "GetObject": "GET", "ListObjects": "GET", "DeleteObject": "DELETE"}
PAGING = {
    "delimiter": "delimiter", "maxKeys": "max-keys", "continuationToken": "continuation-token",
    "startAfter": "start-after", "encodingType": "encoding-type",
}


def a_form(chance, bucket):
    types_ = chance.sample(TYPES, chance.randint(1, 3) if bucket["provider"] == "oss" else 1)
    low, high = sorted(chance.choices([0, 1, 10, 1 << 20, 5 << 30], k=2))
    request = {"contentTypes": types_, "maxBytes": high}
    keys = [{"key": any_key(chance, bucket)}, {"keyStartsWith": "inbox/a b/报告/"}, {"keyStartsWith": ""}]
    request.update(chance.choice(keys))
    options = {"minBytes": low, "metadata": some_metadata(chance), "successActionStatus": chance.choice([200, 201, 204])}
    request.update({name: value for name, value in options.items() if chance.random() < 0.5})
    return request


def has_forms(bucket):
    return bucket["scheme"] not in ("aws-v2", "gcs-v2-rsa")


# What its answer must say, before any signature.

def disposition(filename):
    plain = "".join(c if " " <= c <= "~" and c not in '"%' else "_" for c in filename)
    header = f'attachment; filename="{plain}"'
    return header if plain == filename else header + "; filename*=UTF-8''" + quote(filename, safe="!#$&+^`|")


def bound(bucket, request):
    """Headers and decoded parameters that a link for the request has to bind, the limit of the size, and the life."""
    scheme, provider, headers, query = bucket["scheme"], bucket["provider"], {}, {}
    is_limited = place(request).startswith("limited/")
    size_is_bound = False
    if request["action"] == "PutObject":
        headers["content-type"] = request["contentType"]
        if "contentMD5" in request:
            headers["content-md5"] = request["contentMD5"]
        length = request.get("contentLength")
        if length is not None and scheme in SIGNS_LENGTH:
            headers["content-length"] = str(length)
        elif length is not None and scheme in SIGNS_LENGTH_RANGE:
            headers["x-goog-content-length-range"] = f"{length},{length}"
        elif is_limited and scheme in SIGNS_LENGTH_RANGE:
            headers["x-goog-content-length-range"] = f"0,{1 << 20}"
        size_is_bound = any("length" in name for name in headers)
        if "checksumSHA256" in request:
            headers["x-amz-checksum-sha256"] = request["checksumSHA256"]
        if "ifNoneMatch" in request:
            name, value = CREATES_ONLY[provider]
            headers[name] = value
        for name, value in request.get("metadata", {}).items():
            headers[META[provider] + name.lower()] = value
    response = dict(request.get("response", {}))
    if "filename" in response:
        response["contentDisposition"] = disposition(response.pop("filename"))
    query.update({OVERRIDES[name]: value for name, value in response.items()})
    if "process" in request:
        query["x-oss-process"] = request["process"]
    if request["action"] == "ListObjects":
        query.update({"list-type": "2", "prefix": request["prefix"]})
        query.update({PAGING[name]: str(value) for name, value in request.get("list", {}).items()})
    return headers, query, "signature" if size_is_bound else "none", life(bucket, request, 300 if is_limited else 604800)


def life(bucket, request, limit=604800):
    return min(request.get("expiresIn", bucket["defaultTTL"]), bucket["maxTTL"], limit)
