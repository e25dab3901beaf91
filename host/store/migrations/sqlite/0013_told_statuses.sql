-- What a ledger told of the status of a transaction, where it told when it changed the payment. Of a transaction that is not here, its last
-- status update or else its record says all.
CREATE TABLE told_statuses (
    target  INTEGER PRIMARY KEY REFERENCES transactions (sequence),
    -- The latest change: microseconds since 1970 UTC, or a version of the ledger's row.
    changed INTEGER NOT NULL,
    status  TEXT    NOT NULL,
    -- The furthest status that was told without a change. Null: none.
    undated TEXT
) STRICT;
