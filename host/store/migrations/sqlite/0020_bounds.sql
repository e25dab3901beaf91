-- The size of all dead letters of ledgers, which is bounded. Kept as a sum, because a sum over large rows takes long.
CREATE TABLE ledger_dead_letter_bytes (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    n_bytes INTEGER NOT NULL
) STRICT;
INSERT INTO ledger_dead_letter_bytes (one, n_bytes)
SELECT 1, coalesce(sum(length(CAST(row AS BLOB)) + length(CAST(detail AS BLOB))), 0) FROM ledger_dead_letters;

-- Entries of a list may be stored as the difference to another version, which is whole. Null: these are whole.
ALTER TABLE lists ADD COLUMN base BLOB REFERENCES lists (digest);
CREATE INDEX lists_by_base ON lists (base) WHERE base IS NOT NULL;

-- `new`, `judged`, or `removed` for a version that judged nothing and whose lists are gone. Null: an earlier version of the service did
-- not note it.
ALTER TABLE rule_sets ADD COLUMN use TEXT;
