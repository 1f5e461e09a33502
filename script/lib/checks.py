"""What the programs that check a part of the repository share: their options, and the lines that they print."""

import argparse
import contextlib
import signal
import sys


def options(description):
    """A parser of the options that these programs have in common."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", metavar="PROGRAM", help="the program sluice")
    parser.add_argument("--only", metavar="TEXT", default="", help="checks whose name contains this text")
    return parser


def run(checks, only):
    """Runs the checks whose name contains a text, one after the other, and returns the exit status.

    `checks` is a generator of names, each with a function that raises or returns flaws. What it holds open is closed
    at the end, and when the process is told to stop.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    has_failed = False
    with contextlib.closing(checks):
        for name, find in checks:
            if only in name:
                has_failed |= not report(name, outcome(find))
    return 1 if has_failed else 0


def outcome(find):
    """The flaws that a check finds. A check that raises has one."""
    try:
        return list(find() or ())
    except Exception as error:  # The other checks go on.
        return [f"{type(error).__name__}: {error}"]


def report(name, flaws):
    """Prints the line of a check, with its flaws below, and returns whether it passed."""
    print(f"{'FAIL' if flaws else 'ok  '}  {name}", *flaws, sep="\n", flush=True)
    return not flaws
