"""What the interface asks of a body and JSON Schema cannot say.

Cases that a schema allows and that break it are left out; cases that no schema allows are all sent.
"""

import json
from datetime import datetime

import schemathesis
from schemathesis import GenerationMode

TIMES = {"created_at", "effective_date", "scheduled_for", "inflight_expiry_date"}
BYTES_MAX = {"description": 4096}
ID_BYTES_MAX = 255


@schemathesis.hook
def filter_case(context, case):
    is_allowed = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    return can_be_taken(case.body) if is_allowed else not has_ignored_key(case)


def has_ignored_key(case):
    """Beside an id in the body, nobody looks at the key."""
    names = {name.lower() for name in case.headers or {}}
    return "idempotency-key" in names and isinstance(case.body, dict) and bool(case.body.get("transaction_id"))


def can_be_taken(value, name=None):
    """Numbers of at most 38 digits, no NUL, times that exist, texts by their bytes."""
    if isinstance(value, dict):
        return all("\0" not in key and can_be_taken(entry, key) for key, entry in value.items())
    if isinstance(value, list):
        return all(can_be_taken(entry) for entry in value)
    if isinstance(value, str):
        return "\0" not in value and (is_time(value) if name in TIMES else is_short(value, name))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value == 0 or 1e-15 < abs(value) < 1e18
    return True


def is_short(text, name):
    return len(text.encode("utf-8", "surrogatepass")) <= BYTES_MAX.get(name, ID_BYTES_MAX)


def is_time(text):
    try:
        return 1971 <= datetime.fromisoformat(text).year <= 9998
    except ValueError:
        return False


@schemathesis.serializer("application/wasm")
def module(context, value):
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"
