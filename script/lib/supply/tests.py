"""Tests of locks, bills of materials and audits: python tests.py [PROGRAM]

Without a program, those that need one are skipped. They need what a build leaves: `Package.resolved` and the sources of
the Swift packages.
"""

import contextlib
import copy
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

import audit
import lock as locks
import sbom

ROOT = Path(__file__).resolve().parents[3]
SUPPLY = Path(__file__).resolve().parent
PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else None

LOCK = {
    "format": 1,
    "program": {"name": "sluice", "version": "9.9.9"},
    "swift": {
        "toolchain": "6.3.1",
        "resolved": {"originHash": "00", "version": 3, "pins": [
            {"identity": "swift-example", "kind": "remoteSourceControl",
             "location": "https://github.com/Example/swift-example.git",
             "state": {"revision": "a" * 40, "version": "1.4.0"}},
        ]},
    },
    "debian": {"suite": "bookworm", "architecture": "amd64", "packages": [
        {"name": "libexample1", "version": "1:2.0-3+deb12u1+b2", "source": "example", "sourceVersion": "1:2.0-3+deb12u1",
         "libraries": ["libexample.so.1"], "needs": ["libother+1"], "use": "linked"},
        {"name": "libother+1", "version": "0.9~rc1-1", "source": "other", "sourceVersion": "0.9~rc1-1",
         "libraries": ["libother.so.1"], "needs": [], "use": "loaded"},
    ]},
}


def swift_advisory(identifier, *events, **members):
    return {"id": identifier, "modified": "2030-01-02T00:00:00Z", "affected": [{
        "package": {"ecosystem": "SwiftURL", "name": "github.com/example/swift-example"},
        "ranges": [{"type": "SEMVER", "events": list(events)}],
    }], **members}


def debian_advisory(identifier, source, *events):
    return {"id": identifier, "modified": "2030-01-02T00:00:00Z", "affected": [{
        "package": {"ecosystem": "Debian:12", "name": source},
        "ranges": [{"type": "ECOSYSTEM", "events": list(events)}],
    }]}


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.lock = self.write("lock.json", LOCK)

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(value if isinstance(value, str) else locks.text(value))
        return path


class LockTests(Folder):
    def test_a_lock_gives_back_what_the_package_manager_wrote(self):
        again = subprocess.run([sys.executable, "-B", SUPPLY, "resolved", self.lock], capture_output=True, check=True)
        self.assertEqual(json.loads(again.stdout), LOCK["swift"]["resolved"])

    def test_differences_are_named(self):
        other = copy.deepcopy(LOCK)
        other["swift"]["resolved"]["pins"][0]["state"] = {"revision": "b" * 40, "version": "1.5.0"}
        other["debian"]["packages"].pop()
        self.assertEqual(list(locks.differences(LOCK, LOCK)), [])
        self.assertEqual(list(locks.differences(LOCK, other)), [
            "Debian package libother+1: 0.9~rc1-1 in the lock, absent here",
            f"Swift package swift-example: 1.4.0 {'a' * 40} in the lock, 1.5.0 {'b' * 40} here",
        ])

    def test_another_file_is_no_lock(self):
        for content in ("{}", "[]", "no JSON", '{"format": 2}'):
            with self.assertRaises(locks.LockError):
                locks.read(self.write("other.json", content))


class BillTests(Folder):
    def setUp(self):
        super().setUp()
        self.program = self.write("program", "the program")
        self.write("checkouts/.keep", "")
        folder = self.folder / "checkouts/swift-example"
        folder.mkdir()
        (folder / "LICENSE.txt").write_text("Apache License\n   Version 2.0, January 2004\n ## Runtime Library Exception\n")

    def bill(self, lock=None):
        return sbom.make(lock or LOCK, self.program, self.folder / "checkouts", 1_900_000_000)

    def test_a_bill_is_valid(self):
        self.assertEqual(spdx_flaws(self.write("bill.spdx.json", self.bill())), [])

    def test_a_bill_lists_what_the_lock_lists(self):
        bill = self.bill()
        packages = {package["name"]: package for package in bill["packages"]}
        self.assertEqual(set(packages), {"sluice", "swift-runtime", "swift-example", "libexample1", "libother+1"})
        self.assertEqual(packages["swift-example"]["licenseDeclared"], "Apache-2.0 WITH Swift-exception")
        self.assertEqual(packages["swift-example"]["downloadLocation"],
                         "git+https://github.com/Example/swift-example.git@" + "a" * 40)
        self.assertEqual(packages["libexample1"]["externalRefs"][0]["referenceLocator"],
                         "pkg:deb/debian/libexample1@1%3A2.0-3%2Bdeb12u1%2Bb2?arch=amd64&distro=bookworm")
        triples = {(one["spdxElementId"], one["relationshipType"], one["relatedSpdxElement"]) for one in bill["relationships"]}
        self.assertIn(("SPDXRef-Program", "DYNAMIC_LINK", "SPDXRef-Debian-libexample1"), triples)
        self.assertIn(("SPDXRef-Debian-libexample1", "DEPENDS_ON", "SPDXRef-Debian-libother-1"), triples)
        self.assertNotIn(("SPDXRef-Program", "DYNAMIC_LINK", "SPDXRef-Debian-libother-1"), triples)
        self.assertEqual(bill["creationInfo"]["created"], "2030-03-17T17:46:40Z")

    def test_a_bill_is_the_same_twice_and_another_for_another_program(self):
        first = self.bill()
        self.assertEqual(locks.text(self.bill()), locks.text(first))
        self.program.write_text("another program")
        self.assertNotEqual(self.bill()["documentNamespace"], first["documentNamespace"])


