"""Runs boto3, the AWS CLI and rclone against a store, with nothing but environment variables set.

Reads a job from the file that its argument names, and writes the results: for each client and each way to its
credentials, what each operation came to. `ok` is success; a refusal is its code or status.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BIN = Path(sys.executable).parent
SMALL, LARGE = 5_000, 12 << 20


def environment(job, way, folder):
    """The variables of one way to the credentials, and nothing of the caller's own."""
    config = folder / f"{way}.config"
    config.write_text("")
    names = {
        "PATH": f"{BIN}:/usr/bin:/bin",
        "HOME": str(folder),
        "AWS_CONFIG_FILE": str(config),
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": job["region"],
        "AWS_DEFAULT_REGION": job["region"],
        "AWS_ENDPOINT_URL_S3": job["endpoint"],
        "AWS_MAX_ATTEMPTS": "1",
        # This store knows no checksums at the end of a body.
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
        "RCLONE_CONFIG": os.devnull,
        "RCLONE_CONFIG_STORE_TYPE": "s3",
        "RCLONE_CONFIG_STORE_PROVIDER": "Ceph",
        "RCLONE_CONFIG_STORE_ENV_AUTH": "true",
        "RCLONE_CONFIG_STORE_REGION": job["region"],
        "RCLONE_CONFIG_STORE_ENDPOINT": job["endpoint"],
        "RCLONE_S3_NO_CHECK_BUCKET": "true",
        "RCLONE_S3_UPLOAD_CUTOFF": "5M",
        "RCLONE_S3_CHUNK_SIZE": "5M",
        "RCLONE_RETRIES": "1",
        "RCLONE_LOW_LEVEL_RETRIES": "1",
    }
    scope = f"{job['bucket']}/{job['prefix']}"
    if way in ("container", "container-file", "container-bare"):
        names["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = f"{job['gateway']}/v1/sts/aws/{scope}"
        if way == "container-file":
            token = folder / "container-token"
            token.write_text("Bearer " + job["key"])
            names["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = str(token)
        else:
            names["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = ("" if way == "container-bare" else "Bearer ") + job["key"]
    elif way == "web-identity":
        token = folder / "web-token"
        token.write_text(job["token"] + "\n")
        names["AWS_WEB_IDENTITY_TOKEN_FILE"] = str(token)
        names["AWS_ROLE_ARN"] = f"arn:aws:iam::000000000000:role/sluice/{scope}"
        names["AWS_ROLE_SESSION_NAME"] = "client"
        names["AWS_ENDPOINT_URL_STS"] = f"{job['gateway']}/v1/aws/sts"
    elif way == "process":
        config.write_text(f"[default]\ncredential_process = {job['sluice']} credentials {scope} --format process\n")
        names["SLUICE_URL"], names["SLUICE_KEY"] = job["gateway"], job["key"]
    return names


BOTO = r"""
import json, sys, boto3
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import BotoCoreError, ClientError
job, folder, mark = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
bucket, prefix = job["bucket"], job["prefix"]
results = {}
def attempt(name, act):
    try:
        act()
        results[name] = "ok"
    except ClientError as error:
        results[name] = str(error.response["ResponseMetadata"]["HTTPStatusCode"])
    except BotoCoreError as error:
        results[name] = f"{type(error).__name__}: {error}"
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}"
s3 = boto3.client("s3")
small, large = open(f"{folder}/small", "rb").read(), f"{folder}/large"
key = prefix + "boto3-" + mark
def get():
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == small
parts = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
attempt("put", lambda: s3.put_object(Bucket=bucket, Key=key, Body=small))
attempt("get", get)
attempt("list", lambda: s3.list_objects_v2(Bucket=bucket, Prefix=prefix))
attempt("multipart", lambda: s3.upload_file(large, bucket, key + "-large", Config=parts))
attempt("outside", lambda: s3.put_object(Bucket=bucket, Key="other/" + key, Body=small))
attempt("delete", lambda: s3.delete_object(Bucket=bucket, Key=key))
attempt("listAll", lambda: s3.list_objects_v2(Bucket=bucket))
print(json.dumps(results))
"""


def run(command, names):
    done = subprocess.run([str(part) for part in command], env=names, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def outcome(status, errors):
    """`ok`, or the status or code of the store's or the gateway's refusal."""
    if status == 0:
        return "ok"
    if re.search(r"AccessDenied|StatusCode: 403|HTTP/1\.1\" 403", errors):
        return "403"
    return f"exit {status}: {errors[-300:]}"


def boto(job, way, folder):
    names = environment(job, way, folder)
    status, output, errors = run([sys.executable, "-c", BOTO, json.dumps(job), folder, way], names)
    return json.loads(output) if status == 0 else {"failed": errors[-2000:]}


def cli(job, way, folder):
    names = environment(job, way, folder)
    place = f"s3://{job['bucket']}/"
    key = f"{job['prefix']}cli-{way}"
    copy = folder / f"cli-{way}"
    # The command cannot print a refusal without a message, as this store sends; its trace has the status.
    aws = [sys.executable, BIN / "aws", "--debug"]
    attempts = {
        "put": ["s3", "cp", "--only-show-errors", folder / "small", place + key],
        "get": ["s3", "cp", "--only-show-errors", place + key, copy],
        "list": ["s3api", "list-objects-v2", "--bucket", job["bucket"], "--prefix", job["prefix"]],
        "multipart": ["s3", "cp", "--only-show-errors", folder / "large", place + key + "-large"],
        "outside": ["s3", "cp", "--only-show-errors", folder / "small", place + "other/" + key],
        "delete": ["s3", "rm", "--only-show-errors", place + key],
        "listAll": ["s3api", "list-objects-v2", "--bucket", job["bucket"]],
    }
    return attempted(attempts, aws, names, copy, folder)


def rclone(job, way, folder):
    names = environment(job, way, folder)
    place = f"store:{job['bucket']}/"
    key = f"{job['prefix']}rclone-{way}"
    copy = folder / f"rclone-{way}"
    attempts = {
        "put": ["copyto", "--no-check-dest", folder / "small", place + key],
        "get": ["copyto", place + key, copy],
        "list": ["lsf", place + job["prefix"]],
        "multipart": ["copyto", "--no-check-dest", folder / "large", place + key + "-large"],
        "outside": ["copyto", "--no-check-dest", folder / "small", place + "other/" + key],
        "delete": ["deletefile", place + key],
        "listAll": ["lsf", place],
    }
    return attempted(attempts, [BIN / "rclone"], names, copy, folder)


def attempted(attempts, command, names, copy, folder):
    results = {}
    for name, arguments in attempts.items():
        status, _, errors = run([*command, *arguments], names)
        results[name] = outcome(status, errors)
        if name == "get" and status == 0 and copy.read_bytes() != (folder / "small").read_bytes():
            results[name] = "other bytes"
    return results


def main():
    job = json.loads(Path(sys.argv[1]).read_text())
    clients = {"boto3": boto, "cli": cli, "rclone": rclone}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small").write_bytes(os.urandom(SMALL))
        (folder / "large").write_bytes(os.urandom(LARGE))
        with ThreadPoolExecutor(max_workers=3) as pool:
            runs = {f"{c} {w}": pool.submit(clients[c], job, w, folder) for c, w in job["runs"]}
            print(json.dumps({name: future.result() for name, future in runs.items()}))


main()
