//! Prepared requests: writing one costs the generator a copy and a few digits.

use std::sync::atomic::{AtomicU64, Ordering};

use chrono::DateTime;
use fastrand::Rng;
use serde_json::{Value as Json, json};

use super::{COUNTRIES, CURRENCIES, N_ACCOUNTS, PHRASES, RARE_COUNTRIES, SEED, STATUSES, WORDS, pick};
use crate::wire;

/// Distinct bodies, apart from transaction IDs, source accounts and times.
const N_BODIES: usize = 4_096;
/// Placeholders for the digits of a transaction ID and of a source account, and for a time.
const ID: &str = "iiiiiiiiiiii";
const SOURCE: &str = "ssssss";
const TIME: &str = "tttttttttttttttttttt";
const AMOUNT_MAX: f64 = 250_000.0;
/// Placeholders for the digits of a customer and of the customer who is paid.
const CUSTOMER: &str = "cccccccc";
const PAYEE: &str = "pppppppp";
/// Placeholders for the digits of a merchant, of the bank that issued a card, and for an address.
const MERCHANT: &str = "mmmmm";
const ISSUER: &str = "qqq";
const ADDRESS: &str = "10.1aa.1aa.1aa";
/// Merchants, drawn as customers are; the n-th has a share of the card payments that is proportional to 1/n (Zipf's law).
const MERCHANTS: Customers = Customers { n_customers: 50_000, is_zipf: true };
const N_ISSUERS: u64 = 500;
/// Number of addresses. A customer sends half of the payments from its own, which others may share, and half from any.
const N_ADDRESSES: u64 = 1_000_000;
/// Upper bound of the amounts of suspicious transactions, which are evenly distributed.
const SUSPICIOUS_AMOUNT_MAX: f64 = 25_000.0;
/// Creation time of the first reported transaction, in seconds since 1970 UTC.
const REPORTED_FROM: u64 = 1_790_000_000;
/// The statuses that a ledger reports of each transaction.
const REPORTED: [&str; 2] = ["pending", "applied"];

/// The kind of transactions in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionKind {
    /// Few match a rule, as in production.
    Usual,
    /// High amounts, with the countries and words that rules look for: most match many rules.
    Suspicious,
    /// `Usual` transactions reported by a ledger: a pending and an applied event of each.
    Reported,
    /// Transfers between customers, and in two of five cases their card payments to merchants, with the metadata that the shipped
    /// rules read: a device, an address, a card, a merchant.
    OfCustomers(Customers),
}

/// The customers of [`TransactionKind::OfCustomers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Customers {
    /// Their number, at most 100,000,000.
    pub n_customers: u32,
    /// Whether the n-th customer pays a share that is proportional to 1/n (Zipf's law). Otherwise all pay equally often.
    pub is_zipf: bool,
}

impl Customers {
    /// Draws a customer from a random number.
    fn draw(self, random: u64) -> u64 {
        if !self.is_zipf {
            return random % u64::from(self.n_customers.max(1));
        }
        #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
        let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
        // The rank whose logarithm is uniform.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and the number of customers"
        )]
        let rank = f64::from(self.n_customers.max(1)).powf(share) as u64;
        rank.saturating_sub(1)
    }
}

/// Requests as bytes, each with its own transaction ID and source account.
#[derive(Debug)]
pub struct Requests {
    kind: TransactionKind,
    prepared: Vec<PreparedRequest>,
    next: AtomicU64,
}

#[derive(Debug)]
struct PreparedRequest {
    bytes: Vec<u8>,
    id_at: usize,
    source_at: Option<usize>,
    customer_at: Vec<usize>,
    payee_at: Option<usize>,
    merchant_at: Vec<usize>,
    issuer_at: Option<usize>,
    address_at: Option<usize>,
    time_at: Option<usize>,
}

