-- Which meaning of the rule language a version has: the numbers of docs/semantics.md. Every version before this column has the first.
ALTER TABLE rule_sets ADD COLUMN semantics INTEGER NOT NULL DEFAULT 1;
