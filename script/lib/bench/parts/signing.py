"""Processor time and allocations of one URL in each scheme, of the hash work for the same bytes, and of a decision."""

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

PRELOAD = Path(__file__).resolve().parents[2] / "count_malloc.c"
FAST, SLOW = 20_000, 200
HELD = ("aws-v4-query", "oss-v4-query", "gcs-v4-hmac-query", "aws-v2-query", "oss-v1-query", "gcs-v4-rsa-query",
        "gcs-v2-rsa-query")


def measure(chosen, report):
    binary = chosen.microbenchmarks
    if not binary:
        raise RuntimeError("--microbenchmarks is missing")
    report.versions = {"libcrypto": _output(["dpkg-query", "-W", "-f", "${Version}", "libssl3"])}
    key = _output(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
    counts = {name: SLOW if "rsa" in name else FAST for name in _output([binary]).split()}
    samples = {name: [] for name in counts}
    for number in range(chosen.rounds):
        for name in sorted(counts, reverse=number % 2 == 1):
            samples[name].append(float(_output([binary, name, str(counts[name]), key])) / 1000)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "count_malloc.so"
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", library, PRELOAD], check=True)
        # What a run needs besides is the same in a short one and in a long one.
        blocks = {
            name: (_blocks([binary, name, str(1000 + count), key], library)
                   - _blocks([binary, name, "1000", key], library)) / count
            for name, count in counts.items()}
    for name in counts:
        report.figure(name, statistics.median(samples[name]), "µs")
        report.figure(f"{name}: allocations", blocks[name])
    for scheme in HELD:
        url, hashes = samples[f"{scheme}/url"], samples[f"{scheme}/hashes"]
        report.measured(scheme, statistics.median(url) / statistics.median(hashes), [a / b for a, b in zip(url, hashes)],
                        note=f"{statistics.median(url):.2f} µs against {statistics.median(hashes):.2f} µs.")
    made = {scheme: blocks[f"{scheme}/url"] for scheme in HELD if "rsa" not in scheme}
    report.measured("allocations", max(made.values()),
                    note=", ".join(f"{scheme} {count:.2f}" for scheme, count in made.items()) + ".")


def _output(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout.strip()


def _blocks(command, library):
    """How many blocks a run asked the allocator for."""
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, env={**os.environ, "LD_PRELOAD": str(library)},
                            capture_output=True, text=True, check=True)
    return int(answer.stderr.split()[-1])
