"""What was measured, as text: tables in Markdown, for a terminal and for docs/performance.md."""

import re
import textwrap

from targets import TARGETS, number

BEGIN, END = "<!-- script/bench --publish writes what follows -->", "<!-- until here -->"


def print_all(parts, names):
    """The table of targets of all that is known, then what each of the parts just measured found."""
    for name in names:
        _print_part(name, parts[name])
    print("## Targets\n")
    print(table(["", "target", "measured", "single rounds", ""], target_rows(parts)))
    for note in target_notes(parts):
        print(f"- {note}")


def _print_part(name, part):
    print(f"## {name}\n")
    print(f"{part['date']}, commit {part['commit']}, {part['machine']}, load before {part['loadBefore']};"
          " everything runs on these cores")
    print("\n".join(f"{what}: {version}" for what, version in part["versions"].items()))
    print(f"{part['rounds']} rounds of {part['seconds']} s each, in alternation; medians;"
          " spread is (fastest - slowest) / median\n")
    if part["error"]:
        print(f"**failed**: {part['error']}\n")
    if part["series"]:
        print(_series_table(part), "\n")
    if part["figures"]:
        print(table(["figure", "value"], [[one["name"], _quantity(one)] for one in part["figures"]]), "\n")
    if part["series"]:
        print("commands, while the run lasts:")
        servers = dict.fromkeys(server for one in part["series"] for server in one["servers"])
        print("".join(f"  {server}\n" for server in servers), end="")
        print("\n".join(f"  {one['command']}" for one in part["series"]) + "\n")


def _series_table(part, columns=None):
    header = ["load", "connections", "rate", "", "spread", "p50 ms", "p99 ms", "slowest ms", "µs of the server",
              "of PostgreSQL", "of the load"]
    return table(header[:columns], [_series_row(one)[:columns] for one in part["series"]])


def _series_row(one):
    times = one["processorMicroseconds"]
    spent = [f"{times[who]:.1f}" if who in times else "" for who in ("server", "PostgreSQL", "load")]
    faults = f"{one['faults']:,} faults" if one["faults"] else ""
    return [one["name"] + (f" ({faults})" if faults else ""), str(one["connections"]), f"{one['rate']:,.0f}", one["unit"],
            f"{one['spreadPercent']:.0f} %", _milliseconds(one["p50Milliseconds"]), _milliseconds(one["p99Milliseconds"]),
            _milliseconds(one["slowestMilliseconds"]), *spent]


def _milliseconds(value):
    return "" if value is None else f"{value:.2f}"


def _quantity(figure):
    return f"{number(figure['value'])} {figure['unit']}".rstrip()


def target_rows(parts):
    """A row for each target: text, limit, value, the rounds' lowest and highest, verdict."""
    found = []
    for target in TARGETS:
        measured = parts.get(target.part, {}).get("targets", {}).get(target.id)
        value = measured and measured["value"]
        rounds = measured and measured["low"] is not None and measured["low"] != measured["high"]
        found.append([
            target.text, target.limit, "" if value is None else f"{number(value)} {target.unit}".rstrip(),
            f"{number(measured['low'])} – {number(measured['high'])}" if rounds else "", _verdict(target, measured)])
    return found


def _verdict(target, measured):
    if measured and measured.get("isSmaller"):
        return "too small a run"
    return target.verdict(measured and measured["value"])


def target_notes(parts):
    for target in TARGETS:
        measured = parts.get(target.part, {}).get("targets", {}).get(target.id)
        if measured and measured["note"]:
            yield f"{target.text}: {measured['note']}"


def console_tables(figures):
    """What the console's part measured, by who asked: each view, and each question to the admin API."""
    known = {one["name"]: one for one in figures}
    owners = list(dict.fromkeys(name.split(": ")[0] for name in known if name.endswith(", data")))
    for title, ends in {"view": ("first paint", "data"), "question": ("median",)}.items():
        names = dict.fromkeys(
            name.removeprefix(f"{owner}: ").removesuffix(f", {ends[-1]}")
            for owner in owners for name in known if name.startswith(f"{owner}: ") and name.endswith(f", {ends[-1]}"))
        cells = [[known.get(f"{owner}: {name}, {end}") for owner in owners for end in ends] for name in names]
        if cells:
            yield ([title, *(f"{owner}: {end}" for owner in owners for end in ends)],
                   [[name, *("" if one is None else _quantity(one) for one in row)] for name, row in zip(names, cells)])


def table(header, rows):
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    is_number = [all(re.fullmatch(r"[\d,.]*( (MB|s|ms|%))?", row[column]) for row in rows) for column in range(len(header))]
    rule = ["-" * (width - 1) + ":" if right and column else "-" * width
            for column, (width, right) in enumerate(zip(widths, is_number))]
    lines = []
    for row in [header, rule, *rows]:
        cells = [cell.rjust(width) if right and column else cell.ljust(width)
                 for column, (cell, width, right) in enumerate(zip(row, widths, is_number))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_page(parts, file):
    """Replaces what is between the two marks of the page."""
    text = file.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"error: {file} needs the lines {BEGIN} and {END}, once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    file.write_text(f"{before}{BEGIN}\n\n{_section(parts)}\n{END}{after}")


def _section(parts):
    runs = {}
    for name, part in parts.items():
        runs.setdefault((part["date"][:10], part["commit"], part["machine"]), []).append((name, part))
    pieces = []
    for (day, commit, machine), members in runs.items():
        names = ", ".join(name for name, _ in members)
        rounds = sorted({f"{part['rounds']} rounds of {part['seconds']} s" for _, part in members})
        loads = sorted({part["loadBefore"] for _, part in members})
        pieces.append(_item(f"{names}: {day}, commit {commit}, {machine}; {' and '.join(rounds)} in alternation; load average"
                      f" before the parts {loads[0]} to {loads[-1]}."))
        # The run itself leaves a load of up to 2.4 for each core to the part that follows.
        if loads[-1] > 3 * int(machine.split()[0]):
            pieces.append(_item("**That machine was busy with other work meanwhile**: rates are far below, and ratios not those,"
                                " of a quiet one."))
    pieces = ["\n".join(pieces)]
    pieces.append(table(["", "target", "measured", "single rounds", ""], target_rows(parts)))
    notes = "\n".join(_item(note) for note in target_notes(parts))
    if notes:
        pieces.append(notes)
    if parts.get("issue", {}).get("series"):
        pieces.append("![Rate and p99 against connections](../Benchmarks/results.svg)")
        pieces.append(_series_table(parts["issue"], 7))
    if parts.get("deliveries", {}).get("series"):
        pieces.append(_series_table(parts["deliveries"]))
    for header, found in console_tables(parts.get("console", {}).get("figures", [])):
        pieces.append(table(header, found))
    failed = [_item(f"The part {name} failed: {part['error'].splitlines()[0]}") for name, part in parts.items() if part["error"]]
    if failed:
        pieces.append("\n".join(failed))
    return "\n\n".join(pieces) + "\n"


def _item(text):
    """An item of a list, in lines of at most 120 columns."""
    return textwrap.fill(text, 120, initial_indent="- ", subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)
