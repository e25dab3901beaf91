//! Conversion of bytes into a [`Transaction`].
//!
//! ```text
//!  bytes ──Json::parse──▶ entries ──Fields──▶ Transaction           stored by the service
//!                            └───Fingerprint::new──▶ Fingerprint     content of the request
//! ```

mod decimal_text;
mod fields;
mod idempotency;
mod identifiers;
mod invalid;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::transaction::json::JsonLimits;
use crate::transaction::spelling::meant_by;
use crate::transaction::wire_fields::kind_of;
use crate::transaction::{BeyondTolerance, RequestSettings, TimeTolerance, WindowClock};
use crate::transaction::{
    EventTime, Fingerprint, Json, LeftOutFields, LongTexts, LongestReads, Transaction, WideObjects,
};
use fields::Fields;

pub use fields::DESCRIPTION_BYTES_MAX;
pub(in crate::transaction) use fields::why_no_code;
pub use invalid::InvalidTransaction;

impl Transaction {
    /// Parses the body of a request that arrived at this time. A missing `transaction_id` is generated. A missing
    /// `created_at` is the arrival until the transaction is accepted.
    ///
    /// # Errors
    /// If the body is not a valid transaction; the error names the field.
    pub fn parse(
        body: &[u8],
        arrival: DateTime<Utc>,
    ) -> Result<(Transaction, Fingerprint), InvalidTransaction> {
        let InjectRequest { transaction, fingerprint, objection, .. } =
            InjectRequest::read(body, &RequestOptions::default(), arrival)?;
        objection.map_or(Ok((transaction, fingerprint)), Err)
    }

    /// Reads a transaction reported in an envelope or a row that arrived at this time. The `transaction_id` is
    /// required, because a repeated report would otherwise create a new transaction. Identifiers are accepted as they
    /// are.
    ///
    /// # Errors
    /// If it is not a valid transaction; the error names the field.
    pub fn from_json(
        json: Json,
        arrival: DateTime<Utc>,
    ) -> Result<(Transaction, Fingerprint), InvalidTransaction> {
        let has_empty_id = json.at(&["transaction_id"]) == Some(&Json::Text("".into()));
        let id_left_out = || if has_empty_id { empty_id() } else { left_out("transaction_id") };
        let ParsedBody { transaction, fingerprint, misspelled } = read(json, id_left_out, arrival)?;
        misspelled.map_or(Ok((transaction, fingerprint)), Err)
    }

    /// Parses the form that [`Transaction::to_stored`] writes.
    ///
    /// # Errors
    /// If the text has another form.
    pub fn from_stored(text: &str) -> Result<Transaction, InvalidTransaction> {
        let mut entries = entries_of(Json::parse(text.as_bytes(), JsonLimits::STORED)?)?;
        let mark = LeftOutFields::take(&mut entries);
        let later = entries.iter_mut().find_map(|(name, value)| match value {
            Json::Text(text) if **name == *"created_at" => {
                let later = EventTime::from_stored(text)?;
                *text = later.as_str().into();
                Some(later)
            }
            _ => None,
        });
        let read =
            transaction_of(Fields::new(entries), || left_out("transaction_id"), || left_out("created_at"))?;
        let read = match later {
            Some(later) => Transaction { timestamp: later, ..read },
            None => read,
        };
        Ok(match mark {
            Some(mark) => Transaction { left_out: Some(Box::new(mark)), ..read },
            None => read,
        })
    }
}

/// The options for reading a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestOptions<'a> {
    /// Limits on the request.
    pub settings: RequestSettings,
    /// Value of the `Idempotency-Key` header, which supplies a missing `transaction_id`.
    pub idempotency_key: Option<&'a [u8]>,
    /// Number of the line that the request is in a batch, which the key is followed by.
    pub line: Option<u64>,
}

/// The parsed body of a request for a verdict.
#[derive(Debug)]
pub struct InjectRequest {
    /// Transaction to evaluate.
    pub transaction: Transaction,
    /// Fingerprint of the request.
    pub fingerprint: Fingerprint,
    /// Reason to refuse it unless its id is stored. An accepted transaction gets its original answer again.
    pub objection: Option<InvalidTransaction>,
    /// Whether the time was too far from the clock, so that another one counts.
    pub is_clamped: bool,
    /// Whether the request has no id, so that a repetition of it is another transaction.
    pub has_generated_id: bool,
}

impl InjectRequest {
    /// Parses the body of a request that arrived at this time, like [`Transaction::parse`].
    ///
    /// # Errors
    /// If the body is not a valid transaction; the error names the field.
    pub fn read(
        body: &[u8],
        terms: &RequestOptions<'_>,
        arrival: DateTime<Utc>,
    ) -> Result<Self, InvalidTransaction> {
        let mut json = Json::parse(body, JsonLimits::transaction(terms.settings.object_keys_max))?;
        if let (Some(key), Json::Object(entries)) = (terms.idempotency_key, &mut json) {
            idempotency::fill_in(entries, key, terms.line)?;
        }
        let mut has_generated_id = false;
        let new_id = || {
            has_generated_id = true;
            generated_id()
        };
        let ParsedBody { mut transaction, fingerprint, misspelled } = read(json, new_id, arrival)?;
        let mut objection =
            misspelled.or_else(|| transaction.objection_to_identifiers(terms.settings.identifiers));
        let is_clamped = match terms.settings.time_tolerance {
            Some(tolerance) => keep_near_the_clock(&mut transaction, arrival, tolerance, &mut objection),
            None => false,
        };
        if terms.settings.window_clock == WindowClock::Arrival {
            transaction.timestamp = transaction.timestamp.following_arrival();
        }
        Ok(Self { transaction, fingerprint, objection, is_clamped, has_generated_id })
    }
}

