"""Finds lines of prose wider than 120 columns: comments, doc strings, Markdown and the descriptions of YAML.

Usage: git ls-files | python3 script/lib/columns.py

Code is not checked here, nor are tables, code blocks and the targets of links in Markdown, nor lines of YAML that
cannot be broken, such as a row of CSV.
"""

import re
import sys
from pathlib import Path

WIDTH = 120
LONGEST_WORD = 80
GENERATED = {"sql/schema.sql"}
# How a comment begins, by the end of the file's name; files without an end are shell scripts.
COMMENT = {
    ".swift": "//", ".c": "//|/\\*|\\*", ".h": "//|/\\*|\\*", ".lua": "--", ".sql": "--", ".py": "#", "": "#",
    ".sh": "#", ".yaml": "#", ".txt": "#", ".supp": "#", ".conf": "#",
}
YAML_KEY = re.compile(r"\s*(?:- )?[\w$/{}.'\"-]+:(?: |$)")
YAML_PROSE = re.compile(r"\s*(?:- )?(?:description|summary|title): ")


def wide_lines(path, lines):
    """The numbers of the lines of prose that are too wide."""
    prose = {".md": markdown, ".py": doc_strings, ".yaml": descriptions}.get(path.suffix, lambda lines: set())(lines)
    mark = COMMENT.get(path.suffix)
    comment = re.compile(rf"(?:^|\s)(?:{mark})(?:[\s/]|$)") if mark else None
    for number, line in enumerate(lines, 1):
        if len(line) > WIDTH and (number in prose or comment and comment.search(line)):
            yield number


def markdown(lines):
    """The lines outside of code blocks and tables that are too wide even without the targets of their links."""
    prose, in_code = set(), False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not re.match(r"\s*(?:\||\[[^]]*\]: )", line):
            if len(re.sub(r"\]\([^)]*\)", "]", line)) > WIDTH:
                prose.add(number)
    return prose


def doc_strings(lines):
    """The lines of doc strings."""
    prose, inside = set(), None  # Inside a doc string, another long string, or none.
    for number, line in enumerate(lines, 1):
        begins = inside is None and line.lstrip().startswith('"""')
        if begins or inside == "doc":
            prose.add(number)
        if line.count('"""') % 2:
            inside = None if inside else "doc" if begins else "text"
    return prose


def descriptions(lines):
    """The lines of descriptions, and those without a key, which go on with one."""
    return {
        number
        for number, line in enumerate(lines, 1)
        if YAML_PROSE.match(line) or not YAML_KEY.match(line) and max(map(len, line.split()), default=0) <= LONGEST_WORD
    }


def main():
    for name in sys.stdin.read().splitlines():
        path = Path(name)
        if name in GENERATED or path.suffix not in COMMENT.keys() | {".md"} or not path.is_file():
            continue
        for number in wide_lines(path, path.read_text().splitlines()):
            print(f"{name}:{number}: wider than {WIDTH} columns")


if __name__ == "__main__":
    main()
