"""Runs the samples of the README as they stand, in Node, at the demo with its own store."""

import contextlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

from demo import demo
from static import samples
from world import MIB, MODULE

# What each sample has to print.
EXPECTED = [
    [r"10485760 of 10485760$", r"^landed [0-9a-f]{32}"],
    [r"^DOMException \[AbortError\]|^AbortError", r"^landed$"],
    [r"^http://127\.0\.0\.1:\d+/.*holiday\.mp4\?.*Signature=", r"^10485760 video/mp4$"],
    [r"^20\d\d-.*Z$", r"^AccessDenied$", r"key: 'users/alice/[0-9a-f-]{36}'"],
]


def flaws(made):
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-samples.", dir="/tmp")))
        settings = stack.enter_context(demo(made.binary, folder))
        # The samples find the module by its name, as they do when it is installed.
        (folder / "node_modules/@sluice").mkdir(parents=True)
        (folder / "node_modules/@sluice/client").symlink_to(MODULE.parent)
        with open(folder / "holiday.mp4", "wb") as file:
            file.write(os.urandom(10 * MIB))
        found = samples()
        if len(found) != len(EXPECTED):
            yield f"the README has {len(found)} samples, and {len(EXPECTED)} are expected"
        for number, (sample, lines) in enumerate(zip(found, EXPECTED), 1):
            (folder / "sample.mjs").write_text(sample)
            done = subprocess.run(["node", "sample.mjs"], cwd=folder, env={**os.environ, **settings}, text=True,
                                  capture_output=True, timeout=120, check=False)
            code = [line for line in sample.splitlines() if line and not line.startswith("import")]
            if len(code) > 10:
                yield f"sample {number} has {len(code)} lines"
            if done.returncode != 0:
                yield f"sample {number}: {done.stderr}"
            yield from (f"sample {number} does not print {line}: {done.stdout}" for line in lines
                        if not re.search(line, done.stdout, re.M))
        if (folder / "copy.mp4").read_bytes() != (folder / "holiday.mp4").read_bytes():
            yield "the copy differs"
