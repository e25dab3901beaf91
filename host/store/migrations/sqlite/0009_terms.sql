-- What a verdict depends on besides modules and lists: on what terms a module is run, as JSON, and which version of the service
-- runs it. Null: an earlier version of the service did not note it.
ALTER TABLE rule_set_members ADD COLUMN terms TEXT;
ALTER TABLE rule_sets ADD COLUMN service TEXT;
