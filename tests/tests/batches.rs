//! `POST /inject/batch`: a line is what an inject is, in order, whatever happens to the connection.

mod client;

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use client::OpenBatch;
use serde_json::{Value, json};
use tollgate_tests::{Answer, Home, Service, proof, sample};

/// Reviews all but the first `LIMIT` payments of an account.
const LIMITED: &str = r#"rule limited {
    when count(when source == $current.source, "PT1H") >= 40
    then review score 0.5 reason "too many"
}"#;
/// Payments of an account that [`LIMITED`] approves.
const LIMIT: usize = 40;

const NDJSON: (&str, &str) = ("Content-Type", "application/x-ndjson");

fn line(id: &str, source: &str) -> String {
    let transaction = sample::with(&sample::transaction(id), &json!({"source": source}));
    format!("{transaction}\n")
}

fn post(service: &Service, headers: &[(&str, &str)], lines: &str) -> Answer {
    service.send("POST", "/inject/batch", &[&[NDJSON], headers].concat(), lines.as_bytes()).unwrap()
}

fn answers(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns what an answer says, whenever it was given.
fn said(answer: &Value) -> Value {
    let mut said = answer.clone();
    said.as_object_mut().unwrap().remove("evaluated_at");
    said
}

#[test]
fn answers_of_a_batch_are_those_of_single_injects_in_the_same_order() {
    let home = Home::with_rules(&[("limited.ws", LIMITED)]);
    let (service, other) = (Service::start(&home), Home::with_rules(&[("limited.ws", LIMITED)]));
    let other = Service::start(&other);
    let mut seed = proof::seed("batches");
    let lines: Vec<String> = (0..proof::rounds(600, 20_000))
        .map(|number| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Some ids come twice, with the same content or another one.
            let id = if seed >> 60 == 0 { number / 2 } else { number };
            line(&format!("t-{id}"), &format!("account-{}", (seed >> 33) % 7))
        })
        .collect();
    let mut judged = Vec::new();
    for lines in lines.chunks(1_000) {
        judged.extend(answers(&post(&service, &[], &lines.concat())));
    }
    assert_eq!(judged.len(), lines.len());
    let mut verdicts = BTreeSet::new();
    for (number, (answer, line)) in judged.iter().zip(&lines).enumerate() {
        let single = other.send("POST", "/inject", &[("Content-Type", "application/json")], line.as_bytes());
        let mut expected = said(&single.unwrap().json());
        if answer.get("error").is_some() {
            expected["line"] = json!(number % 1_000 + 1);
        }
        assert_eq!(said(answer), expected, "line {}: {line}", number + 1);
        verdicts.insert(answer["verdict"].to_string());
    }
    assert_eq!(verdicts.len(), 3, "not every kind of answer occurred: {verdicts:?}");
    // Sent again, each line gets the same bytes.
    let (first, again) = (lines[..500].concat(), post(&service, &[], &lines[..500].concat()));
    assert_eq!(again.text(), post(&service, &[], &first).text());
    for (again, judged) in answers(&again).iter().zip(&judged) {
        assert_eq!(again, judged);
    }
}

#[test]
fn a_line_that_is_wrong_gets_an_error_with_its_number_and_no_other_line_is_lost() {
    let service = Service::start(&Home::new());
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(64 * 1024));
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    let good = sample::transaction("good").to_string();
    let keyed = r#"{"amount": 1, "currency": "EUR", "reference": "r"}"#;
    let broken = [
        ("not JSON", "malformed_json"),
        ("[1]", "not_an_object"),
        ("{}", "missing_field"),
        (&*long, "body_too_large"),
        (&*deep, "too_deep"),
        ("\u{1}", "malformed_json"),
        (
            r#"{"transaction_id": "x", "amount": "1", "currency": "EUR", "reference": "r", "amount": 2}"#,
            "duplicate_key",
        ),
    ];
    let body: String = broken.iter().map(|(line, _)| format!("{line}\n\n")).collect();
    let found = answers(&post(&service, &[], &format!("{body}{good}\n{keyed}")));
    assert_eq!(found.len(), broken.len() + 2);
    for (index, (_, code)) in broken.iter().enumerate() {
        assert_eq!(found[index]["code"], *code, "{}", found[index]);
        assert_eq!(found[index]["line"], json!(2 * index + 1), "{}", found[index]);
    }
    assert_eq!(found[broken.len()]["verdict"], "approve");
    // Without an id nobody could send the line again.
    let last = &found[broken.len() + 1];
    assert_eq!((&last["code"], &last["field"]), (&json!("missing_field"), &json!("transaction_id")));
    let keyed = post(&service, &[("Idempotency-Key", "\"file 7\"")], &format!("\n{keyed}\n{keyed}\n"));
    let ids: Vec<Value> = answers(&keyed).iter().map(|answer| answer["transaction_id"].clone()).collect();
    assert_eq!(ids, ["file 7:2", "file 7:3"]);
    assert_eq!(answers(&post(&service, &[], "")), [] as [Value; 0]);
    let as_json =
        service.send("POST", "/inject/batch", &[("Content-Type", "application/json")], good.as_bytes());
    assert_eq!(as_json.unwrap().code(), "unsupported_media_type");
}

