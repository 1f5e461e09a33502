"""What signing one URL costs in processor time in each scheme, beside the hash work of the same bytes alone."""

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

SCHEMES = {
    "aws-v4-query": 20_000, "oss-v4-query": 20_000, "gcs-v4-hmac-query": 20_000, "aws-v2-query": 20_000,
    "oss-v1-query": 20_000, "gcs-v4-rsa-query": 200, "gcs-v2-rsa-query": 200,
}


def measure(binary, preload, rounds, report):
    """Runs URLs and bare hashes of every scheme in alternation; adds times, ratios and allocations to the report."""
    key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                         capture_output=True, text=True, check=True).stdout
    call = lambda scheme, work, count: [str(binary), scheme, work, str(count), key]
    samples = {(scheme, work): [] for scheme in SCHEMES for work in ("url", "hashes")}
    for number in range(rounds):
        for scheme, work in sorted(samples, reverse=number % 2 == 1):
            answer = subprocess.run(call(scheme, work, SCHEMES[scheme]), capture_output=True, text=True, check=True)
            samples[scheme, work].append(float(answer.stdout) / 1000)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "count_malloc.so"
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", library, preload], check=True)
        for scheme, count in SCHEMES.items():
            url, hashes = (statistics.median(samples[scheme, work]) for work in ("url", "hashes"))
            report.figure(f"{scheme}: one URL", url, "µs")
            report.figure(f"{scheme}: its hashes alone", hashes, "µs")
            report.figure(f"{scheme}: URL ÷ hashes", url / hashes, "")
            for work in ("url", "hashes"):
                blocks = [_blocks(call(scheme, work, 1000 + extra), library) for extra in (0, count)]
                report.figure(f"{scheme}: allocations of {'a URL' if work == 'url' else 'its hashes'}",
                              (blocks[1] - blocks[0]) / count, "")


def _blocks(command, library):
    """How many blocks a run asked the allocator for."""
    answer = subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, text=True, check=True)
    return int(answer.stderr.split()[-1])
