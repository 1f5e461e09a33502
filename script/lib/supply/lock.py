"""The lock of a release: the exact versions of everything that it was built from and is linked with.

The lock is one JSON object:

- `format`: 1.
- `program`: `name` and `version` of the release.
- `swift`: `toolchain`, the version of the compiler, whose library is linked statically; and `resolved`, which is what
  the package manager keeps in `Package.resolved`.
- `debian`: `suite`, `architecture`, and `packages`. Each has `name`, `version`, `source`, `sourceVersion`, `libraries`
  (its sonames that the program loads), `use` and `needs` (names of packages). `use` is `linked` if the program names
  one of its libraries itself, `loaded` if only another library does, and `contained` if its files are inside the
  program.
"""

import json
import os
import re
import subprocess
from pathlib import Path

FORMAT = 1
# Debian packages whose files are embedded in the program.
CONTAINED = ("libjs-chart.js",)


class LockError(Exception):
    """What keeps a lock from being made or read, as one sentence."""


def make(program, version, resolved):
    """The lock of a program that was built on this machine.

    `program` is the path of the program, `version` that of the release, `resolved` the path of `Package.resolved`.
    """
    return {
        "format": FORMAT,
        "program": {"name": "sluice", "version": version},
        "swift": {"toolchain": toolchain(), "resolved": json.loads(Path(resolved).read_text())},
        "debian": {
            "suite": suite(),
            "architecture": output("dpkg", "--print-architecture").strip(),
            "packages": debian_packages(Path(program)),
        },
    }


def read(path):
    """The lock in that file."""
    try:
        lock = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise LockError(f"{path} is no lock: {error}") from error
    if not isinstance(lock, dict) or lock.get("format") != FORMAT:
        raise LockError(f"{path} is no lock of format {FORMAT}")
    return lock


def text(value):
    """JSON with one form for one value."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def differences(old, new):
    """Lines that say what differs between two locks, apart from the version of the release."""
    before, after = versions(old), versions(new)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name, 'absent')} in the lock, {after.get(name, 'absent')} here"


def versions(lock):
    """Versions by name. That of a Swift package has its revision."""
    found = {"Swift's toolchain": lock["swift"]["toolchain"]}
    for pin in pins(lock):
        state = pin["state"]
        found[f"Swift package {pin['identity']}"] = f"{state.get('version', '')} {state['revision']}".strip()
    for package in lock["debian"]["packages"]:
        found[f"Debian package {package['name']}"] = package["version"]
    return found


def pins(lock):
    """The Swift packages, as the package manager writes them."""
    return lock["swift"]["resolved"]["pins"]


def toolchain():
    version = re.search(r"Swift version (\S+)", output("swift", "--version"))
    if version is None:
        raise LockError("swift --version names no version")
    return version[1]


def suite():
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2].strip('"')
    raise LockError("/etc/os-release has no VERSION_CODENAME")


def debian_packages(program):
    """What the program links, with all that is loaded because of it, and what it contains; sorted by name."""
    paths = loaded_files(program)
    direct = needed(program)
    owners = owners_of(paths)
    versions_of = installed({*owners.values(), *CONTAINED})
    packages = {name: {**versions_of[name], "libraries": [], "needs": set(), "use": "loaded"} for name in versions_of}
    for name in CONTAINED:
        packages[name]["use"] = "contained"
    for soname, name in owners.items():
        package = packages[name]
        package["libraries"].append(soname)
        package["needs"].update(owners[other] for other in needed(paths[soname]) if other in owners)
        if soname in direct:
            package["use"] = "linked"
    for name, package in packages.items():
        package["libraries"].sort()
        package["needs"] = sorted(package["needs"] - {name})
    return [packages[name] for name in sorted(packages)]


def loaded_files(program):
    """Paths of the shared libraries that are loaded with the program, by soname. Those of Swift belong to the
    toolchain; a release has them inside."""
    found = dict(re.findall(r"^\s*(\S+) => (/\S+) ", output("ldd", program), re.MULTILINE))
    missing = needed(program) - found.keys() - {name for name in needed(program) if name.startswith("ld-linux")}
    if missing:
        raise LockError(f"{program} needs libraries that are not here: {', '.join(sorted(missing))}")
    return {soname: path for soname, path in found.items() if "/usr/lib/swift/linux/" not in path}


def needed(file):
    """Sonames that a program or a library names itself."""
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", file)))


def owners_of(paths):
    """The Debian package of each library, by soname. dpkg may know a file below /lib that is really below /usr/lib."""
    candidates = {}
    for soname, path in paths.items():
        real = os.path.realpath(path)
        candidates[soname] = [real, path, real.removeprefix("/usr"), f"/usr{path}"]
    search = ["dpkg-query", "--search", *sorted({name for names in candidates.values() for name in names})]
    # The status is 1, because dpkg does not know every candidate.
    found = subprocess.run(search, capture_output=True, text=True, check=False).stdout
    known = {path: name.partition(":")[0] for name, _, path in (line.partition(": ") for line in found.splitlines())}
    owners = {}
    for soname, names in candidates.items():
        owner = next((known[name] for name in names if name in known), None)
        if owner is None:
            raise LockError(f"no Debian package has {paths[soname]}")
        owners[soname] = owner
    return owners


def installed(names):
    """The versions of installed packages, by name."""
    form = "${Package}\t${Version}\t${source:Package}\t${source:Version}\n"
    rows = (line.split("\t") for line in output("dpkg-query", "--show", "-f", form, *sorted(names)).splitlines())
    return {row[0]: dict(zip(("name", "version", "source", "sourceVersion"), row)) for row in rows}


def output(*command):
    try:
        return subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise LockError(f"{command[0]} failed: {getattr(error, 'stderr', '') or error}") from error
