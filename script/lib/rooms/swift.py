"""Reads Swift as text: what a file declares, and which names it uses."""

import re
from bisect import bisect_right
from typing import NamedTuple

OPENING = re.compile(r'//[^\n]*|/\*|(#*)("""|")|[()]')
COMMENT_END = re.compile(r"/\*|\*/")
TYPE = r"(?:struct|class|enum|actor|protocol|typealias)\s+`?(?P<type>[A-Z]\w*)"
EXTENSION = r"extension\s+`?(?P<extended>[A-Z]\w*(?:\.[A-Z]\w*)*)(?P<conformance>\s*:)?"
MEMBER = r"(?:func|var|let)\s+`?(?P<member>[A-Za-z_]\w*)"
DECLARATION = re.compile(rf"(?P<brace>[{{}}])|(?<![.\w`])(?:{TYPE}|{EXTENSION}|{MEMBER})")
IMPORT = re.compile(r"^(?:[@\w()]+ )*import .*", re.MULTILINE)
GENERIC = r"\b(?:func|struct|class|enum|actor|init|typealias|subscript)\b\s*`?\w*`?\s*"
GENERICS = re.compile(GENERIC + r"<([^(){}]*?)>\s*[(:{=w]")
PARAMETER = re.compile(r"(?:^|,)\s*(?:let\s+|each\s+)?([A-Z]\w*)")
ASSOCIATED = re.compile(r"\bassociatedtype\s+(\w+)")
ANY_DECLARATION = re.compile(r"(?<![.\w`])(?:func|var|let|struct|class|enum|actor|protocol|typealias)\s+`?(\w+)")
CASES = re.compile(r"(?<![.\w`])case\s+([^\n]*)")
WORD = re.compile(r"\w+")
NAME = re.compile(r"(?P<dot>(?<!\.)\.\s*)?(?<!\w)`?(?P<name>[A-Za-z_]\w*)`?(?P<label>:(?!:))?")


def code_of(text):
    """The text without comments and without literals of strings; code that a string interpolates stays."""
    pieces = []
    place = 0
    while place < len(text):
        place = _copy_code(text, place, pieces, inside=False)
    return "".join(pieces)


def _copy_code(text, place, pieces, inside):
    """Copies code up to the end, or inside a string up to the `)` that ends the interpolation."""
    depth = 0
    while match := OPENING.search(text, place):
        pieces.append(text[place:match.start()])
        found = match.group()
        place = match.end()
        if found in "()":
            pieces.append(found)
            depth += 1 if found == "(" else -1
            if inside and depth < 0:
                return place
        elif found == "/*":
            place = _skip_comment(text, place, pieces)
        elif match.group(2):
            place = _copy_interpolations(text, place, pieces, quote=match.group(2), hashes=match.group(1))
    pieces.append(text[place:])
    return len(text)


def _skip_comment(text, place, pieces):
    depth = 1
    start = place
    while depth and (match := COMMENT_END.search(text, place)):
        depth += 1 if match.group() == "/*" else -1
        place = match.end()
    place = len(text) if depth else place
    pieces.append(" " + "\n" * text.count("\n", start, place))
    return place


def _copy_interpolations(text, place, pieces, quote, hashes):
    marks = re.compile(rf"(\\{hashes}\()|\\{hashes}.|{quote}{hashes}|\n", re.DOTALL)
    pieces.append('""')
    while match := marks.search(text, place):
        place = match.end()
        if match.group(1):
            pieces.append(" (")
            place = _copy_code(text, place, pieces, inside=True)
        elif "\n" in match.group():
            pieces.append("\n")
            if quote == '"' and match.group() == "\n":
                return place
        elif match.group().startswith(quote):
            return place
    return len(text)


class Scope(NamedTuple):
    """A type or an extension whose declarations are being read."""

    name: str
    is_hidden: bool
    is_extension: bool = False
    conforms: bool = False


class SwiftFile:
    """What one file declares and names."""

    def __init__(self, path, text):
        self.path = path
        self.code = IMPORT.sub("", code_of(text))
        self._line_starts = [0] + [match.end() for match in re.finditer("\n", self.code)]
        # Names that other files can use: of types, and of functions and variables outside of types.
        self.types, self.globals = set(), set()
        # Extended type -> the types and members that extensions in this file add.
        self.added_types, self.added_members = {}, {}
        # Outermost type -> names of the types inside it.
        self.nested = {}
        # Names that stand for something of this file alone.
        self.own = set(ASSOCIATED.findall(self.code))
        for parameters in GENERICS.findall(self.code):
            self.own.update(PARAMETER.findall(parameters))
        self._read_declarations()
        # All names that the file declares anywhere, local variables too.
        self.declared = set(ANY_DECLARATION.findall(self.code))
        for cases in CASES.findall(self.code):
            self.declared.update(WORD.findall(cases))

    def _read_declarations(self):
        scopes = []  # A scope for each open brace; None for the body of a function.
        pending = None
        for match in DECLARATION.finditer(self.code):
            if match["brace"] == "{":
                scopes.append(pending)
                pending = None
            elif match["brace"]:
                if scopes:
                    scopes.pop()
            elif None not in scopes:
                pending = self._declare(match, scopes) or pending
            elif match["type"]:
                self.own.add(match["type"])

    def _declare(self, match, scopes):
        """Notes a declaration, and gives the scope that it opens."""
        modifiers = WORD.findall(self.code[self.code.rfind("\n", 0, match.start()) + 1:match.start()])
        is_hidden = bool({"private", "fileprivate"} & set(modifiers)) or any(scope.is_hidden for scope in scopes)
        outer = scopes[0] if scopes else None
        if match["extended"]:
            name = match["extended"].split(".")[0]
            self.nested.setdefault(name, set())
            return Scope(name, is_hidden, is_extension=True, conforms=bool(match["conformance"]))
        if match["type"]:
            self._declare_type(match["type"], outer, is_hidden)
            return None if "typealias" in match.group() else Scope(match["type"], is_hidden)
        if is_hidden:
            return None
        if not outer:
            self.globals.add(match["member"])
        # What a conformance adds may be called through the protocol.
        elif len(scopes) == 1 and outer.is_extension and not outer.conforms:
            self.added_members.setdefault(outer.name, set()).add(match["member"])
        return None

    def _declare_type(self, name, outer, is_hidden):
        if outer:
            self.nested.setdefault(outer.name, set()).add(name)
            if outer.is_extension and not is_hidden:
                self.added_types.setdefault(outer.name, set()).add(name)
        else:
            (self.own if is_hidden else self.types).add(name)
            self.nested.setdefault(name, set())

    def uses(self, wanted):
        """Yields the names wanted, each with the name before its dot (`None` without a dot, empty for other code) and
        its offset. Labels of arguments are left out."""
        last, end = "", 0
        for match in NAME.finditer(self.code):
            before = None if match["dot"] is None else last if match.start() == end else ""
            last, end = match["name"], match.end()
            is_label = before is None and match["label"] and last[0].islower()
            if last in wanted and not is_label:
                yield last, before, match.start("name")

    def line(self, offset):
        return bisect_right(self._line_starts, offset)
