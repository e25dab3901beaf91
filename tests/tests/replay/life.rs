//! A service lives through all that changes verdicts; afterwards each of them follows from the store.

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, audit, modules, sample};

/// Rules that tell how many of its source a transaction saw, and how many of these were applied.
pub(crate) fn home() -> Home {
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
    rules.push(("watched.ws".to_owned(), sample::rule("watched", "source in $watched")));
    rules.push(("lists/watched.txt".to_owned(), "s1\ns2\n".to_owned()));
    Home::with_rules(&rules)
}

pub(crate) fn transaction(id: &str, n: usize) -> Value {
    let created_at = format!("2026-01-01T0{}:0{}:00Z", n % 3, (n * 7) % 10);
    let fields =
        json!({"source": format!("s{}", n % 4), "amount": (n % 17) as f64 * 1.1, "created_at": created_at});
    sample::with(&sample::transaction(id), &fields)
}

/// Injects some, and moves the status of each third of them.
pub(crate) fn traffic(client: &Client, prefix: &str, n: usize) {
    for i in 0..n {
        let transaction = transaction(&format!("{prefix}-{i}"), i);
        assert_eq!(client.inject(&transaction).status, 200);
        if i % 3 == 0 {
            let event = json!({"event": "transaction.applied", "data": transaction});
            assert_eq!(client.post("/ledgerwebhook", &event).status, 200);
        }
    }
}

#[test]
fn a_small_store_is_derived_again_whole() {
    let home = home();
    let service = Service::start(&home);
    traffic(&service, "a", 30);
    assert_eq!(audit::replay(&home).all_follow(), 30, "while the service runs");
    service.kill();
    assert_eq!(audit::replay(&home).all_follow(), 30, "after it was killed");
    let service = Service::start(&home);
    traffic(&service, "b", 30);
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), 60, "after it was stopped");
    let service = Service::start(&home);
    traffic(&service, "c", 3);
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), 63, "and a service can start after that");
    let _ = modules::manifest("unused");
}
