#![cfg(test)]
//! kill -9 and SIGTERM under load: what was answered is there, with the same verdict, and nothing else is.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, Home, Service, proof, sample};

const N_THREADS: usize = 8;
/// Transactions that share a source: few enough for the rules to tell their counts apart.
const N_PER_SOURCE: usize = 20;
/// Cycles on one data directory; after them a new one, so that a long run checks crashes and not its own growth.
const CYCLES_PER_HOME: usize = 25;
/// A thread that sent so many without being stopped found no crash.
const N_PER_THREAD_MAX: usize = 50_000;
/// What an answer says of the evaluation, in GET and in POST alike.
const EVALUATION: [&str; 8] = [
    "transaction_id",
    "verdict",
    "score",
    "reason",
    "triggered",
    "failures",
    "rule_set_version",
    "evaluated_at",
];

/// One transaction as a client remembers it: written down before it is sent, completed when it is answered.
struct Sent {
    id: String,
    source: String,
    body: String,
    answer: Option<Answer>,
}

#[test]
fn after_kill_9_under_load_every_answered_transaction_is_there_with_the_same_verdict() {
    let cycles = proof::rounds(25, 2_000);
    let (mut n_answered, mut n_open) = (0, 0);
    for first in (0..cycles).step_by(CYCLES_PER_HOME) {
        let home = home();
        let mut all = Vec::new();
        let mut n_present = 0;
        for cycle in first..cycles.min(first + CYCLES_PER_HOME) {
            let service = Service::start(&home);
            let clients = clients(&service);
            let sent = load(clients, &format!("c{cycle}"), random(400), || service.kill());
            if cycle.is_multiple_of(5) {
                Service::start_and_kill(&home, Duration::from_millis(random(60) as u64));
            }
            n_answered += sent.iter().filter(|sent| sent.answer.is_some()).count();
            n_open += sent.iter().filter(|sent| sent.answer.is_none()).count();

            let service = Service::start(&home);
            n_present += check(&service, &sent);
            check_census(&service, n_present, &format!("after_cycle_{cycle}"));
            all.extend(sent);
            service.kill();
        }
        let service = Service::start(&home);
        assert_eq!(check(&service, &all), n_present, "later crashes touched earlier transactions");
    }
    println!(
        "{cycles} cycles, {n_answered} answered, {n_open} without an answer when the service was killed"
    );
}

#[test]
fn sigterm_under_load_ends_with_0_and_loses_nothing() {
    let home = home();
    let mut n_present = 0;
    for cycle in 0..proof::rounds(3, 30) {
        let service = Service::start(&home);
        let sent = load(clients(&service), &format!("t{cycle}"), random(400), || service.terminate());
        let (status, log) = service.wait();
        assert_eq!(status.code(), Some(0), "cycle {cycle}:\n{}", log.join("\n"));

        let service = Service::start(&home);
        n_present += check(&service, &sent);
        check_census(&service, n_present, &format!("after_stop_{cycle}"));
        assert_eq!(service.stop().0.code(), Some(0));
    }
}

/// Rules whose answers show the past: how many of its source a transaction saw, and what they came to.
fn home() -> Home {
    let mut rules: Vec<(String, String)> = (1..N_PER_SOURCE)
        .map(|k| {
            let condition = format!(r#"count(when source == $current.source, "P1D") >= {k}"#);
            (format!("counts/at_least_{k}.ws"), sample::rule(&format!("at_least_{k}"), &condition))
        })
        .collect();
    let sum = r#"sum(amount when source == $current.source, "P1D") > 95.5"#;
    rules.push(("large_sum.ws".to_owned(), sample::rule("large_sum", sum)));
    Home::with_rules(&rules)
}

fn clients(service: &Service) -> Vec<Client> {
    (0..N_THREADS).map(|_| service.client()).collect()
}

/// Sends from all clients at once; after `n_answers` answers, at no moment in particular, ends the service.
fn load(clients: Vec<Client>, prefix: &str, n_answers: usize, end: impl FnOnce()) -> Vec<Sent> {
    let (n_sent, n_answered, is_ending) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let (n_sent, n_answered, is_ending) = (&n_sent, &n_answered, &is_ending);
        let send = |client: Client| {
            let mut log = Vec::new();
            while log.len() < N_PER_THREAD_MAX {
                let mut sent = transaction(prefix, n_sent.fetch_add(1, Ordering::Relaxed));
                let result = client.try_post("/inject", sent.body.as_bytes());
                let was_ending = is_ending.load(Ordering::SeqCst);
                sent.answer = result.as_ref().ok().filter(|answer| answer.status == 200).cloned();
                let is_answered = sent.answer.is_some();
                log.push(sent);
                if is_answered {
                    n_answered.fetch_add(1, Ordering::SeqCst);
                } else {
                    assert!(was_ending, "before its end the service answered {result:?}");
                    break;
                }
            }
            log
        };
        let threads: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || send(client))).collect();
        while n_answered.load(Ordering::SeqCst) < n_answers
            && !threads.iter().all(|thread| thread.is_finished())
        {
            thread::yield_now();
        }
        thread::sleep(Duration::from_micros(random(4_000) as u64));
        is_ending.store(true, Ordering::SeqCst);
        end();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn transaction(prefix: &str, n: usize) -> Sent {
    let id = format!("{prefix}-{n}");
    let source = format!("{prefix}-source-{}", n / N_PER_SOURCE);
    // Some say when they happened, all at one moment; some leave it to the service.
    let created_at = (n / N_PER_SOURCE).is_multiple_of(2).then(moment);
    let fields = json!({
        "source": source, "created_at": created_at, "amount": (n % 90) as f64 / 8.0, "meta_data": {"n": n, "nested": {"text": "\u{e9}\n"}},
    });
    let body = sample::with(&sample::transaction(&id), &fields).to_string();
    Sent { id, source, body, answer: None }
}

