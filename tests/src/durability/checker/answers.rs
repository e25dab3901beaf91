//! Checks that every acknowledged response is reflected in the store.

use serde_json::Value;

use super::Checker;
use super::rows::{eighths, text};
use crate::durability::exchange::{Exchange, ReceivedAnswer};
use crate::durability::replay::rank;

impl Checker {
    /// Compares every response since the last check with the store.
    pub(super) fn answers(&mut self) -> Vec<String> {
        let from = self.n_lines_checked;
        let is_new = |exchange: &&Exchange| exchange.answer.as_ref().is_some_and(|answer| answer.line > from);
        for exchange in self.exchanges.values().filter(is_new) {
            let Some(answer) = exchange.granted() else { continue };
            if let Some(id) = exchange.transaction_id() {
                let line = self.promised.entry(id).or_insert(answer.line);
                *line = answer.line.min(*line);
            }
        }
        let mut faults = Vec::new();
        let mut last = from;
        for exchange in self.exchanges.values().filter(is_new) {
            let Some(answer) = &exchange.answer else { continue };
            last = last.max(answer.line);
            if let Err(what) = self.check_answer(exchange, answer) {
                let Exchange { method, path, body, .. } = exchange;
                faults.push(format!("{method} {path} {body} → {} {}: {what}", answer.status, answer.text));
            }
        }
        self.n_lines_checked = last;
        faults
    }

    /// Reports rows that are stored although every request for them was refused, if a later row was granted since the
    /// last check. For the last rows before a fault, only the next start decides whether they are stored.
    pub(super) fn sent_away(&self, n_stored_before: u64) -> Vec<String> {
        let from = self.n_lines_checked;
        let of_this_life = |id: &str| -> Vec<&Exchange> {
            let numbers = self.by_id.get(id).into_iter().flatten();
            numbers
                .filter_map(|number| self.exchanges.get(number))
                .filter(|exchange| exchange.asked > from)
                .collect()
        };
        let new: Vec<(&String, u64, Vec<&Exchange>)> = self
            .kept
            .iter()
            .filter(|(_, kept)| kept.sequence > n_stored_before)
            .map(|(id, kept)| (id, kept.sequence, of_this_life(id)))
            .collect();
        let is_granted = |asked: &[&Exchange]| asked.iter().any(|exchange| exchange.granted().is_some());
        let granted = new.iter().filter(|(.., asked)| is_granted(asked)).map(|(_, sequence, _)| *sequence);
        let last_granted = granted.max().unwrap_or(0);
        let is_refused =
            |exchange: &&Exchange| exchange.answer.as_ref().is_some_and(|answer| answer.status == 503);
        new.into_iter()
            .filter(|(_, sequence, asked)| {
                *sequence < last_granted && !asked.is_empty() && asked.iter().all(is_refused)
            })
            .map(|(id, sequence, _)| format!("{id} ({sequence}) was refused, and stored"))
            .collect()
    }

    fn check_answer(&self, exchange: &Exchange, answer: &ReceivedAnswer) -> Result<(), String> {
        match (exchange.path.as_str(), answer.status) {
            ("/inject", 200) => self.check_verdict(exchange, answer),
            ("/inject" | "/ledgerwebhook", 409) => self.check_conflict(exchange),
            ("/ledgerwebhook", 200) => self.check_status(exchange),
            (path, 200 | 404) => match path.strip_prefix("/transactions/") {
                Some(id) => self.check_shown(id, exchange, answer),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Compares the verdict byte by byte.
    fn check_verdict(&self, exchange: &Exchange, answer: &ReceivedAnswer) -> Result<(), String> {
        let transaction = exchange.json();
        let id = text(&transaction, "transaction_id").unwrap_or_default();
        let kept = self.kept.get(&id).ok_or("answered, and lost")?;
        if kept.eighths != eighths(&transaction) {
            return Err("something else is stored under this id".to_owned());
        }
        (kept.assessment == answer.text).then_some(()).ok_or_else(|| format!("stored as {}", kept.assessment))
    }

    /// Checks that another transaction really has this id.
    fn check_conflict(&self, exchange: &Exchange) -> Result<(), String> {
        let transaction = exchange.transaction().unwrap_or_default();
        let kept = self.kept.get(&text(&transaction, "transaction_id").unwrap_or_default());
        // A transaction from the webhook carries more than the same one injected.
        let is_other = kept.is_some_and(|kept| kept.eighths != eighths(&transaction) || kept.has_status);
        is_other.then_some(()).ok_or_else(|| "there is no such conflict".to_owned())
    }

    /// Checks that the status has advanced at least this far.
    fn check_status(&self, exchange: &Exchange) -> Result<(), String> {
        let id = exchange.transaction_id().unwrap_or_default();
        let kept = self.kept.get(&id).ok_or("acknowledged, and its transaction is lost")?;
        let current = self.replay.status(kept.sequence);
        let is_far = rank(current) >= rank(exchange.event_word().as_deref());
        is_far.then_some(()).ok_or_else(|| format!("acknowledged, and the status is {current:?}"))
    }

    /// Checks a displayed transaction: the stored verdict, and a status no older than one acknowledged before.
    fn check_shown(&self, id: &str, exchange: &Exchange, answer: &ReceivedAnswer) -> Result<(), String> {
        let is_promised = self.promised.get(id).is_some_and(|line| *line < exchange.asked);
        if answer.status == 404 {
            return (!is_promised).then_some(()).ok_or_else(|| "was answered before".to_owned());
        }
        let kept = self.kept.get(id).ok_or("shown, and lost")?;
        let shown: Value = serde_json::from_str(&answer.text).map_err(|error| error.to_string())?;
        // Both texts end alike after the id and the transaction's fields.
        let verdict = kept.assessment.find(",\"verdict\":").and_then(|at| kept.assessment.get(at..));
        if text(&shown, "transaction_id").as_deref() != Some(id) || eighths(&shown) != kept.eighths {
            return Err("another transaction is shown".to_owned());
        }
        if !verdict.is_some_and(|verdict| answer.text.ends_with(verdict)) {
            return Err(format!("stored as {}", kept.assessment));
        }
        let known_rank = self.rank_before(id, exchange.asked);
        let is_far = rank(text(&shown, "status").as_deref()) >= known_rank;
        is_far.then_some(()).ok_or_else(|| "the status fell back".to_owned())
    }

    /// Returns the furthest status acknowledged before a line.
    fn rank_before(&self, id: &str, line: usize) -> u8 {
        let reports = self.by_id.get(id).into_iter().flatten().filter_map(|number| {
            let exchange = self.exchanges.get(number)?;
            let is_earlier = exchange.granted().is_some_and(|answer| answer.line < line);
            is_earlier.then(|| rank(exchange.event_word().as_deref()))
        });
        reports.max().unwrap_or(0)
    }
}
