//! A sample of the stored transactions.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::History;
use crate::past::{NoPast, PastError};

/// Maximum number of transactions of a sample.
const TRANSACTIONS_MAX: u64 = 4_096;
/// Stored size at which a sample ends, in bytes.
const BYTES_MAX: usize = 8 << 20;
/// Time for which a sample is used.
const AGE_MAX: Duration = Duration::from_secs(60);
/// A sample is used while the number of stored transactions has grown by less than one part in this many.
const GROWTH_SHARE: u64 = 4;
/// Fractional part of the golden ratio, times 2^64. Its multiples, modulo 2^64, are spread evenly, and so is every
/// beginning of their sequence.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The last sample.
pub(in super::super) type SampleCache = Option<Arc<StoredSample>>;

/// Transactions from all of the log, with a history of their own.
#[derive(Debug)]
pub(in super::super) struct StoredSample {
    /// Number of transactions stored.
    pub(super) n_stored: u64,
    /// The transactions in the order of the log, under the numbers of `history`.
    pub(super) transactions: Vec<(Sequence, Arc<Transaction>)>,
    pub(super) history: History,
    /// A history of every second transaction, from the first on.
    pub(super) half: History,
    taken_at: Instant,
}

impl History {
    /// Returns the last sample, or a new one when it is outdated.
    pub(super) fn sample(&self) -> Result<Arc<StoredSample>, PastError> {
        let (through, n_stored) = {
            let part = self.admission.lock().settled_part();
            (part.through, part.n_transactions)
        };
        let mut last = self.sampled.lock();
        if let Some(sample) = last.as_ref().filter(|sample| sample.serves(n_stored)) {
            return Ok(Arc::clone(sample));
        }
        *last = None;
        let sample = Arc::new(self.take_sample(through, n_stored)?);
        *last = Some(Arc::clone(&sample));
        Ok(sample)
    }

    /// Discards a sample that is outdated, so that it takes no memory.
    pub fn discard_old_sample(&self) {
        if let Some(mut last) = self.sampled.try_lock() {
            last.take_if(|sample| sample.taken_at.elapsed() > AGE_MAX);
        }
    }

    fn take_sample(&self, through: Sequence, n_stored: u64) -> Result<StoredSample, PastError> {
        let mut picked = Vec::new();
        let mut n_bytes = 0;
        let past = self.past.as_deref().unwrap_or(&NoPast);
        past.each_of(&numbers(through), &mut |sequence, transaction, size| {
            picked.push((sequence, Arc::new(transaction.clone())));
            n_bytes += size;
            n_bytes < BYTES_MAX
        })?;
        picked.sort_unstable_by_key(|(sequence, _)| *sequence);
        let [history, half] = [(); 2].map(|()| self.empty_alike());
        for (_, transaction) in picked.iter().step_by(2) {
            half.admit(Arc::clone(transaction), |_| ());
        }
        let admit = |(_, transaction)| history.admit(Arc::clone(&transaction), |own| (own, transaction));
        let transactions = picked.into_iter().map(admit).collect();
        Ok(StoredSample { n_stored, transactions, history, half, taken_at: Instant::now() })
    }
}

impl StoredSample {
    fn serves(&self, n_stored: u64) -> bool {
        n_stored.abs_diff(self.n_stored) <= self.n_stored / GROWTH_SHARE && self.taken_at.elapsed() <= AGE_MAX
    }

    /// Returns the number of stored transactions for each one of the sample.
    pub(super) fn scale(&self) -> f64 {
        self.n_stored as f64 / self.transactions.len().max(1) as f64
    }

    /// Returns the number in `half` of a transaction, or of the next one when it is not there.
    pub(super) const fn in_half(sequence: Sequence) -> Sequence {
        Sequence(sequence.0 / 2 + 1)
    }

    /// Returns the latest transactions, at most `n`.
    pub(super) fn latest(&self, n: usize) -> &[(Sequence, Arc<Transaction>)] {
        self.transactions.get(self.transactions.len().saturating_sub(n)..).unwrap_or_default()
    }
}

/// Returns the numbers of a sample, all different, in an order in which every beginning is spread evenly.
fn numbers(through: Sequence) -> Vec<Sequence> {
    if through.0 <= TRANSACTIONS_MAX {
        return (1..=through.0).map(Sequence).collect();
    }
    let mut seen = HashSet::new();
    let place = |n: u64| (u128::from(n.wrapping_mul(GOLDEN)) * u128::from(through.0)) >> 64;
    let spread = (0..TRANSACTIONS_MAX).filter_map(|n| u64::try_from(place(n) + 1).ok());
    spread.filter(|number| seen.insert(*number)).map(Sequence).collect()
}
