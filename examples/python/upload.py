#!/usr/bin/env python3
"""Uploads a file by way of a Sluice gateway, and prints a link to it.

Usage: upload.py FILE BUCKET/PREFIX/

It reads the gateway's address from SLUICE_URL and an API key or a token from SLUICE_KEY. It needs Python alone.
"""

import json
import mimetypes
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

GATEWAY = os.environ.get("SLUICE_URL", "http://127.0.0.1:8080")


def call(path, body):
    """Asks the gateway, and answers its JSON; ends the program with the problem if it refuses."""
    headers = {"Authorization": "Bearer " + os.environ["SLUICE_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(GATEWAY + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        field = f" (field {problem['field']})" if "field" in problem else ""
        reason = problem.get("detail", problem["title"])
        sys.exit(f"{problem['code']}: {reason}{field} (request {problem['requestID']})")


file, (bucket, _, prefix) = Path(sys.argv[1]), sys.argv[2].partition("/")
named = {"bucket": bucket, "key": prefix + file.name}
kind, size = mimetypes.guess_type(file.name)[0] or "application/octet-stream", file.stat().st_size
link = call("/v1/presigned-urls", {**named, "action": "PutObject", "contentType": kind, "contentLength": size})
# What is bound goes as it is: the store refuses anything else. Without a length, urllib sends a file in chunks.
headers = {"Content-Length": str(size), **link["headers"]}
with open(file, "rb") as content:
    urllib.request.urlopen(urllib.request.Request(link["url"], content, headers, method=link["method"])).close()
upload = call(f"/v1/issuances/{link['id']}:confirm", {})
if upload["state"] not in ("landed", "unverified"):
    sys.exit(f"{named['key']} has not arrived as it was sent: it is {upload['state']}.")
print(call("/v1/presigned-urls", {**named, "action": "GetObject"})["url"])
