"""The names of metrics and labels: those that queries use, and those that docs/metrics.md lists."""

import json
import re
from pathlib import Path

import yaml

METRIC = re.compile(r"\b(?:sluice|process)_[a-z0-9_]+\b")
# A row of a table: names, type, labels with their values.
ROW = re.compile(r"^\| *(`[^|]*`) *\|[^|]*\|([^|]*)\|", re.MULTILINE)
WORD = re.compile(r"`([^`]+)`")
# Labels that Prometheus adds, and the bound of a histogram's bucket.
COMMON = {"job", "instance", "le"}
# What Prometheus adds to the name of a histogram.
PARTS = re.compile(r"_(?:bucket|sum|count)$")


def flaws(ops, document):
    """Lines about metrics and labels that queries use and the document does not list."""
    documented = {name: set(WORD.findall(words)) for names, words in ROW.findall(document.read_text())
                  for name in METRIC.findall(names)}
    for place, query in queries(ops):
        known = set(COMMON)
        for name in sorted(metrics(query)):
            found = documented.get(name, documented.get(PARTS.sub("", name)))
            if found is None:
                yield f"{place} uses {name}, which {document.name} does not list"
            known |= found or set()
        if metrics(query):
            yield from (f"{place} uses the label {label}, which {document.name} does not list for its metrics"
                        for label in sorted(labels(query) - known))


def metrics(query):
    """The names of the metrics in a query. Names of labels and of the rules' own results are none."""
    return set(METRIC.findall(re.sub(r'"[^"]*"', '""', query)))


def labels(query):
    """The labels by which a query groups and chooses."""
    groups = re.findall(r"\bby \(([^)]*)\)", query)
    chosen = re.findall(r'(\w+)(?:=~|!~|!=|=)"', query)
    return {label.strip() for group in groups for label in group.split(",")} | set(chosen)


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
