//! Tests of the metrics page, as a scraper reads it.

use super::*;

#[track_caller]
fn check(metrics: &Metrics, line: &str) {
    let page = metrics.encode().unwrap();
    assert!(page.lines().any(|read| read == line), "no line `{line}` in\n{page}");
}

#[test]
fn a_service_at_rest_shows_its_counters_at_zero() {
    let metrics = Metrics::new();
    for verdict in ["approve", "alert", "review", "block"] {
        check(&metrics, &format!("tollgate_transactions_judged_total{{verdict=\"{verdict}\"}} 0"));
    }
    check(&metrics, "tollgate_rule_failures_total{kind=\"host_call\"} 0");
    for origin in ["inject", "event", "ledger"] {
        check(&metrics, &format!("tollgate_unclear_identifiers_total{{origin=\"{origin}\"}} 0"));
    }
    check(&metrics, "tollgate_rules_in_force 0");
    check(&metrics, "tollgate_history_transactions 0");
    check(&metrics, "tollgate_log_lines_lost_total 0");
    check(&metrics, "# EOF");
}

#[test]
fn a_link_has_metrics_only_if_it_is_configured() {
    let metrics = Metrics::new();
    let shown = |name: &str| metrics.encode().unwrap().contains(&format!("\ntollgate_{name} "));
    for (link, name) in [
        (MeasuredLink::Git, "git_last_success_timestamp_seconds"),
        (MeasuredLink::Ledger, "ledger_connected"),
        (MeasuredLink::Tunnel, "tunnel_up"),
        (MeasuredLink::Webhooks, "alerts_pending"),
    ] {
        assert!(!shown(name), "{name}");
        metrics.show_link(link);
        assert!(shown(name), "{name}");
    }
}

