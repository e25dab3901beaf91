//! Other transactions beside the hostile rules: their verdicts and latency.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, sample};

use super::guest;

/// Number of rules that depend on the amount: with a hostile one, no more than an answer names.
const N_LEVELS: usize = 14;
/// Interval between two transactions of a stream.
pub(crate) const PACE: Duration = Duration::from_millis(10);
const SEVERITIES: [&str; 4] = ["approve", "alert", "review", "block"];

/// The good rules. Each level matches amounts above it, and none matches a small amount. One more rule performs the
/// same lookup as the hostile ones, so that its series is not rebuilt for each of them.
pub(crate) fn rules() -> Vec<(String, String)> {
    let levels = (1..=N_LEVELS).map(|level| (format!("above_{level}"), format!("amount > {}", level * 100)));
    let asking = "count(when source == $current.source, \"PT1H\") < 0";
    levels
        .chain([("asking".to_owned(), asking.to_owned())])
        .map(|(name, condition)| (format!("{name}.ws"), sample::rule(&name, &condition)))
        .collect()
}

/// The failure messages of each hostile rule over all responses.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    words: Mutex<BTreeMap<String, BTreeSet<String>>>,
}

impl Seen {
    pub(crate) fn words(&self, name: &str) -> BTreeSet<String> {
        self.words.lock().unwrap().get(name).cloned().unwrap_or_default()
    }

    /// Records the failures of a response and checks its verdict. It is the most severe of the matching rules, and at
    /// least `review` if one failed. All texts must be printable.
    #[track_caller]
    pub(crate) fn note(&self, answer: &Answer) {
        let body = answer.expect(200);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut severity = 0;
        for rule in body["triggered"].as_array().unwrap() {
            let word = match text(&rule["verdict"]).as_str() {
                "allow" => "approve".to_owned(),
                "deny" => "block".to_owned(),
                word => word.to_owned(),
            };
            severity = severity.max(SEVERITIES.iter().position(|known| *known == word).unwrap());
            assert!(rule["score"].as_f64().is_some_and(|score| (0.0..=1.0).contains(&score)), "{body}");
            assert_eq!(shown_badly(&text(&rule["reason"])), None, "{body}");
        }
        for failure in body["failures"].as_array().unwrap() {
            severity = severity.max(2);
            let mut words = self.words.lock().unwrap();
            words.entry(text(&failure["name"])).or_default().insert(text(&failure["failure"]));
        }
        assert_eq!(body["verdict"], SEVERITIES[severity], "{body}");
        assert_eq!(shown_badly(&text(&body["reason"])), None, "{body}");
    }
}

/// Returns a character that moves the cursor, ends a line or changes the writing direction.
pub(crate) fn shown_badly(text: &str) -> Option<char> {
    text.chars().find(|letter| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

/// Counts the transactions of a run, to give each a unique id.
#[derive(Debug, Default)]
pub(crate) struct Numbers(AtomicUsize);

/// Sends transactions at this pace until `is_over` or up to a maximum number. Returns their latencies.
pub(crate) fn stream(
    client: &Client,
    (numbers, seen): (&Numbers, &Seen),
    is_over: &AtomicBool,
    n_most: usize,
    pace: Duration,
) -> Vec<Duration> {
    let (mut durations, begin) = (Vec::new(), Instant::now());
    while durations.len() < n_most && !is_over.load(Ordering::Relaxed) {
        // Paced independently of the responses, because the test measures latency rather than throughput.
        let due = begin + pace * u32::try_from(durations.len()).unwrap();
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let n = numbers.0.fetch_add(1, Ordering::Relaxed);
        let amount = 1 + n * 37 % (N_LEVELS * 110);
        let id = format!("traffic-{n}");
        let transaction = sample::with(
            &guest::transaction(&id),
            &json!({"amount": amount, "source": format!("source-{}", n % 50)}),
        );
        let start = Instant::now();
        let answer = client.inject(&transaction);
        durations.push(start.elapsed());
        seen.note(&answer);
        let good = answer.triggered().into_iter().filter(|name| name.starts_with("above_"));
        let expected: BTreeSet<String> = (1..=N_LEVELS)
            .filter(|level| amount > level * 100)
            .map(|level| format!("above_{level}"))
            .collect();
        assert_eq!(good.collect::<BTreeSet<_>>(), expected, "{id} of {amount}: {}", answer.text());
    }
    durations
}

/// Returns the 99th percentile and the median.
pub(crate) fn percentiles(mut durations: Vec<Duration>) -> (Duration, Duration) {
    durations.sort_unstable();
    let at = |per_cent: usize| durations[(durations.len() - 1) * per_cent / 100];
    (at(99), at(50))
}
