"""What a release is made of: locks, bills of materials, and known advisories about them.

Usage: python3 script/lib/supply lock PROGRAM --version VERSION [--resolved FILE]
       python3 script/lib/supply sbom LOCK PROGRAM --checkouts DIRECTORY
       python3 script/lib/supply resolved LOCK
       python3 script/lib/supply compare LOCK OTHER
       python3 script/lib/supply audit …                   (see script/audit --help)

`lock` and `sbom` print JSON; `sbom` takes its date from SOURCE_DATE_EPOCH. `resolved` prints what the package manager
expects in `Package.resolved`. `compare` prints what differs.
"""

import argparse
import os
import sys
from pathlib import Path

import audit
import lock as locks
import sbom

ROOT = Path(__file__).resolve().parents[3]


def main():
    parser = argparse.ArgumentParser(prog="supply", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    lock = commands.add_parser("lock")
    lock.add_argument("program")
    lock.add_argument("--version", required=True)
    lock.add_argument("--resolved", default=ROOT / "Package.resolved")
    bill = commands.add_parser("sbom")
    bill.add_argument("lock")
    bill.add_argument("program")
    bill.add_argument("--checkouts", required=True)
    resolved = commands.add_parser("resolved")
    resolved.add_argument("lock")
    compare = commands.add_parser("compare")
    compare.add_argument("lock")
    compare.add_argument("other")
    audit.add_arguments(commands.add_parser("audit", prog="script/audit", description=audit.__doc__,
                                            formatter_class=argparse.RawDescriptionHelpFormatter))
    arguments = parser.parse_args()
    try:
        return run(arguments)
    except (locks.LockError, audit.AuditError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def run(arguments):
    match arguments.command:
        case "lock":
            print(locks.text(locks.make(arguments.program, arguments.version, arguments.resolved)), end="")
        case "sbom":
            date = os.environ.get("SOURCE_DATE_EPOCH")
            if date is None:
                raise locks.LockError("SOURCE_DATE_EPOCH is not set: the date of the bill of materials")
            lock = locks.read(arguments.lock)
            print(locks.text(sbom.make(lock, arguments.program, arguments.checkouts, int(date))), end="")
        case "resolved":
            print(locks.text(locks.read(arguments.lock)["swift"]["resolved"]), end="")
        case "compare":
            for line in locks.differences(locks.read(arguments.lock), locks.read(arguments.other)):
                print(line)
        case "audit":
            return audit.run(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
