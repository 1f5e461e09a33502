"""A client and models that generators make of the contract."""

import importlib
import pkgutil
import re
import subprocess
import sys
import typing
from concurrent.futures import ThreadPoolExecutor

import yaml

BIN = sys.prefix + "/bin/"
# Files in other formats than JSON, which the generator cannot describe.
FILES = {
    "POST /v1/events/s3", "POST /v1/events/oss", "POST /admin/v1/grants:import", "GET /admin/v1/audit:export",
    "GET /openapi.yaml",
}
# Bodies that are any JSON: what stores send.
UNTYPED = {"take_s3_events", "take_oss_events"}


class Clients:
    """What is made, in a folder."""

    def __init__(self, contract, folder):
        self.contract = contract
        self.folder = folder
        self.document = yaml.safe_load(contract.read_text())

    def make(self):
        """Runs both generators, and yields what they complain of."""
        settings = self.folder / "generator.yaml"
        # The client is used, not read.
        settings.write_text("post_hooks: []\n")
        commands = [
            ["openapi-python-client", "generate", "--path", self.contract, "--config", settings,
             "--output-path", self.folder / "client"],
            ["datamodel-codegen", "--input", self.contract, "--input-file-type", "openapi", "--formatters", "builtin",
             "--output-model-type", "pydantic_v2.BaseModel", "--use-annotated", "--openapi-scopes", "schemas",
             "--target-python-version", f"{sys.version_info[0]}.{sys.version_info[1]}",
             "--output", self.folder / "sluice_models.py"],
        ]
        with ThreadPoolExecutor() as both:
            done = list(both.map(run, commands))
        sys.path[:0] = [str(self.folder / "client"), str(self.folder)]
        told = re.findall(r"^(?:WARNING|ERROR) parsing (\w+ \S+)", done[0], re.M)
        yield from (f"openapi-python-client on {operation}" for operation in sorted(set(told) - FILES))

    def modules(self):
        package = importlib.import_module("sluice_client")
        names = [module.name for module in pkgutil.walk_packages(package.__path__, "sluice_client.")]
        for name in names:
            try:
                importlib.import_module(name)
            except Exception as error:  # Each module is told of.
                yield f"{name}: {type(error).__name__}: {error}"
        if len(names) < 400:
            yield f"there are only {len(names)} modules"

    def types(self):
        seen = 0
        for module in self.operations():
            name = module.__name__.rpartition(".")[2]
            hints = typing.get_type_hints(module.sync_detailed)
            if "body" in hints:
                seen += 1
                if typing.Any in parts(hints["body"]) and name not in UNTYPED:
                    yield f"the body of {name} is of any type"
            answer = typing.get_args(hints["return"])[0]
            if has_json(self.document, name) and typing.Any in parts(answer):
                yield f"the answer of {name} is of any type"
        if seen < 30:
            yield f"only {seen} operations have a body"

    def operations(self):
        """The modules of the generated client, one for each operation."""
        package = importlib.import_module("sluice_client.api")
        for module in pkgutil.walk_packages(package.__path__, "sluice_client.api."):
            if not module.ispkg:
                yield importlib.import_module(module.name)

    def models(self):
        models = importlib.import_module("sluice_models")
        examples = 0
        for operation in operations(self.document):
            content = operation.get("requestBody", {}).get("content", {})
            for media in content.values():
                name = media["schema"].get("$ref", "").rpartition("/")[2]
                for label, example in media.get("examples", {}).items() if name else ():
                    examples += 1
                    shared = example.get("$ref", "").rpartition("/")[2]
                    if shared:
                        example = self.document["components"]["examples"][shared]
                    try:
                        getattr(models, name).model_validate(example["value"])
                    except Exception as error:  # Each example is told of.
                        yield f"{name}, {label}: {error}"
        if examples < 30:
            yield f"there are only {examples} examples"


def run(command):
    done = subprocess.run([BIN + command[0], *command[1:]], stdin=subprocess.DEVNULL, text=True, capture_output=True,
                          timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr or done.stdout}")
    return done.stdout + done.stderr


def parts(hint):
    """The types that a type consists of at the top: those of a union, or itself."""
    return typing.get_args(hint) or (hint,)


def operations(document):
    for item in document["paths"].values():
        yield from item.values()


def has_json(document, name):
    """Whether the operation with the generated name answers only JSON of a named schema."""
    for operation in operations(document):
        if snake(operation["operationId"]) == name:
            found = [media for status, answer in operation["responses"].items() if status.startswith("2")
                     for media in answer.get("content", {}).items()]
            return bool(found) and all(kind == "application/json" and "$ref" in media["schema"] for kind, media in found)
    return False


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
