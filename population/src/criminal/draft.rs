//! Payments before they have an id.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::context::{self, Checkout, Session, Wire};
use crate::{Amount, Card, Customer, Device, Merchant, Metadata, Outcome, Payment};

/// A payment before it has an id.
pub(super) struct Draft {
    at: DateTime<Utc>,
    value: f64,
    currency: &'static str,
    source: Option<String>,
    destination: Option<String>,
    description: String,
    metadata: Metadata,
    outcome: Outcome,
}

impl Draft {
    pub(super) fn payment(self, id: String, story: Option<String>) -> Payment {
        Payment {
            id,
            created_at: self.at,
            amount: Amount::of(self.value, self.currency),
            currency: self.currency,
            source: self.source,
            destination: self.destination,
            description: self.description,
            metadata: self.metadata,
            outcome: self.outcome,
            story,
        }
    }

    /// Returns the payment as one that the issuer declines, if `declined`.
    pub(super) fn declined_if(mut self, declined: bool) -> Self {
        if declined {
            self.outcome = Outcome::Declined;
        }
        self
    }

    /// Returns the payment with a field of the metadata set.
    pub(super) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(field.to_owned(), value.into());
        self
    }

    /// Returns the order with the device that the shop recognises.
    pub(super) fn on(self, device: &Device) -> Self {
        self.with("device_id", device.id.as_str()).with("device_kind", device.kind)
    }

    /// Returns the payment with the instant known at which the credentials were changed.
    pub(super) fn credentials_changed(mut self, at: DateTime<Utc>) -> Self {
        context::credentials_changed(&mut self.metadata, at, self.at);
        self
    }

    fn new(at: DateTime<Utc>, value: f64, currency: &'static str, metadata: Metadata) -> Self {
        let (source, destination) = (None, None);
        let description = String::new();
        Self { at, value, currency, source, destination, description, metadata, outcome: Outcome::Applied }
    }

    fn between(self, source: Option<&str>, destination: &str, text: &str) -> Self {
        Self {
            source: source.map(str::to_owned),
            destination: Some(destination.to_owned()),
            description: text.to_owned(),
            ..self
        }
    }
}

/// The payee: an account, and its holder if that is a customer of the bank.
#[derive(Clone, Copy)]
pub(super) struct Payee<'a> {
    account: &'a str,
    customer: Option<&'a Customer>,
}

impl<'a> From<&'a String> for Payee<'a> {
    fn from(account: &'a String) -> Self {
        Self { account, customer: None }
    }
}

impl<'a> From<&'a str> for Payee<'a> {
    fn from(account: &'a str) -> Self {
        Self { account, customer: None }
    }
}

impl<'a> From<&'a Customer> for Payee<'a> {
    fn from(customer: &'a Customer) -> Self {
        Self { account: &customer.account, customer: Some(customer) }
    }
}

/// Returns a transfer in the currency of the payer.
pub(super) fn transfer<'a>(
    payer: &Customer,
    session: &Session<'_>,
    to: impl Into<Payee<'a>>,
    at: DateTime<Utc>,
    value: f64,
    text: &str,
) -> Draft {
    let to = to.into();
    let metadata = context::transfer(payer, session, to.account, to.customer, at);
    Draft::new(at, value, payer.currency, metadata).between(Some(&payer.account), to.account, text)
}

/// Returns a transfer to a bank abroad.
pub(super) fn wire(
    payer: &Customer,
    session: &Session<'_>,
    wire: &Wire<'_>,
    to: &str,
    at: DateTime<Utc>,
    value: f64,
) -> Draft {
    let mut draft = transfer(payer, session, to, at, value, "invoice");
    draft.metadata.extend(context::wire(wire));
    draft
}

/// Returns a transfer that arrives from a bank abroad.
pub(super) fn wire_in(
    wire: &Wire<'_>,
    from: &str,
    to: &Customer,
    at: DateTime<Utc>,
    value: f64,
    text: &str,
) -> Draft {
    let mut draft = incoming("wire", from, to, at, value, text);
    draft.metadata.extend(context::wire(wire));
    draft
}

