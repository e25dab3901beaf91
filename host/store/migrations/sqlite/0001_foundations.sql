-- "TOLG": marks the file as this service's own.
PRAGMA application_id = 1414483015;

-- The log: every accepted transaction with the assessment it got. The index by id is the only one beside the order of
-- arrival, because every index in another order is paid for at each commit.
CREATE TABLE transactions (
    sequence         INTEGER PRIMARY KEY,
    transaction_id   TEXT    NOT NULL UNIQUE,
    fingerprint      BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    event_micros     INTEGER NOT NULL,
    accepted_micros  INTEGER NOT NULL,
    rule_set_version INTEGER NOT NULL,
    body             TEXT    NOT NULL,
    assessment       TEXT    NOT NULL
) STRICT;

-- Every version of the rule set that was ever in force.
CREATE TABLE rule_sets (
    version    INTEGER PRIMARY KEY,
    created_at TEXT    NOT NULL
) STRICT;

-- Modules by the SHA-256 of their bytes. Never deleted: an assessment may be derived again from them.
CREATE TABLE modules (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    bytes  BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Instructions as they are now, or were when they were removed.
CREATE TABLE instructions (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,
    script        TEXT NOT NULL,
    source        TEXT NOT NULL,
    module_digest BLOB NOT NULL REFERENCES modules (digest),
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    -- The version that did without it; null while it is in force.
    removed_in    INTEGER REFERENCES rule_sets (version)
) STRICT;
CREATE UNIQUE INDEX instructions_in_force ON instructions (name) WHERE removed_in IS NULL;

-- Which module stood for which instruction, from one version up to, not including, another (null: to this day). So a
-- version that changes one rule of a thousand adds one row.
CREATE TABLE rule_set_members (
    instruction_id INTEGER NOT NULL REFERENCES instructions (id),
    since_version  INTEGER NOT NULL REFERENCES rule_sets (version),
    until_version  INTEGER REFERENCES rule_sets (version),
    module_digest  BLOB    NOT NULL REFERENCES modules (digest),
    PRIMARY KEY (instruction_id, since_version)
) STRICT, WITHOUT ROWID;

-- Entries of named lists by the SHA-256 of their text. Never deleted, as modules.
CREATE TABLE lists (
    digest  BLOB PRIMARY KEY CHECK (length(digest) = 32),
    entries TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Which entries stood behind which name, in the manner of rule_set_members.
CREATE TABLE rule_set_lists (
    name          TEXT    NOT NULL,
    since_version INTEGER NOT NULL REFERENCES rule_sets (version),
    until_version INTEGER REFERENCES rule_sets (version),
    list_digest   BLOB    NOT NULL REFERENCES lists (digest),
    PRIMARY KEY (name, since_version)
) STRICT, WITHOUT ROWID;
