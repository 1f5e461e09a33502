"""Has the links of the demo's OSS bucket lead to a proxy. OSS signs no host, so the store behind it takes them."""

import json
import urllib.request


def lead(settings, data, address):
    """Makes an address that of the bucket for clients. `data` is the directory of the demo."""
    bucket = f"{settings['SLUICE_ADMIN_URL']}/admin/v1/buckets/demo-oss"
    admin = {"Authorization": f"Bearer {settings['SLUICE_ADMIN_KEY']}"}
    with urllib.request.urlopen(urllib.request.Request(bucket, headers=admin), timeout=30) as answer:
        revision = answer.headers["ETag"]
    secret = json.loads((data / "keys.json").read_text())["storeSecretAccessKey"]
    change = {"publicEndpoints": {"default": {"url": address}}, "secretAccessKey": secret}
    headers = {**admin, "If-Match": revision, "Content-Type": "application/merge-patch+json"}
    urllib.request.urlopen(
        urllib.request.Request(bucket, json.dumps(change).encode(), headers, method="PATCH"), timeout=30).close()
