//! What people look at: figures of the past, the latest matches of a rule, events, and the check of a script.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Home, Service, log, modules, sample};

/// Pays `n` times; every third payment is blocked by [`blocking`].
fn pay(service: &Service, name: &str, n: usize) {
    for at in 0..n {
        let amount = if at % 3 == 0 { 5_000 } else { 5 };
        let fields = json!({"amount": amount, "source": "payer", "destination": "payee"});
        let sent = sample::with(&sample::transaction(&format!("{name}-{at}")), &fields);
        drop(service.inject(&sent).expect(200));
    }
}

fn blocking() -> String {
    sample::rule("large", "amount > 1000")
}

/// The sum of each series of `/stats`, by key.
fn sums(service: &Service, query: &str) -> Value {
    let stats = service.get(&format!("/stats?{query}")).expect(200);
    let steps = stats["steps"].as_u64().unwrap();
    let sums = stats["series"].as_array().unwrap().iter().map(|series| {
        let values = series["values"].as_array().unwrap();
        assert_eq!(values.len() as u64, steps);
        let sum: u64 = values.iter().map(|n| n.as_u64().unwrap()).sum();
        (series["key"].as_str().unwrap().to_owned(), json!(sum))
    });
    Value::Object(sums.collect())
}

/// Server-sent events of a connection.
struct Stream {
    lines: BufReader<TcpStream>,
}

impl Stream {
    fn open(service: &Service, query: &str, last: Option<u64>) -> Self {
        let mut stream = TcpStream::connect(service.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        write!(stream, "GET /events?{query} HTTP/1.1\r\nHost: {}\r\n{last}\r\n", service.address()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line != "\r\n" {
            line.clear();
            lines.read_line(&mut line).unwrap();
        }
        Self { lines }
    }

    /// Returns name, id and data of the next event; `None` if the stream ends.
    fn next(&mut self) -> Option<(String, u64, Value)> {
        let (mut name, mut id, mut data) = (String::new(), 0, Value::Null);
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            // Lines of the chunked encoding have no colon.
            match line.trim_end().split_once(": ") {
                Some(("event", word)) => name = word.to_owned(),
                Some(("id", number)) => id = number.parse().unwrap(),
                Some(("data", json)) => data = serde_json::from_str(json).unwrap(),
                _ if line == "\n" && !data.is_null() => return Some((name, id, data)),
                _ => {}
            }
        }
    }

    fn until(&mut self, wanted: &str) -> (u64, Value) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let (name, id, data) = self.next().expect("the stream goes on");
            if name == wanted {
                return (id, data);
            }
        }
        panic!("no `{wanted}` within {PATIENCE:?}");
    }
}

#[test]
fn figures_of_the_past_outlive_a_restart() {
    let home = Home::new();
    let service = Service::start(&home);
    let id = service.save(&blocking()).expect(201)["id"].as_i64().unwrap();
    pay(&service, "a", 30);
    let check = |service: &Service, n_blocked: u64| {
        for step in ["PT1M", "PT1H"] {
            let by = |by: &str| sums(service, &format!("step={step}&by={by}"));
            assert_eq!(by("verdict"), json!({"approve": 2 * n_blocked, "block": n_blocked}), "{step}");
            assert_eq!(by("rule"), json!({"large": n_blocked}), "{step}");
            assert_eq!(by("failure"), json!({}), "{step}");
        }
        let summaries = service.get("/instructions/summaries").expect(200);
        let summary = &summaries.as_array().unwrap()[0];
        assert_eq!((&summary["name"], &summary["hits"]), (&json!("large"), &json!(n_blocked)));
        assert_eq!((summary["hourly"].as_array().unwrap().len(), &summary["failures"]), (24, &json!(0)));
    };
    check(&service, 10);
    let stats = service.get("/stats").expect(200);
    let times = stats["latency"]["p50_us"].as_array().unwrap();
    assert!(times.iter().any(|time| time.as_u64().is_some_and(|micros| micros > 0)), "{stats}");
    service.stop();
    let service = Service::start(&home);
    check(&service, 10);
    // A rule that is replaced keeps its figures, and so does its id when it is removed.
    let replaced = sample::rule("large", "amount > 2000");
    let body = json!({"script": replaced}).to_string();
    drop(
        service.client().put(&format!("/instructions/{id}"), "application/json", body.as_bytes()).expect(200),
    );
    pay(&service, "b", 30);
    check(&service, 20);
    assert_eq!(service.delete(&format!("/instructions/{id}")).status, 204);
    assert_eq!(sums(&service, "by=rule"), json!({id.to_string(): 20}));
}

