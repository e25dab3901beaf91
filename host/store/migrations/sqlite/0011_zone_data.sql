-- Time zone data by the digest of its archive. A version of the rule set that names none was judged by release 2025b.
CREATE TABLE zone_data (
    digest BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    bytes BLOB NOT NULL
) STRICT;
ALTER TABLE rule_sets ADD COLUMN zone_data BLOB REFERENCES zone_data (digest);
