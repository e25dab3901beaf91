-- Whether an entry of a payment is known is asked for payments whose id is a reference. Where the first entry names a payment, most
-- entries have its id and need no index.
CREATE INDEX ledger_entries_of_payment ON ledger_entries (transaction_id) WHERE entry <> transaction_id;
