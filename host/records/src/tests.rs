//! The store of records against a log of what was done to it, through power cuts, failed calls and changed bits.

mod simulated;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;
use simulated::{Dice, SimulatedFolder};

const KEYS: usize = 400;

/// What a caller did, in order: the bytes of a key from then on, `None` for a removal.
type Log = Vec<(usize, Option<Vec<u8>>)>;

fn origin() -> RecordOrigin {
    RecordOrigin { log: "a log".into(), contents: "all of it".into() }
}

/// Returns a key; every fourth has the same prefix as its neighbour, so that they share table and tag.
fn key(number: usize) -> RecordKey {
    let mut dice = Dice::new(if number.is_multiple_of(4) { number as u64 + 1 } else { number as u64 });
    RecordKey(u128::from(dice.next()) << 64 | number as u128)
}

fn bytes(dice: &mut Dice) -> Vec<u8> {
    let n_bytes = match dice.below(20) {
        0 => 7_000 + dice.below(8_000),
        1..4 => 1 + dice.below(20),
        _ => 100 + dice.below(500),
    };
    let byte = dice.next().to_le_bytes()[0];
    (0..n_bytes).map(|at| byte.wrapping_add(at as u8)).collect()
}

/// A store with the log that a caller keeps of it.
struct Subject {
    store: RecordStore,
    log: Log,
    /// Number of the log that each checkpoint held.
    through: usize,
}

impl Subject {
    fn new(folder: &SimulatedFolder) -> Self {
        let store = RecordStore::create(Arc::new(folder.clone()), origin(), 1_000).unwrap();
        Self { store, log: Log::new(), through: 0 }
    }

    /// Sets or removes a record; an entry of the log remains even if the store refuses it.
    fn apply(&self, number: usize, bytes: Option<&[u8]>) -> Result<(), AppendError> {
        let key = key(number);
        let Ok(before) = self.store.read(key) else { return Err(AppendError::Moved) };
        let before = before.map(|record| record.address);
        match (bytes, before) {
            (Some(bytes), before) => self.store.append(key, before, bytes).map(drop),
            (None, Some(before)) => self.store.remove(key, before),
            (None, None) => Ok(()),
        }
    }

    fn step(&mut self, dice: &mut Dice) -> Result<(), AppendError> {
        match dice.below(200) {
            0 => {
                self.store.checkpoint(self.log.len() as u64, "state")?;
                self.through = self.log.len();
                Ok(())
            }
            1..12 => self.store.clean(4_000 + dice.below(20_000)).map(drop),
            other => {
                let number = dice.below(KEYS);
                let bytes = (other > 20).then(|| bytes(dice));
                self.apply(number, bytes.as_deref())?;
                self.log.push((number, bytes));
                Ok(())
            }
        }
    }

    fn contents(&self) -> BTreeMap<usize, Vec<u8>> {
        let mut contents = BTreeMap::new();
        for (number, bytes) in &self.log {
            match bytes {
                Some(bytes) => contents.insert(*number, bytes.clone()),
                None => contents.remove(number),
            };
        }
        contents
    }

    #[track_caller]
    fn check(&self, seed: u64) {
        let contents = self.contents();
        for number in 0..KEYS {
            let read = self.store.read(key(number)).unwrap().map(|record| record.bytes);
            assert_eq!(read.as_ref(), contents.get(&number), "key {number}, seed {seed}");
        }
        assert_eq!(self.store.size().n_records, contents.len(), "seed {seed}");
    }

    /// Opens the folder again, checks it against the log up to the last checkpoint, and applies the rest.
    #[track_caller]
    fn reopened(self, folder: &SimulatedFolder, seed: u64) -> Self {
        let Self { store, mut log, through } = self;
        drop(store);
        let opened = RecordStore::open(Arc::new(folder.clone()), origin()).unwrap();
        assert!(opened.through >= through as u64, "the checkpoint is lost, seed {seed}");
        let rest = log.split_off(usize::try_from(opened.through).unwrap());
        let mut subject = Self { store: opened.store, log, through };
        subject.check(seed);
        for (number, bytes) in rest {
            subject.apply(number, bytes.as_deref()).unwrap();
            subject.log.push((number, bytes));
        }
        subject.check(seed);
        subject
    }
}

fn seeds() -> std::ops::Range<u64> {
    let n_seeds =
        std::env::var("TOLLGATE_PROOF").map_or(20, |extent| if extent == "full" { 500 } else { 20 });
    0..n_seeds
}

