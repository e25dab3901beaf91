//! Limited memory: a control group whose limit the service detects and respects.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use serde_json::json;
use tollgate_tests::control_group::ControlGroup;
use tollgate_tests::programs::skip;
use tollgate_tests::{Home, Service, proof, sample};

use super::within::{home_within, innermost};

/// Number of concurrent clients.
const CLIENTS: usize = 16;

/// Counts of responses.
#[derive(Debug, Default)]
struct Answers {
    n_judged: AtomicU64,
    n_refused: AtomicU64,
}

/// Sends these payments, each until it is evaluated or rejected with a code.
fn pay(service: &Service, payments: std::ops::Range<u32>, n_accounts: u32) -> Answers {
    let (next, answers) = (AtomicU32::new(payments.start), Answers::default());
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let client = service.client();
            let (next, answers) = (&next, &answers);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= payments.end {
                        return;
                    }
                    // Neighbouring payments use distant accounts, so that no account is cached.
                    let account = number.wrapping_mul(2_654_435_761) % n_accounts;
                    let payment = sample::with(
                        &sample::transaction(&format!("p{number}")),
                        &json!({"source": format!("acc-{account}"), "destination": format!("shop-{}", number % 1_000)}),
                    );
                    match client.inject(&payment) {
                        answer if answer.status == 200 => answers.n_judged.fetch_add(1, Ordering::Relaxed),
                        answer => {
                            assert_eq!(answer.status, 503, "{}", answer.text());
                            answers.n_refused.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
    });
    answers
}

#[track_caller]
fn check(mib: u64, n_payments: u32, n_accounts: u32, n_rules: u32) {
    let Some(group) = ControlGroup::new(mib) else {
        return skip(&format!("a control group of {mib} MiB"));
    };
    let home = home_within(&format!("echo $$ > {}; exec", group.processes().display()));
    for rule in 0..n_rules {
        // Distinct aggregates, so that no rule shares state with another.
        let condition =
            format!("count(when source == $current.source and amount < {}, \"P1D\") > 1000", 1_000 + rule);
        home.write_rule(
            &format!("velocity_{rule}.ws"),
            sample::rule(&format!("velocity_{rule}"), &condition),
        );
    }
    let service = Service::start(&home);
    let ready = service.get("/readyz").text();
    assert!(ready.contains(&format!("the control group allows {mib} MiB")), "{ready}");
    let answers = pay(&service, 0..n_payments, n_accounts);
    let (resident, most) = tollgate_tests::process::resident_kib(innermost(&service));
    println!("{mib} MiB: {answers:?}, resident {} MiB, at most {} MiB", resident >> 10, most >> 10);
    assert_eq!(group.n_killed(), 0);
    assert!(answers.n_judged.into_inner() > 0);
    // Restart once from the snapshot and once from the store.
    drop(service.stop());
    for snapshot in ["kept", "removed"] {
        if snapshot == "removed" {
            assert!(home.remove_history());
        }
        // Above its limit the service answers but is not ready.
        let service = Service::listen(&home);
        service.until("the history is back", || service.get("/readyz").text().contains("\"history\":\"ok"));
        let (_, most) = tollgate_tests::process::resident_kib(innermost(&service));
        println!("{mib} MiB, started again, snapshot {snapshot}: at most {} MiB", most >> 10);
        assert_eq!(group.n_killed(), 0);
        let answers = pay(&service, n_payments..n_payments + 1_000, n_accounts);
        assert_eq!(answers.n_judged.into_inner() + answers.n_refused.into_inner(), 1_000);
        service.kill();
    }
}

#[test]
fn a_small_control_group_is_kept_by_itself_also_by_a_restart() {
    let (n_payments, n_accounts, n_rules) =
        if proof::is_full() { (1_000_000, 200_000, 120) } else { (20_000, 10_000, 20) };
    let sizes: &[u64] = if proof::is_full() { &[256, 512, 1_024] } else { &[256] };
    for mib in &sizes[proof::share(sizes.len())] {
        check(*mib, n_payments, n_accounts, n_rules);
    }
}

#[test]
fn a_history_that_has_no_room_left_is_reported_by_readiness() {
    let condition = "count(when source == $current.source, \"P1D\") > 1000";
    let mut home = Home::with_rules(&[("often.ws", sample::rule("often", condition))]);
    home.set("SERVICE_MEMORY_LIMIT", "1MiB");
    home.set("SERVICE_KEYS_ON_DISK", "false");
    let service = Service::start(&home);
    let mut payments = 0..2_000;
    while pay(&service, payments.clone(), u32::MAX).n_refused.into_inner() == 0 {
        assert!(payments.end < 100_000, "nothing is refused");
        payments = payments.end..payments.end + 2_000;
    }
    service.until("readiness says so", || {
        let ready = service.get("/readyz");
        ready.status == 503
            && ready.text().contains("\"memory\":\"failing: the history is over SERVICE_MEMORY_LIMIT")
    });
}
