"""Compares what a release is made of with known advisories. It uses no network: you bring the databases.

  --osv DIRECTORY        advisories in the OSV format, one JSON file each, at any depth: for Swift packages those of the
                         ecosystem SwiftURL, for libraries of Debian those of the ecosystem Debian
  --debian-tracker FILE  the JSON of Debian's security tracker, for libraries of Debian
  --accepted FILE        advisories that you judged and accept, a line each: `IDENTIFIER reason`

The report names what is affected, and says what was compared and what could not be. The status is 0 if nothing is
affected, 1 if something is, and 2 if nothing could be compared.
"""

import json
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import lock as locks


class AuditError(Exception):
    """What keeps an audit from being made, as one sentence."""


def add_arguments(parser):
    parser.add_argument("lock", metavar="LOCK", help="the lock of a release, sluice-….lock.json")
    parser.add_argument("--osv", action="append", default=[], metavar="DIRECTORY")
    parser.add_argument("--debian-tracker", metavar="FILE")
    parser.add_argument("--accepted", metavar="FILE")


def run(arguments):
    lock = locks.read(arguments.lock)
    accepted = read_accepted(arguments.accepted) if arguments.accepted else {}
    report = Report(accepted)
    advisories = [entry for folder in arguments.osv for entry in read_osv(folder)]
    report.say(f"{lock['program']['name']} {lock['program']['version']}, {len(locks.versions(lock))} components")
    audit_swift(lock, advisories, report)
    audit_debian(lock, advisories, arguments.debian_tracker, report)
    report.unchecked(f"Swift's runtime {lock['swift']['toolchain']}: no database of either form lists the toolchain")
    return report.end()


class Report:
    """Prints what is found, and counts it."""

    def __init__(self, accepted):
        self.accepted = accepted
        self.used = set()
        self.hits = 0
        self.compared = 0

    @staticmethod
    def say(line):
        print(line)

    def checked(self, line):
        self.compared += 1
        print(f"compared      {line}")

    @staticmethod
    def unchecked(line):
        print(f"not compared  {line}")

    def hit(self, component, identifiers, detail):
        """One component is affected by one advisory, which has several identifiers."""
        name = identifiers[0]
        known = next((identifier for identifier in identifiers if identifier in self.accepted), None)
        if known is not None:
            self.used.add(known)
            print(f"accepted      {component}: {name}, {self.accepted[known]}")
            return
        self.hits += 1
        print(f"AFFECTED      {component}: {name}, {detail}")

    def end(self):
        for identifier in sorted(self.accepted.keys() - self.used):
            print(f"unused        {identifier} is accepted, but affects nothing here")
        if self.hits:
            print(f"{self.hits} advisories affect this release")
            return 1
        if not self.compared:
            print("nothing was compared")
            return 2
        print("none of the advisories that were compared affects this release")
        return 0


def audit_swift(lock, advisories, report):
    known = by_package(advisories, "SwiftURL")
    pins = locks.pins(lock)
    if not known:
        report.unchecked(f"{len(pins)} Swift packages: no advisories of the ecosystem SwiftURL were given (--osv)")
        return
    report.checked(f"{len(pins)} Swift packages with {described(known, advisories)}")
    for pin in pins:
        state, address = pin["state"], address_of(pin["location"])
        component = f"{pin['identity']} {state.get('version', state['revision'])}"
        for advisory, affected in known.get(address, []):
            if is_affected(affected, state.get("version"), state["revision"], semantic_key):
                report.hit(component, identifiers(advisory), told(advisory, affected))
            elif any(entry.get("type") == "GIT" for entry in affected.get("ranges", [])) and "versions" not in affected:
                report.unchecked(f"{component} with the commits of {advisory['id']}: there is no history here")


def audit_debian(lock, advisories, tracker, report):
    debian = lock["debian"]
    packages = debian["packages"]
    if tracker:
        audit_tracker(debian, json_of(tracker), tracker, report)
    # An entry may be of one release, such as `Debian:12`.
    release = {"bookworm": "12", "trixie": "13"}.get(debian["suite"])
    known = by_package(advisories, f"Debian:{release}")
    if known:
        report.checked(f"{len(packages)} Debian packages with {described(known, advisories)}")
        for package in packages:
            for advisory, affected in known.get(package["source"], []):
                if is_affected(affected, package["sourceVersion"], None, DebianVersion):
                    component = f"{package['name']} {package['version']} ({package['source']})"
                    report.hit(component, identifiers(advisory), told(advisory, affected))
    if not tracker and not known:
        report.unchecked(f"{len(packages)} Debian packages: neither --debian-tracker nor advisories of the ecosystem"
                         f" Debian:{release} were given (--osv)")


