-- An instruction whose author wrote a module has no script. SQLite takes NOT NULL from no column, so the column is made anew;
-- the table stays in its place, because others refer to it.
ALTER TABLE instructions ADD COLUMN written TEXT;
UPDATE instructions SET written = script;
ALTER TABLE instructions DROP COLUMN script;
ALTER TABLE instructions RENAME COLUMN written TO script;
