"""What the gateway is meant to reach, in the order of the table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One line of the table: a figure that a part measures, and the least or the most that it may be, if anything."""

    id: str
    part: str
    text: str
    at_least: float | None = None
    at_most: float | None = None
    # What comes after the target.
    then: float | None = None
    unit: str = ""

    @property
    def limit(self):
        if self.at_least is None and self.at_most is None:
            return ""
        if self.at_most == 0:
            return "none"
        bound = f"≥ {self.at_least:,g}" if self.at_most is None else f"≤ {self.at_most:,g}"
        return f"{bound} {self.unit}".rstrip() + (f", then {self.then:,g}" if self.then else "")

    def is_met(self, value):
        return self._reaches(value, self.at_least if self.at_most is None else self.at_most)

    def _reaches(self, value, limit):
        return value >= limit if self.at_most is None else value <= limit

    def verdict(self, value):
        if value is None:
            return "not measured"
        if not self.limit:
            return ""
        if not self.is_met(value):
            return "**not met**"
        return "met, and the next" if self.then and self._reaches(value, self.then) else "met"


TARGETS = [
    Target("nginx-64", "issue", "1 · rate ÷ nginx's constant answer, 64 connections", at_least=0.20, then=0.30),
    Target("nginx-256", "issue", "1 · rate ÷ nginx's constant answer, 256 connections", at_least=0.30, then=0.45),
    Target("tail", "issue", "1 · p99 ÷ p50, 64 connections", at_most=2.5),
    Target("inserts", "issue", "1 · rate ÷ pgbench's single inserts, 64 clients each", at_least=1.2, then=2),
    Target("peer-64", "issue", "1 · rate ÷ the service in Python, 64 connections", at_least=15, then=25),
    Target("peer-256", "issue", "1 · rate ÷ the service in Python, 256 connections", at_least=15, then=25),
    Target("latency", "issue", "2 · p50 ÷ p50 of one insert by pgbench, 1 connection", at_most=2, then=1.5),
    Target("batch", "deliveries", "3 · links a second in batches of 100", at_least=150_000),
    Target("batches", "deliveries", "3 · batches of 100 ÷ single links"),
    Target("forms", "deliveries", "3 · browser forms ÷ single links"),
    Target("parts", "deliveries", "3 · parts, one a call ÷ single links"),
    Target("many-parts", "deliveries", "3 · parts, 100 a call ÷ single links"),
    Target("sessions", "deliveries", "3 · sessions from the cache ÷ single links"),
    Target("strings", "deliveries", "3 · signatures of clients' strings ÷ single links"),
    Target("redirects", "deliveries", "3 · redirects ÷ single links"),
    Target("aws-v4-query", "signing", "4 · AWS V4: one URL ÷ its hashes alone", at_most=1.3),
    Target("oss-v4-query", "signing", "4 · OSS V4: one URL ÷ its hashes alone", at_most=1.3),
    Target("gcs-v4-hmac-query", "signing", "4 · GCS V4 HMAC: one URL ÷ its hashes alone", at_most=1.3),
    Target("aws-v2-query", "signing", "4 · AWS V2: one URL ÷ its hash alone", at_most=1.3),
    Target("oss-v1-query", "signing", "4 · OSS V1: one URL ÷ its hash alone", at_most=1.3),
    Target("gcs-v4-rsa-query", "signing", "4 · GCS V4 RSA: one URL ÷ its signature alone", at_most=1.05),
    Target("gcs-v2-rsa-query", "signing", "4 · GCS V2 RSA: one URL ÷ its signature alone", at_most=1.05),
    Target("allocations", "signing", "4 · allocations of one URL, the most of the HMAC schemes", at_most=2),
    Target("tokens", "issue", "4 · rate with JWTs (RS256) ÷ with API keys, 64 connections", at_least=0.97),
    Target("grants", "grants", "5 · rate with 1,000,000 grants ÷ with 1,000", at_least=0.95),
    Target("start", "grants", "5 · start to ready, most grants", at_most=1, unit="s"),
    Target("memory", "principals", "5 · resident memory, 100,000 active principals", at_most=100, unit="MB"),
    Target("import", "bulk", "5 · import of 1,000,000 new grants", at_most=60, unit="s"),
    Target("ledger", "ledger", "6 · rate with 20,000,000 rows in the ledger ÷ with none", at_least=0.95),
    Target("queries", "ledger", "6 · slowest query of admins for the last day, median", at_most=50, unit="ms"),
    Target("divided", "console", "6 · use of a day by principal and by grant, the slower, median", at_most=100, unit="ms"),
    Target("unused", "console", "6 · grants that nobody used, median", at_most=1000, unit="ms"),
    Target("dropping", "ledger", "6 · p99 while a partition is dropped ÷ p99 otherwise", at_most=2),
    Target("changes", "policy", "7 · rate with 100 policy changes a second ÷ undisturbed", at_least=0.7),
    Target("stale", "policy", "7 · links on an old state of policy", at_most=0),
    Target("hot", "policy", "7 · rate with one quota shared by everybody ÷ undisturbed", at_least=0.4),
    Target("deep", "deep", "7 · p99 beside four batches of 1,000 deep keys ÷ p99 otherwise", at_most=2),
    Target("idle-memory", "idle", "8 · memory that 10,000 idle connections take beside 256 busy ones", at_most=100, unit="MB"),
    Target("idle-rate", "idle", "8 · rate beside 10,000 idle connections ÷ without them", at_least=0.95),
    Target("body-memory", "bodies", "8 · resident memory at its highest, 1,024 bodies of callers without a token", at_most=200, unit="MB"),
    Target("body-rate", "bodies", "8 · rate beside 1,024 connections that send half a body ÷ without them", at_least=0.9),
    Target("flat", "soak", "8 · resident memory during an hour of load, furthest from its median", at_most=5, unit="%"),
    Target("goodput", "overload", "8 · good answers at 4 × capacity offered ÷ capacity", at_least=0.95),
    Target("refusals", "overload", "8 · of the rest, answered with 503 within the deadline", at_least=1),
    Target("two", "gateways", "9 · rate of two gateways on one database ÷ of one", at_least=1),
    Target("three", "gateways", "9 · rate of three gateways on one database ÷ of one", at_least=1),
    Target("shared-quota", "gateways", "9 · links beyond a quota that three gateways share", at_most=0),
    Target("shared-stale", "gateways", "9 · links of three gateways on an old state of policy", at_most=0),
    Target("console-paint", "console", "10 · console: first paint of any view", at_most=300, unit="ms"),
    Target("console-answers", "console", "10 · console: slowest question of its views, median", at_most=300, unit="ms"),
]


def number(value):
    """As many digits as tell something."""
    if value == int(value) and abs(value) >= 100 or abs(value) >= 1000:
        return f"{value:,.0f}"
    if value == int(value) and value < 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
