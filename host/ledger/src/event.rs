//! Handling of one event or hook: from the bytes of its message to its effect on a payment.
//!
//! ```text
//!  bytes ─▶ envelope ─▶ is it about a transaction? ──no──▶ ignored
//!                              │ yes
//!                              ▼
//!                     kind: an entry ─▶ payments.take ─▶ a payment, or the entry waits
//!                              │ cannot be read
//!                              ▼
//!           generic: refused; Blnk, which would send it again for weeks: a dead letter
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tollgate_model::transaction::{
    InvalidTransaction, Json, JsonError, JsonLimits, METADATA, TransactionReport, mark_left_out,
    metadata_paths,
};
use tollgate_store::DeadLetter;
use tollgate_telemetry::config::LedgerKind;

use crate::kind::{EntryReport, ReportChannel, looks_like_blnk};
use crate::payments::{EntryOutcome, PaymentError, Payments, envelope};

/// Type of the Blnk hook sent after posting. Hooks sent before it describe nothing that has happened yet.
const POST_HOOK: &str = "POST_TRANSACTION";
/// Stands for the word of an event, which a hook does not have.
const HOOK: &str = "hook";
/// Maximum length of an id or a time in a dead letter, in characters.
const SHOWN_CHARACTERS: usize = 256;

/// A message of a ledger, as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct EventMessage<'a> {
    /// The body.
    pub body: &'a [u8],
    /// Id of the message, which the ledger repeats with it.
    pub id: Option<&'a str>,
    /// Time of arrival.
    pub arrival: DateTime<Utc>,
    /// Maximum number of keys of an object.
    pub object_keys_max: usize,
}

/// An event that was accepted.
#[derive(Debug)]
pub struct AcceptedEvent {
    /// Name of the event, or type of the hook.
    pub name: Box<str>,
    /// Its effect.
    pub effect: EventEffect,
}

/// The effect of an event.
#[derive(Debug)]
pub enum EventEffect {
    /// A payment has it.
    Payment {
        /// Id of the payment.
        id: Arc<str>,
        /// The status of the payment, if a generic ledger reported another one.
        kept_status: Option<Arc<str>>,
    },
    /// The entry waits for its parent.
    Waits {
        /// Id of the entry.
        id: Arc<str>,
        /// Id of the parent.
        parent: Arc<str>,
    },
    /// It changes nothing.
    Nothing {
        /// The `transaction_id` in its data.
        id: Option<Box<str>>,
    },
    /// It can never be accepted and is kept as a dead letter.
    Dead {
        /// Reason code.
        reason: &'static str,
    },
}