#[test]
fn a_store_holds_the_last_record_of_each_key() {
    for seed in seeds() {
        let (folder, mut dice) = (SimulatedFolder::default(), Dice::new(seed));
        let mut subject = Subject::new(&folder);
        for _ in 0..4_000 {
            subject.step(&mut dice).unwrap();
        }
        subject.check(seed);
    }
}

#[test]
fn a_store_that_was_closed_opens_with_its_index_as_it_was() {
    for seed in seeds() {
        let (folder, mut dice) = (SimulatedFolder::default(), Dice::new(seed));
        let mut subject = Subject::new(&folder);
        for _ in 0..5 {
            for _ in 0..600 {
                subject.step(&mut dice).unwrap();
            }
            subject.store.checkpoint(subject.log.len() as u64, "at the end").unwrap();
            assert!(subject.store.write_index().unwrap());
            let before = subject.store.size();
            let opened = RecordStore::open(Arc::new(folder.clone()), origin()).unwrap();
            assert_eq!((opened.through, opened.state.as_str()), (subject.log.len() as u64, "at the end"));
            let after = opened.store.size();
            assert_eq!(
                (after.n_records, after.n_replaced_bytes),
                (before.n_records, before.n_replaced_bytes),
                "seed {seed}"
            );
            subject.store = opened.store;
            subject.check(seed);
        }
    }
}

#[test]
fn a_power_cut_loses_nothing_that_a_checkpoint_held() {
    for seed in seeds() {
        let (mut folder, mut dice) = (SimulatedFolder::default(), Dice::new(seed));
        let mut subject = Subject::new(&folder);
        subject.store.checkpoint(0, "").unwrap();
        for round in 0..6 {
            for _ in 0..dice.below(900) {
                subject.step(&mut dice).unwrap();
            }
            if round % 3 == 1 {
                // A stop leaves an index, which is good for the next start alone.
                subject.store.checkpoint(subject.log.len() as u64, "").unwrap();
                assert!(subject.store.write_index().unwrap());
            } else {
                folder = folder.after_power_cut(&mut dice);
            }
            subject = subject.reopened(&folder, seed);
        }
    }
}

#[test]
fn a_failed_call_loses_nothing_and_the_next_one_succeeds() {
    for seed in seeds() {
        let (mut folder, mut dice) = (SimulatedFolder::default(), Dice::new(seed));
        let mut subject = Subject::new(&folder);
        subject.store.checkpoint(0, "").unwrap();
        for round in 0..12 {
            folder.fail_at(dice.below(60), 1 + dice.below(4));
            for _ in 0..dice.below(400) {
                // What failed has changed nothing: the log has no entry of it.
                subject.step(&mut dice).ok();
            }
            folder.fail_no_more();
            subject.check(seed);
            if round % 3 == 2 {
                folder = folder.after_power_cut(&mut dice);
                subject = subject.reopened(&folder, seed);
            }
        }
    }
}

#[test]
fn a_changed_bit_is_an_error_and_never_another_record() {
    for seed in seeds() {
        let (folder, mut dice) = (SimulatedFolder::default(), Dice::new(seed));
        let mut subject = Subject::new(&folder);
        for _ in 0..1_500 {
            subject.step(&mut dice).unwrap();
        }
        subject.store.checkpoint(subject.log.len() as u64, "").unwrap();
        assert!(subject.store.write_index().unwrap());
        let names = RecordFolder::names(&folder).unwrap();
        assert!(folder.flip_bit(&names[dice.below(names.len())], &mut dice), "seed {seed}");
        let Ok(opened) = RecordStore::open(Arc::new(folder.clone()), origin()) else { continue };
        let contents = subject.contents();
        for number in 0..KEYS {
            if let Ok(read) = opened.store.read(key(number)) {
                let read = read.map(|record| record.bytes);
                assert_eq!(read.as_ref(), contents.get(&number), "key {number}, seed {seed}");
            }
        }
    }
}

#[test]
fn records_of_another_log_are_not_opened() {
    let folder = SimulatedFolder::default();
    Subject::new(&folder).store.checkpoint(7, "").unwrap();
    let other = RecordOrigin { log: "another log".into(), ..origin() };
    let error = RecordStore::open(Arc::new(folder), other).unwrap_err();
    assert_eq!(error.to_string(), "the manifest cannot be read: the records belong to something else");
}

#[test]
fn an_empty_folder_has_no_manifest() {
    let error = RecordStore::open(Arc::new(SimulatedFolder::default()), origin()).unwrap_err();
    assert_eq!(error.to_string(), "the folder has no manifest");
}