impl Requests {
    /// Prepares requests for this host; transaction IDs are unique to the run.
    #[must_use]
    pub fn to(host: &str, kind: TransactionKind) -> Self {
        let mut random = Rng::with_seed(SEED + 1);
        let run = fastrand::u32(..);
        let bodies = (0..N_BODIES).map(|_| body(&mut random, run, kind));
        let prepared = match kind {
            TransactionKind::Usual | TransactionKind::Suspicious | TransactionKind::OfCustomers(_) => {
                bodies.filter_map(|body| PreparedRequest::new(host, "/inject", &body.to_string())).collect()
            }
            TransactionKind::Reported => bodies
                .flat_map(|body| REPORTED.map(|status| event(&body, status)))
                .filter_map(|event| PreparedRequest::new(host, "/ledgerwebhook", &event.to_string()))
                .collect(),
        };
        Self { kind, prepared, next: AtomicU64::new(0) }
    }

    /// Replaces the contents of `buffer` with the next request.
    pub fn write(&self, buffer: &mut Vec<u8>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        buffer.clear();
        let index = usize::try_from(number).unwrap_or_default() % self.prepared.len().max(1);
        let Some(prepared) = self.prepared.get(index) else { return };
        buffer.extend_from_slice(&prepared.bytes);
        let number =
            if self.kind == TransactionKind::Reported { number / REPORTED.len() as u64 } else { number };
        put_digits(buffer, prepared.id_at, ID.len(), number);
        if let Some(source_at) = prepared.source_at {
            // Fibonacci hashing spreads the accounts.
            let account = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % N_ACCOUNTS;
            put_digits(buffer, source_at, SOURCE.len(), account);
        }
        if let TransactionKind::OfCustomers(customers) = self.kind {
            prepared.put_parties(buffer, customers, &mut Rng::with_seed(number));
        }
        if let Some(time_at) = prepared.time_at {
            put_time(buffer, time_at, REPORTED_FROM + number);
        }
    }

    /// Replaces the contents of `buffer` with the body of the next request.
    pub fn write_body(&self, buffer: &mut Vec<u8>) {
        self.write(buffer);
        let body_at = wire::position(buffer, wire::HEAD_END).map_or(0, |at| at + wire::HEAD_END.len());
        buffer.drain(..body_at);
    }
}

impl PreparedRequest {
    fn new(host: &str, path: &str, body: &str) -> Option<Self> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let bytes = [head.as_bytes(), body.as_bytes()].concat();
        let id_at = wire::position(&bytes, ID.as_bytes())?;
        let find = |placeholder: &str| wire::position(&bytes, placeholder.as_bytes());
        let (source_at, payee_at, time_at) = (find(SOURCE), find(PAYEE), find(TIME));
        let find_all = |placeholder: &str| -> Vec<usize> {
            let windows = bytes.windows(placeholder.len()).enumerate();
            windows.filter(|(_, window)| *window == placeholder.as_bytes()).map(|(at, _)| at).collect()
        };
        let (customer_at, merchant_at) = (find_all(CUSTOMER), find_all(MERCHANT));
        let (issuer_at, address_at) = (find(ISSUER), find(ADDRESS));
        Some(Self {
            bytes,
            id_at,
            source_at,
            customer_at,
            payee_at,
            merchant_at,
            issuer_at,
            address_at,
            time_at,
        })
    }

    /// Puts who pays, who is paid, and what belongs to them over their placeholders.
    fn put_parties(&self, buffer: &mut [u8], customers: Customers, random: &mut Rng) {
        let (customer, payee) = (customers.draw(random.u64(..)), customers.draw(random.u64(..)));
        self.customer_at.iter().for_each(|at| put_digits(buffer, *at, CUSTOMER.len(), customer));
        self.payee_at.iter().for_each(|at| put_digits(buffer, *at, PAYEE.len(), payee));
        let merchant = MERCHANTS.draw(random.u64(..));
        self.merchant_at.iter().for_each(|at| put_digits(buffer, *at, MERCHANT.len(), merchant));
        self.issuer_at.iter().for_each(|at| put_digits(buffer, *at, ISSUER.len(), customer % N_ISSUERS));
        if let Some(at) = self.address_at {
            let address = if random.bool() { customer % N_ADDRESSES } else { random.u64(..N_ADDRESSES) };
            for (octet_at, power) in [(4, 10_000), (8, 100), (12, 1)] {
                put_digits(buffer, at + octet_at, 2, address / power % 100);
            }
        }
    }
}

