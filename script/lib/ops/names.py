"""The names of metrics: those that queries use, and those that docs/metrics.md lists."""

import json
import re
from pathlib import Path

import yaml

METRIC = re.compile(r"\b(?:sluice|process)_[a-z0-9_]+\b")
# What Prometheus adds to the name of a histogram.
PARTS = re.compile(r"_(?:bucket|sum|count)$")


def flaws(ops, document):
    """Lines about metrics that queries use and the document does not list."""
    documented = set(METRIC.findall(document.read_text()))
    for place, query in queries(ops):
        for name in sorted(metrics(query)):
            if name not in documented and PARTS.sub("", name) not in documented:
                yield f"{place} uses {name}, which {document.name} does not list"


def metrics(query):
    """The names of the metrics in a query. Names of labels and of the rules' own results are none."""
    return set(METRIC.findall(re.sub(r'"[^"]*"', '""', query)))


def queries(ops):
    """Every query below `ops`, with its place."""
    yield from dashboard_queries(ops / "grafana/sluice.json")
    for name in ("recording.yaml", "alerts.yaml"):
        for rule in rules(ops / "prometheus" / name):
            yield f"{name}: {rule.get('alert') or rule['record']}", rule["expr"]


def dashboard_queries(path):
    for panel in panels(json.loads(path.read_text())):
        for target in panel.get("targets", []):
            yield f"the panel '{panel['title']}'", target["expr"]


def panels(dashboard):
    """All panels, also those inside of collapsed rows."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def rules(path):
    for group in yaml.safe_load(Path(path).read_text())["groups"]:
        yield from group["rules"]
