//! The requests sent to a service under fault: new transactions, repeats, conflicting transactions under known ids,
//! status events, reads, and rule changes.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test it serves"
)]

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, SubsecRound as _, TimeDelta, Utc};
use serde_json::{Value, json};

use super::journal::Journal;
use super::rules;
use crate::answer::Answer;
use crate::client::Client;
use crate::generator::dice::Dice;
use crate::sample;
use crate::service::Service;

/// Transactions per source: few enough for the thresholds of the rules to tell their counts apart.
const N_PER_SOURCE: usize = 16;
/// Maximum distance, in sources, of a transaction for an older source.
const SOURCES_BACK: usize = 12;
/// Maximum number of always-matching rules in force together, according to the responses.
const MARKERS_MAX: usize = 2;
/// Upper bound of the delay between the last awaited response and the end.
const END_WITHIN: Duration = Duration::from_millis(5);
/// Polling interval for the number of responses.
const LOOK_EVERY: Duration = Duration::from_micros(200);
/// Offsets from `begin` in seconds and microseconds: the edges of a window of one hour, and the microsecond next to
/// each.
const MOMENTS: [(i64, i64); 9] =
    [(0, 0), (0, 1), (600, 0), (1_800, 0), (3_599, 999_999), (3_600, 0), (3_600, 1), (5_400, 0), (7_200, 0)];

/// Volume and concurrency of a load.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Number of concurrent clients.
    pub n_clients: usize,
    /// Number of responses after which the end may come.
    pub n_answers: usize,
    /// Maximum number of requests.
    pub n_requests_max: usize,
}

/// Counts of responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Successful requests.
    pub n_granted: usize,
    /// Requests rejected as expected: 404 and 409.
    pub n_refused: usize,
    /// 503 responses, each with a retry time.
    pub n_unavailable: usize,
    /// Requests without a response because the service was gone.
    pub n_open: usize,
}

/// A transaction that was sent, with or without a response.
#[derive(Debug, Clone)]
struct Sent {
    id: String,
    transaction: Value,
}

/// The traffic of one checker. It keeps its state across faults, so that later requests refer to earlier ones.
#[derive(Debug)]
pub(super) struct Traffic {
    dice: Dice,
    /// Earliest event time.
    begin: DateTime<Utc>,
    n_sent: AtomicUsize,
    sent: Mutex<Vec<Sent>>,
    /// Ids of the saved instructions.
    markers: Mutex<Vec<i64>>,
    /// Whether memory is limited, so that saving a script may return 500.
    is_starved: bool,
    /// Requests without a response: method, path and body.
    open: Mutex<Vec<(&'static str, String, String)>>,
}

/// One client with its own random numbers.
struct Caller<'t> {
    traffic: &'t Traffic,
    journal: &'t Journal,
    client: Client,
    dice: Dice,
    tally: Tally,
}

impl Tally {
    /// Returns the sum of both tallies.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            n_granted: self.n_granted + other.n_granted,
            n_refused: self.n_refused + other.n_refused,
            n_unavailable: self.n_unavailable + other.n_unavailable,
            n_open: self.n_open + other.n_open,
        }
    }
}

impl Traffic {
    pub(super) fn new(dice: Dice) -> Self {
        Self {
            dice,
            begin: Utc::now().trunc_subsecs(0) - TimeDelta::hours(3),
            n_sent: AtomicUsize::new(0),
            sent: Mutex::default(),
            markers: Mutex::default(),
            is_starved: false,
            open: Mutex::default(),
        }
    }

    pub(super) const fn starve(&mut self) {
        self.is_starved = true;
    }

