"""What schemathesis has to know of the contract that stands there in words.

The checks are schemathesis's own. Three of them compare a status with what the schema says of the request; they are
given the status that was meant, and do not complain about rules that no JSON Schema can say.
"""

import copy
import json
import os
import re
import urllib.parse

import jsonschema_rs
import schemathesis
import yaml
from schemathesis.checks import CHECKS
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.specs.openapi import checks

with open(os.environ["SLUICE_TEST_CONTRACT"], encoding="utf-8") as file:
    CONTRACT = yaml.safe_load(file)

# What no path and no query may hold, escaped or not.
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def answer_of(response):
    """The answer's JSON object; an empty one where it is none."""
    try:
        value = json.loads(response.content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def meant(response):
    """The answer with the status that its body tells, where the protocol puts it there."""
    answer = answer_of(response)
    status = answer.get("StatusCode")
    if status is None:
        refusals = [item["status"] for item in answer.get("results", []) if "status" in item]
        status = refusals[0] if refusals else response.status_code
    other = copy.copy(response)
    other.status_code = status
    return other


def resolved(node):
    """What a node of the contract is, or what its reference stands for."""
    while "$ref" in node:
        target = CONTRACT
        for name in node["$ref"].split("/")[1:]:
            target = target[name]
        node = target
    return node


def operation_of(case):
    """What the contract says of the operation."""
    return CONTRACT["paths"][case.operation.path][case.operation.method.lower()]


def names_of(case):
    """Every name that the contract gives to a parameter, or to a member of the body."""
    operation = operation_of(case)
    names = {resolved(parameter)["name"] for parameter in operation.get("parameters", [])} | {"body"}
    schemas = [media["schema"] for media in resolved(operation.get("requestBody", {})).get("content", {}).values()]
    seen = set()
    while schemas:
        schema = resolved(schemas.pop())
        if id(schema) in seen or not isinstance(schema, dict):
            continue
        seen.add(id(schema))
        names |= set(schema.get("properties", {}))
        schemas += [*schema.get("properties", {}).values(), *schema.get("oneOf", []), *schema.get("anyOf", [])]
        schemas += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    return names


def is_explained(response, case):
    """Whether the refusal is for a rule that no schema says, told as the contract promises: the member, and what is
    expected.

    Such rules are about several members at once, about bytes rather than characters, about what exists, and about
    languages of their own, such as keys, templates, strings to sign and content types.
    """
    answer = answer_of(response)
    if answer.get("ErrorCode") == "InvalidArgument":
        return bool(answer.get("ErrorMessage"))
    if "x-sluice-protocol" in operation_of(case):
        # Refusals in the form of a protocol have a message, and no member for the field.
        error = answer.get("error")
        told = answer.get("message") or (error.get("message") if isinstance(error, dict) else None)
        return bool(told) or b"<Message>" in response.content
    names = names_of(case)
    if "results" in answer:
        refusals = [item for item in answer["results"] if item.get("status") == 400]
    else:
        refusals = answer.get("errors") or [answer]
    # Of a file the line is told, and the column by the name that the file gives it.
    return all(
        refusal.get("code") == "InvalidArgument"
        and refusal.get("detail")
        and ("line" in refusal or re.split(r"[.\[]", refusal.get("field", ""))[0] in names)
        for refusal in refusals
    )


def without_nulls(value):
    """The value as the gateway reads it: a member that is null counts as absent."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def fits(case, body):
    """Whether a body is what the contract asks for, in every way it may be sent."""
    content = resolved(operation_of(case)["requestBody"])["content"]
    schema = content[case.media_type]["schema"]
    return jsonschema_rs.validator_for({**schema, "components": CONTRACT["components"]}).is_valid(body)


def has_empty_list(response, case):
    """Whether the query has a list of one empty word, which no server can tell from an empty list."""
    lists = {resolved(one)["name"] for one in operation_of(case).get("parameters", [])
             if resolved(resolved(one).get("schema", {})).get("type") == "array"}
    sent = urllib.parse.parse_qsl(urllib.parse.urlsplit(response.request.url).query, keep_blank_values=True)
    return any(name in lists and not value for name, value in sent)


@CHECKS.register
def negative_data_rejection(ctx, response, case):
    try:
        return checks.negative_data_rejection(ctx, meant(response), case)
    except AcceptedNegativeData:
        if isinstance(case.body, (dict, list)) and fits(case, without_nulls(case.body)):
            return None
        if has_empty_list(response, case):
            return None
        raise


@CHECKS.register
def positive_data_acceptance(ctx, response, case):
    try:
        return checks.positive_data_acceptance(ctx, meant(response), case)
    except RejectedPositiveData:
        if is_explained(response, case) or CONTROL.search(urllib.parse.unquote(response.request.url)):
            return None
        raise


@CHECKS.register
def ignored_auth(ctx, response, case):
    return checks.ignored_auth(ctx, meant(response), case)


@CHECKS.register
def missing_required_header(ctx, response, case):
    return checks.missing_required_header(ctx, meant(response), case)
