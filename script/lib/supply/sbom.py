"""The bill of materials of a release, as SPDX 2.3 in JSON, made from its lock.

The same lock, program, checkouts and date give the same bytes.
"""

import hashlib
import re
import uuid
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

import lock as locks

RUNTIME = "SPDXRef-Swift-runtime"
PROGRAM = "SPDXRef-Program"
LICENSES = Path(__file__).with_name("licenses.txt")


def make(lock, program, checkouts, date):
    """The bill of materials.

    `lock` is the lock, `program` the path of the program as it is shipped, `checkouts` the folder with the sources of
    the Swift packages, whose licences are read, and `date` seconds since 1970.
    """
    digest = hashlib.sha256(Path(program).read_bytes()).hexdigest()
    swift = [swift_package(pin, Path(checkouts)) for pin in locks.pins(lock)]
    debian = [debian_package(package, lock["debian"]) for package in lock["debian"]["packages"]]
    version = lock["program"]["version"]
    # The name of a document must be unlike that of any other. It is made from what the document is about.
    seed = hashlib.sha256((locks.text(lock) + digest).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"sluice-{version}",
        "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, seed).urn,
        "creationInfo": {
            "created": datetime.fromtimestamp(date, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: sluice-script-package"],
        },
        "packages": [program_package(version, digest), runtime_package(lock["swift"]["toolchain"]), *swift, *debian],
        "relationships": relationships(lock),
    }


def relationships(lock):
    found = [relation("SPDXRef-DOCUMENT", "DESCRIBES", PROGRAM), relation(PROGRAM, "STATIC_LINK", RUNTIME)]
    found += [relation(PROGRAM, "DEPENDS_ON", swift_id(pin)) for pin in locks.pins(lock)]
    kinds = {"linked": "DYNAMIC_LINK", "contained": "CONTAINS"}
    for package in lock["debian"]["packages"]:
        if package["use"] in kinds:
            found.append(relation(PROGRAM, kinds[package["use"]], debian_id(package["name"])))
        found += [relation(debian_id(package["name"]), "DEPENDS_ON", debian_id(name)) for name in package["needs"]]
    return found


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def program_package(version, digest):
    return {
        **package(PROGRAM, "sluice", version, None, "NOASSERTION"),
        "primaryPackagePurpose": "APPLICATION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "comment": "The checksum is that of the program /usr/bin/sluice. No license has been chosen yet.",
    }


def runtime_package(version):
    return {
        **package(RUNTIME, "swift-runtime", version, None, "Apache-2.0 WITH Swift-exception"),
        "primaryPackagePurpose": "LIBRARY",
        "comment": "Swift's standard library, Dispatch and Foundation, of the toolchain, linked statically.",
    }


def swift_package(pin, checkouts):
    state = pin["state"]
    location = pin["location"].removesuffix(".git")
    address = re.sub(r"^https?://", "", location)
    version = state.get("version") or state["revision"]
    return {
        **package(
            swift_id(pin), pin["identity"], version, f"pkg:swift/{quote(address)}@{quote(version)}",
            checkout_license(checkouts / Path(location).name), f"git+{location}.git@{state['revision']}",
        ),
        "primaryPackagePurpose": "LIBRARY",
    }


def debian_package(entry, debian):
    name, version = entry["name"], entry["version"]
    address = (
        f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={debian['architecture']}&distro={debian['suite']}"
    )
    source = f"built from {entry['source']} {entry['sourceVersion']} in Debian {debian['suite']}"
    return {
        **package(debian_id(name), name, version, address, debian_licenses().get(name, "NOASSERTION")),
        "primaryPackagePurpose": "LIBRARY",
        "supplier": "Organization: Debian",
        "sourceInfo": source,
        "comment": f"Its copyright file is /usr/share/doc/{name}/copyright.",
    }


def package(identifier, name, version, address, declared, location="NOASSERTION"):
    found = {
        "SPDXID": identifier, "name": name, "versionInfo": version, "downloadLocation": location,
        "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": declared,
        "copyrightText": "NOASSERTION",
    }
    if address:
        found["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": address}
        ]
    return found


def swift_id(pin):
    return f"SPDXRef-Swift-{identifier(pin['identity'])}"


def debian_id(name):
    return f"SPDXRef-Debian-{identifier(name)}"


def identifier(name):
    """Letters, digits, `.` and `-`, as SPDX wants them. Names of Debian's packages have `+` as well."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", name)


def checkout_license(folder):
    """The licence in a checkout, as an SPDX expression."""
    for file in sorted(folder.glob("LICENSE*")):
        content = " ".join(file.read_text().split())
        if "Apache License Version 2.0" in content:
            if "Runtime Library Exception" in content:
                return "Apache-2.0 WITH Swift-exception"
            return "Apache-2.0"
        if "Permission is hereby granted, free of charge, to any person obtaining a copy" in content:
            return "MIT"
    return "NOASSERTION"


def debian_licenses():
    """Expressions by the name of the package, from licenses.txt."""
    lines = (line for line in LICENSES.read_text().splitlines() if line and not line.startswith("#"))
    return dict(line.split(" ", 1) for line in lines)