#[test]
fn a_thousand_broken_lines_are_named_and_the_others_are_judged() {
    let service = Service::start(&Home::new());
    let lines: Vec<String> = (0..2_000)
        .map(|number| match number % 2 {
            0 => "{\n".to_owned(),
            _ => line(&format!("t{number}"), "a"),
        })
        .collect();
    let OpenBatch { sender, answers } = OpenBatch::begin(service.address());
    let found: Vec<Value> = thread::scope(|scope| {
        scope.spawn(|| sender.send_all(&lines));
        answers.collect()
    });
    assert_eq!(found.len(), 2_000);
    for (index, answer) in found.iter().enumerate() {
        match index % 2 {
            0 => {
                assert_eq!((&answer["code"], &answer["line"]), (&json!("malformed_json"), &json!(index + 1)))
            }
            _ => assert_eq!(answer["transaction_id"], json!(format!("t{index}"))),
        }
    }
}

#[test]
fn parallel_batches_and_injects_never_pass_a_limit() {
    const BATCHES: usize = 3;
    let service = Service::start(&Home::with_rules(&[("limited.ws", LIMITED)]));
    let n_each = proof::rounds(200, 5_000);
    let n_approved: usize = thread::scope(|scope| {
        let batches: Vec<_> = (0..BATCHES)
            .map(|batch| {
                let service = &service;
                scope.spawn(move || {
                    let lines: String = (0..n_each).map(|n| line(&format!("b{batch}-{n}"), "one")).collect();
                    let approved = |answer: &&Value| answer["verdict"] == "approve";
                    answers(&post(service, &[], &lines)).iter().filter(approved).count()
                })
            })
            .collect();
        let transaction =
            |n: usize| sample::with(&sample::transaction(&format!("single-{n}")), &json!({"source": "one"}));
        let singles =
            (0..n_each / 2).filter(|n| service.inject(&transaction(*n)).at("/verdict") == "approve");
        let n_singles = singles.count();
        batches.into_iter().map(|batch| batch.join().unwrap()).sum::<usize>() + n_singles
    });
    assert_eq!(n_approved, LIMIT);
}

#[test]
fn a_batch_whose_client_does_not_read_is_paused_and_continues_when_it_is_sent_again() {
    let mut home = Home::with_rules(&[("limited.ws", LIMITED)]);
    home.set("SERVICE_WRITE_TIMEOUT", "8s");
    let service = Service::start(&home);
    let block = |block: usize| -> String {
        (0..500).map(|n| line(&format!("t-{block}-{n}"), &format!("account-{}", n % 5))).collect()
    };
    let mut batch = OpenBatch::begin(service.address());
    batch.sender.wait_for(Duration::from_secs(5));
    let n_blocks = (0..200).take_while(|number| batch.sender.send(&block(*number))).count();
    assert!(n_blocks < 200, "100,000 lines were taken without an answer being read");
    assert!(n_blocks * 500 >= 1_000, "only {n_blocks} blocks were taken");
    // Others are served meanwhile, also batches.
    assert_eq!(service.inject(&sample::transaction("other")).status, 200);
    assert_eq!(answers(&post(&service, &[], &line("another", "x"))).len(), 1);
    let cut = || {
        let page = service.get("/metrics").text();
        page.contains("tollgate_connections_cut_total{limit=\"write\"} 1")
    };
    service.until("the connection is cut", cut);
    // Each account has the same number of payments, so the limit tells whether one was counted twice or not at all.
    let mut n_approved = 0;
    for number in 0..4 {
        let found = answers(&post(&service, &[], &block(number)));
        assert_eq!(found.len(), 500);
        n_approved += found.iter().filter(|answer| answer["verdict"] == "approve").count();
    }
    assert_eq!(n_approved, 5 * LIMIT);
}