class AuditTests(Folder):
    def audit(self, *advisories, tracker=None, accepted=None):
        """The status and the report."""
        for number, advisory in enumerate(advisories):
            self.write(f"osv/{number}.json", advisory)
        arguments = SimpleNamespace(
            lock=self.lock, osv=[self.folder / "osv"] if advisories else [],
            debian_tracker=self.write("tracker.json", tracker) if tracker is not None else None,
            accepted=self.write("accepted", accepted) if accepted is not None else None)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = audit.run(arguments)
        return status, output.getvalue()

    def test_a_version_in_a_range_is_affected(self):
        for events in (
            [{"introduced": "0"}], [{"introduced": "1.4.0"}], [{"introduced": "1.0.0"}, {"fixed": "1.4.1"}],
            [{"introduced": "0"}, {"last_affected": "1.4.0"}],
            [{"introduced": "0"}, {"fixed": "1.1.0"}, {"introduced": "1.3.0"}, {"fixed": "1.10.0"}],
        ):
            status, report = self.audit(swift_advisory("GHSA-made-up-1", *events, summary="It breaks."))
            self.assertEqual(status, 1, events)
            self.assertIn("AFFECTED      swift-example 1.4.0: GHSA-made-up-1", report)
            self.assertIn("It breaks.", report)

    def test_a_version_outside_of_the_ranges_is_not(self):
        for events in (
            [{"introduced": "1.4.1"}], [{"introduced": "0"}, {"fixed": "1.4.0"}], [{"introduced": "1.10.0"}],
            [{"introduced": "0"}, {"fixed": "1.4.0-rc.1"}], [{"introduced": "0"}, {"last_affected": "1.3.9"}],
            [{"introduced": "0"}, {"fixed": "1.1.0"}, {"introduced": "1.5.0"}],
        ):
            status, report = self.audit(swift_advisory("GHSA-made-up-1", *events))
            self.assertEqual(status, 0, events)
            self.assertIn("compared      1 Swift packages with 1 advisories", report)

    def test_a_version_in_a_list_and_a_commit_are_affected(self):
        listed = swift_advisory("GHSA-made-up-1")
        listed["affected"][0] |= {"versions": ["1.3.0", "1.4.0"], "ranges": []}
        self.assertEqual(self.audit(listed)[0], 1)
        commit = swift_advisory("GHSA-made-up-2")
        commit["affected"][0]["ranges"] = [{"type": "GIT", "events": [{"introduced": "a" * 40}]}]
        self.assertEqual(self.audit(commit)[0], 1)

    def test_ranges_of_commits_are_said_to_be_unknown(self):
        commit = swift_advisory("GHSA-made-up-1")
        commit["affected"][0]["ranges"] = [{"type": "GIT", "events": [{"introduced": "0"}, {"fixed": "c" * 40}]}]
        status, report = self.audit(commit)
        self.assertEqual(status, 0)
        self.assertIn("not compared  swift-example 1.4.0 with the commits of GHSA-made-up-1", report)

    def test_withdrawn_and_foreign_advisories_do_not_count(self):
        foreign = swift_advisory("GHSA-made-up-2", {"introduced": "0"})
        foreign["affected"][0]["package"]["name"] = "github.com/example/swift-example-2"
        withdrawn = swift_advisory("GHSA-made-up-1", {"introduced": "0"}, withdrawn="2030-01-03T00:00:00Z")
        self.assertEqual(self.audit(foreign, withdrawn)[0], 0)

    def test_an_accepted_advisory_is_no_hit(self):
        advisory = swift_advisory("GHSA-made-up-1", {"introduced": "0"}, aliases=["CVE-2030-1"])
        status, report = self.audit(advisory, accepted="# judged\nCVE-2030-1 we do not call it\nCVE-2030-2 old\n")
        self.assertEqual(status, 0)
        self.assertIn("accepted      swift-example 1.4.0: GHSA-made-up-1, we do not call it", report)
        self.assertIn("unused        CVE-2030-2", report)
        with self.assertRaises(audit.AuditError):
            self.audit(advisory, accepted="CVE-2030-1\n")

    def test_libraries_of_debian_are_compared_by_source_and_as_dpkg_does(self):
        hits = [
            debian_advisory("DSA-1", "example", {"introduced": "0"}, {"fixed": "1:2.0-3+deb12u2"}),
            debian_advisory("DSA-2", "other", {"introduced": "0"}, {"fixed": "0.9-1"}),
        ]
        for advisory in hits:
            self.assertEqual(self.audit(advisory)[0], 1, advisory["id"])
        misses = [
            debian_advisory("DSA-1", "example", {"introduced": "0"}, {"fixed": "1:2.0-3+deb12u1"}),
            # Without the epoch the number would be greater than ours.
            debian_advisory("DSA-2", "example", {"introduced": "0"}, {"fixed": "9.0-1"}),
            debian_advisory("DSA-3", "libexample1", {"introduced": "0"}),
        ]
        for advisory in misses:
            status, report = self.audit(advisory)
            self.assertEqual(status, 0, advisory["id"])
            self.assertIn("compared      2 Debian packages", report)

    def test_the_tracker_of_debian(self):
        def tracker(**state):
            return {"example": {"CVE-2030-1": {"releases": {"bookworm": state, "sid": {"status": "open"}}}}}

        for state in ({"status": "open", "urgency": "not yet assigned"}, {"status": "undetermined"},
                      {"status": "resolved", "fixed_version": "1:2.0-3+deb12u2"}):
            status, report = self.audit(tracker=tracker(**state))
            self.assertEqual(status, 1, state)
            self.assertIn("AFFECTED      example 1:2.0-3+deb12u1 (libexample1): CVE-2030-1", report)
            self.assertIn("not compared  1 Swift packages", report)
        for state in ({"status": "open", "urgency": "unimportant"}, {"status": "resolved", "fixed_version": "0"},
                      {"status": "resolved", "fixed_version": "1:2.0-3+deb12u1"}):
            self.assertEqual(self.audit(tracker=tracker(**state))[0], 0, state)

    def test_without_a_database_nothing_is_said_to_be_well(self):
        status, report = self.audit()
        self.assertEqual(status, 2)
        self.assertIn("not compared  1 Swift packages", report)
        self.assertIn("not compared  2 Debian packages", report)
        self.assertIn("not compared  Swift's runtime", report)

    def test_the_command_has_the_status(self):
        self.write("osv/1.json", swift_advisory("GHSA-made-up-1", {"introduced": "0"}))
        command = [ROOT / "script/audit", self.lock, "--osv", self.folder / "osv"]
        self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, 1)
        self.assertEqual(subprocess.run([*command, "--accepted", "/none"], capture_output=True, check=False).returncode, 2)


