"""Checks what generators make of openapi/sluice.yaml, and runs examples/python. Prints one line per check.

Usage: python3 script/lib/clients [--binary PROGRAM] [--only WORDS]

Without a program it checks what needs none: that everything imports, and that bodies have types. With one, it also runs
the generated client and the example at `sluice dev`. The status is 1 if a check fails.
"""

import argparse
import contextlib
import shutil
import signal
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "script/lib/bench"))

import example  # noqa: E402
import generated  # noqa: E402
import tour  # noqa: E402
from demo import demo  # noqa: E402


def checks(binary, folder, stack):
    """Each check's name, and a function that yields flaws."""
    made = generated.Clients(ROOT / "openapi/sluice.yaml", folder)
    yield "openapi-python-client and datamodel-code-generator take the contract", made.make
    yield "all modules of the generated client import", made.modules
    yield "bodies and answers of the generated client have types", made.types
    yield "the generated models import, and take the contract's examples", made.models
    if not binary:
        return
    settings = stack.enter_context(demo(binary, folder))
    yield "the generated client goes on a tour", lambda: tour.flaws(made, settings)
    yield "examples/python uploads a file and prints a link to it", lambda: example.flaws(ROOT, folder, settings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="the program sluice")
    parser.add_argument("--only", help="checks whose name contains this text", default="")
    chosen = parser.parse_args()
    # What runs is ended and removed then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    has_failed = False
    folder = Path(tempfile.mkdtemp(prefix="sluice-clients.", dir="/tmp"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        folder.chmod(0o755)
        for name, find in checks(chosen.binary, folder, stack):
            if chosen.only not in name and find.__name__ != "make":
                continue
            try:
                flaws = list(find() or ())
            except Exception as error:  # The other checks go on.
                flaws = [f"{type(error).__name__}: {error}"]
            print(f"{'FAIL ' if flaws else 'ok   '} {name}", *flaws, sep="\n" if flaws else "", flush=True)
            has_failed |= bool(flaws)
    return 1 if has_failed else 0


sys.exit(main())