#[test]
fn a_client_that_waits_too_long_with_the_next_line_gets_an_error() {
    let mut home = Home::new();
    home.set("SERVICE_IDLE_TIMEOUT", "4s");
    let service = Service::start(&home);
    let mut batch = OpenBatch::begin(service.address());
    assert!(batch.sender.send(&line("a", "x")));
    assert_eq!(batch.answers.next().unwrap()["transaction_id"], "a");
    assert!(batch.sender.send("{\"transaction_id\": "));
    let late = batch.answers.next().unwrap();
    assert_eq!((&late["code"], &late["line"]), (&json!("request_timeout"), &json!(2)));
    assert_eq!(batch.answers.next(), None);
}

#[test]
fn a_fifth_batch_is_refused_until_one_ends() {
    let service = Service::start(&Home::new());
    let mut open: Vec<OpenBatch> = (0..4)
        .map(|number| {
            let mut batch = OpenBatch::begin(service.address());
            assert!(batch.sender.send(&line(&format!("t{number}"), "x")));
            assert!(batch.answers.next().is_some());
            batch
        })
        .collect();
    let refused = post(&service, &[], &line("t5", "x"));
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    open.pop().unwrap().sender.end();
    service.until("a batch is taken", || post(&service, &[], &line("t5", "x")).status == 200);
}

#[test]
fn a_stop_ends_a_batch_with_an_error_and_keeps_what_was_answered() {
    let home = Home::with_rules(&[("limited.ws", LIMITED)]);
    let service = Service::start(&home);
    let mut batch = OpenBatch::begin(service.address());
    let mut found = Vec::new();
    for number in 0..20 {
        assert!(batch.sender.send(&line(&format!("t{number}"), "one")));
        found.push(batch.answers.next().unwrap());
    }
    service.terminate();
    let last = batch.answers.next().unwrap();
    assert_eq!((&last["code"], &last["line"]), (&json!("stopping"), &json!(21)));
    assert_eq!(batch.answers.next(), None);
    assert!(service.wait().0.success());
    let service = Service::start(&home);
    let lines: String = (0..20).map(|number| line(&format!("t{number}"), "one")).collect();
    assert_eq!(answers(&post(&service, &[], &lines)), found);
}

#[test]
fn a_client_that_is_sending_when_the_service_stops_reads_why_its_batch_ends() {
    let service = Service::start(&Home::new());
    let OpenBatch { sender, mut answers } = OpenBatch::begin(service.address());
    let lines: Vec<String> = (0..200_000).map(|number| line(&format!("t{number}"), "one")).collect();
    thread::scope(|scope| {
        scope.spawn(|| sender.send_all(&lines));
        assert_eq!(answers.by_ref().take(100).count(), 100);
        service.terminate();
        let last = answers.last().unwrap();
        assert_eq!(last["code"], "stopping", "{last}");
    });
    assert!(service.wait().0.success());
}

#[test]
fn a_client_that_expects_to_be_asked_for_the_body_is_asked() {
    let service = Service::start(&Home::new());
    let mut batch = OpenBatch::begin_with(service.address(), "Expect: 100-continue\r\n");
    assert_eq!(batch.answers.status(), Some(100));
    assert!(batch.sender.send(&line("a", "x")));
    assert_eq!(batch.answers.next().unwrap()["transaction_id"], "a");
    batch.sender.end();
    assert_eq!(batch.answers.next(), None);
}

#[test]
fn a_batch_cut_by_kill_9_is_completed_when_it_is_sent_again() {
    let home = Home::with_rules(&[("limited.ws", LIMITED)]);
    let n_lines = proof::rounds(3_000, 200_000);
    let lines: Vec<String> =
        (0..n_lines).map(|n| line(&format!("t{n}"), &format!("account-{}", n % 10))).collect();
    let mut before: Vec<Value> = Vec::new();
    // Killed after a third and two thirds of its answers.
    for part in [n_lines / 3, 2 * n_lines / 3] {
        let service = Service::start(&home);
        let OpenBatch { sender, answers } = OpenBatch::begin(service.address());
        thread::scope(|scope| {
            scope.spawn(|| sender.send_all(&lines));
            let found: Vec<Value> = answers.take(part).collect();
            assert_eq!(found.len(), part);
            assert_eq!(found[..before.len()], before[..], "an answer has changed");
            before = found;
            service.kill();
        });
    }
    let service = Service::start(&home);
    let mut n_approved = 0;
    for lines in lines.chunks(1_000) {
        let found = answers(&post(&service, &[], &lines.concat()));
        assert_eq!(found.len(), lines.len());
        n_approved += found.iter().filter(|answer| answer["verdict"] == "approve").count();
    }
    assert_eq!(n_approved, 10 * LIMIT);
    assert_eq!(service.get("/readyz").status, 200);
}
