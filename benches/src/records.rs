//! Payments as a store of records sees them: each reads, changes and writes the records of its payer, payee, device, card
//! and merchant.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use tollgate_records::RecordKey;

use crate::random::Random;
use crate::report::cpu_time;

/// Merchants, whatever the number of accounts.
const N_MERCHANTS: usize = 50_000;
/// One key in so many is counted, and its record compared at the end.
const COUNTED_SHARE: usize = 256;

/// The records of one kind of anchor: length at first, at most, and of what a payment adds, in bytes.
struct Kind {
    n_bytes: usize,
    n_bytes_max: usize,
    n_bytes_added: usize,
    /// One payment in so many has a new one, 0 for none.
    new_share: usize,
}

const KINDS: [Kind; 5] = [
    Kind { n_bytes: 500, n_bytes_max: 1_500, n_bytes_added: 100, new_share: 0 },
    Kind { n_bytes: 250, n_bytes_max: 700, n_bytes_added: 50, new_share: 10 },
    Kind { n_bytes: 120, n_bytes_max: 400, n_bytes_added: 25, new_share: 5 },
    Kind { n_bytes: 200, n_bytes_max: 600, n_bytes_added: 40, new_share: 10 },
    Kind { n_bytes: 400, n_bytes_max: 1_200, n_bytes_added: 80, new_share: 0 },
];
const MERCHANT: usize = 4;

/// How accounts are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// Each as often as another.
    Uniform,
    /// By Zipf's law with exponent 1.
    Zipf,
}

/// The bytes of a record and its token; `None` where there is none.
pub type ReadRecord<T> = Option<(Vec<u8>, T)>;

/// A record to be written, in place of the one that was read.
#[derive(Debug)]
pub struct ChangedRecord<T> {
    /// Its key.
    pub key: RecordKey,
    /// Token of the record that it replaces.
    pub replaces: Option<T>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A store of records. A token is what it needs to replace what it read.
pub trait RecordEngine: Sync {
    /// Handle that a read returns beside the bytes.
    type Token: Copy;

    /// Reads records; `None` where there is none.
    ///
    /// # Errors
    /// When the store fails.
    fn read_all(&self, keys: &[RecordKey]) -> anyhow::Result<Vec<ReadRecord<Self::Token>>>;

    /// Writes records, each in place of the one that was read.
    ///
    /// # Errors
    /// When the store fails.
    fn write_all(&self, records: &[ChangedRecord<Self::Token>]) -> anyhow::Result<()>;
}

/// Result of a run.
#[derive(Debug)]
pub struct Measured {
    /// Payments a second, of all threads.
    pub per_second: f64,
    /// CPU time a payment.
    pub cpu: Duration,
    /// Median, 99 and 99.9 % of the time that a payment waits for its records.
    pub reads: [Duration; 3],
}

const fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn key(kind: usize, number: usize) -> RecordKey {
    let number = (kind as u64) << 56 | number as u64;
    RecordKey(u128::from(mixed(number)) << 64 | u128::from(mixed(!number)))
}

fn filled(n_bytes: usize, seed: u64, n_updates: u32) -> Vec<u8> {
    let mut bytes = n_updates.to_le_bytes().to_vec();
    let mut word = seed;
    while bytes.len() < n_bytes {
        word = mixed(word);
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.truncate(n_bytes);
    bytes
}

fn n_updates(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |count| u32::from_le_bytes(*count))
}

/// Writes the records of all accounts and merchants.
///
/// # Errors
/// When the store fails.
pub fn load(engine: &impl RecordEngine, n_accounts: usize) -> anyhow::Result<usize> {
    let mut keys: Vec<(RecordKey, usize)> = Vec::new();
    for kind in 0..KINDS.len() {
        let n_keys = if kind == MERCHANT { N_MERCHANTS } else { n_accounts };
        keys.extend((0..n_keys).map(|number| (key(kind, number), kind)));
    }
    keys.sort_unstable();
    for some in keys.chunks(1_024) {
        let records: Vec<_> = some
            .iter()
            .map(|(key, kind)| {
                let Kind { n_bytes, n_bytes_max, .. } = KINDS.get(*kind).unwrap_or(&KINDS[0]);
                // Records have grown to different lengths when the measurement begins.
                let grown = usize::try_from(key.0 % (n_bytes_max - n_bytes) as u128).unwrap_or_default();
                let bytes = filled(n_bytes + grown * 2 / 3, key.0 as u64, 0);
                ChangedRecord { key: *key, replaces: None, bytes }
            })
            .collect();
        engine.write_all(&records)?;
    }
    Ok(keys.len())
}

/// Lets so many threads make payments for some seconds, each among accounts of its own.
///
/// # Errors
/// When the store fails, or an update is lost.
pub fn pay(
    engine: &impl RecordEngine,
    n_accounts: usize,
    (n_threads, seconds, draw, round): (usize, u64, Draw, u64),
) -> anyhow::Result<Measured> {
    let (started, cpu_before) = (Instant::now(), cpu_time());
    let until = started + Duration::from_secs(seconds);
    let threads = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads)
            .map(|thread| {
                scope.spawn(move || {
                    let random = Random::seeded(mixed(round << 8 | thread as u64));
                    let payer = Payer { n_accounts, n_threads, thread, draw, round, random };
                    payer.pay(engine, until)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Ok(Vec::new()))).collect::<Vec<_>>()
    });
    let (took, cpu) = (started.elapsed(), cpu_time() - cpu_before);
    let mut reads = Vec::new();
    for thread in threads {
        reads.extend(thread?);
    }
    ensure!(!reads.is_empty(), "no payment was made");
    reads.sort_unstable();
    let n_payments = reads.len();
    let at = |share: f64| reads.get((n_payments as f64 * share) as usize).copied().unwrap_or_default();
    Ok(Measured {
        per_second: n_payments as f64 / took.as_secs_f64(),
        cpu: cpu / u32::try_from(n_payments)?,
        reads: [at(0.5), at(0.99), at(0.999)],
    })
}

