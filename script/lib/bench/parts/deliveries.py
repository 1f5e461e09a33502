"""Every way to issue beside single links: batches, browser forms, parts, sessions, signatures of clients' strings,
redirects."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

import rows
from database import Database
from demo import demo
from gateway import Admin, Gateway
from load import Links
from report import alternate, versions

CONNECTIONS, CONNECTIONS_OF_MANY = 64, 16
MANY = 100
# What the store of `sluice dev` knows.
REGION, ROLE = "cn-hangzhou", "acs:ram::1000000000000001:role/sluice-demo"
# The most that can be set: the sessions of all callers are opened one after another.
SETTINGS = {"SESSIONS_PER_SECOND": 1_000}


@dataclass(frozen=True)
class Way:
    """One way to issue: what a caller sends, and the word that takes the place of `{}` in the path."""

    name: str
    path: str
    body: Callable = rows.User.wish
    word: Callable | None = None
    status: int = 201
    # Links in one answer.
    each: int = 1
    target: str | None = None


START = Way("POST /v1/multipart-uploads", "/v1/multipart-uploads",
            lambda one: {"bucket": rows.BUCKET, "key": one.object_key, "contentType": "image/jpeg"})
SESSION = Way("GET /v1/sts/oss, sessions from the cache",
              f"/v1/sts/oss?bucket={rows.BUCKET}&actions=PutObject&prefix={{}}", lambda one: None,
              lambda one: f"users/{one.name}/", status=200, target="sessions")


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        ways, loads = _loads(stack, chosen, database, callers, "sluice", chosen.binary)
        if chosen.against:
            loads += _loads(stack, chosen, database, callers, "other", chosen.against, " of --against")[1]
        series = alternate(loads, database, chosen)
        report.add(series)
    single, *others = series[:len(ways)]
    for way, one in zip(ways[1:], others):
        note = None
        if way is SESSION:
            note = (f"{len(callers):,} sessions were opened before the loads, with SLUICE_SESSIONS_PER_SECOND="
                    f"{SETTINGS['SESSIONS_PER_SECOND']}; then the token service was stopped.")
        report.ratio(way.target, one, single, note=note)
        if way.target == "batches":
            report.measured("batch", one.median(), one.values())


def _ways(uploads):
    """All of them, the single link first, and last what leaves most to be summed up to the load that follows.

    `uploads` has the identifier of each caller's upload in parts.
    """
    parts = lambda count: lambda one: {
        "parts": [{"partNumber": number, "contentMD5": rows.MD5} for number in range(1, count + 1)]}
    upload = lambda one: uploads[one.name]
    return [
        Way("POST /v1/presigned-urls", "/v1/presigned-urls"),
        Way("POST /v1/post-policies", "/v1/post-policies", _form, target="forms"),
        Way("POST /v1/multipart-uploads/{id}/parts", "/v1/multipart-uploads/{}/parts", parts(1), upload, status=200,
            target="parts"),
        SESSION,
        Way("POST /v1/signatures/oss", "/v1/signatures/oss", _string, target="strings"),
        Way("GET /v1/objects/{bucket}/{key}", f"/v1/objects/{rows.BUCKET}/{{}}", lambda one: None,
            lambda one: one.object_key, status=303, target="redirects"),
        Way(f"POST /v1/multipart-uploads/{{id}}/parts, {MANY} a call", "/v1/multipart-uploads/{}/parts", parts(MANY),
            upload, status=200, each=MANY, target="many-parts"),
        Way(f"POST /v1/presigned-urls/batch, {MANY} a call", "/v1/presigned-urls/batch", _batch, status=200, each=MANY,
            target="batches"),
    ]


def _form(one):
    return {"bucket": rows.BUCKET, "key": one.object_key, "contentTypes": ["image/jpeg"], "maxBytes": 10 << 20}


def _batch(one):
    return {"items": [{**one.wish(), "key": f"users/{one.name}/uploads/photo-{number}.jpg"} for number in range(MANY)]}


def _string(one):
    """What an OSS SDK in self-signed mode asks to be signed, version 1; valid for a quarter of an hour."""
    return {"content": f"PUT\n{rows.MD5}\nimage/jpeg\n{formatdate(usegmt=True)}\n/{rows.BUCKET}/{one.object_key}"}


def _loads(stack, chosen, database, callers, name, binary, suffix=""):
    """Each way, and the load of each on a gateway of its own that has opened every caller's session and upload."""
    with _store(binary, database.directory / f"{name}-store") as (credential, place):
        rows.prepare(database, name, binary, callers, credential=credential, place=place)
        gateway = stack.enter_context(
            Gateway(binary, database.url(name, rows.ROLE), database.directory / f"{name}.log",
                    OUTBOUND_ALLOW=place["endpoint"], **SETTINGS))
        started = _ask(gateway, START, callers)
        ways = _ways({one.name: json.loads(answer)["id"] for one, answer in zip(callers, started)})
        _ask(gateway, SESSION, callers)
    # From here on there is neither a store nor a token service.
    for way in ways:
        _ask(gateway, way, callers[:1])

    def load(number, way):
        file = database.directory / f"{name}-{number}.txt"

        def renew():
            # A string to sign has a date, and an upload has each part once.
            rows.requests(file, callers, way.body, way.word)
            database.query(name, "TRUNCATE multipart_parts;"
                                 " UPDATE multipart_uploads SET parts_length = 0, parts_of_unknown_length = 0")

        return Links(way.name + suffix, [gateway], CONNECTIONS if way.each == 1 else CONNECTIONS_OF_MANY, chosen.threads,
                     file, database, name, path=way.path, each=way.each, before=renew)

    return ways, [load(number, way) for number, way in enumerate(ways)]


@contextlib.contextmanager
def _store(binary, folder):
    """A store that speaks the languages of Alibaba OSS and of its token service; answers the credential and the place
    of a bucket in it."""
    folder.mkdir()
    with demo(binary, folder) as told:
        (folder / "data/objects/buckets" / rows.BUCKET).mkdir()
        keys = json.loads((folder / "data/keys.json").read_text())
        at = {"endpoint": told["store"], "region": REGION}
        yield ({"accessKeyID": keys["storeAccessKeyID"], "secretAccessKey": keys["storeSecretAccessKey"],
                "sessionRole": {"service": "alibaba", "roleARN": ROLE, **at}},
               # Without 'permitsSymlinks', no session may upload.
               {"provider": "oss", "addressing": "path", "allowsRedirects": True, "permitsSymlinks": True, **at})


def _ask(gateway, way, callers):
    """What each caller is answered."""
    answers = []
    for one in callers:
        with Admin(gateway, one.key) as caller:
            body = way.body(one)
            path = way.path.format(way.word(one)) if way.word else way.path
            status, answer = caller.call("POST" if body else "GET", path, body)
        # An OSS SDK is told a refusal with status 200.
        if status != way.status or way is SESSION and b'"AccessKeyId"' not in answer:
            raise RuntimeError(f"{way.name}: {status} {answer.decode(errors='replace')}")
        answers.append(answer)
    return answers