    pub(super) fn run(
        &mut self,
        journal: &Journal,
        service: &Service,
        pace: Pace,
        end: impl FnOnce(),
    ) -> Tally {
        let seeds: Vec<u64> = (0..pace.n_clients).map(|_| self.dice.roll()).collect();
        let rest = END_WITHIN.mul_f64(self.dice.below(1_000) as f64 / 1_000.0);
        let (n_asked, n_answered, is_over) =
            (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let traffic = &*self;
        thread::scope(|scope| {
            let (n_asked, n_answered, is_over) = (&n_asked, &n_answered, &is_over);
            let clients: Vec<_> = seeds.into_iter().map(|seed| (seed, service.client())).collect();
            let threads: Vec<_> = clients
                .into_iter()
                .map(|(seed, client)| {
                    let mut caller = Caller::new(traffic, journal, client, seed);
                    scope.spawn(move || {
                        while n_asked.fetch_add(1, Ordering::Relaxed) < pace.n_requests_max
                            && !is_over.load(Ordering::Relaxed)
                            && caller.act()
                        {
                            n_answered.fetch_add(1, Ordering::SeqCst);
                        }
                        caller.tally
                    })
                })
                .collect();
            while n_answered.load(Ordering::SeqCst) < pace.n_answers
                && !threads.iter().all(|thread| thread.is_finished())
            {
                thread::sleep(LOOK_EVERY);
            }
            thread::sleep(rest);
            let ended = panic::catch_unwind(AssertUnwindSafe(end));
            is_over.store(true, Ordering::Relaxed);
            // If the test has failed, stop here.
            ended.unwrap_or_else(|panic| panic::resume_unwind(panic));
            let tallies = threads.into_iter().map(|thread| thread.join().expect("a client does not panic"));
            tallies.fold(Tally::default(), Tally::and)
        })
    }

    pub(super) fn read_back(&mut self, journal: &Journal, service: &Service, n_latest: usize) -> Tally {
        let seed = self.dice.roll();
        let open = std::mem::take(&mut *hold(&self.open));
        let latest: Vec<Sent> = hold(&self.sent).iter().rev().take(n_latest).cloned().collect();
        let mut caller = Caller::new(self, journal, service.client(), seed);
        for (method, path, body) in open {
            // Saving a rule twice gives a name conflict, removing one twice gives 404. Both are valid responses.
            caller.ask(method, &path, &body);
        }
        for sent in latest {
            caller.ask("GET", &format!("/transactions/{}", sent.id), "");
            if caller.dice.chance(30) {
                caller.ask("POST", "/inject", &sent.transaction.to_string());
            }
        }
        caller.tally
    }

    /// Returns a new transaction.
    fn fresh(&self, dice: &mut Dice) -> Sent {
        let n = self.n_sent.fetch_add(1, Ordering::Relaxed);
        let back = if dice.chance(25) { dice.below(SOURCES_BACK) } else { 0 };
        let source = (n / N_PER_SOURCE).saturating_sub(back);
        let amount = 1.0 + dice.below(160) as f64 / 8.0;
        // Some sources state the event time; the others leave it to the service.
        let created_at = (!source.is_multiple_of(3)).then(|| self.moment(dice));
        // Sometimes longer than a database page.
        let text = "\u{e9}x\n".repeat(if dice.chance(5) { 1_500 } else { dice.below(40) });
        let id = format!("t-{n}");
        let mut fields = json!({
            "source": format!("source-{source}"), "amount": amount, "meta_data": {"n": n, "nested": {"text": text}},
        });
        if let Some(created_at) = created_at {
            fields = sample::with(&fields, &json!({"created_at": created_at}));
        }
        let sent = Sent { transaction: sample::with(&sample::transaction(&id), &fields), id };
        hold(&self.sent).push(sent.clone());
        sent
    }

    /// Returns one of a few moments, so that window edges occur often.
    fn moment(&self, dice: &mut Dice) -> String {
        let (seconds, micros) = dice.pick(MOMENTS);
        let at = self.begin + TimeDelta::seconds(seconds) + TimeDelta::microseconds(micros);
        at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
    }

    /// Returns a transaction that was sent before.
    fn known(&self, dice: &mut Dice) -> Option<Sent> {
        let sent = hold(&self.sent);
        // Prefers the latest ones, including those still in flight.
        let back = if dice.chance(50) { dice.below(24) } else { dice.below(sent.len()) };
        sent.len().checked_sub(1 + back).and_then(|index| sent.get(index).cloned())
    }
}

impl<'t> Caller<'t> {
    fn new(traffic: &'t Traffic, journal: &'t Journal, client: Client, seed: u64) -> Self {
        Self { traffic, journal, client, dice: Dice::of_seed(seed), tally: Tally::default() }
    }

