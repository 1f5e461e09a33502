"""One `sluice dev`, with the database and the store of its own."""

import contextlib
import re
import subprocess
import time

from server import free_port


def end(process):
    """Ends a `sluice dev`. One that is told twice does not wait for its PostgreSQL, which ends by itself."""
    for _ in range(2):
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(30)
    process.kill()
    return process.wait()


@contextlib.contextmanager
def demo(binary, folder):
    """Runs `sluice dev`, and answers what it prints: the settings `SLUICE_…`, and as `example` the address of the web
    example and as `store` that of the store."""
    # PostgreSQL may run as another user.
    folder.chmod(0o755)
    ports = [str(free_port()), str(free_port())]
    output = folder / "dev.out"
    # In a group of its own, so that nobody else tells it to end: a second signal would not wait for PostgreSQL.
    with open(output, "w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [binary, "dev", "--empty", "--port", ports[0], "--store-port", ports[1], "--data-dir", folder / "data"],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, process_group=0)
    try:
        deadline = time.monotonic() + 60
        while "Ctrl-C stops" not in output.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the demo does not run: {output.read_text()}")
            time.sleep(0.1)
        text = output.read_text()
        addresses = re.findall(r"^http\S+/examples/web/\S+$", text, re.M)
        yield {**dict(re.findall(r"^export (SLUICE_\w+)=(\S+)", text, re.M)), "example": "".join(addresses),
               "store": f"http://127.0.0.1:{ports[1]}"}
    finally:
        end(process)
