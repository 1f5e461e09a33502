"""Issuing at several numbers of connections, beside nginx, the service in Python and single inserts."""

import contextlib

import rows
from database import Database
from gateway import Gateway
from load import Inserts, Issue, Wrk
from nginx import Nginx
from peer import Peer
from report import alternate, line, versions
from tokens import Issuer

NAME = "POST /v1/presigned-urls"
OTHER = f"{NAME} of --against"
UNCOUNTED = f"{NAME}, where no quota applies"
TOKENS = f"{NAME}, with JWTs (RS256)"
NGINX = "nginx, a constant of the same length"
PEER = "the service in Python, 4 workers"
# Where the targets are.
COMPARED = (64, 256)


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        rows.prepare(database, "sluice", chosen.binary, callers)
        single = rows.requests(database.directory / "single.txt", callers)
        start = lambda binary, name, database_name="sluice": stack.enter_context(
            Gateway(binary, database.url(database_name, rows.ROLE), database.directory / f"{name}.log"))
        gateway = start(chosen.binary, "gateway")
        report.figure("resident memory after start", gateway.memory(), "MB")
        length = _length_of_answer(gateway, callers[0])
        report.figure("length of an answer's body", length, "bytes")

        threads = chosen.threads
        issue = lambda name, server, connections, requests, where="sluice": Issue(
            name, [server], connections, threads, requests, database, where)
        loads = [issue(NAME, gateway, connections, single) for connections in chosen.connections]
        if chosen.against:
            # A database of its own: another version has another schema.
            rows.prepare(database, "other", chosen.against, callers)
            other = start(chosen.against, "other", "other")
            loads += [issue(OTHER, other, connections, single, "other") for connections in chosen.connections]
        rows.prepare(database, "uncounted", chosen.binary, callers, has_quota=False)
        uncounted = start(chosen.binary, "uncounted", "uncounted")
        loads += [Issue(UNCOUNTED, [uncounted], connections, threads, single, database, "uncounted")
                  for connections in chosen.connections if connections in COMPARED]
        nginx = stack.enter_context(Nginx(database.directory, length))
        report.versions["nginx"] = line("dpkg-query", "-W", "-f", "${Version}", "nginx")
        loads += [Wrk(NGINX, [nginx], connections, threads, single) for connections in chosen.connections]
        if chosen.peer_python:
            loads += _peer(stack, chosen, report, database, callers, single)
        loads += [Inserts(database, connections, threads) for connections in (1, 64)]
        # What this leaves to be summed up later must not disturb the first load more than that of --against.
        rows.prepare(database, "others", chosen.binary, callers)
        others = start(chosen.binary, "others", "others")
        loads.append(issue(TOKENS, others, 64, _with_tokens(database, others, callers), "others"))

        series = alternate(loads, database, chosen)
        report.add(series)
        _check_peer(database, series)
        report.figure("resident memory after load", gateway.memory(), "MB")
        report.figure("resident memory at its highest", gateway.memory("VmHWM"), "MB")
    _compare(report, {(one.load.name, one.load.connections): one for one in series})


def _peer(stack, chosen, report, database, callers, requests):
    rows.prepare_peer(database, "peer", callers)
    peer = stack.enter_context(Peer(chosen.peer_python, database.url("peer"), database.directory / "peer.log"))
    report.versions["service in Python"] = peer.versions()
    return [Wrk(PEER, [peer], connections, chosen.threads, requests, database=database)
            for connections in chosen.connections]


def _check_peer(database, series):
    """The service in Python has recorded what it answered."""
    answers = sum(sample.answers for one in series for sample in one.samples if one.load.name == PEER)
    if answers and database.number("peer", "SELECT count(*) FROM issuances") < answers:
        raise RuntimeError("the service in Python answered more than it recorded")


def _length_of_answer(gateway, caller):
    status, body = gateway.post("/v1/presigned-urls", caller.wish(), caller.key)
    if status != 201:
        raise RuntimeError(f"POST /v1/presigned-urls: {status} {body.decode(errors='replace')}")
    return len(body)


def _with_tokens(database, gateway, callers):
    # A token has its user's rights, so that both kinds of callers do the same.
    issuer = Issuer(database.directory)
    gateway.create("/admin/v1/issuers", issuer.row())
    return rows.requests(database.directory / "tokens.txt", callers, tokens=issuer.tokens(callers))


def _compare(report, series):
    def ratio(target, one, other, *fields):
        if one in series and other in series:
            report.ratio(target, series[one], series[other], *fields)

    for connections in COMPARED:
        ratio(f"nginx-{connections}", (NAME, connections), (NGINX, connections))
        ratio(f"peer-{connections}", (NAME, connections), (PEER, connections))
    ratio("tail", (NAME, 64), (NAME, 64), "p99", "p50")
    ratio("inserts", (NAME, 64), (Inserts.NAME, 64))
    ratio("latency", (NAME, 1), (Inserts.NAME, 1), "p50")
    ratio("tokens", (TOKENS, 64), (NAME, 64))