@unittest.skipUnless(PROGRAM, "no program is named")
class ProgramTests(Folder):
    def test_a_program(self):
        """The lock and the bill of a built program: complete, valid, and the same twice."""
        lock, bill = self.made("first")
        self.assertEqual(self.made("second"), (lock, bill))
        value = json.loads(lock)
        packages = {package["name"]: package for package in value["debian"]["packages"]}
        # Without those of the toolchain, which a debug program loads.
        needed = locks.needed(PROGRAM) & locks.loaded_files(Path(PROGRAM)).keys()
        linked = [set(package["libraries"]) for package in packages.values() if package["use"] == "linked"]
        self.assertEqual(needed - set().union(*linked), set())
        self.assertEqual([libraries for libraries in linked if not libraries & needed], [])
        self.assertTrue({"libcurl4", "libmicrohttpd12", "libpq5", "libssl3"} <= packages.keys())
        self.assertEqual(packages["libgnutls30"]["use"], "loaded")
        resolved = json.loads((ROOT / "Package.resolved").read_text())
        self.assertEqual(value["swift"]["resolved"], resolved)
        self.assertEqual(spdx_flaws(self.write("bill.spdx.json", bill)), [])
        licensed = {package["name"]: package["licenseDeclared"] for package in json.loads(bill)["packages"]}
        named = [name for name, package in packages.items() if package["use"] != "loaded"]
        named += [pin["identity"] for pin in resolved["pins"]]
        self.assertEqual([name for name in named if licensed[name] == "NOASSERTION"], [])

    def made(self, name):
        """The lock and the bill, as the commands of script/package print them."""
        lock = self.supply("lock", PROGRAM, "--version", "9.9.9")
        path = self.write(f"{name}.json", lock)
        return lock, self.supply("sbom", path, PROGRAM, "--checkouts", ROOT / ".build/checkouts")

    @staticmethod
    def supply(*arguments):
        return subprocess.run(
            [sys.executable, "-B", SUPPLY, *arguments], capture_output=True, text=True, check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1900000000"}).stdout


def spdx_flaws(path):
    document = parse_file(str(path))
    return [message.validation_message for message in validate_full_spdx_document(document, "SPDX-2.3")]


if __name__ == "__main__":
    unittest.main(verbosity=0)
