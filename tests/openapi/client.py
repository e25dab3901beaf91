"""A client in Python by the generated code: judges a payment at the address of the first argument, and prints the verdict."""

import sys

from api_client import Client
from api_client.api.instructions import compile_and_save_instruction
from api_client.api.transactions import inject
from api_client.models import Error, InstructionScript, Transaction

client = Client(base_url=sys.argv[1])
script = 'rule generated { when amount > 1 then block score 0.9 reason "by a generated client" }'
saved = compile_and_save_instruction.sync(client=client, body=InstructionScript(script=script))
assert not isinstance(saved, Error), saved
judged = inject.sync(client=client, body=Transaction(amount=2.5, currency="EUR", reference="r"))
assert not isinstance(judged, Error), judged
print(judged.verdict, [rule.name for rule in judged.triggered])
