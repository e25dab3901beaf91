//! Transactions of others beside the hostile rules: what they are answered, and how fast.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::{Answer, Client, sample};

use super::guest;

/// How many rules judge by the amount.
const N_LEVELS: usize = 20;
/// Between two transactions of a stream.
pub(crate) const PACE: Duration = Duration::from_millis(10);
const SEVERITIES: [&str; 4] = ["approve", "alert", "review", "block"];

/// The good rules: each level is a rule that matches amounts above it, and none matches a small amount. One more asks the
/// history what the hostile ones ask, so that it is not read anew for each of them.
pub(crate) fn rules() -> Vec<(String, String)> {
    let levels = (1..=N_LEVELS).map(|level| (format!("above_{level}"), format!("amount > {}", level * 100)));
    let asking = "count(when source == $current.source, \"PT1H\") < 0";
    levels
        .chain([("asking".to_owned(), asking.to_owned())])
        .map(|(name, condition)| (format!("{name}.ws"), sample::rule(&name, &condition)))
        .collect()
}

/// What was seen of the hostile rules, over all answers: in which words each died.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    words: Mutex<BTreeMap<String, BTreeSet<String>>>,
}

impl Seen {
    pub(crate) fn words(&self, name: &str) -> BTreeSet<String> {
        self.words.lock().unwrap().get(name).cloned().unwrap_or_default()
    }

    /// Notes the failures of an answer, and checks what holds of every answer: the verdict is the severest of those of the
    /// rules that matched, and at least `review` when one failed; what is shown can be shown.
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

/// A character that moves a cursor, ends a line or turns the direction of writing.
pub(crate) fn shown_badly(text: &str) -> Option<char> {
    text.chars().find(|letter| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

/// Numbers the transactions of a run, so that no two have one id.
#[derive(Debug, Default)]
pub(crate) struct Numbers(AtomicUsize);

/// Sends one transaction after the other, at this pace, until it is told to stop, or so many were sent; how long each took.
pub(crate) fn stream(
    client: &Client,
    (numbers, seen): (&Numbers, &Seen),
    is_over: &AtomicBool,
    n_most: usize,
    pace: Duration,
) -> Vec<Duration> {
    let (mut durations, begin) = (Vec::new(), Instant::now());
    while durations.len() < n_most && !is_over.load(Ordering::Relaxed) {
        // At its own pace, however fast the answers come: what is measured is not how much fits in.
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

/// The duration that 99 of 100 do not exceed, and the one in the middle.
pub(crate) fn percentiles(mut durations: Vec<Duration>) -> (Duration, Duration) {
    durations.sort_unstable();
    let at = |per_cent: usize| durations[(durations.len() - 1) * per_cent / 100];
    (at(99), at(50))
}
