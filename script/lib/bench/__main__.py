"""Measures the gateway; see script/bench."""

import argparse
import importlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path

import chart
import output
from report import Report

ROOT = Path(__file__).resolve().parents[3]
# What a run measures unless told otherwise, and what takes minutes of its own.
USUAL = ("issue", "deliveries", "signing", "principals", "policy", "deep", "idle", "bodies", "overload", "gateways")
LONG = ("grants", "ledger", "bulk", "console", "soak")
# Of one part beside a soak's own time; far more than any takes.
LONGEST_MINUTES = 40


def options():
    parser = argparse.ArgumentParser(
        prog="script/bench",
        description="Measures the gateway on a PostgreSQL of its own, beside nginx, pgbench and a service in Python; prints "
                    "the table of targets and writes bench.json and bench.svg. Parts that are not measured keep what an "
                    "earlier run wrote. Ends with status 1 when a part failed, a request was refused or the ledger does not "
                    "agree with the answers; a target that is not met is told in the table only.")
    numbers = lambda text: [int(number) for number in text.split(",")]
    parts = lambda text: list(USUAL + LONG) if text == "all" else text.split(",")
    parser.add_argument("--parts", type=parts, default=",".join(USUAL),
                        help=f"what to measure: %(default)s (the default), {', '.join(LONG)} (minutes each), or all")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in alternation (%(default)s)")
    parser.add_argument("--seconds", type=int, default=3, help="length of each measurement (%(default)s)")
    parser.add_argument("--connections", type=numbers, default="1,16,64,256", help="connections of wrk (%(default)s)")
    parser.add_argument("--users", type=int, default=1_000, help="distinct callers (%(default)s)")
    parser.add_argument("--principals", type=int, default=100_000, help="callers of the part principals (%(default)s)")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections of the part idle (%(default)s)")
    parser.add_argument("--grants", type=numbers, default="1000,1000000", help="few and many grants (%(default)s)")
    parser.add_argument("--ledger-rows", type=int, default=20_000_000, help="rows of a full ledger (%(default)s)")
    parser.add_argument("--soak-minutes", type=float, default=60, help="length of the part soak (%(default)s)")
    parser.add_argument("--soak-rate", type=int, default=10_000, help="links a second that it asks for (%(default)s)")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2),
                        help="threads of wrk and of pgbench (half the cores)")
    parser.add_argument("--binary", type=Path, help="a built sluice; built for release when left out")
    parser.add_argument("--against", type=Path, help="another sluice, measured in alternation with the first")
    parser.add_argument("--output", type=Path, default=ROOT / "bench.json", help="where the figures go (bench.json)")
    parser.add_argument("--publish", action="store_true",
                        help="measure nothing; put what bench.json holds into docs/performance.md and Benchmarks/results.svg")
    # What script/bench asks first, and what it has then made ready.
    parser.add_argument("--needs", action="store_true", help=argparse.SUPPRESS)
    for name in ("--peer-python", "--microbenchmarks", "--offer", "--browser-python"):
        parser.add_argument(name, type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    unknown = set(chosen.parts) - set(USUAL + LONG)
    sizes = (chosen.rounds, chosen.seconds, chosen.users, chosen.principals, chosen.idle, chosen.ledger_rows,
             chosen.soak_rate)
    if unknown or min(*sizes, *chosen.connections, *chosen.grants) < 1:
        parser.error(f"unknown parts: {', '.join(unknown)}" if unknown else "numbers must be positive")
    if min(chosen.grants) < chosen.users:
        parser.error("there must be at least as many grants as users")
    chosen.shown = os.environ.get("BENCH_ARGUMENTS", " ".join(sys.argv[1:])).split()
    # Of a binary that script/bench did not build nobody knows the commit.
    chosen.is_given = any(one.startswith("--binary") for one in chosen.shown)
    return chosen


def needs(chosen):
    """What has to be made ready for the parts that are chosen."""
    if chosen.publish:
        return []
    parts = set(chosen.parts)
    wanted = {"gateway": parts - {"signing"} and not chosen.binary, "microbenchmarks": "signing" in parts,
              "peers": "issue" in parts, "offer": parts & {"overload", "soak"}, "browser": "console" in parts}
    return ["tools", *(name for name, is_needed in wanted.items() if is_needed)]


def has_chart(parts):
    return bool(parts.get("issue", {}).get("series"))


def out_of_time(*_):
    raise TimeoutError("not done in time")


def measure(name, chosen):
    """Measures one part; a part that fails says so in its report and stops no other."""
    print(f"==> {name}", file=sys.stderr, flush=True)
    report = Report(name, chosen)
    signal.signal(signal.SIGALRM, out_of_time)
    minutes = LONGEST_MINUTES + (chosen.soak_minutes if name == "soak" else 0)
    signal.alarm(int(minutes * 60))
    try:
        importlib.import_module(f"parts.{name}").measure(chosen, report)
        if report.faults:
            report.error = f"{report.faults} requests failed or were refused"
    except Exception as error:
        traceback.print_exc()
        report.error = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return report.as_json()


def main():
    chosen = options()
    if chosen.needs:
        print(*needs(chosen))
        return
    kept = json.loads(chosen.output.read_text()) if chosen.output.exists() else {}
    parts = kept.get("parts", {})
    if chosen.publish:
        if not parts:
            sys.exit(f"error: {chosen.output} holds no figures; run script/bench first")
        output.write_page(parts, ROOT / "docs/performance.md")
        if has_chart(parts):
            (ROOT / "Benchmarks/results.svg").write_text(chart.drawing(parts))
        return
    # So that an interrupted run cleans up as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = []
    for name in chosen.parts:
        parts[name] = measure(name, chosen)
        if parts[name]["error"]:
            failed.append(name)
        # Each part for itself, so that whatever happens to the next one leaves it.
        chosen.output.write_text(json.dumps({"parts": parts}, indent=2, ensure_ascii=False) + "\n")
    if has_chart(parts):
        chosen.output.with_suffix(".svg").write_text(chart.drawing(parts))
    output.print_all(parts, chosen.parts)
    if failed:
        sys.exit(f"error: {', '.join(failed)} failed")


try:
    main()
except KeyboardInterrupt:
    sys.exit("error: interrupted")
