"""Runs the tests of the package."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def tests(products, environment):
    """Each test's name with its flaws, once all have run."""
    scratch = Path(products).parents[1]
    command = ["swift", "test", "--skip-build", "--disable-xctest", "--package-path", ROOT / "clients/swift",
               "--scratch-path", scratch]
    done = subprocess.run(command, env={**os.environ, **environment}, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
    flaws, passed = {}, []
    for line in done.stdout.splitlines():
        if found := re.search(r'Test "(.+?)" recorded an issue(.*)', line):
            flaws.setdefault(found[1], []).append(found[2])
        elif found := re.search(r'Test "(.+?)"(?: with .*)? (passed|failed) after', line):
            if found[2] == "passed":
                passed.append(found[1])
            else:
                flaws.setdefault(found[1], [])
    for name in passed:
        yield name, []
    for name, lines in flaws.items():
        yield name, lines or ["it failed"]
    if not passed or (done.returncode != 0 and not flaws):
        yield "the tests end", [f"status {done.returncode}", done.stdout[-3000:]]
