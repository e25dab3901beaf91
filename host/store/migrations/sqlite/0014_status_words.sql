-- Tables of status words, by the digest of their text: a line for each word, with its stage. A version of the rule set that names none was
-- made before rules could ask for the stage of a status.
CREATE TABLE status_words (
    digest BLOB PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
ALTER TABLE rule_sets ADD COLUMN status_words BLOB REFERENCES status_words (digest);

-- Statuses that a ledger reported and that did not stand: one row for each different word of a transaction.
CREATE TABLE statuses_without_effect (
    target          INTEGER NOT NULL REFERENCES transactions (sequence),
    status          TEXT    NOT NULL COLLATE NOCASE,
    event           TEXT    NOT NULL,
    accepted_micros INTEGER NOT NULL,
    PRIMARY KEY (target, status)
) STRICT, WITHOUT ROWID;
