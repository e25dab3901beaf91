//! Readiness checks: whether everything that verdicts depend on is as configured; if not, why and since when.
//!
//! ```text
//!  ok         as configured
//!  degraded   the last good version is in force instead of the configured one: the service stays ready
//!  failing    nothing valid is in force, or less than the operator asked for: the service is not ready
//! ```
//!
//! Missing, broken or unsupported configuration is never treated as empty configuration. The component that finds it
//! keeps the last good version and reports here. `/readyz`, the log and the metrics all show the same state.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use parking_lot::Mutex;
use tokio::sync::watch;
use tollgate_model::clock::Clock;
use tollgate_model::hold::{HoldReason, HoldReasons};

use crate::metrics::Metrics;

/// All readiness checks of a service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ReadinessChecks {
    shared: Arc<SharedChecks>,
}

/// A handle to one readiness check, which starts as ok. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ReadinessCheck {
    shared: Arc<SharedChecks>,
    name: &'static str,
    /// Index into the list of checks.
    index: usize,
}

/// The severity of a check; the worst one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckLevel {
    /// As configured.
    Ok,
    /// The last good version is in force.
    Degraded,
    /// Nothing valid is in force, or less than was configured.
    Failing,
}

/// The combined state of all checks with one name, as shown by `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSummary {
    /// The worst level among them.
    pub level: CheckLevel,
    /// `ok`, `ok: …`, `degraded: why, since when` or `failing: why, since when`; several are separated by `; `.
    pub text: String,
}

#[derive(Debug)]
struct SharedChecks {
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    all: Mutex<Vec<(&'static str, CheckState)>>,
    /// The failing checks because of which transactions are held.
    failing: watch::Sender<HoldReasons>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CheckState {
    level: CheckLevel,
    /// The reason; at level ok a note, or empty.
    words: String,
    /// When the check reached this level.
    since: DateTime<Utc>,
    /// Time of the last success, for checks that report successes.
    last_success: Option<DateTime<Utc>>,
}

impl ReadinessChecks {
    /// Creates an empty list of checks.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        let failing = watch::Sender::default();
        Self { shared: Arc::new(SharedChecks { clock, metrics, all: Mutex::default(), failing }) }
    }

    /// Adds a check. Several may share a name: `/readyz` shows them as one.
    #[must_use]
    pub fn add(&self, name: &'static str) -> ReadinessCheck {
        let since = self.shared.clock.now();
        let mut all = self.shared.all.lock();
        all.push((
            name,
            CheckState { level: CheckLevel::Ok, words: String::new(), since, last_success: None },
        ));
        let index = all.len() - 1;
        self.shared.measure(&all, name);
        drop(all);
        ReadinessCheck { shared: Arc::clone(&self.shared), name, index }
    }

    /// Returns the failing checks because of which transactions are held, now and at every change.
    pub(crate) fn failing(&self) -> &watch::Sender<HoldReasons> {
        &self.shared.failing
    }

    /// Returns the state of all checks, by name.
    #[must_use]
    pub fn summaries(&self) -> BTreeMap<&'static str, CheckSummary> {
        let now = self.shared.clock.now();
        let all = self.shared.all.lock();
        let mut by_name: BTreeMap<&'static str, Vec<&CheckState>> = BTreeMap::new();
        for (name, state) in &*all {
            by_name.entry(*name).or_default().push(state);
        }
        by_name.into_iter().map(|(name, states)| (name, CheckSummary::new(states, now))).collect()
    }
}

impl ReadinessCheck {
    /// Reports that all is as configured.
    pub fn ok(&self) {
        self.set(CheckLevel::Ok, String::new(), None);
    }

    /// Reports a success. From then on, `/readyz` also shows the time of the last success.
    pub fn succeeded(&self, note: impl Into<String>) {
        self.set(CheckLevel::Ok, note.into(), Some(self.shared.clock.now()));
    }

    /// Reports that all is as configured, with a note. `/readyz` shows the note; the log does not.
    pub fn ok_with(&self, note: impl Into<String>) {
        self.set(CheckLevel::Ok, note.into(), None);
    }

