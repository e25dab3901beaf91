//! The delay until a rule change takes effect, and its impact on latency meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::oracle::{Oracle, Subject as _};
use tollgate_tests::{Client, Home, Service, SetOnDrop, proof, sample};

/// Delay from a saved file to the first verdict with it, with [`RULES`] rules; asserted in full mode.
const SAVED_TO_JUDGED_MAX: Duration = Duration::from_millis(300);
const RULES: usize = 1_000;
/// Number of rules that must always agree.
const TWINS: usize = 10;
const BETWEEN_SWAPS: Duration = Duration::from_millis(50);
/// Transactions per second, over all clients.
const A_SECOND: u32 = 1_000;
/// Currency sent by each client.
const SIDES: [&str; 4] = ["EUR", "USD", "EUR", "USD"];

#[test]
fn a_saved_file_soon_judges() {
    let n_rules = proof::rounds(200, RULES);
    let rules: Vec<(String, String)> = (0..n_rules)
        .map(|number| {
            (format!("{}/r{number}.ws", number % 10), sample::rule(&format!("r{number}"), "amount > 1000"))
        })
        .collect();
    let home = Home::with_rules(&rules);
    let service = Service::start(&home);
    let mut times: Vec<Duration> = (0..proof::rounds(5, 20))
        .map(|round| {
            let name = format!("saved{round}");
            let script = sample::rule(&name, "amount > 5");
            let beside = home.current().join("beside.ws");
            fs::write(&beside, &script).unwrap();
            let start = Instant::now();
            fs::rename(&beside, home.rules().join("saved.ws")).unwrap();
            let transaction = json!({"amount": 10, "currency": "EUR", "reference": "r"});
            service.until("the saved file judges", || {
                service.inject(&transaction).triggered() == [name.as_str()]
            });
            start.elapsed()
        })
        .collect();
    times.sort();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("saved file to first verdict, {n_rules} rules: median {median:?}, longest {longest:?}");
    // In CI other tests run beside it.
    if proof::is_full() {
        assert!(longest < Duration::from_secs(5));
        assert!(median <= SAVED_TO_JUDGED_MAX, "{times:?}");
    }
}

#[test]
fn while_rule_sets_are_swapped_every_stored_verdict_is_that_of_its_version() {
    let n_swaps = proof::rounds(100, 1_000);
    let rules: Vec<(String, String)> = (0..TWINS)
        .map(|number| (format!("r{number}.ws"), sample::rule(&format!("r{number}"), "currency in $stopped")))
        .collect();
    let home = Home::with_rules(&rules);
    let service = Service::start(&home);
    assert_eq!(set_list(&service, 0).status, 201);
    let first = service.inject(&sample::transaction("first")).at("/rule_set_version").as_u64().unwrap();

    let at_rest = judge_while(&service, || thread::sleep(BETWEEN_SWAPS * u32::try_from(n_swaps).unwrap()));
    let swapped = judge_while(&service, || swap(&service, n_swaps));
    for (what, judged) in [("without swaps", &at_rest), ("with swaps", &swapped)] {
        let mut times: Vec<Duration> = judged.iter().map(|one| one.took).collect();
        times.sort();
        let p99 = times[times.len() * 99 / 100];
        let n_a_second = times.len() as f64 / (BETWEEN_SWAPS.as_secs_f64() * n_swaps as f64);
        println!("{n_swaps} swaps, {what}: {} verdicts, {n_a_second:.0} a second, p99 {p99:?}", times.len());
    }
    let last = service.inject(&sample::transaction("last")).at("/rule_set_version");
    assert_eq!(last.as_u64(), Some(first + n_swaps as u64), "every swap was one version");
    for one in &swapped {
        check(&one.answer, first);
    }
    let stored = stored(&service, &swapped);
    let n_versions = check_again(&stored, &swapped, first, &rules);
    println!("{} stored verdicts of {n_versions} versions, each judged again: no difference", stored.len());
    assert!(n_versions > n_swaps / 4, "only {n_versions} versions had anything to judge");
}

