//! Uploads the corpus: each module is refused or contained as expected while other transactions are evaluated.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tollgate_tests::{Answer, Home, Service, process, proof};

use super::corpus;
use super::guest::{self, Expected, Guest};
use super::traffic::{self, Numbers, PACE, Seen, percentiles, stream};

/// Number of transactions that every admitted module evaluates, so that state leaking between runs would show.
const N_JUDGED: usize = 3;
/// Maximum memory growth of the service over the whole corpus.
const GROWTH_KIB_MAX: u64 = 16 * 1024;
/// Number of passes over the corpus within which one has to stay below that growth.
const N_PASSES_MAX: usize = 6;
const N_STREAMS: usize = 2;

#[test]
fn every_hostile_module_is_refused_or_contained_as_its_name_says() {
    // One in five in the sample run, because each module is compiled in a separate process.
    let guests: Vec<Guest> = corpus::all().into_iter().step_by(proof::rounds(5, 1)).collect();
    let service = Service::start(&Home::with_rules(&traffic::rules()));
    let (numbers, seen, is_over) = (Numbers::default(), Seen::default(), AtomicBool::new(false));
    // Some modules of every kind first, so that one-time allocations precede the measurement.
    for guest in guests.iter().step_by(10) {
        arrive(&service, guest, &seen, "warm");
    }
    let run = |n_most: usize, pace| {
        streams(&service, |client| stream(client, (&numbers, &seen), &is_over, n_most / N_STREAMS, pace))
    };
    let alone = run(proof::rounds(400, 4_000), PACE);
    // A leak grows with every pass over the corpus. What the allocator keeps for a new mix of sizes grows once.
    let mut beside = Vec::new();
    let mut grown = Vec::new();
    while grown.len() < N_PASSES_MAX && grown.last().is_none_or(|&grown| grown > GROWTH_KIB_MAX) {
        let before = resident_kib(&service);
        beside = pass((&service, &guests, &seen), grown.len(), &is_over, || run(usize::MAX, PACE));
        let after = resident_kib(&service);
        // The growth caused by other transactions alone.
        let n_again = run(beside.len(), Duration::ZERO).len();
        let later = resident_kib(&service);
        println!(
            "resident memory: {before} KiB, {after} after a pass, {later} after {n_again} more transactions"
        );
        // Memory that is free again after those did not leak.
        let kept = after.min(later);
        grown.push(kept.saturating_sub(before).saturating_sub(later.saturating_sub(after)));
    }
    for guest in &guests {
        check_words(guest, &seen);
    }
    let (n_alone, n_beside) = (alone.len(), beside.len());
    let ((alone, alone_middle), (beside, beside_middle)) = (percentiles(alone), percentiles(beside));
    println!("{}", counts(&guests));
    println!("other traffic alone: p50 {alone_middle:?}, p99 {alone:?} of {n_alone} transactions");
    println!("beside the corpus:   p50 {beside_middle:?}, p99 {beside:?} of {n_beside} transactions");
    assert!(
        grown.iter().any(|&grown| grown <= GROWTH_KIB_MAX),
        "the service grew by {grown:?} KiB in passes over the corpus, beyond what transactions take"
    );
    assert_eq!(service.stop().0.code(), Some(0));
}

/// Uploads the whole corpus beside other transactions, whose durations it returns.
fn pass(
    (service, guests, seen): (&Service, &[Guest], &Seen),
    number: usize,
    is_over: &AtomicBool,
    stream: impl Fn() -> Vec<Duration> + Sync,
) -> Vec<Duration> {
    is_over.store(false, Ordering::Relaxed);
    thread::scope(|scope| {
        let streaming = scope.spawn(&stream);
        let arriving = catch_unwind(AssertUnwindSafe(|| {
            guests
                .iter()
                .filter(|guest| !arrives(service, guest, seen, &format!("corpus-{number}")))
                .map(|guest| &guest.name)
                .collect::<Vec<_>>()
        }));
        is_over.store(true, Ordering::Relaxed);
        let beside = streaming.join().unwrap();
        assert_eq!(arriving.unwrap(), Vec::<&String>::new(), "did not go as their names say");
        is_over.store(false, Ordering::Relaxed);
        beside
    })
}

fn resident_kib(service: &Service) -> u64 {
    process::resident_kib(service.pid()).0
}

