"""Bodies of POST /inject as Python's json writes them: `expected<TAB>field<TAB>body` a line, the body in hexadecimal digits.

`expected` is `taken` or `refused`; `field` is the one that a refusal has to name, `-` where the body as a whole is at fault.
"""

import json
from datetime import datetime, timedelta, timezone

TIMES = ["created_at", "effective_date", "scheduled_for", "inflight_expiry_date"]
NAMES = ["transaction_id", "source", "destination", "status", "hash"]
n = 0


def emit(expected, field, body):
    print(expected, field, body.hex(), sep="\t")


def transaction(**fields):
    global n
    n += 1
    return {"transaction_id": f"python-{n}", "amount": 12.5, "currency": "EUR", "reference": f"r-{n}", **fields}


def taken(**fields):
    emit("taken", "-", json.dumps(transaction(**fields)).encode())


def refused(field, **fields):
    emit("refused", field, json.dumps(transaction(**fields)).encode())


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"a": [value]} if depth % 2 else {"a": value}
    return value


utc = datetime(2026, 1, 31, 12, 0, tzinfo=timezone.utc)
for field in TIMES:
    taken(**{field: "0001-01-01T00:00:00Z"})
    taken(**{field: "0001-01-01T00:00:00"})
    taken(**{field: datetime.min.isoformat()})
    taken(**{field: datetime.min.replace(tzinfo=timezone.utc).isoformat()})
    taken(**{field: None})
    taken(**{field: utc.isoformat()})
    taken(**{field: utc.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat()})
    refused(field, **{field: utc.replace(tzinfo=None).isoformat()})
    refused(field, **{field: utc.strftime("%d.%m.%Y %H:%M")})
    refused(field, **{field: utc.strftime("%m/%d/%Y")})
    refused(field, **{field: utc.date().isoformat()})
    refused(field, **{field: utc.timestamp()})
    refused(field, **{field: datetime(1969, 12, 31, tzinfo=timezone.utc).isoformat()})
for field in NAMES:
    taken(**{field: ""})
    taken(**{field: None})
    refused(field, **{field: 7})
    refused(field, **{field: ["x"]})
    refused(field, **{field: "a\udc80"})
    refused(field, **{field: "x" * 300})
for field in ["transaction_id", "source", "destination"]:
    refused(field, **{field: "acc-1 "})
    refused(field, **{field: "acc\u200b-1"})
    refused(field, **{field: "acc-1\r\n"})
    taken(**{field: f"حساب-{field}"})
for field in ["amount", "currency", "reference"]:
    refused(field, **{field: None})
    whole = transaction()
    del whole[field]
    emit("refused", field, json.dumps(whole).encode())
for field in ["currency", "reference"]:
    refused(field, **{field: ""})
for field in ["allow_overdraft", "inflight", "skip_queue", "atomic"]:
    taken(**{field: None})
    refused(field, **{field: "true"})
    refused(field, **{field: 1})
for amount in [0, -0.0, 1e-7, 0.1 + 0.2, 1e16, 1e21, 2**53 + 1, 2**63, -25.50, 10**37, "12.50", str(10**37)]:
    taken(amount=amount)
for amount in [1e308, 10**40, float("nan"), float("inf"), float("-inf"), "1.25E+1", "1,250.00", True, [1]]:
    refused("amount", amount=amount)
taken(meta_data={"card": 2**63 + 1, "ratio": 1e-9, "none": None, "": "", "nested": nested(12)})
taken(meta_data={f"column_{i}": "" for i in range(431)})
taken(meta_data={None: 1, True: 2, 1.5: 3})
taken(meta_data={"text": "a\ud83d", "time": "0001-01-01T00:00:00Z", "date": "31.12.2025"})
refused("meta_data", meta_data={1: "a", "1": "b"})
refused("meta_data", meta_data={f"column_{i}": i for i in range(1100)})
refused("ratio", meta_data={"ratio": float("nan")})
refused("meta_data", meta_data=nested(40))
refused("meta_data", meta_data=json.dumps({"a": 1}))
refused("meta_data", meta_data=[])
taken(description="line\r\nline\t\x1b[31m \u202b\u05d0\u200f", reference="\u05d0\u200f\r\n")
taken(description="\ud83d", reference="\udc00")
taken(description=None, unknown=[1, {"a": None}], channel="web", verdict="approve")
taken(description="")
for spelled, field in [("transactionId", "transaction_id"), ("createdAt", "created_at"), ("metaData", "meta_data"), ("Source", "source")]:
    refused(spelled, **{spelled: "x"})
    emit("refused", "transactionId", json.dumps({**transaction(), "transactionId": "x"}).encode())
emit("refused", "-", json.dumps(transaction()).encode("utf-8-sig"))
emit("refused", "-", json.dumps(transaction()).encode("utf-16"))
emit("refused", "-", json.dumps(transaction()).encode("utf-16-le"))
emit("refused", "-", json.dumps(transaction(description="é"), ensure_ascii=False).encode("latin-1"))
emit("refused", "-", json.dumps(json.dumps(transaction())).encode())
emit("refused", "-", json.dumps([transaction()]).encode())
emit("refused", "-", str(transaction()).encode())
emit("taken", "-", json.dumps(transaction(), indent=2).replace("\n", "\r\n").encode() + b"\r\n")
emit("taken", "-", json.dumps(transaction(reference="日本語"), ensure_ascii=False).encode())
