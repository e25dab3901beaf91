//! Derives every expected verdict from the requests and the stored order. It evaluates the rules of the traffic by
//! hand.

use std::collections::{BTreeSet, HashMap};

use super::rules::{Question, THRESHOLDS, WINDOW_MICROS};
use super::stored::Update;

/// A stored transaction, reduced to the fields the rules use.
#[derive(Debug, Clone)]
pub(super) struct Past {
    pub(super) event_micros: i64,
    pub(super) eighths: i64,
    pub(super) status: Option<String>,
}

/// All transactions so far, in sequence order.
#[derive(Debug, Default)]
pub(super) struct Replay {
    sources: HashMap<String, Vec<Past>>,
    /// Maps a sequence number to its source and the index among that source's transactions.
    positions: HashMap<u64, (String, usize)>,
}

impl Replay {
    /// Returns the rules that match this transaction and adds it to the past.
    pub(super) fn judge(&mut self, sequence: u64, source: &str, transaction: Past) -> BTreeSet<String> {
        let past = self.sources.entry(source.to_owned()).or_default();
        let window = transaction.event_micros - WINDOW_MICROS..=transaction.event_micros;
        let seen: Vec<&Past> = past.iter().filter(|past| window.contains(&past.event_micros)).collect();
        let answer = |question| match question {
            Question::Count => seen.len() as i64,
            Question::Applied => {
                seen.iter().filter(|past| past.status.as_deref() == Some("applied")).count() as i64
            }
            Question::Eighths => seen.iter().map(|past| past.eighths).sum(),
        };
        let matching = THRESHOLDS.iter().filter(|rule| answer(rule.question) >= rule.at_least);
        let names = matching.map(|rule| rule.name()).collect();
        self.positions.insert(sequence, (source.to_owned(), past.len()));
        past.push(transaction);
        names
    }

    /// Applies a status update.
    ///
    /// # Errors
    /// Returns an error if the target is unknown or its status is not the one the update states.
    pub(super) fn update(&mut self, update: &Update) -> Result<(), String> {
        let position = self.positions.get(&update.target);
        let past = position.and_then(|(source, position)| self.sources.get_mut(source)?.get_mut(*position));
        let Some(past) = past else {
            return Err(format!(
                "update {} is of {}, which is no transaction",
                update.sequence, update.target
            ));
        };
        if past.status != update.before || rank(past.status.as_deref()) >= rank(Some(&update.after)) {
            return Err(format!(
                "update {} makes {:?}, which it says was {:?}, `{}`",
                update.sequence, past.status, update.before, update.after
            ));
        }
        past.status = Some(update.after.clone());
        Ok(())
    }

    /// Returns the current status.
    pub(super) fn status(&self, sequence: u64) -> Option<&str> {
        let (source, position) = self.positions.get(&sequence)?;
        self.sources.get(source)?.get(*position)?.status.as_deref()
    }
}

/// Returns the rank of a status; a status never decreases.
pub(super) fn rank(status: Option<&str>) -> u8 {
    match status {
        None => 0,
        Some("applied") => 2,
        Some("void") => 3,
        Some(_) => 1,
    }
}
