-- The amount of a transaction before and after a status update, as JSON numbers: for each update with which the amount changed, and for each
-- later update of that transaction. Of an update that is not here, the amount is that of the record.
CREATE TABLE amount_updates (
    -- That of the status update.
    sequence INTEGER PRIMARY KEY,
    before   TEXT    NOT NULL,
    after    TEXT    NOT NULL
) STRICT;
