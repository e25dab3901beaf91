-- The number of the last dead letter of a ledger. A dead letter can be deleted by its number, so no number is given twice.
ALTER TABLE ledger_dead_letter_bytes ADD COLUMN last_number INTEGER NOT NULL DEFAULT 0;
UPDATE ledger_dead_letter_bytes SET last_number = (SELECT coalesce(max(number), 0) FROM ledger_dead_letters);
