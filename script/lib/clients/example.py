"""Runs examples/python as it stands."""

import os
import re
import subprocess
import sys
import urllib.request

from server import START_SECONDS


def flaws(root, folder, settings):
    picture = folder / "cat.png"
    content = b"\x89PNG" + os.urandom(2000)
    picture.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-I", root / "examples/python/upload.py", picture, "demo/users/alice/"], text=True,
        capture_output=True, timeout=START_SECONDS, check=False, env={**os.environ, **settings})
    link = re.fullmatch(r"(http://\S+)\n", done.stdout)
    if done.returncode != 0 or not link:
        yield f"it ended with {done.returncode}: {done.stdout}{done.stderr}"
        return
    with urllib.request.urlopen(link[1]) as answer:
        if answer.read() != content or answer.headers["Content-Type"] != "image/png":
            yield f"the object differs: {answer.headers}"
    refused = subprocess.run(
        [sys.executable, "-I", root / "examples/python/upload.py", picture, "demo/users/bob/"], text=True,
        capture_output=True, timeout=START_SECONDS, check=False, env={**os.environ, **settings})
    if refused.returncode != 1 or not refused.stderr.startswith("AccessDenied: "):
        yield f"a refusal ends with {refused.returncode}: {refused.stderr}"
    wrong = subprocess.run(
        [sys.executable, "-I", root / "examples/python/upload.py", picture, "demo//users/"], text=True,
        capture_output=True, timeout=START_SECONDS, check=False, env={**os.environ, **settings})
    if wrong.returncode != 1 or " (field key) (request " not in wrong.stderr:
        yield f"a key that is not valid ends with {wrong.returncode}: {wrong.stderr}"
