"""What befalls the large upload, and what has to come of it."""

from world import MIB

CUTS = 10


def plan(made):
    """Sets the faults: ten cut connections, two 503 and one expired link at the store; a lost answer and a 503 at the
    gateway. Answers what the store had received before."""
    size = made.sizes["large.bin"]
    parts = size // (5 * MIB)
    # Spread over the upload, so that some befall the client before it is killed, and some after.
    gap = max(0, parts // (CUTS + 3))
    faults = []
    for number in range(CUTS):
        faults.append({"kind": "cut", "method": "PUT", "after": (number * 600_011) % (5 * MIB), "skip": gap})
        if number in (2, 7):
            faults.append({"kind": "answer", "method": "PUT", "status": 503, "cors": True, "retryAfter": 1,
                           "body": "<Error><Code>SlowDown</Code></Error>", "skip": gap})
        if number == 4:
            faults.append({"kind": "answer", "method": "PUT", "status": 403, "skip": gap,
                           "body": "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"})
    made.store.plan, made.store.happened = faults, []
    made.front.plan, made.front.happened = [
        {"kind": "lose", "method": "POST", "path": "/v1/multipart-uploads"},
        {"kind": "answer", "method": "POST", "path": "/parts", "status": 503, "cors": True, "retryAfter": 1},
        {"kind": "lose", "method": "POST", "path": ":complete"}], []
    return made.store.bytes.get("PUT", 0)


def judge(made, key, result, before):
    """The flaws of what arrived."""
    size = made.sizes["large.bin"]
    if result["state"] != "landed" or result["size"] != size:
        yield f"the client was told {result}"
    if made.md5_of_object(key) != made.digests["large.bin"]:
        yield "the object differs from the file"
    starts, completions = made.starts(key)
    if (starts, completions) != (1, 1):
        yield f"it was started {starts} times and completed {completions} times"
    left = made.store.plan + made.front.plan
    if left:
        yield f"faults that did not happen: {left}"
    sent = made.store.bytes["PUT"] - before
    # Parts under way when the client was killed, and what the faults cost, are sent again.
    if sent > size + (4 + CUTS + 3) * 5 * MIB:
        yield f"{sent} bytes were sent for {size}"
