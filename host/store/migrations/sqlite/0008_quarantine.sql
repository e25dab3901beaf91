-- Why a rule is not run while it is a member, as JSON: which rules were run is part of a version, because verdicts depend on it.
ALTER TABLE rule_set_members ADD COLUMN quarantine TEXT;