/// Returns a transfer to a wallet of crypto assets; the second wallet is the one that filled it, if known.
pub(super) fn crypto(
    payer: &Customer,
    session: &Session<'_>,
    to: &str,
    wallets: (&str, Option<&str>),
    at: DateTime<Utc>,
    value: f64,
) -> Draft {
    let mut draft = transfer(payer, session, to, at, value, "crypto");
    draft.metadata.extend(context::crypto(wallets.0, wallets.1));
    draft
}

/// Returns a payment that arrives from another bank (`kind` is `transfer` or `salary`).
pub(super) fn incoming(
    kind: &'static str,
    from: &str,
    to: &Customer,
    at: DateTime<Utc>,
    value: f64,
    text: &str,
) -> Draft {
    let metadata = context::incoming(kind, from, to);
    Draft::new(at, value, to.currency, metadata).between(Some(from), &to.account, text)
}

/// Returns a payment out of a wallet of crypto assets, which arrives in money.
pub(super) fn crypto_in(
    wallets: (&str, Option<&str>),
    from: &str,
    to: &Customer,
    at: DateTime<Utc>,
    value: f64,
) -> Draft {
    let mut draft = incoming("crypto", from, to, at, value, "crypto sold");
    draft.metadata.extend(context::crypto(wallets.0, wallets.1));
    draft
}

/// Returns cash paid in at a branch.
pub(super) fn cash(
    receiver: &Customer,
    branch: &str,
    declared_monthly_cash: Option<f64>,
    at: DateTime<Utc>,
    value: f64,
) -> Draft {
    let metadata = context::cash_deposit(receiver, branch, declared_monthly_cash);
    Draft::new(at, value, receiver.currency, metadata).between(None, &receiver.account, "cash deposit")
}

/// Returns a sale by card in a shop.
pub(super) fn sale_in_shop(
    holder: &Customer,
    card: &Card,
    merchant: &Merchant,
    at: DateTime<Utc>,
    value: f64,
) -> Draft {
    let metadata = context::card_present(holder, card, merchant, at);
    Draft::new(at, value, merchant.currency, metadata).between(
        Some(&holder.account),
        &merchant.settlement_account,
        wording(merchant),
    )
}

/// A card and the account behind it; the holder if the bank that asks knows them.
#[derive(Clone)]
pub(super) struct Payer<'a> {
    pub(super) holder: Option<&'a Customer>,
    pub(super) account: String,
    pub(super) card: Card,
}

/// Returns a sale by card over the internet.
pub(super) fn sale_online(
    payer: &Payer<'_>,
    merchant: &Merchant,
    checkout: &Checkout<'_>,
    at: DateTime<Utc>,
    value: f64,
) -> Draft {
    let metadata = context::card_online(payer.holder, &payer.card, merchant, checkout, at);
    Draft::new(at, value, merchant.currency, metadata).between(
        Some(&payer.account),
        &merchant.settlement_account,
        wording(merchant),
    )
}

/// Returns a refund or a chargeback.
pub(super) fn reversal(
    kind: &'static str,
    payer: &Payer<'_>,
    merchant: &Merchant,
    at: DateTime<Utc>,
    value: f64,
) -> Draft {
    let metadata = context::reversal(kind, &payer.card, merchant, at);
    Draft::new(at, value, merchant.currency, metadata).between(
        Some(&merchant.settlement_account),
        &payer.account,
        kind,
    )
}

/// Returns a payout to a merchant.
pub(super) fn payout(merchant: &Merchant, at: DateTime<Utc>, value: f64) -> Draft {
    let metadata = context::payout(merchant, at);
    Draft::new(at, value, merchant.currency, metadata).between(
        Some(&merchant.settlement_account),
        &merchant.account,
        "payout",
    )
}

/// Returns what a sale says, by the merchant category code.
fn wording(merchant: &Merchant) -> &'static str {
    match merchant.mcc {
        "5411" => "groceries",
        "5812" => "restaurant",
        "5814" => "lunch",
        "5651" | "5691" => "clothing",
        "5732" => "electronics",
        "5944" => "jeweller",
        "5942" => "books",
        "5816" => "game",
        "5815" => "subscription",
        "5947" => "gift card",
        "5992" => "flowers",
        "8398" => "donation",
        _ => "online order",
    }
}
