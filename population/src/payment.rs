//! A payment, as a payment back end would send it.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use crate::Amount;

/// Fields of a payment beyond those that every payment has.
pub type Metadata = Map<String, Value>;

/// A payment of the population.
#[derive(Debug, Clone, PartialEq)]
pub struct Payment {
    /// Unique id, the same for the same seed.
    pub id: String,
    /// The instant it was made.
    pub created_at: DateTime<Utc>,
    /// What is paid.
    pub amount: Amount,
    /// ISO 4217 code.
    pub currency: &'static str,
    /// Account that pays; a card payment names the account behind the card. Nothing for cash.
    pub source: Option<String>,
    /// Account that is paid.
    pub destination: Option<String>,
    /// What payer or back end wrote.
    pub description: String,
    /// Context that the back end attaches: see `context`.
    pub metadata: Metadata,
    /// What the back end makes of it when no rule holds or blocks it.
    pub outcome: Outcome,
    /// Name of the criminal story that it belongs to; `None` for honest payments.
    pub story: Option<String>,
}

/// The status that a payment ends in when nobody stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The money moved.
    Applied,
    /// Issuer or bank declined it: no cover, wrong PIN, expired card.
    Declined,
    /// It failed for a technical reason.
    Failed,
}

impl Outcome {
    /// Returns the word that the ledger uses.
    #[must_use]
    pub fn status(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Declined => "declined",
            Self::Failed => "failed",
        }
    }
}

impl Payment {
    /// Returns the payment as the body of a request with this status, its members in the order of the interface.
    ///
    /// `status` is `pending` for a payment that a verdict is asked for.
    #[must_use]
    pub fn body(&self, status: &str) -> String {
        // The amount is written by hand: a JSON number out of a binary float would not be exact for every currency.
        let mut fields = json!({
            "transaction_id": self.id,
            "currency": self.currency,
            "reference": format!("ref-{}", self.id),
            "description": self.description,
            "status": status,
            "created_at": self.created_at.to_rfc3339_opts(SecondsFormat::Millis, true),
            "meta_data": self.metadata,
        });
        if let Some(fields) = fields.as_object_mut() {
            for (name, account) in [("source", &self.source), ("destination", &self.destination)] {
                if let Some(account) = account {
                    fields.insert(name.to_owned(), json!(account));
                }
            }
        }
        let fields = fields.to_string();
        format!("{{\"amount\":{},{}", self.amount, fields.trim_start_matches('{'))
    }
}
