-- Scripts by the SHA-256 of their text. Never deleted, as modules: whoever asks why a payment was stopped reads the rule as it was.
CREATE TABLE scripts (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The script of a member. Null: a member without one, or one that an earlier version of the service stored.
ALTER TABLE rule_set_members ADD COLUMN script_digest BLOB REFERENCES scripts (digest);
