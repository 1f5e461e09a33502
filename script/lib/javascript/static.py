"""What can be said of the module without running it."""

import gzip
import json
import re
import subprocess
import tempfile
from pathlib import Path

from pages import HERE
from world import MODULE

LIMIT = 15 << 10
README = MODULE.parent / "README.md"


def size():
    source = MODULE.read_bytes()
    length = len(gzip.compress(source, 9, mtime=0))
    if length > LIMIT:
        yield f"it has {length} bytes, and may have {LIMIT}"
    # Modules of Node are loaded by `node(…)`, and only where they are there.
    for line in re.findall(rb"^(?:import|export) .*\bfrom\b.*", source, re.M):
        yield f"it imports: {line.decode()}"
    package = json.loads((MODULE.parent / "package.json").read_text())
    if any(name.lower().endswith("dependencies") for name in package):
        yield "package.json has dependencies"
    for name in [package["exports"]["."]["types"], package["exports"]["."]["default"], *package["files"]]:
        if not (MODULE.parent / name).is_file():
            yield f"package.json names {name}"


def types():
    # A program in TypeScript uses all types, and so do the samples.
    with tempfile.TemporaryDirectory(prefix="sluice-types.") as name:
        folder, module = Path(name), str(MODULE.with_suffix(""))
        (folder / "uses.ts").write_text((HERE / "uses.ts").read_text().replace("SLUICE", module))
        (folder / "node.d.ts").write_text("declare const process: { env: Record<string, string> };")
        for number, sample in enumerate(samples()):
            (folder / f"sample{number}.ts").write_text(sample.replace("@sluice/client", module))
        (folder / "tsconfig.json").write_text(json.dumps({"include": ["*.ts"], "compilerOptions": {
            "noEmit": True, "strict": True, "target": "es2022", "module": "es2022", "moduleResolution": "node",
            "lib": ["es2022", "dom", "dom.iterable"], "types": [], "noUnusedLocals": True}}))
        done = subprocess.run(["tsc", "--project", folder], capture_output=True, text=True, check=False)
    yield from done.stdout.splitlines()
    declared = set(re.findall(r"^export (?:declare )?(?:class|function|const) (\w+)", 
                              MODULE.with_suffix(".d.ts").read_text(), re.M))
    names = subprocess.run(
        ["node", "--input-type=module", "-e",
         f"console.log(Object.keys(await import({json.dumps(MODULE.as_uri())})).join(' '))"],
        capture_output=True, text=True, check=True).stdout.split()
    if declared != set(names):
        yield f"declared and exported differ: {sorted(declared ^ set(names))}"
    methods = set(re.findall(r"^  (?:async )?(\w+)\(.*\{$", MODULE.read_text().split("export class Sluice {")[1]
                             .split("\n}\n")[0], re.M)) - {"constructor"}
    told = set(re.findall(r"^  (\w+)\(", MODULE.with_suffix(".d.ts").read_text().split("export class Sluice {")[1]
                          .split("\n}\n")[0], re.M)) - {"constructor"}
    if methods != told:
        yield f"methods differ: {sorted(methods ^ told)}"


def samples():
    """The samples of the README."""
    return re.findall(r"^```js\n(.*?)^```$", README.read_text(), re.M | re.S)