#[test]
fn reads_of_a_disk_that_hangs_are_given_up_and_then_not_begun_until_it_answers() {
    const SHORT: Duration = Duration::from_millis(100);
    let folder = SimulatedFolder::default();
    let store = Arc::new(RecordStore::create(Arc::new(folder.clone()), origin(), 100).unwrap());
    store.append(key(1), None, b"one").unwrap();
    // From the file: what is not written yet is in memory.
    store.checkpoint(1, "").unwrap();
    let readers = RecordReaders::start(store, 2).unwrap();
    let read = |patience| {
        let started = Instant::now();
        let read = readers.read_all(&[key(1), key(2)], patience);
        assert!(matches!(read[1], Ok(None)), "a key without a record needs no disk");
        (read.into_iter().next().unwrap(), started.elapsed())
    };
    assert_eq!(read(SHORT * 100).0.unwrap().unwrap().bytes, b"one");
    folder.hang(true);
    let waits: Vec<Duration> = (0..50)
        .map(|_| {
            let (result, waited) = read(SHORT);
            assert!(matches!(result, Err(ReadError::TimedOut)), "{result:?}");
            waited
        })
        .take_while(|waited| *waited >= SHORT)
        .collect();
    assert!((2..50).contains(&waits.len()), "nobody waits when no thread is left: {waits:?}");
    folder.hang(false);
    let deadline = Instant::now() + SHORT * 100;
    let answered = std::iter::repeat_with(|| read(SHORT).0.ok().flatten());
    let answered = answered.take_while(|_| Instant::now() < deadline).flatten().next();
    assert_eq!(answered.unwrap().bytes, b"one");
}

#[test]
fn records_are_read_while_others_replace_and_clean_them() {
    let directory = tempfile::tempdir().unwrap();
    let folder = DiskFolder::open(directory.path()).unwrap();
    let store = Arc::new(RecordStore::create(Arc::new(folder), origin(), 1_000).unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (store, done) = (&store, &done);
            scope.spawn(move || {
                let mut dice = Dice::new(thread);
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let number = dice.below(KEYS);
                    if let Some(record) = store.read(key(number)).unwrap() {
                        assert_eq!(&record.bytes[..8], (number as u64).to_le_bytes());
                    }
                }
            });
        }
        let mut dice = Dice::new(9);
        let mut versions = vec![0_u32; KEYS];
        for step in 0..30_000 {
            let number = dice.below(KEYS);
            let mut bytes = (number as u64).to_le_bytes().to_vec();
            versions[number] += 1;
            bytes.extend_from_slice(&versions[number].to_le_bytes());
            bytes.resize(300 + dice.below(300), 0);
            let before = store.read(key(number)).unwrap();
            if let Some(before) = &before {
                assert_eq!(before.bytes[8..12], (versions[number] - 1).to_le_bytes());
            }
            store.append(key(number), before.map(|record| record.address), &bytes).unwrap();
            store.clean(600).unwrap();
            if step % 1_000 == 0 {
                store.checkpoint(step, "").unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let size = store.size();
    assert_eq!(size.n_records, KEYS);
    assert!(size.n_file_bytes < 2 << 20, "cleaning keeps the files small: {size:?}");
}

#[test]
fn records_are_replaced_and_cleaned_on_a_disk_that_is_nearly_full() {
    let (folder, seed) = (SimulatedFolder::default(), 5);
    let (mut subject, mut dice) = (Subject::new(&folder), Dice::new(seed));
    folder.fill(true);
    assert!(matches!(subject.store.check_space(), Err(AppendError::NoSpace)));
    (0..5_000).for_each(|_| subject.step(&mut dice).unwrap());
    subject.check(seed);
    folder.fill(false);
    subject.store.check_space().unwrap();
}

#[test]
fn the_age_of_a_record_is_what_was_written_since() {
    let subject = Subject::new(&SimulatedFolder::default());
    let age = || subject.store.n_bytes_since(&subject.store.read(key(1)).unwrap().unwrap());
    subject.apply(1, Some(&[1; 100])).unwrap();
    assert_eq!(age(), 0);
    let mut ages = Vec::new();
    for number in 2..KEYS {
        subject.apply(number, Some(&[2; 1_000])).unwrap();
        ages.push(age());
    }
    assert!(
        ages.is_sorted() && ages.last().is_some_and(|age| (256 << 10..512 << 10).contains(age)),
        "{ages:?}"
    );
    subject.apply(1, Some(&[3; 100])).unwrap();
    assert_eq!(age(), 0);
}