    /// Reports that the last good version is in force instead of the configured one. `why` is public and must not
    /// contain a secret. Repeating the same reason is not logged.
    pub fn degraded(&self, why: impl Into<String>) {
        self.set(CheckLevel::Degraded, why.into(), None);
    }

    /// Reports that nothing valid is in force, or less than was configured: the service is not ready. The same rules
    /// apply to `why` as in [`Self::degraded`].
    pub fn failing(&self, why: impl Into<String>) {
        self.set(CheckLevel::Failing, why.into(), None);
    }

    /// Returns the current level.
    #[must_use]
    pub fn level(&self) -> CheckLevel {
        self.shared.all.lock().get(self.index).map_or(CheckLevel::Ok, |(_, state)| state.level)
    }

    fn set(&self, level: CheckLevel, words: String, success: Option<DateTime<Utc>>) {
        let now = self.shared.clock.now();
        let mut all = self.shared.all.lock();
        let Some((_, state)) = all.get_mut(self.index) else { return };
        let since = if state.level == level { state.since } else { now };
        let last_success = success.or(state.last_success);
        let before = std::mem::replace(state, CheckState { level, words, since, last_success });
        let after = state.clone();
        self.shared.measure(&all, self.name);
        drop(all);
        self.log(&before, &after);
    }

    fn log(&self, before: &CheckState, after: &CheckState) {
        let (check, why) = (self.name, &after.words);
        match after.level {
            CheckLevel::Ok if before.level == CheckLevel::Ok => {}
            CheckLevel::Ok => {
                tracing::info!(check, since = %shown(before.since), "a readiness check is ok again")
            }
            _ if before == after => {}
            CheckLevel::Degraded => tracing::warn!(check, why, "a readiness check is degraded"),
            CheckLevel::Failing => tracing::error!(check, why, "a readiness check fails"),
        }
    }
}

