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

/// Returns the least time in which a payment of this code is answered, and how many rules match the last one.
fn pay(service: &Service, kind: &str, code: &str) -> (Duration, usize) {
    let send = |n: usize| {
        let fields =
            json!({"source": kind, "created_at": "2026-03-01T00:00:00Z", "meta_data": {"code": code}});
        let payment = sample::with(&sample::transaction(&format!("{kind}-{n}")), &fields);
        let started = Instant::now();
        let answer = service.inject(&payment);
        (started.elapsed(), answer.expect(200)["triggered"].as_array().map_or(0, Vec::len))
    };
    let answers: Vec<(Duration, usize)> = (0..N_PAYMENTS).map(send).collect();
    let least = answers.iter().map(|(took, _)| *took).min().unwrap_or_default();
    (least, answers.last().map_or(0, |(_, n_matched)| *n_matched))
}

#[test]
fn a_long_text_that_is_a_number_costs_about_as_much_as_one_that_is_none() {
    let home = Home::with_rules(&(0..N_RULES).map(rule).collect::<Vec<_>>());
    let service = Service::start(&home);
    let (letters, n_by_letters) = pay(&service, "letters", &"a".repeat(N_BYTES));
    let (zeros, n_by_zeros) = pay(&service, "zeros", &"0".repeat(N_BYTES));
    let (large, n_by_large) = pay(&service, "large", &format!("{}900.50", "0".repeat(N_BYTES)));
    assert_eq!([n_by_letters, n_by_zeros, n_by_large], [0, 0, N_RULES]);
    let most = 3 * letters + Duration::from_millis(5);
    assert!(zeros <= most && large <= most, "letters {letters:?}, zeros {zeros:?}, large {large:?}");
}
