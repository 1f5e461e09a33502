"""What the measurements say, as a table and as JSON."""

import json
import os
import platform
import statistics
import subprocess
import sys
from datetime import datetime, timezone

from database import SETTINGS
from load import shown


class Series:
    """The samples of one kind of load, one per round."""

    def __init__(self, load):
        self.load = load
        self.samples = []

    @property
    def key(self):
        return self.load.name, self.load.connections

    def median(self, field="rate"):
        values = [getattr(sample, field) for sample in self.samples]
        return statistics.median(values) if None not in values else None

    @property
    def spread(self):
        """Between the slowest and the fastest round, in percent of the median."""
        rates = [sample.rate for sample in self.samples]
        return 100 * (max(rates) - min(rates)) / self.median()

    def as_json(self, seconds):
        return {
            "name": self.load.name, "connections": self.load.connections, "command": shown(self.load.command(seconds)),
            "rate": self.median(), "p50Milliseconds": self.median("p50"), "p99Milliseconds": self.median("p99"),
            "spreadPercent": self.spread, "processorMicroseconds": self.median("processor_time"),
            "refused": sum(sample.refused for sample in self.samples), "faults": sum(sample.faults for sample in self.samples),
            "rounds": [sample.rate for sample in self.samples],
        }


class Report:
    """Gathers series and figures; `comparisons` names the series that the others are divided by."""

    def __init__(self, options, facts):
        self.options = options
        self.facts = facts
        self.series = []
        self.figures = []

    def add(self, series):
        self.series += series

    def figure(self, name, value, unit):
        self.figures.append({"name": name, "value": value, "unit": unit})

    def find(self, name, connections):
        return next((one for one in self.series if one.key == (name, connections)), None)

    @property
    def faults(self):
        return sum(sample.faults for one in self.series for sample in one.samples)

    def print(self):
        print("\n".join(f"{name}: {value}" for name, value in self.facts.items()))
        print(f"rounds: {self.options.rounds} of {self.options.seconds} s each, in alternation; medians;"
              " spread is (fastest - slowest) / median\n")
        if self.series:
            header = ["load", "connections", "requests/s", "spread", "p50 ms", "p99 ms", "gateway µs", "÷ pgbench 64",
                      "÷ static"]
            _print_table(header, [self._row(one) for one in self.series])
            print()
        if self.figures:
            _print_table(["figure", "value"], [[one["name"], f"{one['value']:,.2f} {one['unit']}".rstrip()]
                                               for one in self.figures])
        if self.series:
            print("\ncommands:")
        for one in self.series:
            print(f"  {shown(one.load.command(self.options.seconds))}")

    def _row(self, one):
        processor = one.median("processor_time")
        return [
            one.load.name, str(one.load.connections), f"{one.median():,.0f}", f"{one.spread:.0f} %",
            f"{one.median('p50'):.2f}", f"{one.median('p99'):.2f}", "" if processor is None else f"{processor:.1f}",
            self._ratio(one, self.find("pgbench, one insert each", 64)),
            self._ratio(one, self.find("static answer", one.load.connections)),
        ]

    @staticmethod
    def _ratio(one, other):
        return f"{one.median() / other.median():.2f}" if other and other is not one else ""

    def write(self, path):
        path.write_text(json.dumps({
            "facts": self.facts, "rounds": self.options.rounds, "seconds": self.options.seconds,
            "series": [one.as_json(self.options.seconds) for one in self.series], "figures": self.figures,
        }, indent=2, ensure_ascii=False) + "\n")


def facts(database, root):
    """Where and with what the run takes place; `database` is None for a run without one."""
    known = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": f"script/bench {' '.join(sys.argv[1:])}".strip(),
        "commit": _line("git", "-C", str(root), "describe", "--always", "--dirty"),
        "machine": f"{os.cpu_count()} cores, {_processor()}, Linux {platform.release()}, load before the run"
                   f" {os.getloadavg()[0]:.1f} (everything runs on these cores: gateway, PostgreSQL, wrk)",
        "libcrypto": _line("dpkg-query", "-W", "-f", "${Version}", "libssl3"),
    }
    if database:
        known |= {
            "PostgreSQL": database.query("postgres", "SHOW server_version") + "; "
                          + ", ".join(f"{name}={value}" for name, value in SETTINGS.items()),
            "libmicrohttpd": _line("dpkg-query", "-W", "-f", "${Version}", "libmicrohttpd12"),
            "libpq": _line("dpkg-query", "-W", "-f", "${Version}", "libpq5"),
            "wrk": _line("dpkg-query", "-W", "-f", "${Version}", "wrk"),
        }
    return known


def _line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"
    except FileNotFoundError:
        return "unknown"


def _processor():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _print_table(header, rows):
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [cell.ljust(width) if column == 0 else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        print("| " + " | ".join(cells) + " |")