/// Returns the durations measured by all clients concurrently.
fn streams(
    service: &Service,
    measure: impl Fn(&tollgate_tests::Client) -> Vec<Duration> + Sync,
) -> Vec<Duration> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..N_STREAMS)
            .map(|_| {
                let client = service.client();
                let measure = &measure;
                scope.spawn(move || measure(&client))
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Returns whether the module behaved as expected. Otherwise removes it, so that it does not affect the next one.
fn arrives(service: &Service, guest: &Guest, seen: &Seen, round: &str) -> bool {
    let arrived = catch_unwind(AssertUnwindSafe(|| arrive(service, guest, seen, round)));
    if arrived.is_err() {
        for instruction in service.get("/instructions").json().as_array().into_iter().flatten() {
            if instruction["name"] == *guest.name {
                let _ = service.delete(&format!("/instructions/{}", instruction["id"]));
            }
        }
    }
    arrived.is_ok()
}

/// Uploads a module, evaluates transactions, and removes it.
#[track_caller]
fn arrive(service: &Service, guest: &Guest, seen: &Seen, round: &str) {
    let name = &guest.name;
    let answer = service.upload("", &guest.bytes);
    let id = |n: usize| format!("{round}-{name}-{n}");
    match &guest.expected {
        Expected::Refused(checks) => {
            if checks == &["size"] {
                // The HTTP layer rejects bodies of this size.
                assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"), "{name}");
                return;
            }
            assert_eq!((answer.status, answer.code().as_str()), (400, "module_refused"), "{name}");
            let named: BTreeSet<String> = findings(&answer).into_iter().collect();
            assert!(
                named.iter().any(|check| checks.contains(check)),
                "{name}: {checks:?} of {}",
                answer.text()
            );
        }
        Expected::Fails(_) | Expected::Harmless(_) => {
            let saved = answer.status == 201;
            assert!(saved, "{name} is {}, and not let in: {}", guest.expected, answer.text());
            for n in 0..N_JUDGED {
                let judged = service.inject(&guest::transaction(&id(n)));
                seen.note(&judged);
                check_judged(guest, &judged);
            }
            let instruction = answer.at("/id");
            assert_eq!(service.delete(&format!("/instructions/{instruction}")).status, 204, "{name}");
        }
    }
    let judged = service.inject(&guest::transaction(&id(N_JUDGED)));
    let calm = (Value::from("approve"), Vec::<String>::new(), Value::Array(Vec::new()));
    let after = (judged.at("/verdict"), judged.triggered(), judged.at("/failures"));
    assert_eq!(after, calm, "after {name} the service answers as before");
}

/// Returns the checks named in a refusal, each with a printable message.
#[track_caller]
fn findings(answer: &Answer) -> Vec<String> {
    let checks = answer.at("/checks");
    let findings = checks.as_array().into_iter().flatten().map(|finding| {
        let message = finding["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty() && traffic::shown_badly(message).is_none(), "{finding}");
        assert!(finding["offset"].is_u64() || finding["offset"].is_null(), "{finding}");
        finding["check"].as_str().unwrap_or_default().to_owned()
    });
    findings.collect()
}

#[track_caller]
fn check_judged(guest: &Guest, judged: &Answer) {
    let name = &guest.name;
    let failed: Vec<Value> = judged.at("/failures").as_array().cloned().unwrap_or_default();
    let failed_itself = failed.iter().any(|failure| failure["name"] == **name);
    let matched = judged.triggered().contains(name);
    match &guest.expected {
        Expected::Fails(_) => {
            assert!(failed_itself && !matched, "{name}: {}", judged.text());
            assert_eq!(judged.at("/verdict"), "review", "{name}");
        }
        Expected::Harmless(verdict) => {
            assert_eq!(failed, Vec::<Value>::new(), "{name}: {}", judged.text());
            assert_eq!(judged.at("/verdict"), **verdict, "{name}: {}", judged.text());
        }
        Expected::Refused(_) => {}
    }
}

/// Checks that a module failed only in the expected way over all responses. One that keeps failing is eventually
/// quarantined.
#[track_caller]
fn check_words(guest: &Guest, seen: &Seen) {
    let mut words = seen.words(&guest.name);
    words.remove("quarantined");
    let expected: BTreeSet<String> = match &guest.expected {
        Expected::Fails(word) => BTreeSet::from([word.clone()]),
        Expected::Refused(_) | Expected::Harmless(_) => BTreeSet::new(),
    };
    assert_eq!(words, expected, "how {} died", guest.name);
}

fn counts(guests: &[Guest]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for guest in guests {
        *counts.entry(guest.expected.to_string()).or_default() += 1;
    }
    let lines: Vec<String> =
        counts.iter().map(|(expected, count)| format!("{count:>5}  {expected}")).collect();
    format!("{} hostile modules\n{}", guests.len(), lines.join("\n"))
}
