"""Runs the stores' own SDKs against the embedded store: right requests, and requests that were tampered with.

Reads {"endpoint", "id", "secret", "part"} as JSON. Prints one line for each check that fails, and "checked N" at the
end. What is expected here comes from the stores' documentation.
"""

import base64
import hashlib
import hmac
import io
import json
import socket
import sys
import time
import urllib.error
import urllib.request

asked = json.load(sys.stdin)
endpoint, access_key, secret = asked["endpoint"], asked["id"], asked["secret"]
port = endpoint.rsplit(":", 1)[1]
checked = 0
look_up = socket.getaddrinfo
# Names below localhost are this machine (RFC 6761), which the resolver of Debian does not know.
socket.getaddrinfo = lambda host, *rest, **more: look_up(
    "127.0.0.1" if str(host).endswith("localhost") else host, *rest, **more)
AWS_ROLE = "arn:aws:iam::100000000001:role/sluice-demo"
ALIBABA_ROLE = "acs:ram::1000000000000001:role/sluice-demo"


def check(name, outcome, wanted):
    global checked
    checked += 1
    if outcome != wanted:
        print(f"{name}: {outcome!r} instead of {wanted!r}")


def code_of(call):
    """The code of the error that a call of an SDK gets, or "ok"."""
    try:
        call()
        return "ok"
    except Exception as error:  # Each SDK has errors of its own.
        for found in (lambda: error.response["Error"]["Code"], lambda: error.code, lambda: error.unwrap().code):
            try:
                if found():
                    return found()
            except Exception:
                continue
        return repr(error)


def fetch(method, url, body=None, headers=None):
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def s3_client(version, id=access_key, key=secret, token=None, style="path", service="s3", region="us-east-1"):
    import boto3
    from botocore.config import Config

    config = Config(signature_version=version, s3={"addressing_style": style}, retries={"max_attempts": 0})
    place = endpoint.replace("127.0.0.1", "localhost") if style == "virtual" else endpoint
    return boto3.client(
        service, endpoint_url=place, region_name=region, aws_access_key_id=id, aws_secret_access_key=key,
        aws_session_token=token, config=config)


def objects_s3(name, s3, bucket="demo"):
    """Everything that boto3 does with objects; every request is signed in its header."""
    key = f"{name}/a b+ü%.txt"
    put = s3.put_object(Bucket=bucket, Key=key, Body=b"hello", ContentType="text/plain", Metadata={"owner": "alice"})
    check(f"{name} etag", put["ETag"], '"5d41402abc4b2a76b9719d911017c592"')
    got = s3.get_object(Bucket=bucket, Key=key)
    check(f"{name} get", (got["Body"].read(), got["ContentType"], got["Metadata"]),
          (b"hello", "text/plain", {"owner": "alice"}))
    part = s3.get_object(Bucket=bucket, Key=key, Range="bytes=1-3")
    check(f"{name} range", (part["Body"].read(), part["ContentRange"]), (b"ell", "bytes 1-3/5"))
    check(f"{name} override", s3.get_object(Bucket=bucket, Key=key, ResponseContentType="text/csv")["ContentType"],
          "text/csv")
    check(f"{name} head", s3.head_object(Bucket=bucket, Key=key)["ContentLength"], 5)
    check(f"{name} versioning", s3.get_bucket_versioning(Bucket=bucket).get("Status"), None)
    s3.head_bucket(Bucket=bucket)
    for letter in "cba":
        s3.put_object(Bucket=bucket, Key=f"{name}/list/{letter}", Body=b"x")
        s3.put_object(Bucket=bucket, Key=f"{name}/list/{letter}/1&<", Body=b"x")
    first = s3.list_objects_v2(Bucket=bucket, Prefix=f"{name}/list/", Delimiter="/", MaxKeys=4)
    rest = s3.list_objects_v2(Bucket=bucket, Prefix=f"{name}/list/", Delimiter="/", MaxKeys=4,
                              ContinuationToken=first["NextContinuationToken"])
    found = [[[one["Key"][len(name) + 6:] for one in page.get("Contents", [])],
              [one["Prefix"][len(name) + 6:] for one in page.get("CommonPrefixes", [])],
              page["IsTruncated"], page["KeyCount"]] for page in (first, rest)]
    check(f"{name} list", found, [[["a", "b"], ["a/", "b/"], True, 4], [["c"], ["c/"], False, 2]])
    plain = s3.list_objects_v2(Bucket=bucket, Prefix=f"{name}/list/c")
    check(f"{name} list keys", [one["Key"] for one in plain["Contents"]],
          [f"{name}/list/c", f"{name}/list/c/1&<"])
    old = s3.list_objects(Bucket=bucket, Prefix=f"{name}/list/", MaxKeys=1)
    check(f"{name} list version 1", (old["IsTruncated"], len(old["Contents"])), (True, 1))
    parts_s3(name, s3, bucket)
    check(f"{name} buckets", [one["Name"] for one in s3.list_buckets()["Buckets"]], ["demo", "demo-oss"])
    gone = [f"{name}/list/{letter}{end}" for letter in "ab" for end in ("", "/1&<")] + [f"{name}/list/never"]
    removed = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": one} for one in gone]})
    check(f"{name} delete many", [one["Key"] for one in removed["Deleted"]], gone)
    left = s3.list_objects_v2(Bucket=bucket, Prefix=f"{name}/list/")["Contents"]
    check(f"{name} left", [one["Key"] for one in left], [f"{name}/list/c", f"{name}/list/c/1&<"])
    quiet = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": f"{name}/list/c"}], "Quiet": True})
    check(f"{name} delete quietly", quiet.get("Deleted"), None)
    check(f"{name} delete version", code_of(lambda: s3.delete_objects(
        Bucket=bucket, Delete={"Objects": [{"Key": key, "VersionId": "1"}]})), "NotImplemented")
    check(f"{name} delete", s3.delete_object(Bucket=bucket, Key=key)["ResponseMetadata"]["HTTPStatusCode"], 204)
    check(f"{name} gone", code_of(lambda: s3.get_object(Bucket=bucket, Key=key)), "NoSuchKey")
    check(f"{name} no bucket", code_of(lambda: s3.get_object(Bucket="nowhere", Key=key)), "NoSuchBucket")
    check(f"{name} acl", code_of(lambda: s3.get_object_acl(Bucket=bucket, Key=key)), "NotImplemented")


