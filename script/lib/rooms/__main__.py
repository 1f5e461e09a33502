"""Finds Swift files that name what lies in a room above their own, or beside it.

Usage: python3 script/lib/rooms [--self-test]

The rooms are the folders of a target; script/lib/rooms.txt says which lies above which. The check reads the sources as
text. It knows types, functions and variables outside of types, and the types and members that an extension adds to a
type of another room. A member counts only if no other room and no other target declares its name. Initialisers do not
count.
"""

import os
import sys
from pathlib import Path

import self_test
from check import flaws

ROOT = Path(__file__).resolve().parents[3]


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = self_test.failures()
    else:
        os.chdir(ROOT)
        found = flaws(Path("script/lib/rooms.txt"), Path("Sources"))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
