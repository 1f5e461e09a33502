"""Writes and reads a table of Iceberg whose files are in a store, with every request signed by the gateway.

The argument is a JSON object. There is no catalogue server: the catalogue is a file. Prints what came of it.
"""

import json
import os
import sys

# With several threads, the client now and then sends a request that it has not asked to be signed.
os.environ["PYICEBERG_MAX_WORKERS"] = "1"

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pyarrow
import requests
from pyiceberg.catalog.sql import SqlCatalog

job = json.loads(sys.argv[1])
signed = []


def catalog(name, token):
    return SqlCatalog(
        name,
        **{
            "uri": f"sqlite:///{job['folder']}/{name}.db",
            "warehouse": f"s3://{job['bucket']}/{job['prefix']}",
            "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
            "s3.signer": "S3V4RestSigner",
            "s3.signer.uri": job["gateway"],
            "s3.signer.endpoint": "v1/aws/s3/sign",
            "s3.endpoint": job["endpoint"],
            "s3.region": job["region"],
            "s3.access-key-id": "unused",
            "s3.secret-access-key": "unused",
            "token": token,
        },
    )


def table():
    """Writes a table twice, reads it, and deletes a part of it."""
    own = catalog("own", job["key"])
    own.create_namespace("n")
    rows = pyarrow.table({"id": list(range(1000)), "name": [f"row {i}" for i in range(1000)]})
    made = own.create_table("n.t", schema=rows.schema)
    made.append(rows)
    made.append(rows.slice(0, 10))
    again = catalog("own", job["key"]).load_table("n.t")
    read = again.scan().to_arrow()
    again.delete("id >= 500")
    return {
        "rows": read.num_rows,
        "equal": sorted(read["id"].to_pylist()) == sorted(rows["id"].to_pylist() + list(range(10))),
        "left": catalog("own", job["key"]).load_table("n.t").scan().to_arrow().num_rows,
    }


def refused(action):
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return type(error).__name__ + ": " + str(error)[:200]
    return "done"


def outside():
    """A table outside of the grant, and the own one with the key of another user."""
    other = catalog("other", job["key"])
    other.create_namespace("n")
    schema = pyarrow.schema([("id", pyarrow.int64())])
    place = f"s3://{job['bucket']}/elsewhere/t"
    return {
        "outside": refused(lambda: other.create_table("n.t", schema=schema, location=place)),
        "stranger": refused(lambda: catalog("own", job["stranger"]).load_table("n.t")),
    }


def sign(method, uri, headers):
    answer = requests.post(
        job["gateway"] + "/v1/aws/s3/sign",
        headers={"Authorization": "Bearer " + job["key"]},
        json={"method": method, "uri": uri, "region": job["region"], "headers": {k: [v] for k, v in headers.items()}},
        timeout=30,
    )
    return answer.status_code, answer.json()


class Fixed(botocore.auth.S3SigV4Auth):
    """The SDK's signer, which takes the hash of the body from the request."""

    def payload(self, request):
        return request.headers["X-Amz-Content-SHA256"]


def oracle():
    """Compares signatures with those of the SDK at the same instant."""
    base = f"{job['endpoint']}/{job['bucket']}/{job['prefix']}/"
    requests_ = [
        ("GET", base + "a%20b/%C3%BC.bin", {}),
        ("GET", base + "a", {"If-Match": '"x"', "Range": "bytes=0-9"}),
        ("HEAD", base + "a", {"User-Agent": "x"}),
        ("PUT", base + "a", {"Content-Type": "text/plain", "Content-Length": "3", "x-amz-meta-b": "c  d".replace("  ", " ")}),
        ("PUT", base + "a~(1)!", {"x-amz-checksum-crc32": "AAAAAA==", "x-amz-sdk-checksum-algorithm": "CRC32"}),
        ("POST", base + "a?uploads", {"Content-Type": "a/b"}),
        ("DELETE", base + "a", {}),
        ("GET", f"{job['endpoint']}/{job['bucket']}?list-type=2&prefix={job['prefix'].replace('/', '%2F')}%2F&delimiter=%2F", {}),
    ]  # fmt: skip
    differences = []
    for method, uri, headers in requests_:
        uri = uri.replace("(", "%28").replace(")", "%29").replace("!", "%21")
        status, answer = sign(method, uri, headers)
        if status != 200:
            differences.append([method, uri, status, answer])
            continue
        sent = {name.lower(): values[0] for name, values in answer["headers"].items()}
        authorization = sent.pop("authorization")
        names = authorization.split("SignedHeaders=")[1].split(",")[0].split(";")
        request = botocore.awsrequest.AWSRequest(method, uri, {name: sent[name] for name in names if name in sent})
        stamp = request.headers["x-amz-date"]
        request.context["timestamp"] = stamp
        credentials = botocore.credentials.Credentials(job["accessKeyID"], job["secretAccessKey"])
        signer = Fixed(credentials, "s3", job["region"])
        canonical = signer.canonical_request(request)
        expected = signer.signature(signer.string_to_sign(request, canonical), request)
        if not authorization.endswith("Signature=" + expected):
            differences.append([method, uri, authorization, canonical])
    return {"compared": len(requests_), "differences": differences}


print(json.dumps({"table": table(), **outside(), "oracle": oracle()}))