    /// Sends one request. Returns whether a response arrived.
    fn act(&mut self) -> bool {
        let draw = self.dice.below(1_000);
        if draw < 4 {
            return self.change_rules();
        }
        let known = if draw < 450 { self.traffic.known(&mut self.dice) } else { None };
        let Some(Sent { id, transaction }) = known else {
            let fresh = self.traffic.fresh(&mut self.dice);
            if draw >= 980 {
                return self.report(&fresh.transaction);
            }
            return self.ask("POST", "/inject", &fresh.transaction.to_string()).is_some();
        };
        match draw {
            4..150 => self.ask("POST", "/inject", &transaction.to_string()),
            150..220 => {
                // Less than the amount of any payment: an event of a smaller one would count as its capture.
                let other = sample::with(&transaction, &json!({"amount": 0.5}));
                self.ask("POST", "/inject", &other.to_string())
            }
            220..340 => return self.report(&transaction),
            _ => self.ask("GET", &format!("/transactions/{id}"), ""),
        }
        .is_some()
    }

    /// Sends a status event of the ledger.
    fn report(&mut self, transaction: &Value) -> bool {
        let event = if self.dice.chance(70) { "transaction.applied" } else { "transaction.void" };
        let body = json!({"event": event, "data": transaction}).to_string();
        self.ask("POST", "/ledgerwebhook", &body).is_some()
    }

    /// Saves an always-matching rule, or removes one.
    fn change_rules(&mut self) -> bool {
        // The lock covers the whole change, so that the number of markers never exceeds the limit.
        let mut markers = hold(&self.traffic.markers);
        if markers.len() >= MARKERS_MAX {
            let id = markers.remove(0);
            drop(markers);
            return self.ask("DELETE", &format!("/instructions/{id}"), "").is_some();
        }
        let name = format!("marker_{}", self.traffic.n_sent.fetch_add(1, Ordering::Relaxed));
        let body = json!({"script": rules::marker(&name)}).to_string();
        let answer = self.ask("POST", "/compile-and-save-instruction", &body);
        if let Some(saved) = answer.as_ref().filter(|answer| answer.status == 201) {
            markers.extend(saved.at("/id").as_i64());
        }
        answer.is_some()
    }

    fn ask(&mut self, method: &'static str, path: &str, body: &str) -> Option<Answer> {
        let number = self.journal.ask(method, path, body);
        let headers: &[_] = if body.is_empty() { &[] } else { &[("content-type", "application/json")] };
        let Ok(answer) = self.client.send(method, path, headers, body.as_bytes()) else {
            self.tally.n_open += 1;
            hold(&self.traffic.open).push((method, path.to_owned(), body.to_owned()));
            return None;
        };
        self.journal.got(number, &answer);
        match answer.status {
            200..300 => self.tally.n_granted += 1,
            503 => {
                assert!(answer.header("retry-after").is_some(), "no time to come back: {}", answer.text());
                self.tally.n_unavailable += 1;
            }
            500 if self.traffic.is_starved && path == "/compile-and-save-instruction" => {
                self.tally.n_unavailable += 1;
            }
            404 | 409 => self.tally.n_refused += 1,
            status => panic!("{method} {path} was answered {status}: {}", answer.text()),
        }
        Some(answer)
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
