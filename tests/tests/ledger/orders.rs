//! One life cycle reported by table rows, webhook events and injects, in any order and repeatedly.

use std::fmt::Write as _;
use std::sync::OnceLock;

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use tollgate_tests::{Client, Service, audit, needs, proof, sample};

use crate::ledger::bank::{Bank, caught_up};

const STATUSES: [&str; 6] = ["pending", "queued", "scheduled", "inflight", "applied", "void"];

/// Returns a fixed moment yesterday.
fn created_at() -> &'static str {
    static MOMENT: OnceLock<String> = OnceLock::new();
    MOMENT.get_or_init(|| (Utc::now() - TimeDelta::days(1)).to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// The path of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Row,
    Webhook,
    Inject,
}

/// Returns a pseudo-random number that is the same on every run.
fn mixed(seed: usize) -> usize {
    let mut number = (seed as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (number ^ (number >> 31)) as usize
}

/// Returns every report of this chain, some twice, in an order specific to the chain. All three senders occur.
fn reports(chain: usize) -> Vec<(usize, Sender)> {
    let mut reports: Vec<(usize, usize)> = (0..9).map(|n| (mixed(chain * 100 + n), n % 6)).collect();
    reports.sort_unstable();
    let sender =
        |(index, (_, status)): (usize, (usize, usize))| match (mixed(chain * 977 + index) % 3, status) {
            (0, _) => (status, Sender::Row),
            (1, 0) => (0, Sender::Inject),
            _ => (status, Sender::Webhook),
        };
    let mut reports: Vec<_> = reports.into_iter().enumerate().map(sender).collect();
    reports.insert(mixed(chain) % 9, (0, Sender::Inject));
    reports.insert(mixed(chain + 1) % 9, (5, Sender::Row));
    reports
}

fn transaction(id: &str, status: &str) -> Value {
    let fields = json!({
        "created_at": created_at(), "status": status, "source": id, "meta_data": {"chain": id},
    });
    sample::with(&sample::transaction(id), &fields)
}

fn tell(client: &Client, id: &str, status: &str, sender: Sender) {
    let answer = match sender {
        Sender::Inject => client.inject(&transaction(id, status)),
        _ => {
            let event = format!("transaction.{}", if status == "pending" { "created" } else { status });
            client.post("/ledgerwebhook", &json!({"event": event, "data": transaction(id, status)}))
        }
    };
    // `/inject` rejects a status other than the known one as a conflict.
    let is_refused = sender == Sender::Inject && answer.status == 409;
    assert!(answer.status == 200 || is_refused, "{sender:?} {status}: {}", answer.text());
}

/// Writes the latest state to the ledger's table.
fn upsert(id: &str, status: &str) -> String {
    format!(
        "INSERT INTO transactions VALUES ('{id}', '{}', 10, 'EUR', '{id}', NULL, '{id}', NULL, '{status}', \
         '{{\"chain\": \"{id}\"}}') ON CONFLICT (transaction_id) DO UPDATE SET status = excluded.status;\n",
        created_at()
    )
}

/// Returns the stored transaction without identifying fields and evaluation time.
fn stored(client: &Client, id: &str) -> Value {
    let mut stored = client.transaction(id).expect(200);
    for name in ["transaction_id", "reference", "source", "meta_data", "evaluated_at"] {
        assert!(stored.as_object_mut().unwrap().remove(name).is_some(), "{id}: no {name}");
    }
    // It depends on the order of the reports.
    stored.as_object_mut().unwrap().remove("without_effect");
    stored
}

#[test]
fn row_webhook_and_inject_in_any_order_and_twice_end_alike() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let home = bank.home();
    let service = Service::start(&home);
    let n_chains = proof::rounds(60, 720);
    let chains: Vec<(String, Vec<(usize, Sender)>)> =
        (0..n_chains).map(|chain| (format!("chain-{chain}"), reports(chain))).collect();
    let n_steps = chains.iter().map(|(_, reports)| reports.len()).max().unwrap();
    let mut n_reported = 0;
    for step in 0..n_steps {
        let mut script = String::new();
        for (id, reports) in &chains {
            let Some((status, sender)) = reports.get(step) else { continue };
            n_reported += 1;
            match sender {
                Sender::Row => write!(script, "{}", upsert(id, STATUSES[*status])).unwrap(),
                _ => tell(&service, id, STATUSES[*status], *sender),
            }
        }
        bank.sql(&script);
        caught_up(&service);
    }
    // The reference: each status reported once, in order.
    let alone = Service::start(&tollgate_tests::Home::new());
    tell(&alone, "sorted", "pending", Sender::Inject);
    STATUSES.iter().for_each(|status| tell(&alone, "sorted", status, Sender::Webhook));
    let expected = stored(&alone, "sorted");
    assert_eq!((&expected["status"], &expected["verdict"]), (&json!("void"), &json!("approve")));
    let check = |service: &Service| {
        for (id, reports) in &chains {
            let end = stored(service, id);
            let without_version = |value: &Value| {
                let mut value = value.clone();
                value.as_object_mut().unwrap().remove("rule_set_version");
                value
            };
            assert_eq!(without_version(&end), without_version(&expected), "{id}: {reports:?}");
        }
    };
    check(&service);
    service.kill();
    let service = Service::start(&home);
    caught_up(&service);
    check(&service);
    assert_eq!(service.get("/ledger/dead-letters").at("/count"), 0);
    println!("{n_chains} orders of {n_reported} pieces of news by three senders, 0 different ends");
}

