//! The rows of Blnk as entries for the model, without what clients only claim.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::blnk::truth::{self, Payment};
use crate::real_blnk::server::Blnk;

/// Every entry, with the indicators of its accounts.
const ENTRIES: &str = "
    SELECT t.transaction_id, t.parent_transaction, t.reference, t.status, t.source, t.destination, t.currency,
        t.precise_amount::text AS units, t.precision::text AS precision, t.meta_data,
        (t.precise_amount / t.precision)::float8 AS amount,
        s.indicator AS source_indicator, d.indicator AS destination_indicator
    FROM blnk.transactions t
    LEFT JOIN blnk.balances s ON s.balance_id = t.source
    LEFT JOIN blnk.balances d ON d.balance_id = t.destination";

/// The entries of Blnk, by their ids.
pub(crate) struct Rows(HashMap<String, Value>);

impl Rows {
    pub(crate) fn read(blnk: &Blnk) -> Self {
        let entries = blnk.select(ENTRIES);
        let of_id = entries.into_iter().map(|entry| (text(&entry, "transaction_id").to_owned(), entry));
        Self(of_id.collect())
    }

    /// Returns the payments behind the entries, by the ids that clients received.
    pub(crate) fn payments(&self) -> BTreeMap<String, Payment> {
        let entries: Vec<Value> = self.0.values().map(|entry| self.without_claims(entry)).collect();
        truth::payments(&entries)
    }

    /// Returns the accounts of a payment: source and destination.
    pub(crate) fn accounts(&self, payment: &str) -> [String; 2] {
        let entry = &self.0[payment];
        ["source", "destination"].map(|name| text(entry, name).to_owned())
    }

    /// Returns the number of minor units in one unit of a payment.
    pub(crate) fn precision(&self, payment: &str) -> i128 {
        text(&self.0[payment], "precision").parse().unwrap()
    }

    /// Returns the amount of a payment in minor units.
    pub(crate) fn units(&self, payment: &str) -> i128 {
        text(&self.0[payment], "units").parse().unwrap()
    }

    pub(crate) fn reference(&self, payment: &str) -> &str {
        text(&self.0[payment], "reference")
    }

    /// Returns the reference of the split payment of which this one is a leg. The parent of a leg is no entry.
    pub(crate) fn whole(&self, payment: &str) -> Option<&str> {
        let parent = text(&self.0[payment], "parent_transaction");
        let is_leg = parent.starts_with("txn_") && !self.0.contains_key(parent);
        let numbered = self.reference(payment).trim_end_matches(|digit: char| digit.is_ascii_digit());
        numbered.strip_suffix(['-', '_']).filter(|_| is_leg)
    }

    /// Returns an entry whose reference and metadata say what Blnk's own columns say. Clients choose the reference and the
    /// metadata, but neither the parent nor the lineage balances.
    fn without_claims(&self, entry: &Value) -> Value {
        let mut entry = entry.clone();
        let is_lineage = |name: &str| text(&entry, name).ends_with("_lineage");
        if !(is_lineage("source_indicator") && is_lineage("destination_indicator")) {
            entry["meta_data"].as_object_mut().map(|members| members.remove("_shadow_for"));
        }
        let (mark, reference) = match self.copied(&entry) {
            Some(_) => ("_q", text(&entry, "reference").trim_end_matches("_q")),
            None => ("", text(&entry, "reference")),
        };
        entry["reference"] = match self.refunded(&entry) {
            Some(original) => json!(format!("{original}_refund{mark}")),
            None => json!(format!("{}{mark}", reference.trim_end_matches("_q").trim_end_matches("_refund"))),
        };
        entry
    }

    /// Returns the queued or scheduled entry of which this is a copy.
    fn copied(&self, entry: &Value) -> Option<&Value> {
        let parent = self.0.get(text(entry, "parent_transaction"))?;
        let is_copy = text(entry, "reference") == format!("{}_q", text(parent, "reference"));
        (is_copy && ["QUEUED", "SCHEDULED"].contains(&text(parent, "status"))).then_some(parent)
    }

    /// Returns the entry that this one moves back.
    fn refunded(&self, entry: &Value) -> Option<&str> {
        let first = self.copied(entry).unwrap_or(entry);
        let original = self.0.get(text(first, "parent_transaction"))?;
        let is_back = text(first, "source") == text(original, "destination")
            && text(first, "destination") == text(original, "source")
            && first["units"] == original["units"];
        is_back.then(|| text(original, "transaction_id"))
    }
}

fn text<'e>(entry: &'e Value, name: &str) -> &'e str {
    entry[name].as_str().unwrap_or_default()
}
