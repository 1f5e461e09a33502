"""Checks what generators make of openapi/sluice.yaml, and runs examples/python. Prints one line per check.

Usage: python3 script/lib/clients [--binary PROGRAM] [--only TEXT]

Without a program it checks what needs none: that everything imports, and that bodies have types. With one, it also runs
the generated client and the example at `sluice dev`. The status is 1 if a check fails.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[1:1] = [str(ROOT / "script/lib"), str(ROOT / "script/lib/bench")]

import example  # noqa: E402
import generated  # noqa: E402
import tour  # noqa: E402
from checks import options, outcome, run  # noqa: E402
from demo import demo  # noqa: E402


def checks(binary):
    """Each check's name, and a function that raises or returns flaws."""
    with tempfile.TemporaryDirectory(prefix="sluice-clients.", dir="/tmp") as name:
        folder = Path(name)
        made = generated.Clients(ROOT / "openapi/sluice.yaml", folder)
        # The other checks need what this one makes.
        complaints = outcome(made.make)
        yield "openapi-python-client and datamodel-code-generator take the contract", lambda: complaints
        yield "all modules of the generated client import", made.modules
        yield "bodies and answers of the generated client have types", made.types
        yield "the generated models import, and take the contract's examples", made.models
        if not binary:
            return
        with demo(binary, folder) as settings:
            yield "the generated client goes on a tour", lambda: tour.flaws(made, settings)
            yield ("examples/python uploads a file and prints a link to it",
                   lambda: example.flaws(ROOT, folder, settings))


chosen = options(__doc__).parse_args()
sys.exit(run(checks(chosen.binary), chosen.only))
