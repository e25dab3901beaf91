-- What a ledger told of a status together with when it changed the payment. A transaction that is not here has the status of its last
-- update, and what its own record says.
CREATE TABLE told_statuses (
    target  INTEGER PRIMARY KEY REFERENCES transactions (sequence),
    -- The latest change: microseconds since 1970 UTC, or a version of the ledger's row.
    changed INTEGER NOT NULL,
    status  TEXT    NOT NULL,
    -- The furthest status that was told without a change. Null: none.
    undated TEXT
) STRICT;