/// The reason why an event was refused; it may be sent again.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The envelope is not an object.
    #[error("a webhook envelope must be an object")]
    NotAnObject,
    /// A member of the envelope is missing.
    #[error("`{0}` is required")]
    Missing(&'static str),
    /// A member of the envelope has another type.
    #[error("`{0}` must be {1}")]
    Invalid(&'static str, &'static str),
    /// The message or its transaction is invalid.
    #[error(transparent)]
    Transaction(#[from] InvalidTransaction),
    /// The payment was not taken.
    #[error(transparent)]
    Payment(#[from] PaymentError),
}

impl Payments {
    /// Takes an event or a hook of the ledger. Its effect is durable when this returns.
    ///
    /// # Errors
    /// If the message is not an event, or its transaction is invalid or not taken at the moment.
    pub async fn take_event(&self, message: EventMessage<'_>) -> Result<AcceptedEvent, EventError> {
        let limits = JsonLimits::envelope(message.object_keys_max);
        let parsed = match self.kind() {
            LedgerKind::Generic => Json::parse(message.body, limits).map(|sent| (sent, Vec::new())),
            LedgerKind::Blnk => {
                Json::parse_leaving_out(message.body, limits.without_wide_numbers(), &["data", METADATA])
            }
        };
        let read = match parsed {
            Ok((sent, left_out)) => Envelope::read(sent)?.without(left_out),
            Err(error) => return self.take_unreadable(message, error).await,
        };
        let Envelope { event, data, is_hook } = read;
        let word = match TransactionReport::word_of(&event, self.status_words()) {
            _ if is_hook && self.kind() == LedgerKind::Blnk && *event == *POST_HOOK => Cow::Borrowed(HOOK),
            Some(word) if !is_hook => word,
            _ => {
                self.metrics().event_ignored();
                let effect = EventEffect::nothing(data.as_ref());
                return Ok(AcceptedEvent { name: event, effect });
            }
        };
        let data = match data {
            Some(data @ Json::Object(_)) => data,
            None | Some(Json::Null) => return Err(EventError::Missing("data")),
            Some(_) => return Err(EventError::Invalid("data", "an object")),
        };
        let channel = if is_hook { ReportChannel::Hook } else { ReportChannel::Event(&word) };
        let effect = self.take_data(&event, channel, data, message).await?;
        Ok(AcceptedEvent { name: event, effect })
    }

    async fn take_data(
        &self,
        event: &str,
        channel: ReportChannel<'_>,
        data: Json,
        message: EventMessage<'_>,
    ) -> Result<EventEffect, EventError> {
        let is_generic = self.kind() == LedgerKind::Generic;
        if is_generic && looks_like_blnk(&data) {
            self.ledger_events().looks_like_blnk();
        }
        // An entry of a generic ledger never waits, and is sent again if it cannot be read.
        let kept_data = if is_generic { Json::Null } else { data.clone() };
        let report = EntryReport { channel, data, message: message.id, arrival: message.arrival };
        let entry = match self.read(report) {
            Ok(entry) => entry,
            Err(error) if is_generic => return Err(error.into()),
            Err(error) => {
                let member = if channel == ReportChannel::Hook { "hook_type" } else { "event" };
                let sent = envelope(member, event, &kept_data.to_string());
                let letter = dead_letter(&kept_data, sent, &error, message.arrival);
                return self.keep_as_dead(letter).await;
            }
        };
        if entry.report.transaction().has_unclear_identifier() {
            self.metrics().unclear_identifier("event");
        }
        let id = Arc::clone(&entry.id);
        let reported = entry.report.transaction().status.clone();
        Ok(match self.take(entry, channel, &kept_data, Arc::from(event)).await? {
            EntryOutcome::Payment(payment) => {
                let kept_status = self.kept_status(&payment, reported.as_deref()).await;
                EventEffect::Payment { id: payment, kept_status }
            }
            EntryOutcome::Waits(parent) => EventEffect::Waits { id, parent },
            EntryOutcome::Nothing => EventEffect::nothing(Some(&kept_data)),
            EntryOutcome::Dead(reason) => EventEffect::Dead { reason },
        })
    }

    /// Returns the status of a payment if a generic ledger reported another one. An entry of Blnk has a status of its own.
    async fn kept_status(&self, payment: &str, reported: Option<&str>) -> Option<Arc<str>> {
        let (Some(reported), LedgerKind::Generic) = (reported, self.kind()) else { return None };
        // The report is durable, so an error here does not fail it.
        let judged = self.monitor().find(payment).await.ok().flatten()?;
        judged.transaction.status.filter(|status| **status != *reported)
    }

    /// Handles an envelope without a readable transaction.
    async fn take_unreadable(
        &self,
        message: EventMessage<'_>,
        error: JsonError,
    ) -> Result<AcceptedEvent, EventError> {
        /// The parts of an event that a lenient parser can read.
        #[derive(Deserialize)]
        struct LenientEvent<'b> {
            event: String,
            #[serde(borrow)]
            data: &'b RawValue,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct LenientData {
            transaction_id: String,
            created_at: String,
        }
        let invalid = InvalidTransaction::from(error);
        let sent = serde_json::from_slice::<LenientEvent<'_>>(message.body).ok().filter(|sent| {
            self.kind() == LedgerKind::Blnk
                && TransactionReport::word_of(&sent.event, self.status_words()).is_some()
        });
        let Some(LenientEvent { event, data }) = sent else { return Err(invalid.into()) };
        let sent = envelope("event", &event, data.get());
        let mut letter = dead_letter(&Json::Null, sent, &invalid, message.arrival);
        if let Ok(named) = serde_json::from_str::<LenientData>(data.get()) {
            let shown = |text: String| text.chars().take(SHOWN_CHARACTERS).collect();
            (letter.transaction_id, letter.created_at) =
                (shown(named.transaction_id), shown(named.created_at));
        }
        let effect = self.keep_as_dead(letter).await?;
        Ok(AcceptedEvent { name: event.into(), effect })
    }

    async fn keep_as_dead(&self, letter: DeadLetter) -> Result<EventEffect, EventError> {
        let reason = letter.reason;
        self.store_dead_letter(letter).await?;
        Ok(EventEffect::Dead { reason })
    }
}

impl EventEffect {
    fn nothing(data: Option<&Json>) -> Self {
        match data.and_then(|data| data.at(&["transaction_id"])) {
            Some(Json::Text(id)) => Self::Nothing { id: Some((&**id).into()) },
            _ => Self::Nothing { id: None },
        }
    }
}

/// Creates the dead letter of an event that can never be accepted, with its readable fields and the whole message.
fn dead_letter(data: &Json, sent: String, error: &InvalidTransaction, found: DateTime<Utc>) -> DeadLetter {
    let text = |name: &str| match data.at(&[name]) {
        Some(Json::Text(text)) => text.chars().take(SHOWN_CHARACTERS).collect(),
        _ => String::new(),
    };
    DeadLetter {
        digest: Sha256::digest(&sent).into(),
        transaction_id: text("transaction_id"),
        created_at: text("created_at"),
        reason: error.code(),
        detail: error.to_string(),
        row: sent,
        found_micros: found.timestamp_micros(),
        alert: None,
    }
}

/// A message from a ledger; unknown members are ignored.
struct Envelope {
    /// Name of the event, or type of the hook.
    event: Box<str>,
    data: Option<Json>,
    is_hook: bool,
}

impl Envelope {
    fn read(envelope: Json) -> Result<Self, EventError> {
        let Json::Object(members) = envelope else { return Err(EventError::NotAnObject) };
        let (mut event, mut hook, mut data) = (None, None, None);
        for (name, value) in members {
            match &*name {
                "event" => event = Some(value),
                "hook_type" => hook = Some(value),
                "data" => data = Some(value),
                _ => {}
            }
        }
        match (event, hook) {
            (Some(Json::Text(event)), _) => Ok(Self { event, data, is_hook: false }),
            (None, Some(Json::Text(hook))) => Ok(Self { event: hook, data, is_hook: true }),
            (None | Some(Json::Null), _) => Err(EventError::Missing("event")),
            (Some(_), _) => Err(EventError::Invalid("event", "a text")),
        }
    }

    /// Marks the data with the metadata that was left out when it was parsed.
    fn without(mut self, left_out: Vec<Box<str>>) -> Self {
        if let Some(data) = &mut self.data {
            mark_left_out(data, metadata_paths(left_out));
        }
        self
    }
}