def parts_s3(name, s3, bucket):
    key = f"{name}/large"
    data = [b"a" * (5 << 20), b"b" * 10]
    upload = s3.create_multipart_upload(Bucket=bucket, Key=key, ContentType="text/x-large")["UploadId"]
    under = s3.list_multipart_uploads(Bucket=bucket, Prefix=key)["Uploads"]
    check(f"{name} under way", [(one["Key"], one["UploadId"]) for one in under], [(key, upload)])
    tags = [s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=number + 1, Body=body)["ETag"]
            for number, body in enumerate(data)]
    listed = s3.list_parts(Bucket=bucket, Key=key, UploadId=upload)["Parts"]
    check(f"{name} parts", [(one["PartNumber"], one["ETag"], one["Size"]) for one in listed],
          [(1, tags[0], 5 << 20), (2, tags[1], 10)])
    page = s3.list_parts(Bucket=bucket, Key=key, UploadId=upload, MaxParts=1)
    check(f"{name} parts page", (page["IsTruncated"], page["NextPartNumberMarker"]), (True, 1))

    def complete(numbers):
        chosen = [{"PartNumber": number, "ETag": tags[number - 1]} for number in numbers]
        return s3.complete_multipart_upload(
            Bucket=bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": chosen})

    check(f"{name} order", code_of(lambda: complete([2, 1])), "InvalidPartOrder")
    swapped = list(reversed(tags))
    tags, kept = swapped, tags
    check(f"{name} wrong tag", code_of(lambda: complete([1, 2])), "InvalidPart")
    tags = kept
    whole = hashlib.md5(b"".join(hashlib.md5(body).digest() for body in data)).hexdigest()
    check(f"{name} complete", complete([1, 2])["ETag"], f'"{whole}-2"')
    check(f"{name} twice", code_of(lambda: complete([1, 2])), "NoSuchUpload")
    got = s3.get_object(Bucket=bucket, Key=key)
    check(f"{name} large", (hashlib.md5(got["Body"].read()).digest(), got["ContentType"]),
          (hashlib.md5(b"".join(data)).digest(), "text/x-large"))
    small = s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
    tiny = [s3.upload_part(Bucket=bucket, Key=key, UploadId=small, PartNumber=number, Body=b"x")["ETag"]
            for number in (1, 2)]
    check(f"{name} too small", code_of(lambda: s3.complete_multipart_upload(
        Bucket=bucket, Key=key, UploadId=small, MultipartUpload={"Parts": [
            {"PartNumber": number + 1, "ETag": tag} for number, tag in enumerate(tiny)]})), "EntityTooSmall")
    s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=small)
    check(f"{name} aborted", code_of(lambda: s3.list_parts(Bucket=bucket, Key=key, UploadId=small)), "NoSuchUpload")


def links_s3(name, s3):
    def link(method, seconds=60, **parameters):
        return s3.generate_presigned_url(
            method, Params={"Bucket": "demo", "Key": f"{name}/link", **parameters}, ExpiresIn=seconds)

    typed = {"content-type": "text/plain"}
    url = link("put_object", ContentType="text/plain")
    check(f"{name} link put", fetch("PUT", url, b"hello", typed)[0], 200)
    check(f"{name} link type", fetch("PUT", url, b"hello", {"content-type": "text/html"})[0], 403)
    check(f"{name} link key", fetch("PUT", url.replace("/link", "/other"), b"hello", typed)[0], 403)
    check(f"{name} link method", fetch("GET", url, headers=typed)[0], 403)
    check(f"{name} link header", fetch("PUT", url, b"hello", {**typed, "x-amz-meta-a": "b"})[0], 403)
    get = link("get_object")
    check(f"{name} link get", fetch("GET", get)[:2], (200, b"hello"))
    check(f"{name} link override", fetch("GET", get + "&response-content-type=text%2Fhtml")[0], 403)
    late = "Expires=" + get.split("Expires=")[1].split("&")[0]
    check(f"{name} link expiry", fetch("GET", get.replace(late, late + "0"))[0], 403)
    check(f"{name} link head", fetch("HEAD", link("head_object"))[0], 200)
    check(f"{name} link delete", fetch("DELETE", link("delete_object"))[0], 204)


