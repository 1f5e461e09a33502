"""A gateway with its own PostgreSQL, under load, that a Prometheus scrapes; and every query of ops/ asked there."""

import json
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

from demo import end
from names import queries

# What Grafana puts in the place of its variables, for a Prometheus that scrapes twice a second.
VARIABLES = {"$__rate_interval": "8s", "$__range": "8s", "$job": "sluice", "$instance": ".*"}
SCRAPE = "500ms"
WARM_UP = 10
PATIENCE = 60


class Live:
    """What runs. Use it in a `with` statement; afterwards everything has ended and its files are gone."""

    def __init__(self, binary, ops):
        self.binary, self.ops = binary, ops
        self.processes = []

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-ops.", dir="/tmp"))
        self.folder.chmod(0o755)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end(process)
        shutil.rmtree(self.folder)

    def start(self):
        output = self.run("gateway", self.binary, "dev", "--empty", "--port", 0, "--store-port", 0,
                          "--data-dir", self.folder / "data")
        self.wait("the gateway", lambda: "Ctrl-C stops" in output.read_text())
        text = output.read_text()
        address = re.search(r"is ready at http://(127\.0\.0\.1:\d+)", text)[1]
        self.gateway = f"http://{address}"
        self.keys = {
            "alice": re.search(r"SLUICE_KEY=(\S+)", text)[1],
            "mallory": re.search(r"answer is 403:\n(\S+)", text)[1],
            "admin": re.search(r"SLUICE_ADMIN_KEY=(\S+)", text)[1],
        }
        configuration = self.folder / "prometheus.yaml"
        configuration.write_text(yaml.safe_dump({
            "global": {"scrape_interval": SCRAPE, "scrape_timeout": SCRAPE, "evaluation_interval": "1s"},
            "rule_files": [str(self.ops / "prometheus" / name) for name in ("recording.yaml", "alerts.yaml")],
            "scrape_configs": [{"job_name": "sluice", "static_configs": [{"targets": [address]}]}],
        }))
        output = self.run("prometheus", "prometheus", f"--config.file={configuration}",
                          f"--storage.tsdb.path={self.folder / 'series'}", "--web.listen-address=127.0.0.1:0")
        listens = re.compile(r'"Listening on".* address=(\S+)\s')
        self.wait("Prometheus", lambda: listens.search(output.read_text()))
        self.prometheus = f"http://{listens.search(output.read_text())[1]}"
        self.wait("Prometheus", lambda: fetch(f"{self.prometheus}/-/ready"))

    def run(self, name, *command):
        """Starts a program on ports that it chooses itself; returns the file of its output."""
        file = self.folder / f"{name}.out"
        with open(file, "w", encoding="utf-8") as output:
            self.processes.append(subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT))
        return file

    def wait(self, name, condition):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except (OSError, urllib.error.URLError):
                pass
            if self.processes[-1].poll() is not None:
                break
            time.sleep(0.1)
        logs = "\n".join((file.read_text()[-2000:] for file in self.folder.glob("*.out")))
        raise RuntimeError(f"{name} does not run:\n{logs}")

    def page(self):
        """The text of /metrics."""
        return fetch(f"{self.gateway}/metrics")

    def load(self, stop):
        """Sends what apps and admins send, until told to stop: links, batches, sessions, refusals, reading, tests of a
        bucket."""
        turns = 0
        while not stop.wait(0.05):
            turns += 1
            key = f"users/alice/{turns}.txt"
            self.post("alice", "/v1/presigned-urls", {"action": "GetObject", "bucket": "demo", "key": key}, 201)
            self.post("mallory", "/v1/presigned-urls", {"action": "GetObject", "bucket": "demo", "key": key}, 403)
            self.post("alice", "/v1/presigned-urls/batch", {"items": [
                {"action": "GetObject", "bucket": "demo", "key": f"{key}.{number}"} for number in range(3)]}, 200)
            self.ask("alice", "/v1/sts/oss?bucket=demo-oss", None, 200)
            self.ask("alice", "/v1/nothing", None, 404)
            self.ask("admin", "/admin/v1/grants", None, 200)
            # Asks the store, as sessions do only once in a while.
            if turns % 5 == 0:
                self.post("admin", "/admin/v1/buckets/demo:validate", {}, 200)

    def post(self, who, path, body, expected):
        self.ask(who, path, json.dumps(body).encode(), expected)

    def ask(self, who, path, body, expected):
        request = urllib.request.Request(self.gateway + path, body, {
            "Authorization": f"Bearer {self.keys[who]}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                status = answer.status
                answer.read()
        except urllib.error.HTTPError as error:
            status = error.code
            error.close()
        if status != expected:
            raise RuntimeError(f"{path} answered {status}, not {expected}")

    def query(self, expression):
        """The samples that Prometheus answers, as numbers. Raises with Prometheus's words if it refuses the query."""
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        answer = json.loads(fetch(f"{self.prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression})))
        return [float(sample["value"][1]) for sample in answer["data"]["result"]]

    def values(self, definition):
        """The values that a query variable of the dashboard offers."""
        metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", definition).groups()
        for name, value in VARIABLES.items():
            metric = metric.replace(name, value)
        answer = fetch(f"{self.prometheus}/api/v1/label/{label}/values?" + urllib.parse.urlencode({"match[]": metric}))
        return json.loads(answer)["data"]


def flaws(binary, ops):
    """Lines about queries that fail or have no number, and about what promtool finds in the page."""
    with Live(binary, ops) as live:
        errors, stop = [], threading.Event()
        worker = threading.Thread(target=send, args=(live, stop, errors))
        worker.start()
        try:
            # Queries look back over this time.
            stop.wait(WARM_UP)
            yield from found(live, ops)
        finally:
            stop.set()
            worker.join()
        yield from errors


def found(live, ops):
    """The flaws, while the load goes on."""
    checked = subprocess.run(["promtool", "check", "metrics"], input=live.page(), capture_output=True, text=True,
                             check=False)
    yield from (f"promtool: {line}" for line in (checked.stdout + checked.stderr).splitlines())
    deadline = time.monotonic() + PATIENCE
    for place, expression in queries(ops):
        yield from query_flaws(live, place, expression, deadline)
    dashboard = json.loads((ops / "grafana/sluice.json").read_text())
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query" and not live.values(variable["query"]["query"]):
            yield f"the variable {variable['name']} offers nothing"
    states = json.loads(fetch(f"{live.prometheus}/api/v1/rules"))["data"]["groups"]
    for rule in (rule for group in states for rule in group["rules"]):
        if rule.get("lastError"):
            yield f"{rule['name']}: {rule['lastError']}"


def send(live, stop, errors):
    """The load, on a thread of its own."""
    try:
        live.load(stop)
    except (OSError, RuntimeError) as error:
        errors.append(f"the load ended: {error}")


def query_flaws(live, place, expression, deadline):
    # An alert that does not fire has no samples, so its two sides are asked apart from the comparison.
    parts = [expression] if place.startswith("the panel") else operands(expression)
    for part in parts:
        try:
            numbers = patient_query(live, part, deadline)
        except urllib.error.HTTPError as error:
            yield f"{place}: {json.loads(error.read())['error']}"
            continue
        if not numbers:
            yield f"{place} has no samples: {part}"
        elif all(number != number for number in numbers):
            yield f"{place} has no number: {part}"


def patient_query(live, expression, deadline):
    """The samples of a query. Until the deadline it is asked again while it has no number: it looks back over seconds,
    in which a busy machine may have come to nothing."""
    while True:
        numbers = live.query(expression)
        if any(number == number for number in numbers) or time.monotonic() >= deadline:
            return numbers
        time.sleep(0.5)


def operands(expression):
    """The queries between the operators of an alert; a query that compares nothing is one."""
    text = re.sub(r"absent\((.*) == 1\)", r"\1", " ".join(expression.split()))
    text = re.sub(r"\(([a-z_]+) (?:and [a-z_]+ )?> 0\)", r"(\1)", text)
    parts = re.split(r" (?:==|!=|<|>|and|unless on \([a-z, ]+\)) ", text)
    return [part for part in parts if re.search(r"[a-z]", part) and not part.startswith("sluice:")]


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()