fn put_digits(buffer: &mut [u8], at: usize, n_digits: usize, number: u64) {
    let mut rest = number;
    for index in (at..at + n_digits).rev() {
        if let Some(byte) = buffer.get_mut(index) {
            *byte = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        }
        rest /= 10;
    }
}

/// Puts a time, given in seconds since 1970 UTC, over its placeholder.
fn put_time(buffer: &mut [u8], at: usize, seconds: u64) {
    let time = i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let text = time.unwrap_or_default().format("%Y-%m-%dT%H:%M:%SZ").to_string();
    for (byte, character) in buffer.iter_mut().skip(at).zip(text.bytes().take(TIME.len())) {
        *byte = character;
    }
}

/// One transaction without a timestamp; the service uses its arrival time.
fn body(random: &mut Rng, run: u32, kind: TransactionKind) -> Json {
    let is_suspicious = kind == TransactionKind::Suspicious;
    let amount = if is_suspicious {
        random.f64() * SUSPICIOUS_AMOUNT_MAX
    } else {
        // Pareto distribution: half are below 8.20, one in a thousand is over about 700.
        (5.0 / (1.0 - random.f64()).powf(1.0 / 1.4)).min(AMOUNT_MAX)
    };
    if let TransactionKind::OfCustomers(_) = kind {
        return of_customer(random, run, amount);
    }
    let phrase = pick(random, &PHRASES);
    let description = if is_suspicious || random.u32(..1_000) == 0 {
        format!("{phrase}, {}", pick(random, &WORDS))
    } else {
        phrase.to_owned()
    };
    let has_rare_country = is_suspicious || random.u32(..500) == 0;
    let country = pick(random, if has_rare_country { &RARE_COUNTRIES } else { &COUNTRIES });
    json!({
        "transaction_id": format!("bench-{run:08x}-{ID}"),
        "amount": (amount * 100.0).round() / 100.0,
        "currency": pick(random, &CURRENCIES),
        "source": format!("acc-{SOURCE}"),
        "destination": format!("acc-{:06}", random.u64(..N_ACCOUNTS)),
        "reference": "measured",
        "description": description,
        "status": pick(random, &STATUSES),
        "meta_data": {
            "country": country,
            "home": pick(random, &COUNTRIES),
            "risk": random.u32(..100),
            "card": format!("card-{}", random.u32(..10_000)),
            "device": format!("device-{}", random.u32(..10_000)),
            "merchant": format!("merchant-{}", random.u32(..2_000)),
        },
    })
}

/// A payment of a customer: a transfer or, in two of five cases, by card.
fn of_customer(random: &mut Rng, run: u32, amount: f64) -> Json {
    let mut metadata = json!({
        "device_id": format!("device-{CUSTOMER}-{}", random.u32(..3)),
        "ip": ADDRESS,
        "country": pick(random, &COUNTRIES),
        "type": "transfer",
    });
    let mut destination = format!("acc-{PAYEE}");
    if random.u32(..5) < 2 {
        destination = format!("shop-{MERCHANT}");
        metadata = json!({
            "device_id": format!("device-{CUSTOMER}-{}", random.u32(..3)),
            "country": pick(random, &COUNTRIES),
            "card_fingerprint": format!("card-{CUSTOMER}-{}", random.u32(..2)),
            "bin": format!("400{ISSUER}"),
            "email": format!("{CUSTOMER}@example.org"),
            "merchant_id": format!("merchant-{MERCHANT}"),
            "card_present": random.bool(),
            "type": "sale",
        });
    }
    json!({
        "transaction_id": format!("bench-{run:08x}-{ID}"),
        "amount": (amount * 100.0).round() / 100.0,
        "currency": "EUR",
        "source": format!("acc-{CUSTOMER}"),
        "destination": destination,
        "reference": "measured",
        "description": pick(random, &PHRASES),
        "status": pick(random, &STATUSES),
        "meta_data": metadata,
    })
}

/// One event of a transaction. The events of a transaction differ only in the status, so their time is the same.
fn event(transaction: &Json, status: &str) -> Json {
    let mut data = transaction.clone();
    if let Json::Object(members) = &mut data {
        members.insert("status".to_owned(), json!(status));
        members.insert("created_at".to_owned(), json!(TIME));
    }
    json!({ "event": format!("transaction.{status}"), "data": data })
}
