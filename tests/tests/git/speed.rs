//! The delay from a sync to the first verdict.

use super::*;
use tollgate_tests::{needs, proof};

const N_RULES: usize = 1_000;

#[test]
fn a_sync_of_a_thousand_rules_judges_at_once() {
    needs!(Git);
    let files: Vec<_> = (0..N_RULES)
        .map(|n| (format!("r/{n:04}.ws"), sample::rule(&format!("rule_{n:04}"), "amount > 1000000")))
        .collect();
    let stage = Stage::new(Upstream::with(&files));
    let service = Service::start(&stage.home);
    wait_until("the first sync", || in_force(&service).len() == N_RULES);
    let mut times = Vec::new();
    for round in 0..5 {
        let condition = format!("amount > {round}");
        stage.upstream.commit(&[("r/0500.ws", sample::rule("rule_0500", &condition))]);
        let begun = Instant::now();
        sync(&service);
        let answered = Instant::now();
        assert_eq!(service.inject(&sample::transaction(&format!("t{round}"))).triggered(), ["rule_0500"]);
        times.push((answered - begun, answered.elapsed()));
    }
    for (syncing, judging) in &times {
        println!(
            "{N_RULES} rules, one changed: sync answered after {syncing:?}, judged by it {judging:?} later"
        );
    }
    let fastest = times.iter().map(|(_, judging)| *judging).min().unwrap();
    assert!(fastest <= proof::time_limit(Duration::from_millis(300)), "{fastest:?}");
}
