"""A gateway with its own PostgreSQL, and buckets at radosgw that pages may use; both behind fault proxies."""

import contextlib
import functools
import hashlib
import json
import os
import random
import shutil
import tempfile
from pathlib import Path
from urllib.parse import quote

import boto3
from botocore.config import Config

from database import Database
from faults import FaultProxy
from gateway import Admin, Gateway, migrate
from pages import HERE, Pages

ROOT = HERE.parents[2]
MODULE = ROOT / "clients/javascript/sluice.js"
EXAMPLE = ROOT / "examples/web"
MIB = 1 << 20
FILES = {"one.bin": MIB, "six.bin": 6 * MIB, "sixty.bin": 60 * MIB}


class World:
    """What runs. Use it in a `with` statement; afterwards everything has ended, and files and buckets are gone."""

    def __init__(self, binary, large):
        self.binary = binary
        self.sizes = {**FILES, "large.bin": large}
        self.digests = {}
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="sluice-javascript.", dir="/tmp"))
            self.stack.callback(shutil.rmtree, self.folder)
            self.make_files()
            self.start()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.stack.close()

    def make_files(self):
        random_bytes = random.Random(19)
        for name, size in self.sizes.items():
            digest = hashlib.md5()
            with open(self.folder / name, "wb") as file:
                for _ in range(size // MIB):
                    piece = random_bytes.randbytes(MIB)
                    digest.update(piece)
                    file.write(piece)
            self.digests[name] = digest.hexdigest()

    def start(self):
        enter = self.stack.enter_context
        endpoint = os.environ["SLUICE_TEST_RADOSGW_ENDPOINT"]
        self.store = enter(FaultProxy(int(endpoint.rsplit(":", 1)[1])))
        files = {"/test.html": HERE / "page.html", "/page.mjs": HERE / "page.mjs", "/steps.mjs": HERE / "steps.mjs",
                 "/sluice.js": MODULE, "/clients/javascript/sluice.js": MODULE,
                 **{f"/examples/web/{file.name}": file for file in EXAMPLE.iterdir() if file.suffix != ".md"}}
        self.pages = enter(Pages(files))
        self.keys = [os.environ[f"SLUICE_TEST_RADOSGW_{name}_KEY"] for name in ("ACCESS", "SECRET")]
        self.region = os.environ["SLUICE_TEST_RADOSGW_REGION"]
        self.s3 = boto3.client(
            "s3", endpoint_url=endpoint, region_name=self.region, aws_access_key_id=self.keys[0],
            aws_secret_access_key=self.keys[1], config=Config(s3={"addressing_style": "path"}))
        database = enter(Database())
        database.query("postgres", "CREATE DATABASE sluice")
        migrate(self.binary, database.url("sluice"))
        self.gateway = enter(Gateway(
            self.binary, database.url("sluice"), self.folder / "gateway.log",
            CORS_ALLOWED_ORIGINS=self.pages.base, OUTBOUND_ALLOW=self.store.base))
        self.front = enter(FaultProxy(self.gateway.port))
        self.pages.reachable = [self.front.base, self.store.base]
        self.make_rows()

    def make_rows(self):
        name = f"javascript-{random.SystemRandom().randrange(1 << 40):x}"
        self.bucket = self.make_bucket(name, ["ETag", "Content-Encoding"], {})
        # A store that obeys unsigned headers, and hides entity tags from pages.
        self.strict_bucket = self.make_bucket(f"{name}-strict", [], {"honoursUnsignedHeaders": True, "provider": "s3"})
        self.grant("files/", self.bucket, {})
        self.grant("md5/", self.bucket, {"requireContentMD5": True})
        self.grant("files/", self.strict_bucket, {})
        self.token = self.gateway.create(
            "/admin/v1/api-keys", {"name": "key of alice", "principal": "user:alice"})["key"]

    def make_bucket(self, name, exposed, options):
        self.s3.create_bucket(Bucket=name)
        self.stack.callback(self.empty, name)
        self.s3.put_bucket_cors(Bucket=name, CORSConfiguration={"CORSRules": [{
            "AllowedOrigins": [self.pages.base], "AllowedMethods": ["GET", "HEAD", "PUT", "POST"],
            "AllowedHeaders": ["*"], "ExposeHeaders": exposed}]})
        credential = self.gateway.create("/admin/v1/storage-credentials", {
            "name": name, "accessKeyID": self.keys[0], "secretAccessKey": self.keys[1]})
        self.gateway.create("/admin/v1/buckets", {
            "name": name, "endpoint": self.store.base, "region": self.region, "addressing": "path",
            "credentialID": credential["id"], **options})
        return name

    def empty(self, name):
        for upload in self.s3.list_multipart_uploads(Bucket=name).get("Uploads", []):
            self.s3.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
        for item in self.s3.list_objects_v2(Bucket=name).get("Contents", []):
            self.s3.delete_object(Bucket=name, Key=item["Key"])
        self.s3.delete_bucket(Bucket=name)

    def grant(self, prefix, bucket, conditions, principal="user:alice"):
        self.gateway.create("/admin/v1/grants", {
            "principal": principal, "bucket": bucket, "prefix": prefix, "actions": ["PutObject", "GetObject"],
            "conditions": conditions})

    @functools.cache
    def limited(self, platform):
        """The key of a user with a small quota. One that others have used up would be waited for as well."""
        user = f"user:limited-{platform}"
        self.grant("files/", self.bucket, {}, user)
        self.gateway.create(
            "/admin/v1/quotas", {"principal": user, "metric": "urls", "period": "minute", "limit": 3})
        return self.gateway.create("/admin/v1/api-keys", {"name": "limited", "principal": user})["key"]

    def configuration(self, platform, **more):
        """What a step needs to know."""
        return {
            "gateway": self.front.base, "store_": self.store.base,
            "tokens": {"alice": self.token, "limited": self.limited(platform)},
            "bucket": self.bucket, "strictBucket": self.strict_bucket, "folder": f"files/{platform}/",
            "uppyFile": "sixty.bin", "large": "large.bin", **more}

    def md5_of_object(self, key):
        """Of the bytes at the store, read past gateway and proxy."""
        digest = hashlib.md5()
        for piece in self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].iter_chunks(MIB):
            digest.update(piece)
        return digest.hexdigest()

    def state_of_parts(self, key):
        """The state of the newest upload in parts of the key."""
        with Admin(self.gateway) as admin:
            status, body = admin.call("GET", f"/admin/v1/multipart-uploads?bucket={self.bucket}&pageSize=1000")
        if status != 200:
            raise RuntimeError(f"uploads in parts: {status} {body}")
        states = {row["id"]: row["state"] for row in json.loads(body)["items"] if row["key"] == key}
        return states[max(states)]

    def starts(self, key):
        """How many uploads in parts were started for the key, and how many of them were completed."""
        with Admin(self.gateway) as admin:
            status, body = admin.call(
                "GET", f"/admin/v1/issuances?bucket={self.bucket}&prefix={quote(key)}&pageSize=1000")
        if status != 200:
            raise RuntimeError(f"issuances: {status} {body}")
        made = [row["delivery"] for row in json.loads(body)["items"]]
        return [made.count(kind) for kind in ("multipart-start", "multipart-complete")]

