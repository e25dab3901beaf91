//! Invalid rows between valid ones.

use std::collections::BTreeMap;

use serde_json::Value;
use tollgate_tests::{Service, needs, proof};

use crate::ledger::bank::{Bank, caught_up, in_path};

/// An invalid row: id and other values as SQL, and the expected reason.
struct Poison {
    id: &'static str,
    created_at: &'static str,
    amount: &'static str,
    rest: &'static str,
    reason: &'static str,
}

const NOW: &str = "now()";
/// Currency, reference, description, metadata.
const FINE: &str = "'EUR', 'r', NULL, NULL";

const fn poison(
    id: &'static str,
    created_at: &'static str,
    amount: &'static str,
    rest: &'static str,
    reason: &'static str,
) -> Poison {
    Poison { id, created_at, amount, rest, reason }
}

const POISON: [Poison; 18] = [
    poison("'nan'", NOW, "'NaN'", FINE, "invalid_field"),
    poison("'infinite'", NOW, "'Infinity'", FINE, "invalid_field"),
    poison("'minus'", NOW, "'-Infinity'", FINE, "invalid_field"),
    poison("'digits'", NOW, "repeat('9', 2000)::numeric", FINE, "too_large"),
    poison("'fraction'", NOW, "('1.' || repeat('0', 300) || '1')::numeric", FINE, "too_large"),
    poison("'none'", NOW, "NULL", FINE, "missing_field"),
    poison("'for_ever'", "'infinity'", "1", FINE, "invalid_field"),
    poison("'far'", "'294276-12-31 23:59:59+00'", "1", FINE, "invalid_field"),
    poison(
        "'deep'",
        NOW,
        "1",
        "'EUR', 'r', NULL, (repeat('[', 3000) || repeat(']', 3000))::jsonb",
        "too_deep",
    ),
    poison(
        "'keys'",
        NOW,
        "1",
        "'EUR', 'r', NULL, (SELECT jsonb_object_agg(n, n) FROM generate_series(1, 1100) n)",
        "too_many_keys",
    ),
    poison("'array'", NOW, "1", "'EUR', 'r', NULL, '[1]'", "invalid_field"),
    poison(
        "'large'",
        NOW,
        "1",
        "'EUR', 'r', NULL, jsonb_build_object('x', repeat('x', 100000))",
        "too_large",
    ),
    poison("'bare'", NOW, "1", "NULL, 'r', NULL, NULL", "missing_field"),
    poison("'unnamed'", NOW, "1", "'EUR', '', NULL, NULL", "invalid_field"),
    poison("''", NOW, "1", FINE, "invalid_field"),
    poison("repeat('i', 300)", NOW, "1", FINE, "invalid_field"),
    poison("repeat('i', 2000)", NOW, "1", FINE, "invalid_field"),
    poison("'talk'", NOW, "1", "'EUR', 'r', repeat('prose ', 1000), NULL", "invalid_field"),
];

/// Valid ids that would break a naive statement, path or log.
const HOSTILE: [&str; 9] = [
    "'; DROP TABLE transactions; --",
    "$1",
    "\\x00",
    "%00/../..?#",
    "{\"$ne\": null}",
    "🜁 ünïcode  ",
    "\"quoted\"",
    "a\nb",
    "\u{202e}txt",
];

fn insert(values: &str) -> String {
    format!(
        "INSERT INTO transactions (transaction_id, created_at, amount, currency, reference, description, meta_data) \
         VALUES ({values});\n"
    )
}

fn dead_letters(service: &Service) -> (u64, BTreeMap<String, Value>) {
    let answer = service.get("/ledger/dead-letters").expect(200);
    let letters = answer["dead_letters"].as_array().unwrap().iter();
    let by_id = letters.map(|letter| (letter["transaction_id"].as_str().unwrap().to_owned(), letter.clone()));
    (answer["count"].as_u64().unwrap(), by_id.collect())
}

