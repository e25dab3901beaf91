-- Transactions that a ledger fed: history, and judged by nobody so far. Their assessment is empty and their rule set
-- version 0. A verdict that one of them gets later stands here: it has its own place in the order of acceptance, what was
-- judged may say more than what was fed, and the transaction keeps the place it has.
CREATE TABLE late_verdicts (
    sequence         INTEGER PRIMARY KEY,
    target           INTEGER NOT NULL UNIQUE REFERENCES transactions (sequence),
    fingerprint      BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    rule_set_version INTEGER NOT NULL,
    body             TEXT    NOT NULL,
    assessment       TEXT    NOT NULL,
    CHECK (sequence > target)
) STRICT;

-- How far each ledger has been read: every row up to here is taken, or has a dead letter.
CREATE TABLE ledger_marks (
    feed         TEXT    PRIMARY KEY,
    -- Where the first reading began. What is older is no business of ours.
    since_micros INTEGER NOT NULL,
    micros       INTEGER NOT NULL,
    -- Null: rows of this very moment may be unread.
    row_id       TEXT
) STRICT, WITHOUT ROWID;

-- Rows of a ledger that could not be taken, each once: the digest is that of the row.
CREATE TABLE ledger_dead_letters (
    number         INTEGER PRIMARY KEY,
    digest         BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    feed           TEXT    NOT NULL,
    transaction_id TEXT    NOT NULL,
    created_at     TEXT    NOT NULL,
    reason         TEXT    NOT NULL,
    detail         TEXT    NOT NULL,
    -- As JSON, cut short.
    row            TEXT    NOT NULL,
    found_micros   INTEGER NOT NULL
) STRICT;
