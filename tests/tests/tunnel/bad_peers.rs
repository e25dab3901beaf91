//! Dashboards that do not read, announce huge frames, send endlessly or revoke access. Evaluation continues, and memory
//! does not grow.

use std::time::Duration;

use tollgate_tests::links::{
    BLOCK_ALL, Dashboard, Manner, link_status, load, median, metric, p99, resident_kib,
};
use tollgate_tests::{Home, Service, proof};

use crate::tunnel::{block, block_unheard, home, notifications, until_down, until_up};

/// Memory growth that counts as none.
const GROWTH_KIB_MAX: u64 = 48 * 1024;

#[test]
fn a_dashboard_that_never_reads_costs_no_memory() {
    let n = proof::rounds(600, 5_000);
    let dashboard = Dashboard::start(Manner::Deaf);
    let mut home = home(&dashboard.url());
    // Long enough to keep the unresponsive peer connected for the whole test.
    home.set("TUNNEL_HEARTBEAT", "10m");
    // Each notification has about 22 KB.
    let reason = "x".repeat(1000);
    for rule in 0..10 {
        let script = format!("rule r{rule} {{ when amount > 0 then block score 0.9 reason \"{reason}\" }}");
        home.write_rule(&format!("r{rule}.ws"), &script);
    }
    let service = Service::start(&home);
    until_up(&service);
    let _ = load(&service, "warm", 100);
    let before = resident_kib(&service);
    let _ = load(&service, "t", n);
    let after = resident_kib(&service);
    let counted = ["sent", "full", "down", "lost"].map(|result| notifications(&service, result));
    println!(
        "memory {before} KiB, {after} KiB after {n} more; {counted:?} notifications sent, full, down, lost"
    );
    assert!(counted[1] > 0, "what does not fit is counted: {counted:?}");
    assert_eq!(counted[2..], [0, 0], "the link is not down");
    assert!(after < before + GROWTH_KIB_MAX, "{before} KiB, then {after} KiB");
    assert_eq!(link_status(&service, "tunnel"), "ok");
}

#[test]
fn inject_is_as_fast_beside_a_dead_dashboard_as_without_one() {
    let n = proof::rounds(600, 20_000);
    let alone = Service::start(&Home::with_rules(&[("all.ws", BLOCK_ALL)]));
    let _ = load(&alone, "warm", 100);
    let without = load(&alone, "t", n);
    drop(alone);
    let dashboard = Dashboard::start(Manner::Deaf);
    let mut home = home(&dashboard.url());
    home.set("TUNNEL_HEARTBEAT", "10m");
    let service = Service::start(&home);
    until_up(&service);
    let _ = load(&service, "warm", 100);
    let with = load(&service, "t", n);
    drop(dashboard);
    until_down(&service, "");
    let down = load(&service, "down", n);
    println!(
        "inject p99 of {n}: without a dashboard {:?}, with one that never reads {:?}, with one that is down {:?}",
        p99(&without),
        p99(&with),
        p99(&down)
    );
    let bound = median(&without) * 4 + Duration::from_millis(50);
    assert!(median(&with) < bound && median(&down) < bound, "{bound:?}");
}

#[test]
fn one_that_gives_no_sign_of_life_is_given_up() {
    let dashboard = Dashboard::start(Manner::Deaf);
    let mut home = home(&dashboard.url());
    home.set("TUNNEL_HEARTBEAT", "200ms");
    let service = Service::start(&home);
    until_down(&service, "the dashboard did not respond for 400 ms");
    block(&service, "t");
    assert!(dashboard.wait_for_connections(3), "it is tried again");
}

#[test]
fn a_frame_of_1_gib_ends_the_connection_and_takes_no_memory() {
    check_refused(Manner::Boasting, "Message too long");
}

#[test]
fn one_that_speaks_without_an_end_is_given_up() {
    let service = check_refused(Manner::Babbling, "more than 1000 messages");
    assert!(metric(&service, "tollgate_tunnel_messages_ignored_total") > 1000);
}

/// Checks that the service retries a dashboard of this manner, reports this reason, and otherwise works normally.
#[track_caller]
fn check_refused(manner: Manner, why: &str) -> Service {
    let dashboard = Dashboard::start(manner);
    let service = Service::start(&home(&dashboard.url()));
    assert!(dashboard.wait_for_connections(3));
    until_down(&service, why);
    let before = resident_kib(&service);
    let n_more = dashboard.attempts().len() + proof::rounds(10, 200);
    assert!(dashboard.wait_for_connections(n_more));
    let _ = load(&service, "t", 100);
    let after = resident_kib(&service);
    println!("{manner:?}: {n_more} connections, memory {before} KiB, then {after} KiB");
    assert!(after < before + GROWTH_KIB_MAX, "{before} KiB, then {after} KiB");
    // A recovered dashboard is used again. The first notification may still go to the previous connection.
    dashboard.set_manner(Manner::Fine);
    let mut n_sent = 0;
    service.until("it is reported again", || {
        n_sent += 1;
        block(&service, &format!("news-{n_sent}"));
        dashboard.received_ids().iter().any(|id| id.starts_with("news"))
    });
    service
}

#[test]
fn a_token_that_is_revoked_is_tried_again_until_it_is_known_once_more() {
    let dashboard = Dashboard::start(Manner::Fine);
    let service = Service::start(&home(&dashboard.url()));
    until_up(&service);
    block(&service, "known");
    assert!(dashboard.wait_for("known").is_some());
    dashboard.set_manner(Manner::Revoked);
    dashboard.hang_up();
    until_down(&service, "status 401");
    block_unheard(&service, "revoked");
    dashboard.set_manner(Manner::Fine);
    until_up(&service);
    block(&service, "again");
    assert!(dashboard.wait_for("again").is_some());
    assert_eq!(dashboard.received_ids(), ["known", "again"]);
    assert_eq!(notifications(&service, "down"), 1);
}