def audit_tracker(debian, tracker, file, report):
    """The tracker lists, for each source package and issue, the state in each release."""
    if not isinstance(tracker, dict):
        raise AuditError(f"{file} is not the JSON of Debian's security tracker")
    age = datetime.fromtimestamp(Path(file).stat().st_mtime, timezone.utc).date()
    sources = {package["source"]: package for package in reversed(debian["packages"])}
    report.checked(f"{len(debian['packages'])} Debian packages with the security tracker's file of {age},"
                   f" which lists {len(tracker)} sources")
    unimportant = 0
    for source, package in sorted(sources.items()):
        for name, issue in sorted(tracker.get(source, {}).items()):
            state = issue.get("releases", {}).get(debian["suite"])
            if state is None or not is_open(state, package["sourceVersion"]):
                continue
            # Debian's word for issues without effect on security, such as of code that is not built.
            if state.get("urgency") == "unimportant":
                unimportant += 1
                continue
            fixed = state.get("fixed_version")
            names = ", ".join(entry["name"] for entry in debian["packages"] if entry["source"] == source)
            report.hit(f"{source} {package['sourceVersion']} ({names})", [name],
                       f"fixed in {fixed}" if fixed and fixed != "0" else f"not fixed in {debian['suite']}")
    if unimportant:
        report.say(f"left out      {unimportant} issues that Debian calls unimportant")


def is_open(state, version):
    """Whether a release's state of an issue leaves this version affected. Fixed in 0 means that no version was."""
    if state.get("status") == "resolved":
        fixed = state.get("fixed_version")
        return fixed is not None and fixed != "0" and DebianVersion(version) < DebianVersion(fixed)
    return state.get("status") in ("open", "undetermined")


def is_affected(affected, version, revision, key):
    """Whether a component is in an advisory's list of versions or in one of its ranges."""
    if version is not None and version in affected.get("versions", []):
        return True
    for entry in affected.get("ranges", []):
        if entry.get("type") == "GIT":
            if revision is not None and any(event.get("introduced") == revision for event in entry["events"]):
                return True
        elif version is not None and in_range(entry["events"], version, key):
            return True
    return False


def in_range(events, version, key):
    """Whether the last event at or before the version leaves it affected. A `last_affected` version is affected."""
    here = key(version)
    inside = False
    order = {"introduced": 0, "fixed": 1, "last_affected": 2}
    known = [(kind, value) for event in events for kind, value in event.items() if kind in order]
    # `introduced: 0` is before every version, also before those that begin with 0~.
    first = [pair for pair in known if pair == ("introduced", "0")]
    rest = sorted((pair for pair in known if pair != ("introduced", "0")), key=lambda pair: (key(pair[1]), order[pair[0]]))
    for kind, value in first + rest:
        if kind == "introduced" and (value == "0" or not here < key(value)):
            inside = True
        elif kind == "fixed" and not here < key(value):
            inside = False
        elif kind == "last_affected" and key(value) < here:
            inside = False
    return inside


def semantic_key(version):
    """The precedence of a semantic version: a version before its release sorts before it."""
    core, _, before = version.lstrip("v").partition("+")[0].partition("-")
    numbers = tuple(int(part) for part in re.findall(r"\d+", core)) + (0, 0, 0)
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split(".")) if before else ()
    return numbers[:3], before == "", parts


class DebianVersion:
    """A version that sorts as dpkg sorts."""

    def __init__(self, version):
        self.version = version

    def __lt__(self, other):
        return subprocess.run(["dpkg", "--compare-versions", self.version, "lt", other.version], check=False).returncode == 0

    def __eq__(self, other):
        return not self < other and not other < self


def by_package(advisories, ecosystem):
    """Advisories with what they say of a package, by the package's name."""
    found = {}
    for advisory in advisories:
        for affected in advisory.get("affected", []):
            package = affected.get("package", {})
            if package.get("ecosystem") == ecosystem:
                name = package.get("name", "")
                found.setdefault(address_of(name) if ecosystem == "SwiftURL" else name, []).append((advisory, affected))
    return found


def address_of(location):
    """The address of a Swift package as advisories name it: without scheme and `.git`, in lower case."""
    return re.sub(r"^[a-z]+://", "", location).removesuffix(".git").strip("/").lower()


def identifiers(advisory):
    return [advisory["id"], *advisory.get("aliases", [])]


def told(advisory, affected):
    fixed = [event["fixed"] for entry in affected.get("ranges", []) if entry.get("type") != "GIT"
             for event in entry["events"] if "fixed" in event]
    summary = advisory.get("summary", "")
    return f"{'fixed in ' + ' or '.join(fixed) if fixed else 'no fixed version is known'}{': ' + summary if summary else ''}"


def described(known, advisories):
    count = len({advisory["id"] for entries in known.values() for advisory, _ in entries})
    newest = max((advisory.get("modified", "") for advisory in advisories), default="")[:10]
    return f"{count} advisories, the newest of which changed on {newest or 'no date'}"


def read_osv(folder):
    """The advisories in a folder. Those that were withdrawn do not count."""
    files = sorted(Path(folder).rglob("*.json"))
    if not files:
        raise AuditError(f"{folder} has no advisories")
    for file in files:
        advisory = json_of(file)
        if not isinstance(advisory, dict) or "id" not in advisory:
            raise AuditError(f"{file} is no advisory in the OSV format")
        if "withdrawn" not in advisory:
            yield advisory


def read_accepted(file):
    accepted = {}
    for number, line in enumerate(Path(file).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        identifier, _, reason = line.partition(" ")
        if not reason.strip():
            raise AuditError(f"{file}:{number}: {identifier} is accepted without a reason")
        accepted[identifier] = reason.strip()
    return accepted


def json_of(file):
    try:
        return json.loads(Path(file).read_text())
    except (OSError, ValueError) as error:
        raise AuditError(f"{file} cannot be read: {error}") from error
