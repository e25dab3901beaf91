//! The metadata that a payment back end attaches, by the way in which a payment is made.
//!
//! Honest customers and criminals go through the same functions, so that no field tells them apart by being there.

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::{Value, json};

use crate::{Card, Customer, Device, Merchant, Metadata};

/// A session of app or web site.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of its own in the metadata")]
pub struct Session<'a> {
    /// The device at hand.
    pub device: &'a Device,
    /// Its address on the internet.
    pub ip: String,
    /// The country of that address.
    pub ip_country: &'static str,
    /// `residential`, `mobile`, `business`, `hosting`, `vpn`, `proxy` or `tor`.
    pub ip_type: &'static str,
    /// `mobile_app`, `web`, `ussd`, `sms` or `branch`.
    pub channel: &'static str,
    /// Whether a second factor was passed for this payment.
    pub mfa: bool,
    /// Whether the customer told the bank of a journey.
    pub travel_notice: bool,
    /// Minutes since the payee was entered, if it was entered in this app.
    pub payee_added_minutes_ago: Option<u32>,
    /// Whether a program for remote control runs on the device.
    pub remote_access: bool,
    /// Whether the customer is on the telephone meanwhile.
    pub call_in_progress: bool,
}

/// Returns what the bank knows of the customer who pays.
#[must_use]
pub fn customer(payer: &Customer, at: DateTime<Utc>) -> Metadata {
    let mut fields = Metadata::new();
    let day = at.date_naive();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("account_age_days", json!(days_since(payer.opened_on, day)));
    put("kyc_tier", json!(payer.kyc_tier));
    put("customer_age", json!(payer.age));
    put("identity", json!({"document_expires_at": payer.document_expires_on.to_string()}));
    if let Some(limit) = payer.daily_limit {
        put("daily_limit", json!(limit));
    }
    if let Some(changed) = payer.credentials_changed_on.filter(|changed| *changed <= day) {
        // The hour of a change is not part of a customer: noon of that day, or now if that is later.
        let since = at.signed_duration_since(changed.and_hms_opt(12, 0, 0).unwrap_or_default().and_utc());
        put("hours_since_credential_change", json!(since.num_hours().max(0)));
    }
    if let Some(changed) = payer.contact_changed_on.filter(|changed| *changed <= day) {
        put("days_since_contact_change", json!(days_since(changed, day)));
    }
    if let Some(swapped) = payer.sim_swapped_on.filter(|swapped| *swapped <= day) {
        put("days_since_sim_swap", json!(days_since(swapped, day)));
    }
    fields
}

/// Returns the metadata of a transfer that a customer orders in app or web site.
///
/// `destination` is the payee; `receiver` is that payee as a customer of the same bank, whose declared income the bank
/// knows.
#[must_use]
pub fn transfer(
    payer: &Customer,
    session: &Session<'_>,
    destination: &str,
    receiver: Option<&Customer>,
    at: DateTime<Utc>,
) -> Metadata {
    let mut fields = customer(payer, at);
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("type", json!("transfer"));
    put("channel", json!(session.channel));
    put("device_id", json!(session.device.id));
    put("device_kind", json!(session.device.kind));
    put("ip", json!(session.ip));
    put("ip_country", json!(session.ip_country));
    put("ip_type", json!(session.ip_type));
    put("mfa", json!(session.mfa));
    put("pair", json!(format!("{}>{destination}", payer.account)));
    put("saved_beneficiaries", json!(payer.saved_beneficiaries));
    put(
        "session",
        json!({"remote_access": session.remote_access, "call_in_progress": session.call_in_progress}),
    );
    if session.travel_notice {
        put("travel_notice", json!(true));
    }
    if let Some(minutes) = session.payee_added_minutes_ago {
        put("payee_added_minutes_ago", json!(minutes));
    }
    if let Some(receiver) = receiver {
        put("declared_monthly_income", json!(receiver.monthly_income));
    }
    fields
}

/// Returns the metadata of a standing order, a direct debit or another payment without a session.
#[must_use]
pub fn without_session(payer: &Customer, destination: &str, at: DateTime<Utc>) -> Metadata {
    let mut fields = customer(payer, at);
    fields.insert("type".to_owned(), json!("standing_order"));
    fields.insert("channel".to_owned(), json!("batch"));
    fields.insert("pair".to_owned(), json!(format!("{}>{destination}", payer.account)));
    fields
}

