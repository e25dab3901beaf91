-- Alerts that webhooks have yet to take, each written in the commit of the verdict it tells of. Removed when delivered; one
-- for which every attempt failed stays as a dead letter.
CREATE TABLE alerts (
    -- That of the transaction.
    sequence       INTEGER PRIMARY KEY,
    -- The same at every attempt.
    id             TEXT    NOT NULL,
    transaction_id TEXT    NOT NULL,
    payload        TEXT    NOT NULL,
    created_micros INTEGER NOT NULL,
    attempts       INTEGER NOT NULL,
    -- When the next attempt is due; null: there will be none.
    due_micros     INTEGER,
    -- Why the last attempt failed.
    error          TEXT,
    -- When it became a dead letter.
    dead_micros    INTEGER,
    CHECK ((due_micros IS NULL) = (dead_micros IS NOT NULL))
) STRICT;
CREATE INDEX alerts_due ON alerts (due_micros) WHERE due_micros IS NOT NULL;
CREATE INDEX alerts_dead ON alerts (id) WHERE dead_micros IS NOT NULL;