impl SharedChecks {
    fn measure(&self, all: &[(&'static str, CheckState)], name: &'static str) {
        let of_this_name = all.iter().filter(|(known, _)| *known == name).map(|(_, state)| state);
        if let Some(worst) = of_this_name.max_by_key(|state| (state.level, std::cmp::Reverse(state.since))) {
            self.metrics.readiness_check(name, worst.level as i64, worst.since);
            self.note_failing(name, worst.level);
        }
    }
}

impl SharedChecks {
    /// Called under the lock of the checks, so that the last change is the one that is noted.
    fn note_failing(&self, name: &'static str, level: CheckLevel) {
        let Some(reason) = HoldReason::of_failing_check(name) else { return };
        self.failing.send_if_modified(|failing| {
            let before = *failing;
            *failing =
                if level == CheckLevel::Failing { before.with(reason) } else { before.without(reason) };
            *failing != before
        });
    }
}

impl CheckSummary {
    fn new(mut states: Vec<&CheckState>, now: DateTime<Utc>) -> Self {
        states.sort_by_key(|state| std::cmp::Reverse(state.level));
        let level = states.first().map_or(CheckLevel::Ok, |worst| worst.level);
        if level != CheckLevel::Ok {
            states.retain(|state| state.level != CheckLevel::Ok);
            let texts: Vec<String> = states.into_iter().map(|state| state.text(now)).collect();
            return Self { level, text: texts.join("; ") };
        }
        let notes: Vec<String> =
            states.into_iter().map(|state| state.note(now)).filter(|note| !note.is_empty()).collect();
        let text = if notes.is_empty() { "ok".to_owned() } else { format!("ok: {}", notes.join("; ")) };
        Self { level, text }
    }
}

impl CheckState {
    fn text(&self, now: DateTime<Utc>) -> String {
        let level = match self.level {
            CheckLevel::Ok => "ok",
            CheckLevel::Degraded => "degraded",
            CheckLevel::Failing => "failing",
        };
        format!("{level}: {}, since {}{}", self.words, shown(self.since), self.age(now))
    }

    fn note(&self, now: DateTime<Utc>) -> String {
        format!("{}{}", self.words, self.age(now))
    }

    fn age(&self, now: DateTime<Utc>) -> String {
        self.last_success.map_or_else(String::new, |last| {
            format!(", last success {}, {} s ago", shown(last), (now - last).num_seconds().max(0))
        })
    }
}

fn shown(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct ManualClock(Mutex<DateTime<Utc>>);

    impl Clock for ManualClock {
        fn now(&self) -> DateTime<Utc> {
            *self.0.lock()
        }
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn checks() -> (ReadinessChecks, Arc<ManualClock>, Arc<Metrics>) {
        let (clock, metrics) = (Arc::new(ManualClock::default()), Arc::new(Metrics::new()));
        (ReadinessChecks::new(Arc::<ManualClock>::clone(&clock), Arc::clone(&metrics)), clock, metrics)
    }

    #[track_caller]
    fn check(checks: &ReadinessChecks, level: CheckLevel, text: &str) {
        let expected = CheckSummary { level, text: text.to_owned() };
        assert_eq!(checks.summaries().get("rules"), Some(&expected));
    }

    #[test]
    fn a_check_says_why_and_since_when_it_is_not_ok() {
        let (all, clock, metrics) = checks();
        let rules = all.add("rules");
        check(&all, CheckLevel::Ok, "ok");
        *clock.0.lock() = at(60);
        rules.degraded("a file is broken");
        *clock.0.lock() = at(90);
        rules.degraded("two files are broken");
        check(&all, CheckLevel::Degraded, "degraded: two files are broken, since 1970-01-01T00:01:00Z");
        let page = metrics.encode().unwrap();
        assert!(page.contains("\ntollgate_readiness_check{check=\"rules\"} 1\n"), "{page}");
        assert!(
            page.contains("\ntollgate_readiness_check_since_timestamp_seconds{check=\"rules\"} 60\n"),
            "{page}"
        );
        rules.failing("there is none");
        check(&all, CheckLevel::Failing, "failing: there is none, since 1970-01-01T00:01:30Z");
        rules.ok_with("3 rules");
        check(&all, CheckLevel::Ok, "ok: 3 rules");
    }

    #[test]
    fn a_check_that_tells_of_successes_shows_the_last_one_and_its_age() {
        let (all, clock, _) = checks();
        let rules = all.add("rules");
        *clock.0.lock() = at(60);
        rules.succeeded("branch main");
        *clock.0.lock() = at(90);
        let success = "last success 1970-01-01T00:01:00Z";
        check(&all, CheckLevel::Ok, &format!("ok: branch main, {success}, 30 s ago"));
        rules.degraded("nobody answers");
        *clock.0.lock() = at(100);
        let since = "since 1970-01-01T00:01:30Z";
        check(&all, CheckLevel::Degraded, &format!("degraded: nobody answers, {since}, {success}, 40 s ago"));
    }

    #[test]
    fn a_failing_check_on_which_verdicts_depend_is_noted_until_it_no_longer_fails() {
        let (all, ..) = checks();
        let (files, number, memory) = (all.add("rules"), all.add("rules"), all.add("memory"));
        let noted = || *all.failing().borrow();
        memory.failing("full");
        files.degraded("a");
        assert_eq!(noted(), HoldReasons::NONE);
        number.failing("b");
        files.ok();
        assert_eq!(noted(), HoldReasons::NONE.with(HoldReason::Rules));
        number.degraded("c");
        assert_eq!(noted(), HoldReasons::NONE);
    }

    #[test]
    fn checks_of_one_name_are_shown_as_one_and_the_worst_comes_first() {
        let (all, _, metrics) = checks();
        let (files, number, third) = (all.add("rules"), all.add("rules"), all.add("rules"));
        third.ok_with("a note");
        files.degraded("a");
        number.failing("b");
        let since = "since 1970-01-01T00:00:00Z";
        check(&all, CheckLevel::Failing, &format!("failing: b, {since}; degraded: a, {since}"));
        number.ok();
        check(&all, CheckLevel::Degraded, &format!("degraded: a, {since}"));
        assert!(metrics.encode().unwrap().contains("\ntollgate_readiness_check{check=\"rules\"} 1\n"));
        files.ok();
        check(&all, CheckLevel::Ok, "ok: a note");
    }
}
