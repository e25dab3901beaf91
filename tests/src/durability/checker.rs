//! Compares the journal with the disk.

mod answers;
mod rows;
mod rules_in_force;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::exchange::{Exchange, Reader};
use super::replay::Replay;
use super::stored::{Row, Stored, Update};
use rules_in_force::RulesInForce;

/// The state of the comparison. It is kept across faults: rows stored at one check must be stored unchanged at all
/// later ones.
#[derive(Debug)]
pub(super) struct Checker {
    reader: Reader,
    exchanges: BTreeMap<u64, Exchange>,
    /// Numbers of the requests that carried a transaction of this id.
    by_id: HashMap<String, Vec<u64>>,
    /// The first exchange number not yet in `by_id`.
    n_known: u64,
    /// Number of journal lines whose responses were already checked.
    n_lines_checked: usize,
    /// Line of the first response that acknowledged a transaction.
    promised: HashMap<String, usize>,
    before: Stored,
    replay: Replay,
    kept: HashMap<String, Kept>,
    last_sequence: u64,
    /// Whether rules may fail.
    is_starved: bool,
}

/// A stored transaction.
#[derive(Debug)]
struct Kept {
    sequence: u64,
    eighths: i64,
    /// Whether it arrived with a status, that is, over the webhook.
    has_status: bool,
    assessment: String,
}

/// An entry in the order of acceptance.
enum Entry {
    Transaction(Row),
    Update(Update),
}

impl Checker {
    /// Creates a checker of a journal.
    pub(super) fn new(journal: PathBuf) -> Self {
        Self {
            reader: Reader::new(journal),
            exchanges: BTreeMap::new(),
            by_id: HashMap::new(),
            n_known: 0,
            n_lines_checked: 0,
            promised: HashMap::new(),
            before: Stored::default(),
            replay: Replay::default(),
            kept: HashMap::new(),
            last_sequence: 0,
            is_starved: false,
        }
    }

    /// Allows rules to fail from now on, if the failure is reported correctly.
    pub(super) const fn starve(&mut self) {
        self.is_starved = true;
    }

    /// Returns the number of transactions and status updates at the last check.
    pub(super) const fn n_stored(&self) -> usize {
        self.last_sequence as usize
    }

    /// Returns the faults in the files of a stopped service.
    pub(super) fn faults(&mut self, data: &Path) -> Vec<String> {
        self.reader.read_on(&mut self.exchanges);
        self.index();
        let stored = match Stored::read(data) {
            Ok(stored) => stored,
            // Before the first start has created a database, there is nothing to compare.
            Err(_) if self.has_no_word() => return Vec::new(),
            Err(complaint) => return vec![complaint],
        };
        let mut faults = self.whole(&stored);
        let rules = RulesInForce::from_stored(&stored);
        let n_stored_before = self.last_sequence;
        faults.extend(self.take_rows(&stored, &rules));
        faults.extend(self.sent_away(n_stored_before));
        faults.extend(self.answers());
        faults.extend(rules.faults(self.exchanges.values()));
        self.before = stored;
        faults
    }

    /// Whether no request was acknowledged and nothing was stored before.
    fn has_no_word(&self) -> bool {
        self.last_sequence == 0 && self.exchanges.values().all(|exchange| exchange.granted().is_none())
    }

    /// Checks that the database is sound and still contains everything it held before.
    fn whole(&self, stored: &Stored) -> Vec<String> {
        let mut faults = Vec::new();
        if stored.part("integrity") != "ok\n" {
            faults.push(format!("the database is damaged: {}", stored.part("integrity")));
        }
        if !stored.part("ids").is_empty() {
            faults.push(format!("stored twice: {}", stored.part("ids")));
        }
        if !stored.part("late").is_empty() {
            faults.push(format!("verdicts that nobody asked for late: {}", stored.part("late")));
        }
        for part in ["transactions", "updates", "versions"] {
            if !stored.part(part).starts_with(self.before.part(part)) {
                faults.push(format!("{part} that were there before are gone or others"));
            }
        }
        faults
    }

    /// Checks the rows added since the last check, in order.
    fn take_rows(&mut self, stored: &Stored, rules: &RulesInForce) -> Vec<String> {
        let rows = stored.rows("transactions", self.before.part("transactions").len());
        let updates = stored.rows("updates", self.before.part("updates").len());
        let mut entries: Vec<Entry> = rows.into_iter().map(Entry::Transaction).collect();
        entries.extend(updates.into_iter().map(Entry::Update));
        entries.sort_by_key(Entry::sequence);
        let mut faults = Vec::new();
        let is_refused =
            |exchange: &Exchange| exchange.answer.as_ref().is_some_and(|answer| answer.status == 503);
        let has_seen_failure = self.exchanges.values().any(is_refused);
        for entry in entries {
            // Sequence numbers are unique. A gap is valid only if a commit failed and a response reported that.
            let is_in_order = entry.sequence() > self.last_sequence;
            let is_next = entry.sequence() == self.last_sequence + 1;
            if !is_in_order || !(is_next || has_seen_failure) {
                faults.push(format!("{} follows {}", entry.sequence(), self.last_sequence));
            }
            self.last_sequence = entry.sequence();
            let taken = match &entry {
                Entry::Transaction(row) => self.take_row(row, rules),
                Entry::Update(update) => self.take_update(update),
            };
            faults.extend(taken.err());
        }
        faults
    }

    /// Indexes exchanges by transaction id.
    fn index(&mut self) {
        for (&number, exchange) in self.exchanges.range(self.n_known..) {
            if let Some(id) = exchange.transaction_id() {
                self.by_id.entry(id).or_default().push(number);
            }
            self.n_known = number + 1;
        }
    }
}

impl Entry {
    const fn sequence(&self) -> u64 {
        match self {
            Entry::Transaction(row) => row.sequence,
            Entry::Update(update) => update.sequence,
        }
    }
}
