"""The large upload, by the program Tests/Uploader of the package."""

import json
import signal
import subprocess

from trouble import judge, plan
from world import MIB

PATIENCE = 900


def start(made, products, key, file):
    process = subprocess.Popen([products / "Uploader"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(json.dumps({
        "gateway": made.front.base, "token": made.token, "bucket": made.bucket, "key": key, "partSize": 5 * MIB,
        "file": (made.folder / file).as_uri(), "states": (made.folder / "states").as_uri()}))
    process.stdin.close()
    return process


def finish(process):
    """The last line of a process that ends by itself."""
    last = {}
    for line in process.stdout:
        last = json.loads(line)
    if process.wait(PATIENCE) != 0 or "result" not in last:
        raise RuntimeError(f"the program ended with status {process.returncode} and said {last}")
    return last


def large(made, products):
    """The upload, killed half way and started again; and its memory beside that of a small one."""
    key, size = "files/swift/large.mp4", made.sizes["large.bin"]
    small = finish(start(made, products, "files/swift/one.mp4", "one.bin"))["memory"]
    before = plan(made)
    first = start(made, products, key, "large.bin")
    for line in first.stdout:
        if json.loads(line).get("told", 0) > size / 2:
            break
    else:
        yield "it ended by itself before half of it had arrived"
    first.send_signal(signal.SIGKILL)
    first.wait()
    last = finish(start(made, products, key, "large.bin"))
    yield from judge(made, key, last["result"], before)
    more = last["memory"] - small
    print(f"      Swift: {last['memory'] / MIB:.0f} MiB, {more / MIB:.0f} MiB more than for 1 MiB", flush=True)
    if more > 64 * MIB:
        yield f"it took {more / MIB:.0f} MiB more than an upload of 1 MiB"
