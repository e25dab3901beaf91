"""Checks the examples of an API description, its only argument: each body that is JSON or text has one that fits its schema."""

import json
import sys

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

METHODS = ["get", "put", "post", "delete"]
# Bodies whose bytes no example of a description can hold.
WITHOUT = ["application/wasm", "application/octet-stream", "text/html"]

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
registry = Registry().with_resource("urn:api", Resource(contents=document, specification=DRAFT202012))
faults = []
n_operations = n_examples = 0


def check(where, pointer, example):
    global n_examples
    n_examples += 1
    schema = {"$ref": f"urn:api#{pointer}/schema"}
    validator = Draft202012Validator(schema, registry=registry, format_checker=FormatChecker())
    faults.extend(f"{where}: {error.json_path}: {error.message}" for error in validator.iter_errors(example))


def check_contents(where, pointer, contents):
    for kind, content in contents.items():
        if kind in WITHOUT:
            continue
        if "example" not in content:
            faults.append(f"{where} {kind}: no example")
            continue
        check(f"{where} {kind}", f"{pointer}/content/{kind.replace('/', '~1')}", content["example"])


for path, item in document["paths"].items():
    for method in METHODS:
        operation = item.get(method)
        if operation is None:
            continue
        n_operations += 1
        where = f"{method.upper()} {path}"
        pointer = f"/paths/{path.replace('/', '~1').replace('{', '%7B').replace('}', '%7D')}/{method}"
        for number, parameter in enumerate(operation.get("parameters", [])):
            if "example" in parameter:
                check(f"{where} {parameter['name']}", f"{pointer}/parameters/{number}", parameter["example"])
            elif parameter["in"] == "path":
                faults.append(f"{where}: no example of `{parameter['name']}`")
        body = operation.get("requestBody", {}).get("content", {})
        check_contents(f"{where} request", f"{pointer}/requestBody", body)
        for status, answer in operation["responses"].items():
            if status.startswith("2"):
                check_contents(f"{where} {status}", f"{pointer}/responses/{status}", answer.get("content", {}))

print(n_examples, "examples of", n_operations, "operations")
if faults:
    sys.exit("\n".join(faults))