/// Moves the time of a transaction near the clock, or objects to it. Returns whether the time was moved.
fn keep_near_the_clock(
    transaction: &mut Transaction,
    clock: DateTime<Utc>,
    tolerance: TimeTolerance,
    objection: &mut Option<InvalidTransaction>,
) -> bool {
    let (near, is_moved) = transaction.timestamp.clone().clamped(clock, tolerance.micros);
    match tolerance.beyond {
        BeyondTolerance::Refuse if is_moved => {
            objection.get_or_insert(InvalidTransaction::InvalidField {
                field: "created_at",
                expected: "nearer to the clock of the service, which SERVICE_TIME_TOLERANCE limits, or left out",
            });
            false
        }
        BeyondTolerance::Refuse => false,
        BeyondTolerance::Clamp => {
            transaction.timestamp = near;
            is_moved
        }
    }
}

struct ParsedBody {
    transaction: Transaction,
    fingerprint: Fingerprint,
    /// Error for the first member that is a misspelled field.
    misspelled: Option<InvalidTransaction>,
}

fn read(
    json: Json,
    id_left_out: impl FnOnce() -> Result<String, InvalidTransaction>,
    arrival: DateTime<Utc>,
) -> Result<ParsedBody, InvalidTransaction> {
    let mut entries = entries_of(json)?;
    decimal_text::read_amount(&mut entries);
    refuse_spellings_of_rules(&entries)?;
    let spelled: Vec<(String, &'static str)> = entries
        .iter()
        .filter(|(name, _)| kind_of(name).is_none())
        .filter_map(|(name, _)| Some((String::from(&**name), meant_by(name)?)))
        .collect();
    let fingerprint = Fingerprint::new(&entries);
    let transaction =
        transaction_of(Fields::new(entries), id_left_out, || Ok(EventTime::from_clock(arrival)));
    let transaction = transaction.map_err(|error| with_spelling(error, &spelled))?;
    let misspelled = spelled.into_iter().next();
    let misspelled = misspelled.map(|(given, field)| InvalidTransaction::MisspelledField { given, field });
    Ok(ParsedBody { transaction, fingerprint, misspelled })
}

/// Adds the misspelled name to the error if a missing field is present under another spelling.
fn with_spelling(error: InvalidTransaction, spelled: &[(String, &'static str)]) -> InvalidTransaction {
    let InvalidTransaction::MissingField { field } = error else { return error };
    match spelled.iter().find(|(_, meant)| *meant == field) {
        Some((given, _)) => InvalidTransaction::MissingAsSpelled { field, given: given.clone() },
        None => error,
    }
}

/// Fields in the spelling of rules, in the spelling of requests, and the error for the former in a request. Such a
/// field would be stored but never read by a rule.
const SPELLINGS_OF_RULES: [(&str, &str, &str); 2] = [
    ("metadata", "meta_data", "spelled `meta_data` in a request"),
    ("timestamp", "created_at", "spelled `created_at` in a request"),
];

fn refuse_spellings_of_rules(entries: &[(Box<str>, Json)]) -> Result<(), InvalidTransaction> {
    let has = |field: &str| entries.iter().any(|(name, _)| **name == *field);
    match SPELLINGS_OF_RULES.iter().find(|(rule, wire, _)| has(rule) && !has(wire)) {
        Some(&(field, _, expected)) => Err(InvalidTransaction::InvalidField { field, expected }),
        None => Ok(()),
    }
}

fn entries_of(json: Json) -> Result<Vec<(Box<str>, Json)>, InvalidTransaction> {
    match json {
        Json::Object(entries) => Ok(entries),
        _ => Err(InvalidTransaction::NotAnObject),
    }
}

fn left_out<T>(field: &'static str) -> Result<T, InvalidTransaction> {
    Err(InvalidTransaction::MissingField { field })
}

fn empty_id<T>() -> Result<T, InvalidTransaction> {
    Err(InvalidTransaction::InvalidField { field: "transaction_id", expected: "a text that is not empty" })
}

fn generated_id() -> Result<String, InvalidTransaction> {
    Ok(Uuid::now_v7().to_string())
}

fn transaction_of(
    mut fields: Fields,
    id_left_out: impl FnOnce() -> Result<String, InvalidTransaction>,
    time_left_out: impl FnOnce() -> Result<EventTime, InvalidTransaction>,
) -> Result<Transaction, InvalidTransaction> {
    let read = Transaction {
        transaction_id: match fields.id("transaction_id")? {
            Some(id) => id,
            None => id_left_out()?.into(),
        },
        amount: fields.number("amount")?,
        currency: fields.required_code("currency")?,
        source: fields.id("source")?,
        destination: fields.id("destination")?,
        reference: fields.required_reference("reference")?,
        description: fields.prose("description")?,
        status: fields.code("status")?,
        hash: fields.code("hash")?,
        allow_overdraft: fields.boolean("allow_overdraft")?,
        inflight: fields.boolean("inflight")?,
        skip_queue: fields.boolean("skip_queue")?,
        atomic: fields.boolean("atomic")?,
        timestamp: match fields.time("created_at")? {
            Some(time) => time,
            None => time_left_out()?,
        },
        effective_date: fields.time("effective_date")?,
        scheduled_for: fields.time("scheduled_for")?,
        inflight_expiry_date: fields.time("inflight_expiry_date")?,
        metadata: fields.object("meta_data")?,
        unnamed: fields.unnamed(),
        left_out: None,
        longest_reads: LongestReads::default(),
        long_texts: LongTexts::default(),
        wide_objects: WideObjects::default(),
    };
    Ok(Transaction { longest_reads: read.measured(), ..read })
}

#[cfg(test)]
mod tests;
