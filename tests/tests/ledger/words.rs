//! Statuses in the words of processors, schemes and standards.

use std::fmt::Write as _;

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::json;
use tollgate_tests::{Service, needs, status_sequences};

use crate::ledger::bank::{Bank, caught_up};

#[test]
fn a_row_whose_status_moves_in_the_words_of_its_trade_ends_at_its_last_status() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let service = Service::start(&bank.home());
    let created = (Utc::now() - TimeDelta::hours(1)).to_rfc3339_opts(SecondsFormat::Secs, true);
    let n_steps = status_sequences::of_payments().map(|(_, words)| words.len()).max().unwrap();
    for step in 0..n_steps {
        let mut script = String::new();
        for (id, words) in status_sequences::of_payments() {
            let Some(word) = words.get(step) else { continue };
            writeln!(
                script,
                "INSERT INTO transactions VALUES ('{id}', '{created}', 10, 'EUR', '{id}', NULL, '{id}', NULL, '{word}', NULL)
                 ON CONFLICT (transaction_id) DO UPDATE SET status = excluded.status;"
            )
            .unwrap();
        }
        bank.sql(&script);
        caught_up(&service);
    }
    for (id, words) in status_sequences::of_payments() {
        let stored = service.transaction(&id).expect(200);
        assert_eq!(stored["status"], json!(words.last().unwrap()), "{words:?}");
    }
}
