-- Which kind of ledger tells of payments here, and how payments are named: written with the first thing it told.
CREATE TABLE ledger_kind (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    kind     TEXT NOT NULL,
    identity TEXT NOT NULL
) STRICT;

-- Entries of a ledger that keeps several for one payment, each with its payment. An entry that is not here was not told yet, or
-- waits for its parent.
CREATE TABLE ledger_entries (
    entry          TEXT PRIMARY KEY,
    transaction_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Payments of such a ledger that moved: what was only queued is not here.
CREATE TABLE ledger_payments (
    transaction_id TEXT PRIMARY KEY,
    -- Of a hold: how much it is, and how much of that was committed or released, as decimal numbers. Null: no hold.
    held           TEXT,
    settled        TEXT,
    CHECK ((held IS NULL) = (settled IS NULL))
) STRICT, WITHOUT ROWID;

-- Entries whose parent was not told yet, or did not move.
CREATE TABLE ledger_waiting (
    entry        TEXT PRIMARY KEY,
    parent       TEXT    NOT NULL,
    -- What the ledger called the news, and what it told, as JSON.
    event        TEXT    NOT NULL,
    told         TEXT    NOT NULL,
    heard_micros INTEGER NOT NULL,
    -- 1: it waited too long and was taken as a payment of its own. It is joined all the same when the parent is told.
    is_taken     INTEGER NOT NULL CHECK (is_taken IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_waiting_for ON ledger_waiting (parent);
CREATE INDEX ledger_waiting_since ON ledger_waiting (heard_micros) WHERE is_taken = 0;

-- What was told last of a transaction that was stored with other words: all that does not say what is moved may differ.
CREATE TABLE later_descriptions (
    transaction_id TEXT PRIMARY KEY,
    body           TEXT NOT NULL
) STRICT, WITHOUT ROWID;