#[test]
fn the_time_of_a_request_is_kept_under_its_kind() {
    let metrics = Metrics::new();
    metrics.answered(RequestKind::Event, Duration::from_millis(1));
    metrics.answered(RequestKind::Health, Duration::from_millis(1));
    for (kind, n_requests) in [("inject", 0), ("event", 1), ("change", 0), ("read", 0), ("health", 1)] {
        check(
            &metrics,
            &format!("tollgate_http_request_duration_seconds_count{{kind=\"{kind}\"}} {n_requests}"),
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_process_has_the_names_that_every_scraper_knows() {
    let page = Metrics::new().encode().unwrap();
    let value = |name: &str| -> f64 {
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no `{name}` in\n{page}")).parse().unwrap()
    };
    assert!(value("process_cpu_seconds_total") >= 0.0);
    let megabyte = f64::from(1 << 20);
    assert!(value("process_resident_memory_bytes") > megabyte);
    assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
    assert!(value("process_threads") >= 1.0 && value("process_open_fds") >= 3.0);
    assert!(value("process_start_time_seconds") > 1.7e9);
}

#[test]
fn a_judged_transaction_is_counted_once_under_the_word_of_its_answer() {
    let metrics = Metrics::new();
    metrics.judged(Verdict::Deny, Duration::from_micros(3));
    metrics.judged(Verdict::Approve, Duration::from_micros(3));
    check(&metrics, "tollgate_transactions_judged_total{verdict=\"block\"} 1");
    check(&metrics, "tollgate_transactions_judged_total{verdict=\"approve\"} 1");
    check(&metrics, "tollgate_evaluation_duration_seconds_count 2");
}

#[test]
fn a_transaction_is_in_flight_until_it_is_answered() {
    let metrics = Metrics::new();
    let first = metrics.count_in_flight();
    let second = metrics.count_in_flight();
    check(&metrics, "tollgate_transactions_in_flight 2");
    drop((first, second));
    check(&metrics, "tollgate_transactions_in_flight 0");
}

#[test]
fn a_connection_is_open_until_it_is_dropped_and_its_end_has_a_name() {
    let metrics = Metrics::new();
    let open = metrics.connection_opened();
    check(&metrics, "tollgate_connections_open 1");
    drop(open);
    metrics.connection_cut("idle");
    metrics.connection_refused("full");
    check(&metrics, "tollgate_connections_open 0");
    check(&metrics, "tollgate_connections_opened_total 1");
    check(&metrics, "tollgate_connections_cut_total{limit=\"idle\"} 1");
    check(&metrics, "tollgate_connections_cut_total{limit=\"head\"} 0");
    check(&metrics, "tollgate_connections_refused_total{reason=\"full\"} 1");
}

#[test]
fn events_are_counted_by_what_they_did_to_the_status() {
    let metrics = Metrics::new();
    check(&metrics, "tollgate_status_events_total{effect=\"updated\"} 0");
    metrics.status_updated();
    metrics.status_unchanged();
    metrics.status_unchanged();
    check(&metrics, "tollgate_status_events_total{effect=\"updated\"} 1");
    check(&metrics, "tollgate_status_events_total{effect=\"none\"} 2");
}

#[test]
fn a_swap_sets_version_and_number_of_rules() {
    let metrics = Metrics::new();
    metrics.rule_set_swapped(RuleSetFigures { version: 7, n_rules: 41, n_quarantined: 2, n_fused: 38 });
    metrics.bodies_failed(3);
    check(&metrics, "tollgate_rule_set_version 7");
    check(&metrics, "tollgate_rules_in_force 41");
    check(&metrics, "tollgate_rules_quarantined 2");
    check(&metrics, "tollgate_rules_fused 38");
    check(&metrics, "tollgate_fused_modules_failed_total 3");
}

#[test]
fn failures_and_refusals_are_counted_by_kind() {
    let metrics = Metrics::new();
    metrics.rule_failed(RuleFailure::Fuel);
    metrics.refused("invalid_json");
    metrics.refused("invalid_json");
    metrics.conflicted();
    metrics.commit_failed();
    metrics.event_ignored();
    check(&metrics, "tollgate_rule_failures_total{kind=\"fuel\"} 1");
    check(&metrics, "tollgate_refusals_total{code=\"invalid_json\"} 2");
    check(&metrics, "tollgate_transaction_conflicts_total 1");
    check(&metrics, "tollgate_commit_failures_total 1");
    check(&metrics, "tollgate_webhook_events_ignored_total 1");
}

#[test]
fn a_commit_counts_its_group_and_its_time() {
    let metrics = Metrics::new();
    metrics.committed(3, Duration::from_millis(2));
    check(&metrics, "tollgate_commit_group_transactions_sum 3.0");
    check(&metrics, "tollgate_commit_duration_seconds_count 1");
}

#[test]
fn snapshots_are_counted_by_what_became_of_them() {
    let metrics = Metrics::new();
    check(&metrics, "tollgate_history_restored_from{source=\"snapshot\"} 0");
    metrics.history_restored(9, 2);
    metrics.snapshot_refused();
    metrics.snapshot_written(77);
    check(&metrics, "tollgate_history_restored_from{source=\"snapshot\"} 9");
    check(&metrics, "tollgate_history_restored_from{source=\"store\"} 2");
    check(&metrics, "tollgate_history_snapshots_total{outcome=\"refused\"} 1");
    check(&metrics, "tollgate_history_snapshot_bytes 77");
}

#[test]
fn the_history_is_asked_at_every_scrape() {
    let metrics = Metrics::new();
    let calls = std::sync::atomic::AtomicU64::new(0);
    metrics.watch_history(move || HistorySize {
        n_transactions: calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 10,
        n_series: 2,
        resident_bytes: 4_096,
        spilled_bytes: 64,
        n_records: 7,
        n_held_reads: 1,
        n_unread_records: 2,
        n_fills: 3,
        n_fill_left: 500,
    });
    check(&metrics, "tollgate_history_transactions 10");
    check(&metrics, "tollgate_history_transactions 11");
    check(&metrics, "tollgate_history_series 2");
    check(&metrics, "tollgate_history_resident_bytes 4096");
    check(&metrics, "tollgate_history_spilled_bytes 64");
    check(&metrics, "tollgate_history_records 7");
    check(&metrics, "tollgate_history_held_reads 1");
    check(&metrics, "tollgate_history_unread_records 2");
    check(&metrics, "tollgate_history_fills 3");
    check(&metrics, "tollgate_history_fill_left_transactions 500");
}

#[test]
fn two_services_in_one_process_count_apart() {
    let (left, right) = (Metrics::new(), Metrics::new());
    left.conflicted();
    check(&left, "tollgate_transaction_conflicts_total 1");
    check(&right, "tollgate_transaction_conflicts_total 0");
}

#[test]
fn the_kinds_are_the_words_of_the_assessment() {
    let metrics = Metrics::new();
    for failure in [RuleFailure::HostCall, RuleFailure::Lookup, RuleFailure::Trap, RuleFailure::Timeout] {
        metrics.rule_failed(failure);
        let word = serde_json::to_value(failure).unwrap();
        check(&metrics, &format!("tollgate_rule_failures_total{{kind={word}}} 1"));
    }
}
