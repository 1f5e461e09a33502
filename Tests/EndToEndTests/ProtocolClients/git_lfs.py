"""One step of working with Git LFS in real repositories, as its argument, a JSON object, says."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

job = json.loads(sys.argv[1])
folder = Path(job["folder"])
remote = folder / "remote.git"
address = f"{job['gateway']}/lfs/{job['bucket']}/{job['prefix']}"
environment = {
    "PATH": "/usr/bin:/bin",
    "HOME": str(folder),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


def git(*arguments, cwd=None):
    run = subprocess.run(
        ["git", *arguments], cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return {"status": run.returncode, "output": run.stdout}


def configure(clone, password):
    """Lets a clone use the gateway, with a key as the password of anybody, or in the way that the job names."""
    way = job.get("signIn", "url")
    git("lfs", "install", "--local", cwd=clone)
    git("config", "lfs.url", address.replace("://", f"://anybody:{password}@" if way == "url" else "://"), cwd=clone)
    git("config", "lfs.transfer.maxretries", "1", cwd=clone)
    if way == "helper":
        git("config", "credential.helper", f"!f() {{ echo username=anybody; echo password={password}; }}; f", cwd=clone)
    encoded = base64.b64encode(f"anybody:{password}".encode()).decode()
    header = {"bearer": f"Bearer {password}", "basic": f"Basic {encoded}"}.get(way)
    for origin in job["origins"] if header else []:
        git("config", f"http.{origin}/.extraheader", f"Authorization: {header}", cwd=clone)


def create():
    """Makes a repository with objects, not yet pushed, and an empty one to push to."""
    git("init", "--bare", "-b", "main", str(remote))
    clone = folder / "work"
    git("init", "-b", "main", str(clone))
    configure(clone, job["key"])
    git("lfs", "track", "*.bin", cwd=clone)
    for number in range(job["count"]):
        (clone / f"{number}.bin").write_bytes(f"object {number} of {job['prefix']}".encode() * (1 + number))
    if job["large"]:
        (clone / "large.bin").write_bytes(hashlib.sha256(job["prefix"].encode()).digest() * (job["large"] << 15))
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "objects", cwd=clone)
    git("remote", "add", "origin", str(remote), cwd=clone)
    return {"status": 0}


def push():
    return git("push", "origin", "main", cwd=folder / "work")


def objects_sent(progress):
    """How many objects a push has sent. It sends one after the other, and appends lines such as
    `upload 3/200 4096/9000 3.bin` about the third of 200."""
    lines = progress.read_text().split("\n")[:-1] if progress.exists() else []
    return int(lines[-1].split()[1].split("/")[0]) - 1 if lines else 0


def push_and_kill():
    """Kills a push as soon as it has sent some objects; returns how many they are."""
    progress = folder / "progress"
    process = subprocess.Popen(
        ["git", "-c", "lfs.concurrenttransfers=1", "push", "origin", "main"], cwd=folder / "work",
        env=environment | {"GIT_LFS_PROGRESS": str(progress)}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while objects_sent(progress) == 0 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    if process.poll() is not None:
        raise RuntimeError(f"the push ended with {process.returncode} before it was killed")
    os.killpg(process.pid, 9)
    return {"status": process.wait(), "sent": objects_sent(progress)}


def pull():
    """Clones, fetches the objects and compares them."""
    clone = folder / "copy"
    git("-c", "filter.lfs.smudge=", "-c", "filter.lfs.required=false", "clone", "-q", str(remote), str(clone))
    configure(clone, job["key"])
    answer = git("lfs", "pull", cwd=clone)
    same = [
        path.name
        for path in (folder / "work").glob("*.bin")
        if (clone / path.name).exists() and (clone / path.name).read_bytes() == path.read_bytes()
    ]
    return answer | {"same": len(same)}


def stranger():
    """Another user's push and pull."""
    clone = folder / "work"
    git("config", "lfs.url", address.replace("://", f"://anybody:{job['stranger']}@"), cwd=clone)
    (clone / "new.bin").write_bytes(b"new")
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "new", cwd=clone)
    pushed = push()
    other = folder / "other"
    git("-c", "filter.lfs.smudge=", "-c", "filter.lfs.required=false", "clone", "-q", str(remote), str(other))
    configure(other, job["stranger"])
    return {"push": pushed, "pull": git("lfs", "pull", cwd=other)}


def send(method, url, headers, body):
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def tamper():
    """Sends other bytes of the same length, then the right ones, then these again."""
    right = os.urandom(1000)
    batch = {
        "operation": "upload",
        "objects": [{"oid": hashlib.sha256(right).hexdigest(), "size": len(right)}],
    }
    _, answer = send(
        "POST",
        address + "/objects/batch",
        {"Authorization": f"Bearer {job['key']}", "Content-Type": "application/vnd.git-lfs+json"},
        json.dumps(batch).encode(),
    )
    upload = json.loads(answer)["objects"][0]["actions"]["upload"]
    statuses = [
        send("PUT", upload["href"], upload["header"], body)[0] for body in (os.urandom(1000), right[:999], right, right)
    ]
    return {"statuses": statuses}


steps = {"create": create, "push": push, "kill": push_and_kill, "pull": pull, "stranger": stranger, "tamper": tamper}
print(json.dumps(steps[job["step"]]()))