/// One thread of payments.
struct Payer {
    n_accounts: usize,
    n_threads: usize,
    thread: usize,
    draw: Draw,
    round: u64,
    random: Random,
}

impl Payer {
    fn pay(mut self, engine: &impl RecordEngine, until: Instant) -> anyhow::Result<Vec<Duration>> {
        let (mut waits, mut counted, mut n_new) = (Vec::new(), HashMap::new(), 0);
        while Instant::now() < until {
            let keys: Vec<(RecordKey, usize)> =
                (0..KINDS.len()).map(|kind| self.key(kind, &mut n_new)).collect();
            let wanted: Vec<RecordKey> = keys.iter().map(|(key, _)| *key).collect();
            let before = Instant::now();
            let read = engine.read_all(&wanted)?;
            waits.push(before.elapsed());
            let mut written = Vec::with_capacity(keys.len());
            for ((key, kind), record) in keys.into_iter().zip(read) {
                let (bytes, token) = record.map_or((None, None), |(bytes, token)| (Some(bytes), Some(token)));
                let n_before = bytes.as_deref().map_or(0, n_updates);
                if (mixed(key.0 as u64) as usize).is_multiple_of(COUNTED_SHARE) {
                    let expected = counted.entry(key).or_insert(n_before);
                    ensure!(*expected == n_before, "an update of {key:?} is lost");
                    *expected += 1;
                }
                let bytes = changed(bytes, key, kind, n_before + 1);
                written.push(ChangedRecord { key, replaces: token, bytes });
            }
            engine.write_all(&written)?;
        }
        Ok(waits)
    }

    fn key(&mut self, kind: usize, n_new: &mut usize) -> (RecordKey, usize) {
        let Kind { new_share, .. } = KINDS.get(kind).unwrap_or(&KINDS[0]);
        if *new_share > 0 && self.random.below(*new_share) == 0 {
            *n_new += 1;
            let number = 1 << 48 | (self.round as usize) << 40 | self.thread << 32 | *n_new;
            return (key(kind, number), kind);
        }
        let n_keys = if kind == MERCHANT { N_MERCHANTS } else { self.n_accounts };
        let own = n_keys / self.n_threads;
        let number = if kind == MERCHANT || self.draw == Draw::Zipf {
            let unit = (self.random.next() >> 11) as f64 / (1_u64 << 53) as f64;
            // The inverse of the distribution, as if ranks were continuous; then a rank is spread over the accounts.
            let rank = ((own as f64).powf(unit) as usize).min(own - 1);
            mixed(rank as u64) as usize % own
        } else {
            self.random.below(own)
        };
        (key(kind, number * self.n_threads + self.thread), kind)
    }
}

/// Returns a record with one more row.
fn changed(bytes: Option<Vec<u8>>, key: RecordKey, kind: usize, n_updates: u32) -> Vec<u8> {
    let Kind { n_bytes, n_bytes_max, n_bytes_added, .. } = KINDS.get(kind).unwrap_or(&KINDS[0]);
    let n_before = bytes.map_or(*n_bytes, |bytes| bytes.len());
    let n_after = if n_before + n_bytes_added > *n_bytes_max { *n_bytes } else { n_before + n_bytes_added };
    filled(n_after, key.0 as u64, n_updates)
}
