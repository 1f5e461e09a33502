#!/usr/bin/env python3
"""Counts the batch requests of Git LFS, with 100 objects each, that servers answer in a second.

    compare.py [--seconds 5] [--rounds 5] [--clients 4] [--operation download|upload] NAME=URL=AUTHORIZATION…

URL is that of a server, to which `/objects/batch` is added. Each client sends one batch after another on one
connection, and counts it if all its objects have a link. Servers are measured in turn, once a round; the result is the
median of each and its ratio to that of the last server.

Downloads are of objects that the script uploads first, by links of each server. Uploads are of objects that are not
there, and nothing is uploaded.
"""

import argparse
import hashlib
import http.client
import json
import statistics
import threading
import time
from urllib.parse import urlsplit

OBJECTS = 100
MISSING = 1_000_000


def content(number):
    return (b"%d " % number).ljust(1000 + number % OBJECTS, b".")


def body(operation, start):
    contents = [content(start + number) for number in range(OBJECTS)]
    objects = [{"oid": hashlib.sha256(data).hexdigest(), "size": len(data)} for data in contents]
    return json.dumps({"operation": operation, "transfers": ["basic"], "objects": objects}).encode()


def headers(authorization):
    fields = {"Accept": "application/vnd.git-lfs+json", "Content-Type": "application/vnd.git-lfs+json"}
    if authorization:
        fields["Authorization"] = authorization
    return fields


def batch(connection, parts, authorization, sent):
    connection.request("POST", parts.path + "/objects/batch", sent, headers(authorization))
    answer = connection.getresponse()
    return answer.status, answer.read()


def upload(url, authorization):
    """Uploads what downloads are asked for."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
    status, text = batch(connection, parts, authorization, body("upload", 0))
    if status != 200:
        raise SystemExit(f"{url}: {status} {text[:300]}")
    for number, item in enumerate(json.loads(text)["objects"]):
        if "error" in item:
            raise SystemExit(f"{url}: {item['error']}")
        if "actions" not in item:
            continue
        link = item["actions"]["upload"]
        place = urlsplit(link["href"])
        store = http.client.HTTPConnection(place.hostname, place.port, timeout=300)
        store.request("PUT", f"{place.path}?{place.query}", content(number), link.get("header", {}))
        answer = store.getresponse()
        if answer.status != 200:
            raise SystemExit(f"{url}: the store answered {answer.status} {answer.read()[:300]}")
        store.close()


def client(url, authorization, sent, end, counts, failures):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
    count = 0
    while time.monotonic() < end:
        status, text = batch(connection, parts, authorization, sent)
        if status != 200 or any("actions" not in item for item in json.loads(text)["objects"]):
            failures.append((status, text[:300]))
            break
        count += 1
    counts.append((count, time.monotonic()))


def measure(url, authorization, sent, seconds, clients):
    counts, failures = [], []
    start = time.monotonic()
    threads = [
        threading.Thread(target=client, args=(url, authorization, sent, start + seconds, counts, failures))
        for _ in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(f"{url}: {failures[0]}")
    # A batch may take longer than the round.
    return sum(count / (end - start) for count, end in counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--operation", choices=["download", "upload"], default="download")
    parser.add_argument("servers", nargs="+")
    options = parser.parse_args()
    servers = [server.split("=", 2) for server in options.servers]
    is_download = options.operation == "download"
    sent = body(options.operation, 0 if is_download else MISSING)
    for _, url, authorization in servers:
        if is_download:
            upload(url, authorization)
        measure(url, authorization, sent, 1, 1)
    rates = {name: [] for name, _, _ in servers}
    for _ in range(options.rounds):
        for name, url, authorization in servers:
            rates[name].append(measure(url, authorization, sent, options.seconds, options.clients))
    last = statistics.median(rates[servers[-1][0]])
    for name, found in rates.items():
        median = statistics.median(found)
        print(
            f"{name}: {median:.3g} batches of {OBJECTS} {options.operation}s in a second"
            f" ({min(found):.3g} to {max(found):.3g}), {median / last:.3g} times {servers[-1][0]}"
        )


main()
