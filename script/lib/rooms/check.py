"""Compares what the files of a target name with the table of rooms."""

from swift import SwiftFile
from table import Table


def flaws(table_path, sources):
    """All flaws, a line each: of the table, and of files that name what they may not."""
    table = Table(table_path, sources)
    found = list(table.flaws)
    listed = {target.name for target in table.targets}
    files = {}  # Target's name -> its files.
    for folder in sorted(path for path in sources.iterdir() if path.is_dir()):
        paths = sorted(folder.rglob("*.swift"))
        files[folder.name] = [SwiftFile(path, path.read_text()) for path in paths]
        if folder.name not in listed and any(path.parent != folder for path in paths):
            found.append(f"{folder}: the target has folders, and the table does not list it")
    for target in table.targets:
        if target.folder.is_dir():
            found += TargetCheck(target, files).flaws()
    return found


class TargetCheck:
    """The check of one target."""

    def __init__(self, target, files):
        self._target = target
        self._modules = set(files)
        self._flaws = []
        self._rooms = {}  # File -> its room.
        without_room = {}
        for file in files[target.name]:
            folder = str(file.path.parent.relative_to(target.folder))
            room = target.room(folder)
            if room is None:
                without_room[file.path.parent] = None
            else:
                self._rooms[file] = room
        self._flaws += [f"{folder}: the table has no room for this folder" for folder in without_room]
        self._collect_types()
        self._collect_members(files)

    def _collect_types(self):
        """Notes which room declares a type, function or variable, and which types lie inside another."""
        self._room_of_name, self._nested = {}, {}
        several = set()
        for file, room in self._rooms.items():
            for name in file.types | file.globals:
                if self._room_of_name.setdefault(name, room) != room:
                    several.add(name)
            for outer, names in file.nested.items():
                self._nested.setdefault(outer, set()).update(names)
        for name in several:
            del self._room_of_name[name]

    def _collect_members(self, files):
        """Notes which room adds a type or member to a type of another room, where no one else declares the name."""
        self._room_of_added_type, self._room_of_member = {}, {}
        for file, room in self._rooms.items():
            for outer, names in file.added_types.items():
                if self._room_of_name.get(outer, room) != room:
                    self._room_of_added_type.update({(outer, name): room for name in names})
            for outer, names in file.added_members.items():
                if self._room_of_name.get(outer) != room:
                    self._room_of_member.update({name: room for name in names})
        for name in self._target.exceptions & self._room_of_member.keys():
            del self._room_of_member[name]
        for other in (file for target in files.values() for file in target):
            room = self._rooms.get(other)
            for name in other.declared & self._room_of_member.keys():
                if self._room_of_member[name] != room:
                    del self._room_of_member[name]

    def flaws(self):
        for file, room in self._rooms.items():
            self._check(file, room)
        return self._flaws

    def _check(self, file, room):
        own = file.own | {name for name in file.declared - file.globals if name[0].islower()}
        for outer in file.nested:
            own |= self._nested.get(outer, set())
        added = {name for _, name in self._room_of_added_type}
        reported = set()
        for name, before, offset in file.uses(self._room_of_name.keys() | self._room_of_member.keys() | added):
            other = self._room_named(name, before, own)
            if other and name not in reported and not self._target.may_name(room, other):
                reported.add(name)
                self._flaws.append(f"{file.path}:{file.line(offset)}: {room} names {name} of {other}")

    def _room_named(self, name, before, own):
        """The room of what a name stands for; `before` is what stands before its dot, `None` without one."""
        if before is None or before in self._modules:
            return None if name in own else self._room_of_name.get(name)
        return self._room_of_added_type.get((before, name)) or self._room_of_member.get(name)