/// Returns the stored form of these transactions, in order.
fn stored(service: &Service, judged: &[Judged]) -> Vec<Value> {
    thread::scope(|scope| {
        let reading: Vec<_> = judged
            .chunks(judged.len().div_ceil(SIDES.len()))
            .map(|share| {
                let client = service.client();
                scope.spawn(move || -> Vec<Value> {
                    let id = |one: &Judged| one.answer["transaction_id"].as_str().unwrap().to_owned();
                    share.iter().map(|one| client.transaction(&id(one)).expect(200)).collect()
                })
            })
            .collect();
        reading.into_iter().flat_map(|reading| reading.join().unwrap()).collect()
    })
}

/// Evaluates every stored transaction with the oracle, using the rules and the list of the version in its verdict.
/// Returns the number of versions.
#[track_caller]
fn check_again(stored: &[Value], answered: &[Judged], first: u64, rules: &[(String, String)]) -> usize {
    assert_eq!(stored.len(), answered.len());
    let mut by_version: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for (stored, Judged { answer, .. }) in stored.iter().zip(answered) {
        for field in
            ["transaction_id", "rule_set_version", "verdict", "score", "reason", "triggered", "failures"]
        {
            assert_eq!(stored[field], answer[field], "what is stored is what was answered: {stored}");
        }
        by_version.entry(stored["rule_set_version"].as_u64().unwrap()).or_default().push(stored.clone());
    }
    let options = tollgate_compiler::CompileOptions::default();
    let checked: Vec<_> =
        rules.iter().map(|(_, script)| tollgate_compiler::compile(script, &options).rule.unwrap()).collect();
    for (version, transactions) in &by_version {
        let entries = entries_of(usize::try_from(version - first).unwrap());
        let mut oracle = Oracle::new(BTreeMap::from([("stopped".to_owned(), entries.to_vec())]));
        let judged = oracle.judge(&checked, transactions).unwrap();
        for (transaction, matched) in transactions.iter().zip(judged) {
            let names = checked.iter().zip(matched).filter(|(_, matched)| *matched);
            let names: Vec<&str> = names.map(|(rule, _)| rule.entry.name.as_str()).collect();
            let triggered = transaction["triggered"].as_array().unwrap().iter();
            let triggered: Vec<&str> = triggered.map(|one| one["name"].as_str().unwrap()).collect();
            assert_eq!(triggered, names, "by version {version}: {transaction}");
            assert_eq!(transaction["verdict"], if names.is_empty() { "approve" } else { "block" });
            assert_eq!(transaction["failures"], json!([]), "{transaction}");
        }
    }
    by_version.len()
}

#[test]
fn while_files_are_exchanged_every_verdict_is_of_one_version() {
    let n_swaps = proof::rounds(20, 300);
    let home = Home::new();
    write_twins(&home, "rules/set", 0);
    let service = Service::start(&home);
    let mut times = Vec::new();
    let judged = judge_while(&service, || {
        for number in 1..=n_swaps {
            write_twins(&home, "next", number);
            let start = Instant::now();
            // Two renames in quick succession remove ten files and add ten others.
            fs::rename(home.at("rules/set"), home.at("last")).unwrap();
            fs::rename(home.at("next"), home.at("rules/set")).unwrap();
            let said = format!("no. {number}; no. {number}");
            let transaction = json!({"amount": 10, "currency": currency_of(number), "reference": "r"});
            service.until("the files judge", || {
                let reason = service.inject(&transaction).at("/reason");
                reason.as_str().is_some_and(|reason| reason.starts_with(&said))
            });
            times.push(start.elapsed());
            fs::remove_dir_all(home.at("last")).unwrap();
        }
    });
    times.sort();
    let n_judged = judged.len();
    println!(
        "{n_swaps} exchanges of {TWINS} files, {n_judged} verdicts: in force after {:?}",
        times[n_swaps / 2]
    );
    let mut number_of = BTreeMap::new();
    for one in &judged {
        check_twins(&one.answer, &mut number_of);
    }
    let numbers: Vec<usize> = number_of.values().copied().collect();
    let is_one_version_each = numbers.is_sorted_by(|one, next| one < next);
    assert!(is_one_version_each, "an exchange is one version: {number_of:?}");
    assert!(numbers.len() > n_swaps / 2, "only {} sets had anything to judge", numbers.len());
}

