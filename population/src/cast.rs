//! The people, shops and companies that pay and are paid.

use chrono::NaiveDate;

/// Everybody of a population.
#[derive(Debug, Clone, Default)]
pub struct Cast {
    /// Private customers of the bank.
    pub customers: Vec<Customer>,
    /// Shops and other acceptors of cards.
    pub merchants: Vec<Merchant>,
    /// Accounts that pay salaries.
    pub employers: Vec<String>,
}

/// A private customer and an account.
#[derive(Debug, Clone)]
pub struct Customer {
    /// The account, as `source` or `destination`.
    pub account: String,
    /// ISO 3166-1 alpha-2 code of the country of residence.
    pub country: &'static str,
    /// ISO 4217 code of the account.
    pub currency: &'static str,
    /// Age of the person in years.
    pub age: u32,
    /// The day on which the account was opened; it may lie within the days of the population.
    pub opened_on: NaiveDate,
    /// Level of identification: 1 (phone number only), 2 (document seen), 3 (address and income proven).
    pub kyc_tier: u8,
    /// Income a month, in the currency of the account.
    pub monthly_income: f64,
    /// A limit a day that customer or bank has set, in the currency of the account.
    pub daily_limit: Option<f64>,
    /// Email address in lower case.
    pub email: String,
    /// Cards of the account.
    pub cards: Vec<Card>,
    /// Telephones, tablets, computers that the app or the web site is used from; some belong to a whole family.
    pub devices: Vec<Device>,
    /// The address that the home network has on the internet.
    pub home_ip: String,
    /// The day on which password, email or phone was changed last.
    pub credentials_changed_on: Option<NaiveDate>,
    /// The day on which the postal address or the like was changed last.
    pub contact_changed_on: Option<NaiveDate>,
    /// The day on which the SIM card was replaced last.
    pub sim_swapped_on: Option<NaiveDate>,
    /// Day on which the identity document expires.
    pub document_expires_on: NaiveDate,
    /// Payees that the customer saved and confirmed.
    pub saved_beneficiaries: Vec<String>,
}

/// A payment card.
#[derive(Debug, Clone)]
pub struct Card {
    /// Stable token of the card number.
    pub fingerprint: String,
    /// First six digits: issuer and range.
    pub bin: String,
    /// Country of the issuer.
    pub country: &'static str,
}

/// A device that a customer pays from.
#[derive(Debug, Clone)]
pub struct Device {
    /// Identifier that the app or the browser fingerprint gives.
    pub id: String,
    /// `phone`, `tablet`, `browser`, or `agent_terminal` (the device of an agent who pays for walk-in customers).
    pub kind: &'static str,
}

/// A shop, a service, a platform: a business that takes cards.
#[derive(Debug, Clone)]
pub struct Merchant {
    /// Identifier at the acquirer.
    pub id: String,
    /// The settlement account of its acquirer: the `destination` of card payments.
    pub settlement_account: String,
    /// The merchant's own account, which payouts go to.
    pub account: String,
    /// Merchant category code, ISO 18245.
    pub mcc: &'static str,
    /// Country of the shop.
    pub country: &'static str,
    /// Currency that it sells in.
    pub currency: &'static str,
    /// Average sale that it declared when it was taken on.
    pub declared_average_ticket: f64,
    /// The day on which the acquirer took it on.
    pub boarded_on: NaiveDate,
}
