//! Every verdict can be derived again from the store, and a modified one is identified.

mod depth;
mod life;
mod single;
mod tampered;

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, sample};

/// Number of sources in a stream.
const N_SOURCES: usize = 4;

/// Rules whose matches show the count of a source, its count of applied transactions and its sum; and a rule that uses
/// a list.
fn home() -> Home {
    let mut rules: Vec<(String, String)> = Vec::new();
    for k in 1..6 {
        let seen = format!(r#"count(when source == $current.source, "P1D") >= {k}"#);
        let applied =
            format!(r#"count(when source == $current.source and status == "applied", "P1D") >= {k}"#);
        rules.push((format!("seen_{k}.ws"), sample::rule(&format!("seen_{k}"), &seen)));
        rules.push((format!("applied_{k}.ws"), sample::rule(&format!("applied_{k}"), &applied)));
    }
    let total = r#"sum(amount when source == $current.source, "PT12H") > 55.5"#;
    rules.push(("total.ws".to_owned(), sample::rule("total", total)));
    let last = r#"previous_transaction(within: "PT1H", match: { source: "$current.source" })"#;
    rules.push(("again.ws".to_owned(), sample::rule("again", last)));
    rules.push(("watched.ws".to_owned(), sample::rule("watched", "source in $watched")));
    rules.push(("lists/watched.txt".to_owned(), "s1\ns2\n".to_owned()));
    Home::with_rules(&rules)
}

/// Returns a transaction of a stream; some are late.
fn transaction(prefix: &str, n: usize) -> Value {
    let created_at = format!("2026-01-01T0{}:0{}:00Z", n % 3, (n * 7) % 10);
    let fields = json!({
        "source": format!("s{}", n % N_SOURCES), "amount": (n % 17) as f64 * 1.1, "created_at": created_at,
    });
    sample::with(&sample::transaction(&format!("{prefix}-{n}")), &fields)
}

/// Injects this many transactions and advances the status of one third.
fn traffic(client: &Client, prefix: &str, n: usize) {
    for i in 0..n {
        let transaction = transaction(prefix, i);
        let answer = client.inject(&transaction);
        assert_eq!(answer.status, 200, "{}", answer.text());
        if i % 3 == 0 {
            let event = json!({"event": "transaction.applied", "data": transaction});
            assert_eq!(client.post("/ledgerwebhook", &event).status, 200);
        }
    }
}
