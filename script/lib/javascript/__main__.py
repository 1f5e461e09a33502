"""Checks clients/javascript and examples/web. Prints one line per check.

Usage: python3 script/lib/javascript [--binary PROGRAM] [--only TEXT]

Without a program it checks what needs none: size and types, and in Node what the client and the example do at stubs of
a gateway and a store. With one, it uploads and downloads in Node and in Chromium, by a gateway of its own and the
radosgw that SLUICE_TEST_RADOSGW_… name, through proxies that cut connections, refuse and delay.
SLUICE_TEST_JAVASCRIPT_MIB is the length of the large upload, 30 MiB by default. The status is 1 if a check fails.
"""

import os
import sys
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1]
sys.path[1:1] = [str(LIBRARY), str(LIBRARY / "bench")]

import browser  # noqa: E402
import demo_page  # noqa: E402
import documents  # noqa: E402
import example  # noqa: E402
import node  # noqa: E402
import static  # noqa: E402
import world  # noqa: E402
from checks import options, run  # noqa: E402

# What needs a moment that a real gateway or store seldom gives.
AT_STUBS = {
    "neitherXHRNorNode": "where nothing can be sent, no link is asked for",
    "noFile": "what is neither a file nor bytes is refused before a link is asked for",
    "sameFile": "of two uploads of the same file, one ends without the other",
    "stopped": "a signal ends an upload that starts, is completed, confirmed or aborted, and a question for a token",
    "sameTarget": "of two downloads to a file, the second is refused, and a file that another program completes stays",
    "unreadable": "a file that the disk cannot read is told as such, and not sent again",
    "slowReader": "a slow reader of a download is no lost network",
    "lastBytes": "what is aborted as the last bytes of an answer arrive ends, also where the read of them does not",
    "progressFails": "what onProgress throws ends the transfer, and is passed on as it is",
    "connecting": "a store to which no connection comes about ends a request in time",
    "refreshes": "a token is refreshed once, for the attempt after its refusal",
    "badToken": "what cannot be a token is neither sent nor told",
    "lives": "a short life of a link is used, and begins with the request for it",
    "renewals": "a link that cannot be renewed is asked for no more often than any other",
    "asleep": "a link that ends while the machine sleeps is renewed before it is used, or the clock is set back",
    "renewedAgain": "a long download renews each link that the store has accepted, and no link twice",
    "widgets": "FilePond and Dropzone hear nothing of a cancelled file that has arrived",
    "answerGone": "a request whose answer is gone is sent once more with a new key",
    "completedBefore": "an upload that was completed more than an hour ago begins anew",
    "gone": "an upload begins anew, or is kept, after the answers of which clients/uploads-gone.json says so",
    "conflict": "an upload that may create only is repeated after a conflict, and takes no other object for its own",
    "retries": "what is sent again, and how long that waits, is what clients/retries.json says",
    "galleryFails": "in the example, a file has arrived even if the gallery fails",
    "goneObject": "in the example, a file that is gone leaves the page as it is",
    "galleryOnce": "the example asks for the links of the gallery once for all files",
    "cancelRow": "in the example, a cancelled row leaves nothing, and ends no other row",
}
# What both platforms do, by the names of the steps.
COMMON = {
    "digests": "digests are those of the standards",
    "small": "a small file arrives by one link, bound to its MD5, and is confirmed",
    "errors": "an error has the code, status, detail and request of the problem",
    "noURL": "a client without the URL of a gateway is refused, with the reason",
    "token": "a token that is refused is asked for again, once",
    "retryAfter": "requests are repeated, not before Retry-After, and not after an hour",
    "refusedPart": "the link of a part that is refused is asked for again, not before the quota opens",
    "quota": "a link and a part that a quota of a minute refuses are asked for again in the next minute",
    "expired": "a link that the store refuses is renewed once",
    "needs": "MD5 and SHA-256 are sent where grant and bucket need them",
    "existing": "an object that exists is kept, and an upload whose answer was lost is recognised",
    "existingAtOSS": "so it is if the store answers as Alibaba OSS does",
    "abort": "a signal aborts the upload at the store",
    "pause": "a paused upload goes on, or is given up; one that is gone begins anew",
    "otherBytes": "an upload of bytes goes on with the same bytes only",
    "capitals": "an upload goes on with the parts of a store that writes their tags in capitals",
    "hiddenTags": "an upload that was stopped at its completion goes on, even if the store hides tags from pages",
    "batch": "a batch answers links and problems",
    "form": "a form uploads a file, and none that is too large",
    "download": "a download that was cut goes on, and never mixes two objects",
}
IN_NODE = {
    "paths": "a later program goes on with a file that is downloaded",
    "restarts": "a download to a file that starts over leaves only the new bytes",
    "otherObject": "a download to the part file of another object begins anew",
    "slowForm": "a form may take longer than the time without progress",
    "otherFile": "an upload does not go on with another file of the same length and time",
    "changed": "a file that changes during its upload makes no object",
    "shrunk": "a file that becomes shorter or vanishes during its upload ends it at once",
}
IN_PAGES = {
    "database": "a page whose database was closed keeps states again",
    "hiddenTag": "a download that was cut begins anew if the store hides its tag",
    "decoded": "a download that the browser decodes is whole, and begins anew after a cut",
    "uppy5": "the calls of Uppy 5 upload 1 MB and 60 MB",
    "uppy6": "the calls of Uppy 6 upload 1 MB and 60 MB",
    "widgets": "FilePond and Dropzone upload, fail and cancel",
}
UPPY = {"uppy5": ["one.bin", "sixty.bin"], "uppy6": ["one.bin", "sixty.bin"]}


def checks(binary):
    """Each check's name, and a function that raises or yields flaws."""
    yield "sluice.js is one module of at most 15 KiB compressed, without dependencies", static.size
    yield "sluice.d.ts declares what sluice.js exports, and its types are strict", static.types
    for step, name in AT_STUBS.items():
        yield f"Node: {name}", lambda step=step: node.stubbed(step)
    if not binary:
        return
    large = int(os.environ.get("SLUICE_TEST_JAVASCRIPT_MIB", "30")) * world.MIB
    with world.World(binary, large) as made:
        with browser.Pages(made) as pages:
            for step, name in COMMON.items():
                yield f"Node: {name}", lambda step=step: node.run(made, step)
                yield f"Chromium: {name}", lambda step=step: same_files(made, step, pages.run(step))
            for step, name in IN_NODE.items():
                yield f"Node: {name}", lambda step=step: node.run(made, step)
            for step, name in IN_PAGES.items():
                yield f"Chromium: {name}", lambda step=step: same_files(made, step, pages.run(step))
            yield "Chromium: a file that another program writes anew makes no object", pages.rewritten
            size = f"{large // world.MIB} MiB arrive whole, once, through cuts, refusals and a kill"
            yield f"Node: {size}", lambda: node.large(made)
            yield f"Chromium: {size}", pages.large
            yield "the web example signs in, uploads and shows what it uploaded", lambda: example.flaws(made, pages)
            yield "sluice dev serves the web example, signed in", lambda: demo_page.flaws(made, pages)
        yield "the samples of the README run as they stand", lambda: documents.flaws(made)


def same_files(made, step, result):
    """What Uppy's calls left at the store, compared with the files."""
    for name, key in zip(UPPY.get(step, ()), (result or {}).get("objects", ())):
        if made.md5_of_object(key) != made.digests[name]:
            yield f"{key} differs from {name}"


chosen = options(__doc__).parse_args()
sys.exit(run(checks(chosen.binary), chosen.only))
