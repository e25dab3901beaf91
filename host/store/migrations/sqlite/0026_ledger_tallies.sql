-- Sums that bound which entries of a ledger count as parts of a payment, as decimal numbers.
CREATE TABLE ledger_tallies (
    -- What is added up, and of which payment or entry.
    kind    TEXT NOT NULL,
    id      TEXT NOT NULL,
    -- The bound, or the amount of the entry, and how much of it was used.
    held    TEXT NOT NULL,
    settled TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
