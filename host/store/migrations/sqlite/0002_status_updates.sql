-- The log of what became of transactions: every change of a status, with a place in the order of acceptance. Bodies are
-- never rewritten, so what a verdict has seen can be told: the changes with lower numbers than its own.
CREATE TABLE status_updates (
    sequence        INTEGER PRIMARY KEY,
    target          INTEGER NOT NULL REFERENCES transactions (sequence),
    -- Null: the transaction had none.
    before          TEXT,
    after           TEXT    NOT NULL,
    event           TEXT    NOT NULL,
    accepted_micros INTEGER NOT NULL,
    CHECK (sequence > target)
) STRICT;
-- The last change of a transaction: an index by target ends in the sequence.
CREATE INDEX status_updates_of ON status_updates (target);