def s3():
    for version in ("s3v4", "s3"):
        for style in ("path", "virtual"):
            name = f"{version}-{style}"
            objects_s3(name, s3_client(version, style=style))
            links_s3(name, s3_client(version, style=style))
        wrong = s3_client(version, key=secret + "x")
        check(f"{version} secret", code_of(lambda: wrong.list_objects_v2(Bucket="demo")), "SignatureDoesNotMatch")
        stranger = s3_client(version, id="AKNOBODY")
        check(f"{version} id", code_of(lambda: stranger.list_objects_v2(Bucket="demo")), "InvalidAccessKeyId")
        token = s3_client(version, token="forged")
        check(f"{version} token", code_of(lambda: token.list_objects_v2(Bucket="demo")), "InvalidToken")
    abroad = s3_client("s3v4", region="eu-west-1")
    # In its header form, botocore reads the region from the refusal and tries again.
    check("s3v4 region", abroad.list_objects_v2(Bucket="demo")["Name"], "demo")
    check("s3v4 region link", fetch("GET", abroad.generate_presigned_url(
        "list_objects_v2", Params={"Bucket": "demo"}))[0], 400)
    moved = io.BytesIO(b"z" * (11 << 20))
    s3_client("s3v4").upload_fileobj(moved, "demo", "managed")
    check("managed", s3_client("s3v4").head_object(Bucket="demo", Key="managed")["ContentLength"], 11 << 20)
    for version in ("s3v4", "s3"):
        form_s3(version)
    checksums_s3(s3_client("s3v4"))
    chunks_s3(s3_client("s3v4"))


DIGITS = b"123456789"
CHECKSUMS = {"crc32": "cbf43926", "crc32c": "e3069283", "crc64nvme": "ae8b14860a799888",
             "sha1": hashlib.sha1(DIGITS).hexdigest(), "sha256": hashlib.sha256(DIGITS).hexdigest()}


def base64_of(name):
    return base64.b64encode(bytes.fromhex(CHECKSUMS[name])).decode()