#[test]
fn statistics_that_cannot_be_read_are_said_and_replaced() {
    let home = Home::new();
    std::fs::create_dir_all(home.data()).unwrap();
    std::fs::write(home.data().join("statistics.json"), "{").unwrap();
    let service = Service::start(&home);
    let reported = |line: &str| line.contains("the statistics of earlier runs cannot be read").then_some(());
    assert_eq!(service.log().wait_for(PATIENCE, reported), Some(()));
    pay(&service, "a", 3);
    service.stop();
    let kept = std::fs::read_to_string(home.data().join("statistics.json")).unwrap();
    assert!(kept.contains(r#""approve":3"#), "{kept}");
}

#[test]
fn a_query_that_is_not_understood_is_refused() {
    let home = Home::new();
    let service = Service::start(&home);
    for (path, field) in [
        ("/stats?step=PT5M", "step"),
        ("/stats?by=account", "by"),
        ("/stats?from=yesterday", "from"),
        ("/events?topics=ticks,gossip", "topics"),
    ] {
        let refused = service.get(path);
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid_field"), "{path}");
        assert_eq!(refused.at("/field"), field, "{path}");
    }
    let none = service.get("/stats?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").expect(200);
    assert_eq!((&none["steps"], &none["series"]), (&json!(0), &json!([])));
}

#[test]
fn the_settings_of_the_service_are_shown_without_secrets() {
    let mut home = Home::new();
    home.set("ALERT_WEBHOOK_URL", "http://user:word@127.0.0.1:9/");
    std::fs::write(home.current().join(".env"), "SERVICE_MEMORY_LIMIT=96MiB\n").unwrap();
    let service = Service::start(&home);
    pay(&service, "a", 3);
    let system = service.get("/system").expect(200);
    let setting = |name: &str| {
        let settings = system["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).unwrap().clone()
    };
    assert_eq!(
        setting("ALERT_WEBHOOK_URL"),
        json!({"name": "ALERT_WEBHOOK_URL", "value": null, "origin": "environment"})
    );
    let limit = json!({"name": "SERVICE_MEMORY_LIMIT", "value": "96MiB", "origin": "file"});
    assert_eq!(
        (setting("SERVICE_MEMORY_LIMIT"), &system["history"]["limit_bytes"]),
        (limit, &json!(96 << 20))
    );
    assert_eq!(setting("SERVICE_HOST")["origin"], "default");
    assert!(!system.to_string().contains("word"), "{system}");
    for figure in ["/process/resident_bytes", "/disk/free_bytes", "/disk/store_bytes", "/connections"] {
        assert!(system.pointer(figure).unwrap().as_i64().unwrap() > 0, "{figure}: {system}");
    }
}

#[test]
fn a_payment_on_which_a_module_failed_is_among_its_hits_and_the_first_is_logged() {
    let service = Service::start(&Home::new());
    let module = r#"(module (func (export "evaluate") (result i64) unreachable))"#;
    let module = modules::with_manifest(&modules::of_text(module), &modules::manifest("trapping"));
    let id = service.upload("", &module).expect(201)["id"].clone();
    for n in 0..12 {
        assert_eq!(service.inject(&sample::transaction(&format!("t{n}"))).at("/verdict"), "review");
    }
    let hits = service.get(&format!("/instructions/{id}/hits")).expect(200);
    let failed = hits["failed"].as_array().unwrap();
    let ids: Vec<&str> = failed.iter().filter_map(|run| run["hit"]["transaction_id"].as_str()).collect();
    assert_eq!(ids, ["t11", "t10", "t9", "t8", "t7", "t6", "t5", "t4", "t3", "t2"], "{hits}");
    assert_eq!(failed[0]["failure"], "trap", "{hits}");
    assert!(failed[0]["message"].as_str().unwrap().contains("unreachable"), "{hits}");
    assert!(failed[0]["fuel"].as_u64().unwrap() > 0, "{hits}");
    let (_, lines) = service.stop();
    let reported: Vec<&String> = lines
        .iter()
        .filter(|line| log::message(line).starts_with("a rule failed for the first time"))
        .collect();
    assert!(
        reported.len() == 1 && reported[0].contains("\"t0\"") && reported[0].contains("unreachable"),
        "{reported:?}"
    );
}

#[test]
fn a_rule_knows_the_transactions_that_it_matched_last() {
    let home = Home::new();
    let service = Service::start(&home);
    let id = service.save(&blocking()).expect(201)["id"].clone();
    let path = format!("/instructions/{id}/hits");
    let nothing = json!({"hits": [], "hourly": vec![0; 24], "failures": 0});
    assert_eq!(service.get(&path).expect(200), nothing);
    pay(&service, "a", 300);
    let hits = service.get(&path).expect(200);
    let hourly = hits["hourly"].as_array().unwrap();
    // An hour may end in between.
    assert_eq!((hourly.len(), hourly.iter().filter_map(Value::as_u64).sum()), (24, 100), "{hourly:?}");
    let ids: Vec<&str> =
        hits["hits"].as_array().unwrap().iter().map(|hit| hit["transaction_id"].as_str().unwrap()).collect();
    let expected: Vec<String> = (50..100).rev().map(|n| format!("a-{}", 3 * n)).collect();
    assert_eq!(ids, expected);
    let first = &hits["hits"][0];
    assert_eq!(
        (&first["amount"], &first["currency"], &first["source"]),
        (&json!(5000), &json!("EUR"), &json!("payer"))
    );
    assert_eq!((&first["verdict"], &first["rules"]), (&json!("block"), &json!(["large"])));
    let script = json!({"script": sample::rule("large", "amount > 4000")}).to_string();
    drop(
        service
            .client()
            .put(&format!("/instructions/{id}"), "application/json", script.as_bytes())
            .expect(200),
    );
    assert_eq!(service.get(&path).expect(200)["hits"], hits["hits"], "after a replacement");
    let missing = service.get("/instructions/99/hits");
    assert_eq!((missing.status, missing.code().as_str()), (404, "instruction_not_found"));
}

#[test]
fn the_latest_matches_of_a_rule_are_known_after_a_restart() {
    let home = Home::with_rules(&[("large.ws", blocking())]);
    let service = Service::start(&home);
    pay(&service, "a", 300);
    let ids_of = |service: &Service| -> Vec<String> {
        let hits = service.get("/instructions/1/hits").expect(200);
        let ids = hits["hits"].as_array().unwrap().iter();
        ids.map(|hit| hit["transaction_id"].as_str().unwrap().to_owned()).collect()
    };
    let before = ids_of(&service);
    assert_eq!(before.len(), 50);
    service.kill();
    let service = Service::start(&home);
    service.until("the earlier matches were read", || ids_of(&service) == before);
    // Later matches come first.
    pay(&service, "b", 4);
    assert_eq!(ids_of(&service)[..3], ["b-3", "b-0", &*before[0]]);
    assert_eq!(ids_of(&service).len(), 50);
}

#[test]
fn a_transaction_knows_the_changes_of_its_status() {
    let home = Home::new();
    let service = Service::start(&home);
    let mut sent = sample::with(&sample::transaction("moved"), &json!({"status": "pending"}));
    drop(service.inject(&sent).expect(200));
    let path = "/transactions/moved/status-updates";
    assert_eq!(service.get(path).expect(200), json!({"status_updates": []}));
    for status in ["inflight", "applied", "applied"] {
        sent["status"] = json!(status);
        let event = json!({"event": format!("transaction.{status}"), "data": sent});
        drop(service.post("/ledgerwebhook", &event).expect(200));
    }
    let updates = service.get(path).expect(200);
    let moves: Vec<_> = updates["status_updates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|update| [&update["before"], &update["after"], &update["event"], &update["sequence"]])
        .collect();
    assert_eq!(
        json!(moves),
        json!([
            ["pending", "inflight", "transaction.inflight", 2],
            ["inflight", "applied", "transaction.applied", 3]
        ])
    );
    let missing = service.get("/transactions/nobody/status-updates");
    assert_eq!((missing.status, missing.code().as_str()), (404, "transaction_not_found"));
}

#[test]
fn listeners_get_verdicts_rates_and_rules() {
    let home = Home::new();
    let service = Service::start(&home);
    let mut stream = Stream::open(&service, "", None);
    // The first look of the service is the one that later ones are compared with.
    let (_, tick) = stream.until("tick");
    assert_eq!(tick["counts"], json!({"approve": 0, "alert": 0, "review": 0, "block": 0}));
    drop(service.save(&blocking()).expect(201));
    let (_, rules) = stream.until("rules");
    assert!(rules["rule_set_version"].as_u64().unwrap() > 0);
    pay(&service, "a", 90);
    let (mut n_judged, mut reported, mut last) = (0, Vec::new(), 0);
    while n_judged < 90 {
        let (name, id, data) = stream.next().unwrap();
        last = id;
        match name.as_str() {
            "tick" => {
                n_judged +=
                    data["counts"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>()
            }
            "verdicts" => {
                let rows = data["verdicts"].as_array().unwrap();
                assert!(rows.len() <= 50);
                reported.extend(rows.iter().map(|row| row["transaction_id"].as_str().unwrap().to_owned()));
            }
            other => panic!("{other}"),
        }
    }
    let (_, verdicts) =
        if reported.iter().any(|id| id == "a-87") { (0, json!(null)) } else { stream.until("verdicts") };
    reported.extend(
        verdicts["verdicts"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|row| row["transaction_id"].as_str().unwrap().to_owned()),
    );
    for n in (0..90).step_by(3) {
        assert!(
            reported.contains(&format!("a-{n}")),
            "payment {n} was blocked, and nobody was told: {reported:?}"
        );
    }
    // A client that connects again is told that it has missed something, if it has.
    let mut again = Stream::open(&service, "topics=ticks", Some(last.saturating_sub(1)));
    assert_eq!(again.next().unwrap().0, "resync");
    service.terminate();
    while stream.next().is_some() {}
    service.wait();
}

#[test]
fn a_check_tells_what_a_save_would_answer_and_changes_nothing() {
    let home = Home::new();
    let service = Service::start(&home);
    let saved = service.save(&blocking()).expect(201);
    let check = |body: Value| service.post("/instructions/check", &body).expect(200);
    let checked = check(json!({"script": sample::rule("other", r#"amount > 5 and destination in $payees"#)}));
    let rule = &checked["rule"];
    assert_eq!(
        (&rule["name"], &rule["verdict"], &rule["lists"]),
        (&json!("other"), &json!("block"), &json!(["payees"]))
    );
    assert_eq!((&rule["fields"], &rule["estimate"]), (&json!(["amount", "destination"]), &Value::Null));
    assert!(rule["cost"]["instructions"].as_u64().unwrap() > 0);
    assert_eq!(checked["diagnostics"][0]["severity"], "warning", "the list does not exist: {checked}");
    let broken = check(json!({"script": "rule broken {"}));
    assert_eq!((&broken["rule"], &broken["refusal"]), (&Value::Null, &Value::Null));
    assert_eq!(broken["diagnostics"][0]["severity"], "error");
    let same = check(json!({"script": blocking()}));
    assert_eq!(same["refusal"]["code"], "name_taken");
    let replacing = check(json!({"script": blocking(), "instruction_id": saved["id"]}));
    assert_eq!(
        (&replacing["refusal"], &replacing["rule"]["sha256"]),
        (&Value::Null, &saved["module"]["sha256"])
    );
    pay(&service, "a", 30);
    let asking = sample::rule("asking", r#"count(when source == $current.source, "P1D") > 3"#);
    let estimated = check(json!({"script": asking, "estimate": true}));
    assert_eq!(estimated["rule"]["estimate"]["transactions"], 30, "{estimated}");
    assert_eq!(service.get("/instructions").expect(200).as_array().unwrap().len(), 1);
}