/// Returns the metadata of a sale by card in a shop.
#[must_use]
pub fn card_present(payer: &Customer, card: &Card, merchant: &Merchant, at: DateTime<Utc>) -> Metadata {
    let mut fields = customer(payer, at);
    fields.extend(sale(card, merchant, at));
    fields.insert("channel".to_owned(), json!("terminal"));
    fields.insert("card_present".to_owned(), json!(true));
    fields.insert("terminal_country".to_owned(), json!(merchant.country));
    fields
}

/// A sale over the internet.
#[derive(Debug, Clone)]
pub struct Checkout<'a> {
    /// The address on the internet of whoever orders.
    pub ip: String,
    /// The country of that address.
    pub ip_country: &'static str,
    /// Kind of address, as in [`Session`].
    pub ip_type: &'static str,
    /// The device, if the shop recognises one.
    pub device: Option<&'a Device>,
    /// Email address in the order, in lower case.
    pub email: String,
    /// `passed`, `failed` or `none`.
    pub three_ds: &'static str,
    /// Score of the acquirer for this order, 0 to 100.
    pub risk_score: u8,
    /// Whether the customer told the bank of a journey.
    pub travel_notice: bool,
    /// What is bought: `clothing`, `books`, `electronics`, `gift_card`, `jewellery`, `phone`, `groceries`, `digital` …
    pub goods: &'static str,
    /// Country of the bill.
    pub billing_country: &'static str,
    /// Country that the goods go to; nothing for services and downloads.
    pub shipping_country: Option<&'static str>,
}

/// Returns the metadata of a sale by card over the internet. `payer` is the holder of the card, where the bank that
/// asks knows them; the acquirer of a foreign card does not.
#[must_use]
pub fn card_online(
    payer: Option<&Customer>,
    card: &Card,
    merchant: &Merchant,
    checkout: &Checkout<'_>,
    at: DateTime<Utc>,
) -> Metadata {
    let mut fields = payer.map(|payer| customer(payer, at)).unwrap_or_default();
    fields.extend(sale(card, merchant, at));
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("channel", json!("ecommerce"));
    put("card_present", json!(false));
    put("ip", json!(checkout.ip));
    put("ip_country", json!(checkout.ip_country));
    put("ip_type", json!(checkout.ip_type));
    put("email", json!(checkout.email));
    put("three_ds", json!(checkout.three_ds));
    put("risk_score", json!(checkout.risk_score));
    if let Some(device) = checkout.device {
        put("device_id", json!(device.id));
        put("device_kind", json!(device.kind));
    }
    if checkout.travel_notice {
        put("travel_notice", json!(true));
    }
    let mut order = json!({"goods": checkout.goods, "billing_country": checkout.billing_country});
    if let (Some(order), Some(country)) = (order.as_object_mut(), checkout.shipping_country) {
        order.insert("shipping_country".to_owned(), json!(country));
    }
    put("order", order);
    fields
}

/// Returns the metadata of a refund to a card, of a chargeback (`kind` is `refund` or `chargeback`).
#[must_use]
pub fn reversal(kind: &'static str, card: &Card, merchant: &Merchant, at: DateTime<Utc>) -> Metadata {
    let mut fields = sale(card, merchant, at);
    fields.insert("type".to_owned(), json!(kind));
    fields
}

/// Returns the metadata of a payout to a merchant.
#[must_use]
pub fn payout(merchant: &Merchant, at: DateTime<Utc>) -> Metadata {
    let mut fields = Metadata::new();
    fields.insert("type".to_owned(), json!("payout"));
    fields.extend(of_merchant(merchant, at));
    fields
}

/// Returns the metadata of cash that is paid into a customer's account at a branch.
#[must_use]
pub fn cash_deposit(receiver: &Customer, branch: &str, declared_monthly_cash: Option<f64>) -> Metadata {
    let mut fields = Metadata::new();
    fields.insert("type".to_owned(), json!("cash_deposit"));
    fields.insert("channel".to_owned(), json!("branch"));
    fields.insert("branch_id".to_owned(), json!(branch));
    fields.insert("kyc_tier".to_owned(), json!(receiver.kyc_tier));
    if let Some(cash) = declared_monthly_cash {
        fields.insert("declared_monthly_cash".to_owned(), json!(cash));
    }
    fields
}

