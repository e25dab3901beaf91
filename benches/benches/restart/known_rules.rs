//! Time from a start until the service is ready, with rules that it knows from the run before.

use std::fs;
use std::time::{Duration, Instant};

use tollgate_tests::{Home, Service, sample};

/// Starts of each kind; the result is their median.
const N_STARTS: usize = 9;

/// Measures starts without rules, with rules whose code is cached, and with rules that are compiled again.
pub(super) fn measure(n_rules: usize) {
    let empty = Home::new();
    let known = Home::new();
    let service = Service::start(&known);
    for n in 0..n_rules {
        drop(service.client().save(&rule(n)).expect(201));
    }
    service.stop();
    let (mut without, mut cached, mut compiled) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..N_STARTS {
        without.push(start(&empty));
        cached.push(start(&known));
        fs::remove_dir_all(known.data().join("artifacts")).ok();
        compiled.push(start(&known));
    }
    let [without, cached, compiled] = [without, cached, compiled].map(median_ms);
    println!(
        "\n{n_rules} rules of the API, {N_STARTS} starts of each kind, interleaved; milliseconds until ready"
    );
    println!("no rules: {without:.0}; code cached: {cached:.0}; code compiled again: {compiled:.0}");
}

fn rule(n: usize) -> String {
    let (window, limit) = (1 + n % 24, 3 + n % 5);
    let condition = format!(
        r#"amount > {n} and count(when source == $current.source and amount > {}, "PT{window}H") >= {limit}"#,
        100 + n
    );
    sample::rule(&format!("velocity_{n}"), &condition)
}

fn start(home: &Home) -> Duration {
    let begun = Instant::now();
    let service = Service::start(home);
    let taken = begun.elapsed();
    service.stop();
    taken
}

fn median_ms(mut taken: Vec<Duration>) -> f64 {
    taken.sort();
    taken.get(taken.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1e3
}
