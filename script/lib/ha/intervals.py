"""Spans of time, as pairs of instants in order."""


def silences(instants, begin, end, least):
    """Spans of at least so many seconds in which nothing happened, between two instants."""
    found, last = [], begin
    for instant in [*sorted(instants), end]:
        if instant - last >= least:
            found.append((last, instant))
        last = max(last, instant)
    return found


def without(span, others):
    """What is left of a span outside of others."""
    left = [span]
    for begin, end in others:
        left = [part for first, last in left
                for part in ((first, min(last, begin)), (max(first, end), last)) if part[1] > part[0]]
    return left


def length(spans):
    return sum(last - first for first, last in spans)