/// A moment that lies in every window of this run.
fn moment() -> &'static str {
    static MOMENT: OnceLock<String> = OnceLock::new();
    MOMENT.get_or_init(|| (Utc::now() - TimeDelta::hours(1)).to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// Holds what was answered against what is there now; how many of these transactions are there.
#[track_caller]
fn check(service: &Service, sent: &[Sent]) -> usize {
    let mut counts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for sent in sent {
        let stored = service.transaction(&sent.id);
        let Some(answer) = &sent.answer else {
            if stored.status == 404 {
                assert_eq!(stored.code(), "transaction_not_found");
                continue;
            }
            check_stored(sent, &stored);
            counts.entry(&sent.source).or_default().push(count_seen(&stored));
            let retry = service.try_post("/inject", sent.body.as_bytes()).unwrap();
            assert_eq!(evaluation(&retry), evaluation(&stored), "{}", sent.id);
            continue;
        };
        assert_eq!(stored.status, 200, "{} was answered and is lost", sent.id);
        check_stored(sent, &stored);
        counts.entry(&sent.source).or_default().push(count_seen(&stored));
        assert_eq!(evaluation(answer), evaluation(&stored), "{}", sent.id);
        let retry = service.try_post("/inject", sent.body.as_bytes()).unwrap();
        assert_eq!((retry.status, retry.text()), (200, answer.text()), "{}: another answer", sent.id);
    }
    for (source, counts) in &mut counts {
        counts.sort_unstable();
        assert_eq!(
            *counts,
            (0..counts.len()).collect::<Vec<_>>(),
            "{source}: a verdict counted what is lost"
        );
    }
    counts.values().map(Vec::len).sum()
}

/// Complete or absent: every field as it was sent, beside a whole evaluation.
#[track_caller]
fn check_stored(sent: &Sent, stored: &Answer) {
    let stored = stored.expect(200);
    let body: Value = serde_json::from_str(&sent.body).unwrap();
    for (name, value) in body.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()) {
        assert_eq!(stored.get(name), Some(value), "{}: {name}", sent.id);
    }
    for name in EVALUATION {
        assert!(stored.get(name).is_some_and(|value| !value.is_null()), "{}: no {name}: {stored}", sent.id);
    }
}

fn count_seen(answer: &Answer) -> usize {
    answer.triggered().iter().filter(|name| name.starts_with("at_least_")).count()
}

#[track_caller]
fn evaluation(answer: &Answer) -> Vec<Value> {
    let body = answer.expect(200);
    EVALUATION.iter().map(|name| body.get(name).cloned().unwrap_or_default()).collect()
}

/// The history holds exactly `n_present` transactions: none that was never sent, none twice.
#[track_caller]
fn check_census(service: &Service, n_present: usize, name: &str) {
    let condition = format!(r#"count(when currency == "EUR", "P1D") == {n_present}"#);
    let saved = service.save(&sample::rule(name, &condition));
    let id = saved.expect(201)["id"].clone();
    let probe = sample::with(&sample::transaction(name), &json!({"currency": "XTS"}));
    let answer = service.inject(&probe);
    assert!(
        answer.triggered().contains(&name.to_owned()),
        "not {n_present} in the history: {}",
        answer.text()
    );
    assert_eq!(service.delete(&format!("/instructions/{id}")).status, 204);
}

/// At least 1, at most `max`; another one on every run.
fn random(max: usize) -> usize {
    let hash = RandomState::new().build_hasher().finish();
    1 + usize::try_from(hash % max as u64).unwrap()
}