#[track_caller]
fn check(service: &Service, n_good: usize) {
    let (count, letters) = dead_letters(service);
    assert_eq!(count as usize, POISON.len(), "{:?}", letters.keys());
    for poison in &POISON {
        let id = poison.id.trim_start_matches('E').trim_matches('\'');
        if let Some(letter) = letters.get(id) {
            assert_eq!(letter["reason"], poison.reason, "{id}: {letter}");
            assert!(letter["row"]["transaction_id"].is_string() && letter["detail"].is_string(), "{letter}");
        }
    }
    for n in 0..n_good {
        assert_eq!(
            service.transaction(&format!("good-{n}")).status,
            200,
            "good-{n} stood beside a poison row"
        );
    }
    for id in HOSTILE {
        let stored = service.get(&format!("/transactions/{}", in_path(id))).expect(200);
        assert_eq!(stored["transaction_id"], id);
    }
}

#[test]
fn each_poison_row_has_one_dead_letter_and_its_neighbours_are_applied() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let mut script = String::new();
    for (n, Poison { id, created_at, amount, rest, .. }) in POISON.iter().enumerate() {
        script += &insert(&format!("'good-{n}', now(), 1, {FINE}"));
        script += &insert(&format!("{id}, {created_at}, {amount}, {rest}"));
    }
    for id in HOSTILE {
        script += &insert(&format!("'{}', now(), 1, {FINE}", id.replace('\'', "''")));
    }
    // As long as all other rows together: the database truncates it.
    let n_bytes = proof::rounds(20_000_000, 200_000_000);
    script += &insert(&format!("'good-{}', now(), 1, 'EUR', 'r', NULL, NULL", POISON.len()));
    script += &format!(
        "UPDATE transactions SET description = repeat('x', {n_bytes}) WHERE transaction_id = 'talk';"
    );
    bank.sql(&script);

    let mut home = bank.home();
    home.set("LEDGER_SYNC_BATCH", "7");
    let service = Service::start(&home);
    caught_up(&service);
    check(&service, POISON.len() + 1);
    service.kill();
    let service = Service::start(&home);
    caught_up(&service);
    check(&service, POISON.len() + 1);
    // A corrected row is read normally; its dead letter remains as a record.
    bank.sql("UPDATE transactions SET amount = 7 WHERE transaction_id = 'nan';");
    service.until("the mended row is there", || service.transaction("nan").status == 200);
    check(&service, POISON.len() + 1);
    println!(
        "{} poison rows, {} dead letters, {} neighbours applied",
        POISON.len(),
        POISON.len(),
        POISON.len() + 1
    );
}

#[test]
fn a_row_that_the_database_itself_cannot_show_stops_nothing() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql(
        "CREATE TABLE raw (id bigint PRIMARY KEY, at timestamp NOT NULL DEFAULT now(), units integer, of integer);
         CREATE VIEW booked AS SELECT id, at, units / of AS amount, 'EUR' AS cur, 'r' AS reference FROM raw;
         INSERT INTO raw (id, units, of) SELECT n, 10, CASE WHEN n IN (3, 40, 41) THEN 0 ELSE 2 END \
         FROM generate_series(1, 100) n; SET ROLE postgres;",
    );
    let mut home = bank.home();
    home.set("LEDGER_TABLE", "public.booked");
    let columns =
        "transaction_id=id,created_at=at,currency=cur,source=,destination=,description=,status=,meta_data=";
    home.set("LEDGER_COLUMNS", columns);
    let service = Service::start(&home);
    caught_up(&service);
    let (count, letters) = dead_letters(&service);
    assert_eq!((count, letters.keys().map(String::as_str).collect::<Vec<_>>()), (3, vec!["3", "40", "41"]));
    assert_eq!(letters["3"]["reason"], "unreadable");
    assert_eq!(letters["3"]["detail"], "division by zero");
    for id in (1..=100).filter(|id| ![3, 40, 41].contains(id)) {
        assert_eq!(service.transaction(&id.to_string()).status, 200, "{id}");
    }
}

#[test]
fn another_transaction_under_a_known_id_is_a_dead_letter_and_changes_nothing() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let service = Service::start(&bank.home());
    let mine = tollgate_tests::sample::transaction("both");
    let answer = service.inject(&mine);
    bank.sql(&insert("'both', now(), 11, 'EUR', 'both', NULL, NULL"));
    caught_up(&service);
    let (count, letters) = dead_letters(&service);
    assert_eq!((count, &letters["both"]["reason"]), (1, &Value::from("transaction_conflict")));
    assert_eq!(service.transaction("both").at("/amount"), 10);
    assert_eq!(service.inject(&mine), answer);
}