/// Time and status of each change of a payment that failed and was retried under the same id.
const RETRIED: [(&str, &str); 3] = [
    ("2026-01-05T10:00:00Z", "pending"),
    ("2026-01-05T10:00:01Z", "failed"),
    ("2026-01-05T10:00:02Z", "applied"),
];
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[test]
fn a_retry_under_one_id_is_believed_where_the_ledger_tells_when_it_changed() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql("ALTER TABLE transactions ADD COLUMN moved timestamptz");
    let mut home = bank.home();
    home.set("LEDGER_COLUMNS", "updated_at=moved");
    let mut service = Service::start(&home);
    // Every order, and every choice of row or event for each report.
    let chains: Vec<(String, [usize; 3], usize)> = ORDERS
        .iter()
        .enumerate()
        .flat_map(|(n, order)| (0..8).map(move |senders| (format!("retry-{n}-{senders}"), *order, senders)))
        .collect();
    for step in 0..3 {
        let mut script = String::new();
        for (id, order, senders) in &chains {
            let (moved, status) = RETRIED[order[step]];
            if senders >> step & 1 == 0 {
                script += &upsert(id, status);
                writeln!(script, "UPDATE transactions SET moved = '{moved}' WHERE transaction_id = '{id}';")
                    .unwrap();
            } else {
                let mut data = transaction(id, status);
                data["updated_at"] = json!(moved);
                for _ in 0..2 {
                    let event = json!({"event": "transaction.updated", "data": data});
                    assert_eq!(service.post("/ledgerwebhook", &event).status, 200, "{event}");
                }
            }
        }
        // Commit together: between the two statements the row has inconsistent time and status.
        bank.sql(&format!("BEGIN; {script} COMMIT"));
        caught_up(&service);
        service.kill();
        service = Service::start(&home);
        caught_up(&service);
    }
    for (id, order, senders) in &chains {
        assert_eq!(service.transaction(id).expect(200)["status"], "applied", "{order:?} by {senders:03b}");
    }
    assert_eq!(service.get("/ledger/dead-letters").at("/count"), 0);
    service.stop();
    audit::replay(&home).all_follow();
}

#[test]
fn without_a_time_of_change_a_failed_payment_stays_failed() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let service = Service::start(&bank.home());
    for (_, status) in RETRIED {
        bank.sql(&upsert("retry", status));
        caught_up(&service);
    }
    assert_eq!(service.transaction("retry").expect(200)["status"], "failed");
}

#[test]
fn a_version_of_the_row_tells_the_order_and_an_inject_without_one_counts_by_its_stage() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql("ALTER TABLE transactions ADD COLUMN version bigint");
    let mut home = bank.home();
    home.set("LEDGER_COLUMNS", "updated_at=version");
    let service = Service::start(&home);
    assert_eq!(service.inject(&transaction("asked", "pending")).status, 200);
    for (id, version, status) in
        [("asked", 1, "failed"), ("asked", 2, "applied"), ("read", 7, "applied"), ("read", 6, "failed")]
    {
        bank.sql(&format!(
            "BEGIN; {} UPDATE transactions SET version = {version} WHERE transaction_id = '{id}'; COMMIT",
            upsert(id, status)
        ));
        caught_up(&service);
    }
    // The transaction's own status is newer than the record in an event.
    let mut record = transaction("asked", "pending");
    record["updated_at"] = json!(1);
    let reported = |event: &str, record: &Value| {
        service.post("/ledgerwebhook", &json!({"event": event, "data": record})).status
    };
    let status = |id: &str| service.transaction(id).expect(200)["status"].clone();
    assert_eq!((status("asked"), status("read")), (json!("applied"), json!("applied")));
    assert_eq!((reported("transaction.updated", &record), status("asked")), (200, json!("applied")));
    assert_eq!((reported("transaction.void", &record), status("asked")), (200, json!("void")));
}
