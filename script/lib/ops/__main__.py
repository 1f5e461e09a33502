"""Checks the operator's pack, ops/, and what script/package says about a release. Prints one line per check.

Usage: python3 script/lib/ops [--binary PROGRAM]

With a program, it also makes a lock and a bill of materials of it, and runs it under load beside a Prometheus that is
asked every query of the dashboard and of the alerts. The status is 1 if a check fails.
"""

import argparse
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[1:1] = [str(ROOT / "script/lib"), str(ROOT / "script/lib/bench")]

import dashboard  # noqa: E402
import live  # noqa: E402
import manifests  # noqa: E402
import names  # noqa: E402
import rules  # noqa: E402
from checks import outcome, report  # noqa: E402

OPS = ROOT / "ops"
PROMETHEUS = OPS / "prometheus"
RUNBOOK = ROOT / "docs/runbook.md"
METRICS = ROOT / "docs/metrics.md"
SETTINGS = ROOT / "docs/settings.md"


def checks(binary):
    """Each check's name, and a function that finds flaws. The one that mostly waits is the first."""
    if binary:
        yield "every query has an answer at a gateway under load", lambda: live.flaws(binary, OPS)
    yield "the rules of Prometheus can be read", lambda: tool("promtool", "check", "rules", *rule_files())
    yield "each alert is documented and tested both ways", lambda: rules.flaws(PROMETHEUS, RUNBOOK)
    yield "the alerts fire when they should", lambda: tool("promtool", "test", "rules", *PROMETHEUS.glob("*.test.yaml"))
    yield "every metric that queries use is documented", lambda: names.flaws(OPS, METRICS)
    yield "Grafana knows every member of the dashboard", lambda: dashboard.flaws(OPS / "grafana/sluice.json")
    yield "the manifests fit the schemas of Kubernetes", lambda: manifests.flaws(OPS / "kubernetes", SETTINGS)
    supply = [sys.executable, "-B", "-W", "ignore", ROOT / "script/lib/supply/tests.py"]
    yield "locks, bills of materials and audits", lambda: tool(*supply, *([binary] if binary else []))


def rule_files():
    return [PROMETHEUS / name for name in ("recording.yaml", "alerts.yaml")]


def tool(*command):
    """The lines of a program that fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield from (done.stdout + done.stderr).splitlines() or [f"status {done.returncode}"]


def main():
    parser = argparse.ArgumentParser(prog="script/check-ops", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, metavar="PROGRAM")
    arguments = parser.parse_args()
    binary = arguments.binary.resolve(strict=True) if arguments.binary else None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = False
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = [(name, pool.submit(outcome, find)) for name, find in checks(binary)]
        try:
            for name, future in running:
                failed |= not report(name, future.result())
        except BaseException:
            # The others do not begin. Those that run end what they have started.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
