"""Tries the check on small trees: each flaw that is put in must be found, and nothing else."""

import tempfile
from pathlib import Path

from check import flaws

TABLE = "[House]\nCellar\nGround Garden\nRoof\nexcept isForeign\n"
CLEAN = {
    "Cellar/Wine.swift": "public struct Wine {\n    enum Kind { case red }\n    let kind: Kind\n}\n",
    "Ground/Kitchen.swift": "func cook(_ wine: Wine) {}\nextension Wine {\n    var isOpen: Bool { true }\n}\n",
    "Garden/Tree.swift": "final class Tree {}\n",
    "Roof/Chimney.swift": "struct Chimney { let wine: Wine }\n",
}
# What is added to the clean tree, and the flaws that are expected.
CASES = [
    ({}, []),
    ({"Cellar/Circle.swift": "struct Circle {\n    let chimney: Chimney\n}\n"},
     ["Circle.swift:2: Cellar names Chimney of Roof"]),
    ({"Cellar/Deep/Key.swift": "let roof: [Chimney: Int]\n"},
     ["Key.swift:1: Cellar names Chimney of Roof"]),
    ({"Garden/Beside.swift": "func pick() { cook(.new) }\n"},
     ["Beside.swift:1: Garden names cook of Ground"]),
    ({"Cellar/Call.swift": "func open(_ wine: Wine) -> Bool { wine.isOpen }\n"},
     ["Call.swift:1: Cellar names isOpen of Ground"]),
    ({"Cellar/Text.swift": 'let text = "a \\(Chimney.self) \\"Tree\\""\n'},
     ["Text.swift:1: Cellar names Chimney of Roof"]),
    ({"Roof/Added.swift": "extension Wine { struct Label {} }\n", "Cellar/Use.swift": "let label: Wine.Label\n"},
     ["Use.swift:1: Cellar names Label of Roof"]),
    # Names that stand for something else.
    ({"Cellar/Comment.swift": '/// Like a ``Chimney``. /* Tree */\nlet text = """\n  Chimney "Tree"\n  """\n'}, []),
    ({"Cellar/Own.swift": "private struct Chimney {}\nlet own = Chimney()\nfunc of<Tree>(_ tree: Tree) {}\n"}, []),
    ({"Cellar/Inner.swift": "struct Box { struct Tree {}; let tree: Tree; let other = Wine.Chimney() }\n"}, []),
    ({"Cellar/Member.swift": "struct Door { let isOpen = true; var closed: Bool { !self.isOpen } }\n"}, []),
    ({"Cellar/Label.swift": "func serve(cook: Int) {}\nfunc dine() { serve(cook: 1) }\n"}, []),
    ({"Roof/Foreign.swift": "extension Wine { var isForeign: Bool { true } }\n",
      "Cellar/Foreign.swift": "func ask(_ other: Other) -> Bool { other.isForeign }\n"}, []),
    # Folders and table disagree.
    ({"Attic/Box.swift": "struct Box {}\n"}, ["House/Attic: the table has no room for this folder"]),
    ({"../Shed/Saw.swift": "struct Saw {}\n"}, []),
    ({"../Shed/Tools/Saw.swift": "struct Saw {}\n"}, ["Shed: the target has folders, and the table does not list it"]),
    ({"Garden/Tree.swift": None}, ["table.txt:3: House has no folder Garden with Swift files"]),
]


def failures():
    """A line for each case whose flaws are not those expected."""
    return [line for number, case in enumerate(CASES, 1) for line in _failures(number, *case)]


def _failures(number, changes, expected):
    with tempfile.TemporaryDirectory() as folder:
        house = Path(folder) / "Sources" / "House"
        for name, text in (CLEAN | changes).items():
            if text is not None:
                (house / name).parent.mkdir(parents=True, exist_ok=True)
                (house / name).write_text(text)
        table = Path(folder) / "table.txt"
        table.write_text(TABLE)
        found = flaws(table, Path(folder) / "Sources")
    matches = len(found) == len(expected) and all(line.endswith(end) for line, end in zip(found, expected))
    return [] if matches else [f"case {number}: expected {expected}, found {found}"]