/// Replaces the noon that [`customer`] assumes by the instant at which the credentials were changed.
pub fn credentials_changed(fields: &mut Metadata, changed: DateTime<Utc>, at: DateTime<Utc>) {
    let hours = at.signed_duration_since(changed).num_hours().max(0);
    fields.insert("hours_since_credential_change".to_owned(), json!(hours));
}

/// Returns the metadata of a payment to or from a wallet of crypto assets; add it to what [`transfer`] returns.
///
/// `funding_wallet` is the wallet that filled it, if the service that traces chains knows one.
#[must_use]
pub fn crypto(wallet: &str, funding_wallet: Option<&str>) -> Metadata {
    let mut fields = Metadata::new();
    fields.insert("type".to_owned(), json!("crypto"));
    fields.insert("wallet".to_owned(), json!(wallet));
    if let Some(funding) = funding_wallet {
        fields.insert("funding_wallet".to_owned(), json!(funding));
    }
    fields
}

/// Returns the metadata of a payment that arrives from another bank (`kind` is `transfer`, `salary`, `pension` …).
#[must_use]
pub fn incoming(kind: &'static str, source: &str, receiver: &Customer) -> Metadata {
    let mut fields = Metadata::new();
    fields.insert("type".to_owned(), json!(kind));
    fields.insert("channel".to_owned(), json!("batch"));
    fields.insert("pair".to_owned(), json!(format!("{source}>{}", receiver.account)));
    fields.insert("declared_monthly_income".to_owned(), json!(receiver.monthly_income));
    fields
}

/// A payment to or from a bank abroad.
#[derive(Debug, Clone)]
pub struct Wire<'a> {
    /// The name of who pays, as the message of the bank has it.
    pub originator_name: &'a str,
    /// Country of who pays.
    pub originator_country: &'static str,
    /// Country of the other party.
    pub counterparty_country: &'static str,
    /// Bank identifier, ISO 9362.
    pub bank_identifier: &'a str,
    /// Whether compliance did its enhanced checks on this business before.
    pub enhanced_checks_done: bool,
}

/// Returns the metadata of a wire; add it to what [`transfer`] or [`customer`] returns.
#[must_use]
pub fn wire(wire: &Wire<'_>) -> Metadata {
    let mut fields = Metadata::new();
    fields.insert("type".to_owned(), json!("wire"));
    fields.insert("originator_name".to_owned(), json!(wire.originator_name));
    fields.insert("originator_country".to_owned(), json!(wire.originator_country));
    fields.insert("counterparty_country".to_owned(), json!(wire.counterparty_country));
    fields.insert("bank_identifier".to_owned(), json!(wire.bank_identifier));
    if wire.enhanced_checks_done {
        fields.insert("enhanced_checks_done".to_owned(), json!(true));
    }
    fields
}

fn sale(card: &Card, merchant: &Merchant, at: DateTime<Utc>) -> Metadata {
    let mut fields = of_merchant(merchant, at);
    fields.insert("type".to_owned(), json!("sale"));
    fields.insert("card_fingerprint".to_owned(), json!(card.fingerprint));
    fields.insert("bin".to_owned(), json!(card.bin));
    fields.insert("card_country".to_owned(), json!(card.country));
    fields
}

fn of_merchant(merchant: &Merchant, at: DateTime<Utc>) -> Metadata {
    let mut fields = Metadata::new();
    fields.insert("merchant_id".to_owned(), json!(merchant.id));
    fields.insert("mcc".to_owned(), json!(merchant.mcc));
    fields.insert("merchant_age_days".to_owned(), json!(days_since(merchant.boarded_on, at.date_naive())));
    fields.insert("declared_average_ticket".to_owned(), json!(merchant.declared_average_ticket));
    fields
}

fn days_since(earlier: NaiveDate, day: NaiveDate) -> i64 {
    day.signed_duration_since(earlier).num_days()
}