def checksums_s3(s3):
    place = {"Bucket": "demo", "Key": "checksums"}
    for name in CHECKSUMS:
        member = "Checksum" + name.upper()
        put = s3.put_object(**place, Body=DIGITS, **{member: base64_of(name)})
        check(f"{name} put", (put.get(member), put.get("ChecksumType")), (base64_of(name), "FULL_OBJECT"))
        check(f"{name} get", s3.get_object(**place, ChecksumMode="ENABLED").get(member), base64_of(name))
        check(f"{name} head", s3.head_object(**place, ChecksumMode="ENABLED").get(member), base64_of(name))
        check(f"{name} range", s3.get_object(**place, ChecksumMode="ENABLED", Range="bytes=0-1").get(member), None)
        check(f"{name} wrong", code_of(lambda: s3.put_object(
            **place, Body=b"x", **{member: base64_of(name)})), "BadDigest")
    for name in ("CRC32", "SHA1", "SHA256"):
        put = s3.put_object(**place, Body=DIGITS, ChecksumAlgorithm=name)
        check(f"{name} by the SDK", put["Checksum" + name], base64_of(name.lower()))
    for wrong, code in (("FULL_OBJECT", "BadDigest"), ("COMPOSITE", "ok")):
        upload = s3.create_multipart_upload(**place)["UploadId"]
        part = s3.upload_part(**place, UploadId=upload, PartNumber=1, Body=b"x")
        check(f"whole {wrong}", code_of(lambda: s3.complete_multipart_upload(
            **place, UploadId=upload, ChecksumType=wrong, ChecksumCRC32=base64_of("crc32"), MultipartUpload={
                "Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})), code)


def put_chunks(mode, content=DIGITS, size=4, trailer=None, query="", spoil=lambda body: body, **more):
    """Uploads in chunks, as newer SDKs and command lines do over http. The signer of boto3 signs the head."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    class Auth(S3SigV4Auth):
        def payload(self, request):
            return mode

    headers = {"Content-Encoding": "gzip,aws-chunked", "Content-Type": "text/plain",
               "X-Amz-Decoded-Content-Length": str(len(content))}
    if trailer:
        headers["X-Amz-Trailer"] = "x-amz-checksum-" + trailer[0]
    request = AWSRequest("PUT", f"{endpoint}/demo/chunks{query}", headers={**headers, **more})
    Auth(Credentials(access_key, secret), "s3", "us-east-1").add_auth(request)
    date, last = request.headers["X-Amz-Date"], request.headers["Authorization"].split("Signature=")[1]
    scope = f"{date[:8]}/us-east-1/s3/aws4_request"
    key = b"AWS4" + secret.encode()
    for step in scope.split("/"):
        key = hmac.new(key, step.encode(), "sha256").digest()

    def sign(kind, *texts):
        nonlocal last
        lines = ["AWS4-HMAC-SHA256-" + kind, date, scope, last] + [hashlib.sha256(text).hexdigest() for text in texts]
        last = hmac.new(key, "\n".join(lines).encode(), "sha256").hexdigest()
        return last

    is_signed = mode.startswith("STREAMING-AWS4")
    body = b""
    for piece in [content[start:start + size] for start in range(0, len(content), size)] + [b""]:
        mark = f";chunk-signature={sign('PAYLOAD', b'', piece)}" if is_signed else ""
        body += f"{len(piece):x}{mark}\r\n".encode() + piece + (b"\r\n" if piece else b"")
    if trailer:
        line = f"x-amz-checksum-{trailer[0]}:{trailer[1]}"
        body += f"{line}\r\n".encode()
        if is_signed:
            body += f"x-amz-trailer-signature:{sign('TRAILER', (line + chr(10)).encode())}\r\n".encode()
    status, answer, fields = fetch("PUT", request.url, spoil(body + b"\r\n"), dict(request.headers))
    return (status, fields) if status == 200 else answer.decode().split("<Code>")[1].split("</Code>")[0]


def chunks_s3(s3):
    place = {"Bucket": "demo", "Key": "chunks"}
    signed, both, unsigned = ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
                              "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
    check("chunks", put_chunks(signed)[0], 200)
    got = s3.get_object(**place)
    check("chunks get", (got["Body"].read(), got["ContentEncoding"]), (DIGITS, "gzip"))
    large = bytes(range(256)) * 2000
    check("chunks large", put_chunks(signed, large, 65536)[0], 200)
    check("chunks large get", s3.get_object(**place)["Body"].read() == large, True)
    check("chunks empty", put_chunks(signed, b"")[0], 200)
    check("chunks content", put_chunks(signed, spoil=lambda body: body.replace(b"234", b"243")),
          "SignatureDoesNotMatch")
    check("chunks signature", put_chunks(
        signed, spoil=lambda body: body.replace(b"signature=", b"signature=0", 1)), "SignatureDoesNotMatch")
    check("chunks order", put_chunks(signed, b"aaaabbbb", spoil=lambda body: body.replace(b"aaaa", b"cccc").replace(
        b"bbbb", b"aaaa").replace(b"cccc", b"bbbb")), "SignatureDoesNotMatch")
    check("chunks size", put_chunks(signed, **{"X-Amz-Decoded-Content-Length": "10"}), "IncompleteBody")
    check("chunks short", put_chunks(signed, **{"X-Amz-Decoded-Content-Length": "8"}), "IncompleteBody")
    check("chunks end", put_chunks(signed, spoil=lambda body: body[:-2]), "IncompleteBody")
    for name in CHECKSUMS:
        right = (name, base64_of(name))
        for mode in (both, unsigned):
            status, fields = put_chunks(mode, trailer=right)
            check(f"{name} {mode}", (status, fields["x-amz-checksum-" + name]), (200, right[1]))
            told = s3.get_object(**place, ChecksumMode="ENABLED")
            check(f"{name} {mode} told", (told["Body"].read(), told.get("Checksum" + name.upper())), (DIGITS, right[1]))
            check(f"{name} {mode} wrong", put_chunks(mode, DIGITS[::-1], trailer=right), "BadDigest")
    right = ("crc32", base64_of("crc32"))
    check("trailer other", put_chunks(both, trailer=right, spoil=lambda body: body.replace(
        b"crc32:", b"crc33:")), "SignatureDoesNotMatch")
    check("trailer unsigned other", put_chunks(unsigned, trailer=right, spoil=lambda body: body.replace(
        b"crc32:", b"crc33:")), "MalformedTrailerError")
    check("trailer not announced", put_chunks(unsigned), "MalformedTrailerError")
    check("trailer missing", put_chunks(unsigned, trailer=right, spoil=lambda body: body.split(
        b"x-amz-checksum")[0] + b"\r\n"), "MalformedTrailerError")
    check("trailer not signed", put_chunks(both, trailer=right, spoil=lambda body: body.split(
        b"x-amz-trailer")[0] + b"\r\n"), "MalformedTrailerError")
    upload = s3.create_multipart_upload(**place)["UploadId"]
    status, fields = put_chunks(both, trailer=right, query=f"?partNumber=1&uploadId={upload}", **{
        "Content-Encoding": "aws-chunked"})
    check("chunks part", (status, fields["x-amz-checksum-crc32"]), (200, right[1]))
    s3.complete_multipart_upload(**place, UploadId=upload, MultipartUpload={
        "Parts": [{"PartNumber": 1, "ETag": fields["etag"]}]})
    check("chunks parts", s3.get_object(**place)["Body"].read(), DIGITS)


def multipart(fields, content):
    boundary = "----form"
    body = b"".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items())
    body += (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
             f"Content-Type: text/plain\r\n\r\n").encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return body, {"content-type": f"multipart/form-data; boundary={boundary}"}


def form_s3(version):
    form = s3_client(version).generate_presigned_post(
        "demo", f"{version}/form/${{filename}}", Fields={"success_action_status": "201", "x-amz-meta-a": "b"},
        Conditions=[["content-length-range", 2, 5], {"success_action_status": "201"}, {"x-amz-meta-a": "b"}],
        ExpiresIn=60)

    def post(content=b"hello", **changes):
        fields = {**form["fields"], **changes}
        status, body, _ = fetch("POST", form["url"], *multipart(
            {key: value for key, value in fields.items() if value is not None}, content))
        return status if status < 300 else body.decode().split("<Code>")[1].split("</Code>")[0]

    signature = next(name for name in form["fields"] if name.lower().endswith("signature"))
    check(f"{version} form", post(), 201)
    check(f"{version} form key", post(key="elsewhere/a"), "AccessDenied")
    check(f"{version} form short", post(b"h"), "EntityTooSmall")
    check(f"{version} form long", post(b"hello!"), "EntityTooLarge")
    check(f"{version} form meta", post(**{"x-amz-meta-a": "c"}), "AccessDenied")
    check(f"{version} form extra", post(**{"x-amz-meta-b": "c"}), "AccessDenied")
    check(f"{version} form signature", post(**{signature: "0" + form["fields"][signature][1:] + "0"}),
          "SignatureDoesNotMatch")
    check(f"{version} form policy", post(policy=form["fields"]["policy"][:-8] + "AAAA" + form["fields"]["policy"][-4:]),
          "SignatureDoesNotMatch")
    check(f"{version} form anonymous", post(**{signature: None}), "AccessDenied")
    got = s3_client(version).get_object(Bucket="demo", Key=f"{version}/form/a.txt")
    check(f"{version} form content", (got["Body"].read(), got["Metadata"]), (b"hello", {"a": "b"}))


def sessions_s3():
    policy = json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["s3:PutObject", "s3:GetObject"], "Resource": ["arn:aws:s3:::demo/mine/*"]},
        {"Effect": "Deny", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::demo/mine/secret/*"}]})
    sts = s3_client("v4", service="sts")

    def assume(**changes):
        return sts.assume_role(**{"RoleArn": AWS_ROLE, "RoleSessionName": "alice", "Policy": policy, **changes})

    keys = assume(DurationSeconds=900)["Credentials"]
    left = keys["Expiration"].timestamp() - time.time()
    check("session life", 880 < left < 905, True)
    check("session role", code_of(lambda: assume(RoleArn=AWS_ROLE + "x")), "AccessDenied")
    check("session policy", code_of(lambda: assume(Policy="{}")), "MalformedPolicyDocument")
    conditional = policy.replace('"Resource": "arn', '"Condition": {}, "Resource": "arn')
    check("session condition", code_of(lambda: assume(Policy=conditional)), "MalformedPolicyDocument")
    forged = s3_client("v4", service="sts", key="guess")
    check("session secret", code_of(lambda: forged.assume_role(RoleArn=AWS_ROLE, RoleSessionName="alice")),
          "SignatureDoesNotMatch")
    for version in ("s3v4", "s3"):
        mine = s3_client(version, keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])
        mine.put_object(Bucket="demo", Key="mine/a", Body=b"hello")
        check(f"{version} session get", mine.get_object(Bucket="demo", Key="mine/a")["Body"].read(), b"hello")
        link = mine.generate_presigned_url("get_object", Params={"Bucket": "demo", "Key": "mine/a"})
        check(f"{version} session link", fetch("GET", link)[0], 200)
        for name, call in {
            "other": lambda: mine.put_object(Bucket="demo", Key="mines/a", Body=b"x"),
            "denied": lambda: mine.get_object(Bucket="demo", Key="mine/secret/a"),
            "delete": lambda: mine.delete_object(Bucket="demo", Key="mine/a"),
            "list": lambda: mine.list_objects_v2(Bucket="demo", Prefix="mine/"),
            "bucket": lambda: mine.put_object(Bucket="demo-oss", Key="mine/a", Body=b"x"),
            "chain": lambda: s3_client(
                "v4", keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], service="sts"
            ).assume_role(RoleArn=AWS_ROLE, RoleSessionName="alice"),
        }.items():
            check(f"{version} session {name}", code_of(call), "AccessDenied")
        bare = s3_client(version, keys["AccessKeyId"], keys["SecretAccessKey"])
        check(f"{version} session no token", code_of(lambda: bare.get_object(Bucket="demo", Key="mine/a")),
              "InvalidAccessKeyId")
        other = s3_client(version, keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"][:-1] + "x")
        check(f"{version} session token", code_of(lambda: other.get_object(Bucket="demo", Key="mine/a")),
              "InvalidToken")
        check(f"{version} session buckets", code_of(lambda: mine.list_buckets()), "AccessDenied")
        many = mine.delete_objects(Bucket="demo", Delete={"Objects": [{"Key": "mine/a"}]})
        check(f"{version} session delete many", [one["Code"] for one in many["Errors"]], ["AccessDenied"])
    keys = assume(Policy=policy.replace('"s3:PutObject"', '"s3:DeleteObject"'))["Credentials"]
    mine = s3_client("s3v4", keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])
    many = mine.delete_objects(Bucket="demo", Delete={"Objects": [{"Key": "mine/a"}, {"Key": "other"}]})
    check("session delete some", ([one["Key"] for one in many["Deleted"]], [one["Key"] for one in many["Errors"]]),
          (["mine/a"], ["other"]))
    check("session deleted", code_of(lambda: mine.get_object(Bucket="demo", Key="mine/a")), "NoSuchKey")


def oss2_bucket(version, id=access_key, key=secret, token=None, region="cn-hangzhou"):
    import oss2
    import oss2.credentials

    provider = oss2.credentials.StaticCredentialsProvider(id, key, token)
    auth = oss2.ProviderAuthV4(provider) if version == 4 else oss2.ProviderAuth(provider)
    return oss2.Bucket(auth, endpoint, "demo-oss", region=region)


def objects_oss2(name, bucket):
    import oss2

    key = f"{name}/a b+ü%.txt"
    put = bucket.put_object(key, b"hello", headers={"Content-Type": "text/plain", "x-oss-meta-owner": "alice"})
    check(f"{name} etag", put.etag.lower(), "5d41402abc4b2a76b9719d911017c592")
    got = bucket.get_object(key)
    check(f"{name} get", (got.read(), got.content_type, got.headers["x-oss-meta-owner"]),
          (b"hello", "text/plain", "alice"))
    check(f"{name} range", bucket.get_object(key, byte_range=(1, 3)).read(), b"ell")
    check(f"{name} head", bucket.head_object(key).content_length, 5)
    check(f"{name} meta", bucket.get_object_meta(key).content_length, 5)
    process = "image/resize,w_100"
    check(f"{name} process", bucket.get_object(key, process=process).headers["x-oss-process"], process)
    check(f"{name} forbid", code_of(lambda: bucket.put_object(key, b"x", headers={"x-oss-forbid-overwrite": "true"})),
          "FileAlreadyExists")
    check(f"{name} md5", code_of(lambda: bucket.put_object(key, b"x", headers={
        "Content-MD5": "XUFAKrxLKna5cZ2REBfFkg=="})), "InvalidDigest")
    for letter in "cba":
        bucket.put_object(f"{name}/list/{letter}/1&<", b"x")
        bucket.put_object(f"{name}/list/{letter}", b"x")
    found = bucket.list_objects_v2(prefix=f"{name}/list/", delimiter="/", max_keys=4)
    check(f"{name} list", ([one.key[-1] for one in found.object_list], found.prefix_list, found.is_truncated),
          (["a", "b"], [f"{name}/list/a/", f"{name}/list/b/"], True))
    rest = bucket.list_objects_v2(prefix=f"{name}/list/", delimiter="/", continuation_token=found.next_continuation_token)
    check(f"{name} list rest", [one.key[-1] for one in rest.object_list], ["c"])
    old = [one.key for one in oss2.ObjectIterator(bucket, prefix=f"{name}/list/", max_keys=2)]
    check(f"{name} list version 1", old, sorted(f"{name}/list/{letter}{end}" for letter in "abc" for end in ("", "/1&<")))
    check(f"{name} versioning", bucket.get_bucket_versioning().status, None)
    upload = bucket.init_multipart_upload(f"{name}/large").upload_id
    parts = []
    for number, body in enumerate((b"a" * (100 << 10), b"b"), 1):
        done = bucket.upload_part(f"{name}/large", upload, number, body)
        parts.append(oss2.models.PartInfo(number, done.etag))
    check(f"{name} parts", [(one.part_number, one.size) for one in bucket.list_parts(f"{name}/large", upload).parts],
          [(1, 100 << 10), (2, 1)])
    bucket.complete_multipart_upload(f"{name}/large", upload, parts)
    check(f"{name} large", bucket.get_object(f"{name}/large").read(), b"a" * (100 << 10) + b"b")
    gone = bucket.init_multipart_upload(f"{name}/gone").upload_id
    bucket.abort_multipart_upload(f"{name}/gone", gone)
    check(f"{name} aborted", code_of(lambda: bucket.list_parts(f"{name}/gone", gone)), "NoSuchUpload")
    gone = [f"{name}/list/a/1&<", f"{name}/list/b"]
    check(f"{name} delete many", bucket.batch_delete_objects(gone).deleted_keys, gone)
    check(f"{name} left", [one.key for one in oss2.ObjectIterator(bucket, prefix=f"{name}/list/")],
          [f"{name}/list/a", f"{name}/list/b/1&<", f"{name}/list/c", f"{name}/list/c/1&<"])
    service = oss2.Service(bucket.auth, endpoint, region="cn-hangzhou")
    check(f"{name} buckets", [one.name for one in service.list_buckets().buckets], ["demo", "demo-oss"])
    check(f"{name} buckets prefix", [one.name for one in service.list_buckets(prefix="demo-").buckets], ["demo-oss"])
    bucket.delete_object(key)
    check(f"{name} gone", code_of(lambda: bucket.get_object(key)), "NoSuchKey")


def links_oss2(name, bucket):
    typed = {"Content-Type": "text/plain", "x-oss-meta-a": "b"}
    url = bucket.sign_url("PUT", f"{name}/link", 60, headers=typed, slash_safe=True)
    check(f"{name} link put", fetch("PUT", url, b"hello", typed)[0], 200)
    check(f"{name} link type", fetch("PUT", url, b"hello", {**typed, "Content-Type": "text/html"})[0], 403)
    check(f"{name} link header", fetch("PUT", url, b"hello", {**typed, "x-oss-meta-a": "c"})[0], 403)
    check(f"{name} link more", fetch("PUT", url, b"hello", {**typed, "x-oss-meta-c": "c"})[0], 403)
    check(f"{name} link key", fetch("PUT", url.replace("/link", "/other"), b"hello", typed)[0], 403)
    get = bucket.sign_url("GET", f"{name}/link", 60, slash_safe=True, params={"x-oss-process": "image/info"})
    status, body, headers = fetch("GET", get)
    check(f"{name} link get", (status, body, headers["x-oss-process"]), (200, b"hello", "image/info"))
    check(f"{name} link process", fetch("GET", get.replace("info", "infa"))[0], 403)
    check(f"{name} link override", fetch("GET", get + "&response-content-type=text%2Fhtml")[0], 403)
    check(f"{name} link method", fetch("DELETE", get)[0], 403)
    late = get.split("xpires=")[1].split("&")[0]
    check(f"{name} link expiry", fetch("GET", get.replace(f"xpires={late}", f"xpires={int(late) + 1}"))[0], 403)


def oss_v2_client(version, id=access_key, key=secret, token=None):
    import alibabacloud_oss_v2 as oss

    config = oss.config.load_default()
    config.credentials_provider = oss.credentials.StaticCredentialsProvider(id, key, token)
    config.region, config.endpoint, config.signature_version = "cn-hangzhou", endpoint, version
    config.use_path_style, config.retry_max_attempts = True, 1
    return oss.Client(config)


def objects_oss_v2(name, client):
    import alibabacloud_oss_v2 as oss

    place = {"bucket": "demo-oss", "key": f"{name}/a b+ü%.txt"}
    client.put_object(oss.PutObjectRequest(**place, body=b"hello", content_type="text/plain"))
    got = client.get_object(oss.GetObjectRequest(**place))
    check(f"{name} get", (got.body.content, got.content_type), (b"hello", "text/plain"))
    check(f"{name} head", client.head_object(oss.HeadObjectRequest(**place)).content_length, 5)
    found = client.list_objects_v2(oss.ListObjectsV2Request(bucket="demo-oss", prefix=f"{name}/"))
    check(f"{name} list", [one.key for one in found.contents], [place["key"]])
    upload = client.initiate_multipart_upload(oss.InitiateMultipartUploadRequest(**place)).upload_id
    part = client.upload_part(oss.UploadPartRequest(**place, upload_id=upload, part_number=1, body=b"whole"))
    client.complete_multipart_upload(oss.CompleteMultipartUploadRequest(
        **place, upload_id=upload, complete_multipart_upload=oss.CompleteMultipartUpload(
            parts=[oss.UploadPart(part_number=1, etag=part.etag)])))
    check(f"{name} parts", client.get_object(oss.GetObjectRequest(**place)).body.content, b"whole")
    link = client.presign(oss.GetObjectRequest(**place)).url
    check(f"{name} link", fetch("GET", link)[:2], (200, b"whole"))
    check(f"{name} link key", fetch("GET", link.replace("/a", "/b", 1))[0], 403)
    second = f"{name}/second"
    client.put_object(oss.PutObjectRequest(bucket="demo-oss", key=second, body=b"x"))
    client.delete_multiple_objects(oss.DeleteMultipleObjectsRequest(
        bucket="demo-oss", objects=[oss.DeleteObject(key=second)]))
    check(f"{name} delete many", code_of(lambda: client.head_object(oss.HeadObjectRequest(
        bucket="demo-oss", key=second))) != "ok", True)
    client.delete_object(oss.DeleteObjectRequest(**place))
    check(f"{name} gone", code_of(lambda: client.get_object(oss.GetObjectRequest(**place))), "NoSuchKey")


def oss():
    for version in (1, 4):
        objects_oss2(f"oss2-v{version}", oss2_bucket(version))
        links_oss2(f"oss2-v{version}", oss2_bucket(version))
        for name, changes, code in (
            ("secret", {"key": secret + "x"}, "SignatureDoesNotMatch"), ("id", {"id": "nobody"}, "InvalidAccessKeyId"),
            ("token", {"token": "forged"}, "InvalidSecurityToken"),
        ):
            bucket = oss2_bucket(version, **changes)
            check(f"oss2-v{version} {name}", code_of(lambda: bucket.get_object("k")), code)
        objects_oss_v2(f"oss-v2-v{version}", oss_v2_client(f"v{version}"))
        wrong = oss_v2_client(f"v{version}", key="wrong")
        import alibabacloud_oss_v2
        check(f"oss-v2-v{version} secret", code_of(lambda: wrong.get_object(
            alibabacloud_oss_v2.GetObjectRequest(bucket="demo-oss", key="k"))), "SignatureDoesNotMatch")
    abroad = oss2_bucket(4, region="cn-beijing")
    check("oss2-v4 region", code_of(lambda: abroad.get_object("k")), "InvalidArgument")


def sessions_oss():
    import oss2
    from aliyunsdkcore.client import AcsClient
    from aliyunsdkcore.request import CommonRequest

    policy = json.dumps({"Version": "1", "Statement": [
        {"Effect": "Allow", "Action": ["oss:PutObject", "oss:AbortMultipartUpload", "oss:ListParts"],
         "Resource": ["acs:oss:*:*:demo-oss/mine/*"]},
        {"Effect": "Allow", "Action": ["oss:GetObject"], "Resource": ["acs:oss:*:*:demo-oss/mine/*"]},
        {"Effect": "Deny", "Action": ["oss:GetObject"], "Resource": ["acs:oss:*:*:demo-oss/mine/secret/*"]}]})

    def assume(key=secret, **changes):
        client = AcsClient(access_key, key, "cn-hangzhou", auto_retry=False)
        request = CommonRequest(domain=f"127.0.0.1:{port}", version="2015-04-01", action_name="AssumeRole")
        request.set_protocol_type("http")
        request.set_method("POST")
        for name, value in {"RoleArn": ALIBABA_ROLE, "RoleSessionName": "alice", "Policy": policy,
                            "DurationSeconds": "900", **changes}.items():
            request.add_query_param(name, value)
        try:
            return json.loads(client.do_action_with_exception(request))
        except Exception as error:
            return getattr(error, "error_code", None) or repr(error)

    opened = assume()
    check("session", isinstance(opened, dict), True)
    if not isinstance(opened, dict):
        print(opened)
        return
    keys = opened["Credentials"]
    check("session arn", opened["AssumedRoleUser"]["Arn"].endswith(":assumed-role/sluice-demo/alice"), True)
    check("session secret", assume(key="guess"), "SignatureDoesNotMatch")
    check("session role", assume(RoleArn=ALIBABA_ROLE + "x"), "EntityNotExist.Role")
    check("session name", assume(RoleSessionName="a"), "InvalidParameter.RoleSessionName")
    check("session duration", assume(DurationSeconds="899"), "InvalidParameter.DurationSeconds")
    check("session policy", assume(Policy="{}"), "InvalidParameter.PolicyGrammar")
    for version in (1, 4):
        mine = oss2_bucket(version, keys["AccessKeyId"], keys["AccessKeySecret"], keys["SecurityToken"])
        mine.put_object("mine/a", b"hello")
        check(f"oss2-v{version} session get", mine.get_object("mine/a").read(), b"hello")
        link = mine.sign_url("GET", "mine/a", 60, slash_safe=True)
        check(f"oss2-v{version} session link", fetch("GET", link)[0], 200)
        upload = mine.init_multipart_upload("mine/b").upload_id
        mine.upload_part("mine/b", upload, 1, b"x")
        check(f"oss2-v{version} session parts", len(mine.list_parts("mine/b", upload).parts), 1)
        mine.abort_multipart_upload("mine/b", upload)
        for name, call in {
            "other": lambda: mine.put_object("mines/a", b"x"), "denied": lambda: mine.get_object("mine/secret/a"),
            "delete": lambda: mine.delete_object("mine/a"), "list": lambda: mine.list_objects_v2(prefix="mine/"),
        }.items():
            check(f"oss2-v{version} session {name}", code_of(call), "AccessDenied")
        bare = oss2_bucket(version, keys["AccessKeyId"], keys["AccessKeySecret"])
        check(f"oss2-v{version} session no token", code_of(lambda: bare.get_object("mine/a")), "InvalidAccessKeyId")
    import alibabacloud_oss_v2
    # The SDK's version 1 sends the token under a name that OSS does not know.
    mine = oss_v2_client("v4", keys["AccessKeyId"], keys["AccessKeySecret"], keys["SecurityToken"])
    mine.put_object(alibabacloud_oss_v2.PutObjectRequest(bucket="demo-oss", key="mine/c", body=b"x"))
    check("oss-v2 session other", code_of(lambda: mine.put_object(
        alibabacloud_oss_v2.PutObjectRequest(bucket="demo-oss", key="other/c", body=b"x"))), "AccessDenied")


{"s3": s3, "sessions-s3": sessions_s3, "oss": oss, "sessions-oss": sessions_oss}[asked["part"]]()
print(f"checked {checked}")
