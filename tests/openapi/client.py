"""Clients in Python by the generated code: imports every module, and judges payments at the address of the first argument.

The second argument is a file with payments, a JSON array. The verdict of one more is printed.
"""

import importlib
import json
import pkgutil
import sys

import api_client
import api_models
from api_client import Client
from api_client.api.instructions import compile_and_save_instruction
from api_client.api.transactions import inject
from api_client.models import Error, InstructionScript, Transaction

modules = [found.name for found in pkgutil.walk_packages(api_client.__path__, "api_client.")]
for module in modules:
    importlib.import_module(module)
print(len(modules), "modules imported")

client = Client(base_url=sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as bodies:
    for body in json.load(bodies):
        judged = inject.sync(client=client, body=Transaction.from_dict(body))
        assert not isinstance(judged, Error), judged
        assert judged.transaction_id == body["transaction_id"], judged
        api_models.Transaction.model_validate(body)
script = 'rule generated { when amount > 1 then block score 0.9 reason "by a generated client" }'
saved = compile_and_save_instruction.sync(client=client, body=InstructionScript(script=script))
assert not isinstance(saved, Error), saved
for amount in [2.5, "2.50"]:
    judged = inject.sync(client=client, body=Transaction(amount=amount, currency="EUR", reference="r"))
    assert not isinstance(judged, Error), judged
    print(judged.verdict, [rule.name for rule in judged.triggered])
