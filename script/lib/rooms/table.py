"""Reads script/lib/rooms.txt, the table of rooms, and finds the room of a folder."""

import re


class Target:
    """The rooms of one target by floors, the lowest first."""

    def __init__(self, name, folder, line):
        self.name = name
        self.folder = folder
        self.line = line
        # Room -> number of its floor.
        self.floors = {}
        # Names of members that types of other packages have too.
        self.exceptions = set()

    def room(self, folder):
        """The room that a folder, relative to the target's, lies in: itself or the nearest one around it."""
        while folder not in self.floors and "/" in folder:
            folder = folder.rsplit("/", 1)[0]
        return folder if folder in self.floors else None

    def may_name(self, room, other):
        return room == other or self.floors[other] < self.floors[room]


class Table:
    """All targets of the table, and what is wrong with it."""

    def __init__(self, path, sources):
        self.targets, self.flaws = [], []
        self._path = path
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.split("#")[0].strip()
            if match := re.fullmatch(r"\[(\w+)\]", line):
                self.targets.append(Target(match[1], sources / match[1], number))
                if not self.targets[-1].folder.is_dir():
                    self._flaw(number, f"there is no target {match[1]}")
            elif line.startswith("except ") and self.targets:
                self.targets[-1].exceptions.update(line.split()[1:])
            elif line and self.targets:
                self._add_floor(self.targets[-1], line.split(), number)
            elif line:
                self._flaw(number, "rooms stand under the [name] of their target")

    def _add_floor(self, target, entries, number):
        for entry in entries:
            rooms = self._rooms(target, entry)
            if not rooms:
                self._flaw(number, f"{target.name} has no folder {entry} with Swift files")
            for room in rooms:
                if room not in target.floors:
                    target.floors[room] = number
                elif room == entry:
                    self._flaw(number, f"{target.name} has {room} twice")

    @staticmethod
    def _rooms(target, entry):
        folder = target.folder
        if entry == ".":
            return ["."] if any(folder.glob("*.swift")) else []
        if not entry.endswith("/*"):
            return [entry] if any((folder / entry).rglob("*.swift")) else []
        inner = (path for path in sorted((folder / entry[:-2]).glob("*/")) if any(path.rglob("*.swift")))
        return [str(path.relative_to(folder)) for path in inner]

    def _flaw(self, number, text):
        self.flaws.append(f"{self._path}:{number}: {text}")