/// Writes rules that contain the same number and match one currency.
fn write_twins(home: &Home, folder: &str, number: usize) {
    let folder = home.at(folder);
    fs::create_dir_all(&folder).unwrap();
    for twin in 0..TWINS {
        let condition = format!("currency == \"{}\"", currency_of(number));
        let said = format!("no. {number}");
        let script =
            sample::rule(&format!("r{twin}"), &condition).replace(&format!("r{twin} matched"), &said);
        fs::write(folder.join(format!("r{twin}.ws")), script).unwrap();
    }
}

/// Checks that all twins matched with one number, or none did, and that a version always has the same number.
#[track_caller]
fn check_twins(answer: &Value, number_of: &mut BTreeMap<u64, usize>) {
    let triggered = answer["triggered"].as_array().unwrap();
    assert!([0, TWINS].contains(&triggered.len()), "{answer}");
    let Some(first) = triggered.first() else { return };
    assert!(triggered.iter().all(|one| one["reason"] == first["reason"]), "{answer}");
    let number: usize = first["reason"].as_str().unwrap().trim_start_matches("no. ").parse().unwrap();
    assert_eq!(answer["currency"], currency_of(number), "{answer}");
    let version = answer["rule_set_version"].as_u64().unwrap();
    assert_eq!(*number_of.entry(version).or_insert(number), number, "{answer}");
}

const fn currency_of(number: usize) -> &'static str {
    if number.is_multiple_of(2) { "EUR" } else { "USD" }
}

struct Judged {
    answer: Value,
    took: Duration,
}

/// Even versions, counted from the first, stop EUR, odd ones USD.
fn entries_of(number: usize) -> [String; 2] {
    [currency_of(number).to_owned(), format!("no. {number}")]
}

fn set_list(client: &Client, number: usize) -> tollgate_tests::Answer {
    let entries = json!(entries_of(number));
    client.put("/lists/stopped", "application/json", entries.to_string().as_bytes())
}

fn swap(service: &Service, n_swaps: usize) {
    let client = service.client();
    let start = Instant::now();
    for number in 1..=n_swaps {
        let due = BETWEEN_SWAPS * u32::try_from(number).unwrap();
        thread::sleep(due.saturating_sub(start.elapsed()));
        assert_eq!(set_list(&client, number).status, 200);
    }
}

/// Injects [`A_SECOND`] transactions per second from several clients until `work` is done. Latency counts from the due
/// time of a transaction.
fn judge_while(service: &Service, work: impl FnOnce()) -> Vec<Judged> {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let judging: Vec<_> = SIDES
            .into_iter()
            .map(|currency| {
                let (client, is_done) = (service.client(), &is_done);
                scope.spawn(move || {
                    let transaction = json!({"amount": 10, "currency": currency, "reference": currency});
                    let mut judged = Vec::new();
                    let (start, mut due) = (Instant::now(), Duration::ZERO);
                    while !is_done.load(Ordering::Relaxed) {
                        thread::sleep(due.saturating_sub(start.elapsed()));
                        let answer = client.inject(&transaction);
                        let took = start.elapsed() - due;
                        due += Duration::from_secs(1) * u32::try_from(SIDES.len()).unwrap() / A_SECOND;
                        let mut answer = answer.expect(200);
                        answer["currency"] = currency.into();
                        judged.push(Judged { answer, took });
                    }
                    judged
                })
            })
            .collect();
        let ending = SetOnDrop(&is_done);
        work();
        drop(ending);
        judging.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Checks that the verdict is the one of the version it states, for all rules.
#[track_caller]
fn check(answer: &Value, first: u64) -> u64 {
    let version = answer["rule_set_version"].as_u64().unwrap();
    let stopped = if (version - first).is_multiple_of(2) { "EUR" } else { "USD" };
    let is_stopped = answer["currency"] == stopped;
    let n_expected = if is_stopped { TWINS } else { 0 };
    assert_eq!(answer["triggered"].as_array().map(Vec::len), Some(n_expected), "{answer}");
    assert_eq!(answer["verdict"], if is_stopped { "block" } else { "approve" }, "{answer}");
    assert_eq!(answer["failures"], json!([]), "{answer}");
    version
}
