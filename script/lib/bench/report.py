"""What one part of a run measures, as JSON."""

import os
import platform
import statistics
import subprocess
import sys
from datetime import datetime, timedelta, timezone

from database import SETTINGS
from load import shown
from targets import TARGETS


class Series:
    """The samples of one kind of load, one per round."""

    def __init__(self, load):
        self.load = load
        self.samples = []

    def values(self, field="rate"):
        return [getattr(sample, field) for sample in self.samples]

    def median(self, field="rate"):
        values = self.values(field)
        return statistics.median(values) if None not in values else None

    def as_json(self, seconds):
        rates = self.values()
        return {
            "name": self.load.name, "connections": self.load.connections, "unit": self.load.unit,
            "command": shown(self.load.commands(seconds)),
            "servers": [server.told() for server in self.load.servers],
            "rate": self.median(), "spreadPercent": 100 * (max(rates) - min(rates)) / self.median(),
            "p50Milliseconds": self.median("p50"), "p99Milliseconds": self.median("p99"),
            "slowestMilliseconds": max((value for value in self.values("slowest") if value is not None), default=None),
            "processorMicroseconds": {
                who: statistics.median(sample.times[who] for sample in self.samples) for who in self.samples[0].times},
            "refused": sum(self.values("refused")), "faults": sum(self.values("faults")), "rounds": rates,
        }


class Report:
    """Series, figures and measured targets of one part."""

    def __init__(self, name, chosen):
        self.name = name
        self.chosen = chosen
        self.series = []
        self.figures = []
        self.targets = {}
        self.versions = {}
        self.error = None
        self.date = now()
        self.load_before = os.getloadavg()[0]

    def add(self, series):
        self.series += series

    def figure(self, name, value, unit=""):
        self.figures.append({"name": name, "value": value, "unit": unit})

    def measured(self, target, value, rounds=(), note=None, is_smaller=False):
        """The result for a target, with the values of single rounds; `is_smaller` for a run below the required size."""
        if not any(one.id == target and one.part == self.name for one in TARGETS):
            raise ValueError(f"{self.name} has no target {target}")
        self.targets[target] = {
            "value": value, "low": min(rounds, default=None), "high": max(rounds, default=None), "note": note,
            "isSmaller": is_smaller}

    def ratio(self, target, one, other, field="rate", other_field=None, **others):
        """The ratio of two medians; its spread is that of the ratios of the rounds."""
        other_field = other_field or field
        rounds = [a / b for a, b in zip(one.values(field), other.values(other_field))]
        self.measured(target, one.median(field) / other.median(other_field), rounds, **others)

    @property
    def faults(self):
        return sum(sample.faults for one in self.series for sample in one.samples)

    def as_json(self):
        return {
            "date": self.date, "command": f"script/bench {' '.join(self.chosen.shown)}".strip(),
            "commit": "unknown" if self.chosen.is_given else commit(), "machine": machine(),
            "loadBefore": round(self.load_before, 1),
            "versions": self.versions, "rounds": self.chosen.rounds, "seconds": self.chosen.seconds,
            "series": [one.as_json(self.chosen.seconds) for one in self.series],
            "figures": self.figures, "targets": self.targets, "error": self.error,
        }


def alternate(loads, database, chosen):
    """Runs every load once a round, in another order each time; answers a series each."""
    series = [Series(load) for load in loads]
    for load in loads:
        load.run(1)
    for number in range(chosen.rounds):
        order = series if number % 2 == 0 else series[::-1]
        for one in order:
            database.settle()
            one.samples.append(one.load.run(chosen.seconds))
        print(f"round {number + 1} of {chosen.rounds}: "
              + ", ".join(f"{one.load.name} {one.load.connections}: {one.samples[-1].rate:,.0f}/s" for one in series),
              file=sys.stderr, flush=True)
    return series


def now(seconds=0):
    """The present instant, or another so many seconds from it."""
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def commit():
    return line("git", "-C", os.path.dirname(__file__), "describe", "--always", "--dirty", "--exclude=*")


def machine():
    with open("/proc/cpuinfo") as lines:
        processor = next((one.split(":", 1)[1].strip() for one in lines if one.startswith("model name")), "unknown")
    with open("/proc/meminfo") as lines:
        memory = int(next(lines).split()[1]) / (1 << 20)
    return f"{os.cpu_count()} cores ({processor}), {memory:.0f} GB, Linux {platform.release()}"


def versions(database):
    """What a load runs on."""
    package = lambda name: line("dpkg-query", "-W", "-f", "${Version}", name)
    return {
        "PostgreSQL": database.query("postgres", "SHOW server_version") + "; "
                      + ", ".join(f"{name}={value}" for name, value in SETTINGS.items()),
        "libmicrohttpd": package("libmicrohttpd12"), "libpq": package("libpq5"), "libcrypto": package("libssl3"),
        "wrk": package("wrk"), "Swift": line("swift", "--version").split("\n")[0],
    }


def line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"
    except FileNotFoundError:
        return "unknown"
