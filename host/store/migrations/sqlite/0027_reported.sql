-- 1: a ledger reported the transaction before anybody asked for a verdict. Null: it was sent with the request for one, or an earlier
-- version of the service stored it.
ALTER TABLE transactions ADD COLUMN is_reported INTEGER;
