-- Why every new payment is held for review under a version, as JSON; null where it is not.
ALTER TABLE rule_sets ADD COLUMN holds TEXT;
