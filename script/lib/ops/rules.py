"""Alerts: each says what it means, is tested both ways, and has a section in the runbook."""

import re

import yaml

from names import rules

ANCHOR = "docs/runbook.md#"
SEVERITIES = {"page", "ticket"}


def flaws(folder, runbook):
    """Lines about what alerts, their tests and the runbook lack."""
    alerts = {}
    for rule in rules(folder / "alerts.yaml"):
        if rule["alert"] in alerts:
            yield f"two alerts are named {rule['alert']}"
        alerts[rule["alert"]] = rule
    fires, silent = tested(folder)
    sections = set(re.findall(r"^### (\w+)$", runbook.read_text(), re.MULTILINE))
    for name, rule in alerts.items():
        notes = rule.get("annotations", {})
        if rule.get("labels", {}).get("severity") not in SEVERITIES:
            yield f"{name} has no severity of {sorted(SEVERITIES)}"
        yield from (f"{name} has no {note}" for note in ("summary", "description") if not notes.get(note))
        if notes.get("runbook_url") != ANCHOR + name.lower():
            yield f"{name} does not link to its section, {ANCHOR}{name.lower()}"
        if name not in sections:
            yield f"{runbook.name} has no section {name}"
        if name not in fires:
            yield f"no test has {name} fire"
        if name not in silent:
            yield f"no test has {name} stay silent"
    yield from (f"{runbook.name} has a section {name}, but there is no such alert" for name in sorted(sections - alerts.keys()))
    yield from (f"the tests ask for {name}, but there is no such alert" for name in sorted((fires | silent) - alerts.keys()))


def tested(folder):
    """The alerts that a test expects to fire, and those that a test expects not to."""
    fires, silent = set(), set()
    for path in sorted(folder.glob("*.test.yaml")):
        for test in yaml.safe_load(path.read_text())["tests"]:
            for case in test["promql_expr_test"]:
                asked = re.search(r'ALERTS\{alertname="(\w+)", alertstate="firing"\}', case["expr"])
                if asked:
                    (fires if case["exp_samples"] else silent).add(asked[1])
    return fires, silent
