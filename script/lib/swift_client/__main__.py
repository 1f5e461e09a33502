"""Checks clients/swift and examples/ios. Prints one line per check.

Usage: python3 script/lib/swift_client --products DIRECTORY [--binary PROGRAM] [--only TEXT]

`--products` is where the package was built. Without a program it checks what needs none. With one, the package's tests
and a large upload run by a gateway of their own, the radosgw that SLUICE_TEST_RADOSGW_… name, and a demo with its own
store, through the fault proxies of script/lib/javascript. SLUICE_TEST_SWIFT_CLIENT_MIB is the length of the large
upload, 30 MiB by default. The status is 1 if a check fails.
"""

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1]
sys.path[1:1] = [str(LIBRARY), str(LIBRARY / "javascript"), str(LIBRARY / "bench")]

import demo_store  # noqa: E402
import package  # noqa: E402
import sources  # noqa: E402
import uploader  # noqa: E402
from checks import options, run  # noqa: E402
from demo import demo  # noqa: E402
from faults import FaultProxy  # noqa: E402
from world import MIB, World  # noqa: E402


def checks(chosen):
    """Each check's name, and a function that raises or yields flaws."""
    yield "the samples of the README compile as they stand", lambda: sources.samples(chosen.products)
    yield "the iOS example parses, and what needs no SwiftUI has its types right", lambda: sources.example(chosen.products)
    yield "the adapters for the OSS SDKs parse", sources.adapters
    if not chosen.binary:
        for name, flaws in package.tests(chosen.products, {}):
            yield name, lambda flaws=flaws: flaws
        return
    large = int(os.environ.get("SLUICE_TEST_SWIFT_CLIENT_MIB", "30")) * MIB
    with World(chosen.binary, large) as made, tempfile.TemporaryDirectory(prefix="sluice-demo.", dir="/tmp") as name:
        folder = Path(name)
        with demo(chosen.binary, folder) as settings, contextlib.ExitStack() as stack:
            front, store = (stack.enter_context(FaultProxy(int(settings[place].rsplit(":", 1)[1])))
                            for place in ("SLUICE_URL", "store"))
            demo_store.lead(settings, folder / "data", store.base)
            world = folder / "world.json"
            (made.folder / "temporary").mkdir()
            world.write_text(json.dumps({
                **made.configuration("swift", files=str(made.folder)),
                "demo": {"url": front.base, "store": store.base, "key": settings["SLUICE_KEY"]}}))
            for test, flaws in package.tests(chosen.products, {"SLUICE_TEST_WORLD": str(world)}):
                yield f"Swift: {test}", lambda flaws=flaws: flaws
            yield (f"Swift: {large // MIB} MiB arrive whole, once, through cuts, refusals and a kill",
                   lambda: uploader.large(made, chosen.products))
            yield ("the sample of the README uploads as it stands",
                   lambda: sources.run_sample(chosen.products, folder, settings))
            yield ("the list of the iOS example uploads two files at once",
                   lambda: sources.run_example(chosen.products, folder, settings))


parser = options(__doc__)
parser.add_argument("--products", metavar="DIRECTORY", type=Path, required=True, help="where the package was built")
chosen = parser.parse_args()
sys.exit(run(checks(chosen), chosen.only))
