-- The Git commit whose rules a version holds, in hexadecimal digits; null while there is none.
ALTER TABLE rule_sets ADD COLUMN git_commit TEXT;

-- Where a list comes from, as instructions have it. Before this, every list came from a file of the rules directory.
ALTER TABLE rule_set_lists ADD COLUMN source TEXT NOT NULL DEFAULT '{"kind":"api"}';
UPDATE rule_set_lists SET source = json_object('kind', 'file', 'path', 'lists/' || name || '.txt');
