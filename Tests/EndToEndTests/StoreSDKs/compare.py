"""Asks a gateway for links and forms, has the stores' own SDKs make the same ones, and compares the two.

The one argument is JSON: {"origin", "token", "seed", "count", "buckets": [{"name", "provider", "scheme", "endpoint",
"region", "addressing", "maxTTL", "accessKeyID", "secretAccessKey", "sessionToken"?, "email"?}]}. Prints
{"agreed": {scheme: links}, "forms": {scheme: forms}, "mutations": {kind: tried}, "differences": [..],
"unnoticed": [..]}.
"""

import base64
import collections
import datetime
import json
import logging
import random
import sys
import time
import urllib.error
import urllib.request

from asked import METHODS, a_form, bound, has_forms, life, makers, place
from forms import FORMS, form_conditions, form_fields, form_key, same_policy
from links import BUCKETS, CLOCK, LINKS, UTC, taken_apart


REMADE = {}
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


# The comparison.

def signed_at(answer, seconds):
    """When the gateway signed, as its answer says."""
    if "fields" in answer:
        for name, value in answer["fields"].items():
            if name in ("x-oss-date", "x-goog-date", "x-amz-date"):
                return datetime.datetime.strptime(value, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        end = same_policy(json.loads(base64.b64decode(answer["fields"]["policy"])))[1]
        return end - datetime.timedelta(seconds=seconds)
    query = dict(taken_apart(answer["url"])[2])
    for name in ("x-oss-date", "X-Goog-Date", "X-Amz-Date"):
        if name in query:
            return datetime.datetime.strptime(query[name], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return datetime.datetime.fromtimestamp(int(query["Expires"]) - seconds, UTC)


def compared(found, wanted, name):
    return [] if found == wanted else [f"{name}: found {found!r}, wanted {wanted!r}"]


def link_differences(bucket, request, answer, asked):
    headers, query, enforced_by, seconds = bound(bucket, request)
    CLOCK.instant = signed_at(answer, seconds)
    method = request.get("method") or METHODS[request["action"]]
    named = {name: request[name] for name in ("key", "prefix") if name in request}
    wrong = common_differences(bucket, answer, asked, method, named, enforced_by, seconds)
    wrong += compared(answer["headers"], headers, "headers")
    found = taken_apart(answer["url"])
    for make in LINKS[bucket["scheme"]]:
        url = remade(make, bucket, method, place(request), headers, query, seconds)
        if url is not None:
            for part, one, other in zip(("origin", "path", "query"), found, taken_apart(url)):
                wrong += compared(one, other, f"{part} by {make.__name__}")
    return wrong


def remade(make, bucket, *arguments):
    """What an SDK makes at the clock's instant; kept while the answers to one request are looked at."""
    key = make, bucket["name"], CLOCK.instant, json.dumps(arguments)
    if key not in REMADE:
        if len(REMADE) > 100:
            REMADE.clear()
        REMADE[key] = make(bucket, *arguments)
    return REMADE[key]


def form_differences(bucket, request, answer, asked):
    seconds = life(bucket, request)
    CLOCK.instant = signed_at(answer, seconds)
    fields = dict(answer["fields"])
    url, wanted, document, name, signature = FORMS[bucket["provider"]](
        bucket, request, form_fields(bucket, request), form_conditions(request), seconds, fields["policy"])
    wanted = {**wanted, "policy": fields["policy"], name: signature}
    wrong = common_differences(bucket, answer, asked, "POST", {"key": form_key(request)}, "policy", seconds)
    wrong += compared(answer["url"], url, "url") + compared(fields, wanted, "fields")
    choice = request["contentTypes"] if len(request["contentTypes"]) > 1 else None
    wrong += compared(answer.get("contentTypes"), choice, "contentTypes")
    wrong += compared(answer.get("contentTypeField"), "x-oss-content-type" if choice else None, "contentTypeField")
    found = same_policy(json.loads(base64.b64decode(fields["policy"])))
    return wrong + compared(found, same_policy(document), "policy")


def common_differences(bucket, answer, asked, method, named, enforced_by, seconds):
    end = (CLOCK.instant + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    wanted = {
        "method": method, "bucket": bucket["name"], **named, "expiresIn": seconds, "expiresAt": end,
        "enforcedBy": enforced_by,
    }
    wrong = compared({name: answer.get(name) for name in wanted}, wanted, "answer")
    known = {"id", "url", "headers", "fields", "contentTypes", "contentTypeField", "quotas", *wanted}
    wrong += compared(set(answer) - known, set(), "members")
    # Both run on this machine, and signatures know whole seconds.
    if not int(asked[0]) <= CLOCK.instant.timestamp() <= asked[1]:
        wrong.append(f"signed at {CLOCK.instant}, asked at {asked}")
    return wrong


# What the comparison must not let pass.

def other(text):
    return ("B" if text[0] == "A" else "A") + text[1:] if text else "A"


def with_pairs(url, change):
    front, _, query = url.partition("?")
    pairs = [pair.split("=", 1) for pair in query.split("&")]
    return front + "?" + "&".join("=".join(pair) for pair in change(pairs))


def mutations(answer, chance):
    """Answers that differ in one place from one that was right."""
    if "fields" in answer:
        for name in answer["fields"]:
            yield f"field {name}", {"fields": {**answer["fields"], name: other(answer["fields"][name])}}
        fields = dict(answer["fields"])
        del fields[chance.choice(list(fields))]
        yield "a field less", {"fields": fields}
        yield "a field more", {"fields": {**answer["fields"], "x-more": "1"}}
        policy = json.loads(base64.b64decode(answer["fields"]["policy"]))
        policy["conditions"].pop(chance.randrange(len(policy["conditions"])))
        weaker = base64.b64encode(json.dumps(policy).encode()).decode()
        yield "a condition less", {"fields": {**answer["fields"], "policy": weaker}}
        yield "url", {"url": answer["url"] + "x"}
    else:
        url, (origin, path, _) = answer["url"], taken_apart(answer["url"])
        for pair in url.partition("?")[2].split("&"):
            name = pair.partition("=")[0]
            yield f"parameter {name}", {"url": with_pairs(
                url, lambda pairs: [[n, *(other(v) for v in rest)] if n == name else [n, *rest] for n, *rest in pairs])}
        left_out = chance.choice(url.partition("?")[2].split("&"))
        yield "a parameter less", {"url": with_pairs(url, lambda pairs: [p for p in pairs if "=".join(p) != left_out])}
        yield "a parameter more", {"url": url + "&x-more=1"}
        yield "path", {"url": url.replace("?", "x?", 1)}
        yield "path in another encoding", {"url": url.replace(f"{path}?", f"{path[:-1]}%{ord(path[-1]):02x}?", 1)}
        yield "scheme", {"url": url.replace("https:", "http:", 1)}
        yield "host", {"url": url.replace(origin, origin + ".example", 1)}
        if "%2B" in url:
            yield "a raw plus", {"url": "+".join(url.rsplit("%2B", 1))}
        for name, value in answer["headers"].items():
            yield f"header {name}", {"headers": {**answer["headers"], name: other(value)}}
            yield "a header less", {"headers": {n: v for n, v in answer["headers"].items() if n != name}}
        yield "a header more", {"headers": {**answer["headers"], "x-more": "1"}}
    yield "expiresIn", {"expiresIn": answer["expiresIn"] + 1}
    yield "expiresAt", {"expiresAt": other(answer["expiresAt"])}
    yield "method", {"method": "POST" if answer["method"] != "POST" else "DELETE"}
    for name in ("key", "prefix"):
        if name in answer:
            yield name, {name: answer[name] + "x"}


def agrees(differences, *arguments):
    try:
        return not differences(*arguments)
    except (AssertionError, KeyError, ValueError, OverflowError):
        return False  # such an answer cannot even be read


def ask(order, path, request):
    call = urllib.request.Request(
        order["origin"] + path, json.dumps(request).encode(),
        {"Authorization": "Bearer " + order["token"], "Content-Type": "application/json"})
    begin = time.time()
    with DIRECT.open(call, timeout=60) as reply:
        return json.load(reply), (begin, time.time())


def main(order):
    logging.disable(logging.CRITICAL)
    chance = random.Random(order["seed"])
    report = {"agreed": collections.Counter(), "forms": collections.Counter(), "mutations": collections.Counter()}
    report.update(differences=[], unnoticed=[])
    BUCKETS.update({bucket["name"]: bucket for bucket in order["buckets"]})
    for bucket in order["buckets"]:
        plan = [("agreed", "/v1/presigned-urls", link_differences, chance.choice(makers(bucket)))
                for _ in range(order["count"])]
        plan += [("forms", "/v1/post-policies", form_differences, a_form)] * (order["count"] // 4 * has_forms(bucket))
        for kind, path, differences, make in plan:
            request = make(chance, bucket)
            if chance.random() < 0.7:
                request["expiresIn"] = chance.choice([1, 60, 3600, 86400, 604800, 10_000_000])
            asked_for = {**request, "bucket": bucket["name"]}
            try:
                answer, asked = ask(order, path, asked_for)
                wrong = differences(bucket, request, answer, asked)
            except urllib.error.HTTPError as error:
                answer, wrong = None, [f"{error.code}: {error.read().decode()}"]
            if wrong:
                report["differences"].append({"bucket": bucket["name"], "request": asked_for, "wrong": wrong})
                continue
            report[kind][bucket["scheme"]] += 1
            for name, change in mutations(answer, chance):
                report["mutations"][name] += 1
                if agrees(differences, bucket, request, {**answer, **change}, asked):
                    report["unnoticed"].append({"mutation": name, "request": asked_for, "change": change})
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
