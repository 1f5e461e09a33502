"""The dashboard's form, by the types that Grafana publishes for 10.1, and its layout."""

import json

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from names import panels

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24


def flaws(path):
    """Lines about members that Grafana does not know, and about panels that are in each other's way."""
    written = json.loads(path.read_text())
    plugins.register_default_plugins()
    # What the types do not know is lost on the way.
    known = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
    yield from lost(written, known, "")
    all_panels = list(panels(written))
    identifiers = [panel["id"] for panel in all_panels]
    if len(set(identifiers)) != len(identifiers):
        yield "two panels have the same id"
    if not any(variable["name"] == "datasource" for variable in written["templating"]["list"]):
        yield "there is no variable for the data source"
    taken = {}
    for panel in all_panels:
        title, place = panel["title"], panel["gridPos"]
        if place["x"] + place["w"] > COLUMNS:
            yield f"'{title}' is wider than the page"
        for cell in ((x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])):
            other = taken.setdefault(cell, title)
            if other != title:
                yield f"'{title}' lies on '{other}'"
                break
        if panel["type"] == "row":
            continue
        if not panel.get("description"):
            yield f"'{title}' has no description"
        for target in panel["targets"]:
            if target["datasource"] != SOURCE or panel["datasource"] != SOURCE:
                yield f"'{title}' does not use the variable for the data source"


def lost(written, known, place):
    """What is in one value and not, or not so, in the other."""
    if isinstance(written, dict):
        for name, value in written.items():
            if not isinstance(known, dict) or name not in known:
                if value is not None:
                    yield f"Grafana does not know {place}/{name}"
            else:
                yield from lost(value, known[name], f"{place}/{name}")
    elif isinstance(written, list):
        if not isinstance(known, list) or len(written) != len(known):
            yield f"Grafana reads {place} as another list"
        else:
            for number, (one, other) in enumerate(zip(written, known)):
                yield from lost(one, other, f"{place}/{number}")
    elif written != known:
        yield f"Grafana reads {place} as {known}, not {written}"
