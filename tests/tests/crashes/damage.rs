//! Damaged files: a start or a request is refused, or the damage is harmless. The service never builds on damaged data.
//!
//! SQLite detects broken page structure but not a changed byte within a value, because pages have no checksums. The
//! suite counts how often random damage goes undetected; `docs/reliability.md` states the result.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tollgate_tests::generator::dice::Dice;
use tollgate_tests::{Client, DurabilityChecker, Home, Service, needs, proof};

use crate::crashes::pace;

const PAGE_BYTES: usize = 4096;
/// Number of transactions read after each damage.
const N_ASKED: usize = 60;

/// Damage to the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    /// The file is truncated.
    Truncated,
    /// A page is zeroed.
    Zeroed,
    /// A page is overwritten with another.
    Misplaced,
    /// The magic bytes are changed.
    Magic,
    /// The database is missing, its WAL is present.
    Gone,
    /// One bit of the database is flipped.
    Bit,
    /// One bit of the WAL is flipped.
    BitOfLog,
}

/// The outcome of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    RefusedAtStart,
    RefusedWhenAsked,
    Harmless,
    /// An acknowledged transaction is missing without an error.
    Lost,
    /// A transaction differs from what was acknowledged.
    Wrong,
}

impl Damage {
    fn inflict(self, data: &Path, dice: &mut Dice) {
        let name = if self == Damage::BitOfLog { "tollgate.db-wal" } else { "tollgate.db" };
        let path = data.join(name);
        let mut content = fs::read(&path).unwrap();
        let n_pages = content.len() / PAGE_BYTES;
        let page = dice.below(n_pages) * PAGE_BYTES;
        match self {
            Damage::Truncated => content.truncate(page),
            Damage::Zeroed => content[page..page + PAGE_BYTES].fill(0),
            Damage::Misplaced => {
                let other = (page + PAGE_BYTES * (1 + dice.below(n_pages - 1))) % (n_pages * PAGE_BYTES);
                content.copy_within(other..other + PAGE_BYTES, page);
            }
            Damage::Magic => content[..16].copy_from_slice(b"SQLite format 2\0"),
            Damage::Gone => return fs::remove_file(path).unwrap(),
            Damage::Bit | Damage::BitOfLog => {
                let offset = dice.below(content.len());
                content[offset] ^= 1 << dice.below(8);
            }
        }
        fs::write(path, content).unwrap();
    }

    /// Whether it damages more than a value.
    const fn is_found(self) -> bool {
        !matches!(self, Damage::Misplaced | Damage::Bit | Damage::BitOfLog)
    }
}

/// Returns the responses for the transactions that were acknowledged.
fn shown(client: &Client) -> Vec<(u16, String)> {
    let answers = (0..N_ASKED).map(|n| client.transaction(&format!("t-{n}")));
    answers.map(|answer| (answer.status, answer.text())).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

fn outcome(home: &Home, before: &[(u16, String)]) -> Outcome {
    let service = match Service::try_start(home) {
        Err(refusal) => {
            assert_eq!(refusal.code, Some(1), "{}", refusal.log.join("\n"));
            return Outcome::RefusedAtStart;
        }
        Ok(service) => service,
    };
    let mut worst = Outcome::Harmless;
    for (before, now) in before.iter().zip(shown(&service)) {
        let outcome = match now.0 {
            _ if *before == now => continue,
            // A status that went back is a lost update.
            200 if verdict_of(&before.1) == verdict_of(&now.1) => Outcome::Lost,
            200 => Outcome::Wrong,
            404 => Outcome::Lost,
            _ => Outcome::RefusedWhenAsked,
        };
        worst = if worst == Outcome::Harmless { outcome } else { worst.max(outcome) };
    }
    service.kill();
    worst
}

/// Returns the part after the transaction's own fields.
fn verdict_of(shown: &str) -> Option<&str> {
    shown.split_once(",\"verdict\":").map(|(_, verdict)| verdict)
}

/// Returns a data directory after a kill, with everything in the WAL, and one after a stop, with their responses.
fn originals() -> [(Home, Vec<(u16, String)>); 2] {
    [false, true].map(|is_stopped| {
        let home = DurabilityChecker::home();
        let mut witness = DurabilityChecker::of_seed(proof::seed("damage"));
        let service = Service::start(&home);
        witness.load(&service, pace(200), || {});
        let before = shown(&service);
        if is_stopped {
            assert_eq!(service.stop().0.code(), Some(0));
        } else {
            service.kill();
        }
        (home, before)
    })
}

#[test]
fn damaged_files_are_refused_or_harmless_and_never_built_over() {
    let [killed, stopped] = originals();
    let mut dice = Dice::of_seed(proof::seed("damage"));
    let rounds = proof::share(proof::rounds(2, 100));
    let mut outcomes = BTreeMap::<_, BTreeMap<Outcome, usize>>::new();
    let damages = [
        Damage::Truncated,
        Damage::Zeroed,
        Damage::Misplaced,
        Damage::Magic,
        Damage::Gone,
        Damage::Bit,
        Damage::BitOfLog,
    ];
    for damage in damages {
        for _ in rounds.clone() {
            let is_of_log = matches!(damage, Damage::Gone | Damage::BitOfLog);
            let (original, before) = if is_of_log { &killed } else { &stopped };
            let home = DurabilityChecker::home();
            copy(&original.data(), &home.data());
            damage.inflict(&home.data(), &mut dice);
            let outcome = outcome(&home, before);
            *outcomes.entry(damage).or_default().entry(outcome).or_default() += 1;
            if damage.is_found() {
                assert!(outcome < Outcome::Lost, "{damage:?}: {outcome:?}");
            }
            assert_eq!(damage == Damage::Gone, !home.data().join("tollgate.db").exists(), "{damage:?}");
        }
    }
    println!("{outcomes:#?}");
}

#[test]
fn a_database_that_is_deleted_while_it_is_open_takes_nothing_any_more() {
    needs!(Sqlite);
    let home = DurabilityChecker::home();
    let mut witness = DurabilityChecker::of_seed(proof::seed("a deleted database"));
    let service = Service::start(&home);
    witness.load(&service, pace(50), || {});
    let (database, aside) = (home.data().join("tollgate.db"), home.at("aside.db"));
    fs::rename(&database, &aside).unwrap();
    let during = witness.load(&service, pace(50), || {});
    assert!(during.n_unavailable > 0 && during.n_open == 0, "{during:?}");
    service.kill();
    assert_eq!(Service::try_start(&home).unwrap_err().code, Some(1), "a new database hides what was lost");
    // Restoring the file loses nothing.
    fs::rename(aside, database).unwrap();
    crate::crashes::sweep::check_recovery(&home, &mut witness, "the database was away");
}
