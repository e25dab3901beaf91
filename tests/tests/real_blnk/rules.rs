//! Rules that count what an account received and paid, beside the balances of Blnk.

use chrono::{TimeDelta, Utc};
use serde_json::json;
use tollgate_tests::{Home, Service, sample};

use crate::real_blnk::comparison::Comparison;

/// Returns the accounts for which a rule counts other payments than the comparison has. The service is started again, so
/// its history is that of its store.
pub(crate) fn faults(home: &Home, comparison: &Comparison) -> Vec<String> {
    let accounts: Vec<String> = comparison.accounts().into_iter().collect();
    for (n, account) in accounts.iter().enumerate() {
        let file = format!("account_{n}.ws");
        home.write_rule(&file, sample::rule(&format!("account_{n}"), &condition(comparison, account)));
        home.age_rule(&file);
    }
    let service = Service::start(home);
    let later = (Utc::now() + TimeDelta::hours(1)).to_rfc3339();
    let is_fault = |(n, account): &(usize, &String)| {
        let probe = json!({"reference": account, "created_at": later});
        let probe = sample::with(&sample::transaction(&format!("probe-{n}")), &probe);
        service.inject(&probe).triggered() != [format!("account_{n}")]
    };
    let faults = accounts.iter().enumerate().filter(is_fault);
    faults
        .map(|(_, account)| format!("a rule counts otherwise: {}", condition(comparison, account)))
        .collect()
}

/// Returns the condition of a rule that matches a probe about an account if all sums and counts are right.
fn condition(comparison: &Comparison, account: &str) -> String {
    let sides = ["source", "destination"].into_iter().enumerate().map(|(side, name)| {
        let (n, sum) = comparison.moved(account, side);
        let (of_account, moved) = (format!("{name} == \"{account}\""), r#"status in ("applied", "reversed")"#);
        format!(
            " and count(when {of_account}, \"P2D\") == {n} and sum(amount when {of_account} and {moved}, \"P2D\") == {sum}"
        )
    });
    format!("reference == \"{account}\"{}", sides.collect::<String>())
}
