//! A long text that is a number costs about as much as one that is none, however many rules compare it.

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::{Home, Service, sample};

const N_RULES: usize = 8;
/// Comparisons of each rule, which are made for every payment that is accepted.
const N_COMPARISONS: usize = 100;
const N_BYTES: usize = 60_000;
/// Payments of each kind; the quickest counts.
const N_PAYMENTS: usize = 12;

fn rule(n: usize) -> (String, String) {
    let compared = (0..N_COMPARISONS).map(|at| format!("meta_data.code >= {}", at + n * N_COMPARISONS + 1));
    let tests: Vec<String> = compared.collect();
    let condition =
        format!(r#"count(when source == $current.source and ({}), "P1D") >= 3"#, tests.join(" or "));
    (format!("rule{n}.ws"), sample::rule(&format!("rule{n}"), &condition))
}

/// Returns how long a payment of this code takes, and how many rules match it.
fn pay(service: &Service, kind: &str, n: usize, code: &str) -> (Duration, usize) {
    let fields = json!({"source": kind, "created_at": "2026-03-01T00:00:00Z", "meta_data": {"code": code}});
    let payment = sample::with(&sample::transaction(&format!("{kind}-{n}")), &fields);
    let started = Instant::now();
    let answer = service.inject(&payment);
    (started.elapsed(), answer.expect(200)["triggered"].as_array().map_or(0, Vec::len))
}

#[test]
fn a_long_text_that_is_a_number_costs_about_as_much_as_one_that_is_none() {
    let home = Home::with_rules(&(0..N_RULES).map(rule).collect::<Vec<_>>());
    let service = Service::start(&home);
    let kinds = [
        ("letters", "a".repeat(N_BYTES), 0),
        ("zeros", "0".repeat(N_BYTES), 0),
        ("large", format!("{}900.50", "0".repeat(N_BYTES)), N_RULES),
    ];
    // The least time of each counts. They take turns, since other tests run beside this one.
    let mut least = [Duration::MAX; 3];
    for n in 0..N_PAYMENTS {
        for ((kind, code, n_expected), least) in kinds.iter().zip(&mut least) {
            let (took, n_matched) = pay(&service, kind, n, code);
            assert!(n + 1 < N_PAYMENTS || n_matched == *n_expected, "{kind}: {n_matched}");
            *least = took.min(*least);
        }
    }
    let [letters, zeros, large] = least;
    let most = 3 * letters + Duration::from_millis(5);
    assert!(zeros <= most && large <= most, "letters {letters:?}, zeros {zeros:?}, large {large:?}");
}
