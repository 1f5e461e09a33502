"""Runs steps in Node."""

import json
import signal
import subprocess
import time

from pages import HERE
from trouble import plan, judge
from world import MIB, MODULE

PATIENCE = 600


def start(made, step, **more):
    configuration = made.configuration(
        "node", module=MODULE.as_uri(), files=str(made.folder), states=str(made.folder / "states"), **more)
    process = subprocess.Popen(
        ["node", "--no-warnings", HERE / "node.mjs", step], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    process.stdin.write(json.dumps(configuration))
    process.stdin.close()
    return process


def finish(process):
    """The last line of a process that ends by itself."""
    last = {}
    for line in process.stdout:
        last = json.loads(line)
    errors = process.stderr.read()
    if process.wait(PATIENCE) != 0 or "error" in last:
        raise RuntimeError(last.get("error", errors))
    if errors:
        raise RuntimeError(errors)
    return last


def run(made, step):
    finish(start(made, step))


def stubbed(step):
    """A step that needs no program."""
    done = subprocess.run(
        ["node", "--no-warnings", HERE / "stubbed.mjs", step], text=True, capture_output=True, timeout=60, check=False)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(done.stderr)


def large(made):
    """The large upload, killed half way and started again; and its memory beside that of a small one."""
    key, size = "files/node/large.mp4", made.sizes["large.bin"]
    small = finish(start(made, "large", key="files/node/one.mp4", large="one.bin"))["memory"]
    before = plan(made)
    first = start(made, "large", key=key)
    for line in first.stdout:
        if json.loads(line).get("told", 0) > size / 2:
            break
    else:
        yield "it ended by itself before half of the upload had arrived"
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(0.5)
    last = finish(start(made, "large", key=key))
    yield from judge(made, key, last["result"], before)
    more = last["memory"] - small
    print(f"      Node: {more / MIB:.0f} MiB more than for 1 MiB", flush=True)
    if more > 64 * MIB:
        yield f"it took {more / MIB:.0f} MiB more than an upload of 1 MiB"
