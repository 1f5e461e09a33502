"""Sources that are not part of the package's build: samples of the README, adapters, the iOS example."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "clients/swift/README.md"
FLAGS = ["-swift-version", "6", "-warnings-as-errors"]


def swiftc(*arguments):
    """What the compiler finds wrong."""
    done = subprocess.run(["swiftc", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield done.stderr[-3000:]


def parsed(files):
    for file in files:
        yield from swiftc("-frontend", "-parse", file)


def blocks():
    """The samples of the README."""
    return re.findall(r"^```swift\n(.*?)^```$", README.read_text(), re.M | re.S)


def samples(products):
    with tempfile.TemporaryDirectory(prefix="sluice-samples.") as name:
        for number, text in enumerate(blocks(), 1):
            # The name allows statements outside of functions, as in a program.
            file = Path(name) / str(number) / "main.swift"
            file.parent.mkdir()
            file.write_text(text)
            for flaw in swiftc("-typecheck", *FLAGS, "-I", products / "Modules", file):
                yield f"sample {number}: {flaw}"
    lines = [line for line in blocks()[0].splitlines() if line and not line.startswith("import")]
    if len(lines) > 10:
        yield f"the first sample has {len(lines)} lines"


def linked(products, program, *files):
    """Makes a program of these sources and of what the package was built of."""
    objects = [line for line in (products / "Uploader.product/Objects.LinkFileList").read_text().split()
               if "/Uploader.build/" not in line]
    yield from swiftc(*FLAGS, "-I", products / "Modules", *files, *objects, "-lstdc++", "-o", program)


def run_sample(products, folder, settings):
    """Runs the first sample."""
    source, program = folder / "main.swift", folder / "sample"
    source.write_text(blocks()[0])
    flaws = list(linked(products, program, source))
    if flaws:
        yield from flaws
        return
    (folder / "holiday.mp4").write_bytes(os.urandom(20 << 20))
    done = subprocess.run([program], cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0 or not re.search(r"^landed [0-9a-f]{32}", done.stdout, re.M):
        yield f"it printed {done.stdout}{done.stderr}"
    if "1.0\n" not in done.stdout:
        yield f"it told no progress: {done.stdout}"


def adapters():
    yield from parsed(sorted((ROOT / "clients/swift/Adapters").glob("*.swift")))


def example_sources():
    return sorted((ROOT / "examples/ios").rglob("*.swift"))


def without_views():
    # Views need SwiftUI, which only Apple's systems have.
    return [file for file in example_sources() if "import SwiftUI" not in file.read_text()]


def example(products):
    files = example_sources()
    if not files:
        yield "it has no sources"
    yield from parsed(files)
    yield from swiftc("-typecheck", "-parse-as-library", *FLAGS, "-I", products / "Modules", *without_views())


def run_example(products, folder, settings):
    """Uploads five files by the example's list."""
    program, home = folder / "example", folder / "home"
    flaws = list(linked(products, program, ROOT / "clients/swift/Tests/Example/main.swift", *without_views()))
    if flaws:
        yield from flaws
        return
    places = {"HOME": str(home), "XDG_DATA_HOME": str(home / ".local/share")}
    done = subprocess.run([program], env={**os.environ, **settings, **places}, capture_output=True, text=True,
                          timeout=120, check=False)
    if done.stdout != "2 5\n":
        yield f"it printed {done.stdout}{done.stderr}"
