//! A population played against a service: each payment is judged, and then gets the status that the back end gives it.
//!
//! ```text
//!  payment ──POST /inject, pending──▶ verdict ──▶ approve, alert: the status of the population
//!                                               ▶ review: honest ones are released, criminal ones rejected
//!                                               ▶ block: rejected
//! ```

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use tollgate_population::criminal::Story;
use tollgate_population::{DAYS, Payment, Population};

use crate::{Client, Service};

/// Status of a payment that was stopped.
const REJECTED: &str = "rejected";

/// A payment and what the service made of it.
#[derive(Debug)]
pub struct PlayedPayment {
    /// Id of the payment.
    pub id: String,
    /// Name of its story; `None` if it is honest.
    pub story: Option<String>,
    /// The verdict.
    pub verdict: String,
    /// Names of the rules that matched.
    pub rules: Vec<String>,
    /// The request, as JSON.
    pub body: String,
}

impl PlayedPayment {
    /// Returns it with its verdict, as one line of JSON.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { id: _, story, verdict, rules, body } = self;
        let summary = json!({"story": story, "verdict": verdict, "rules": rules}).to_string();
        format!("{},\"payment\":{body}}}\n", summary.trim_end_matches('}'))
    }

    /// Returns whether it was held or blocked.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.verdict == "review" || self.verdict == "block"
    }
}

/// Plays payments. Each request waits for the answer of the one before. `before` were made before the others, without a
/// verdict; `at` gets the time of each of the others before it is judged.
///
/// # Panics
/// Panics if the service does not answer as expected.
pub fn play(
    service: &Service,
    before: Vec<Payment>,
    payments: impl Iterator<Item = Payment>,
    mut at: impl FnMut(DateTime<Utc>),
) -> Vec<PlayedPayment> {
    let client = service.client();
    for payment in before {
        report(&client, &payment, payment.outcome.status());
    }
    let judged = payments.map(|payment| {
        at(payment.created_at);
        judge(&client, payment)
    });
    judged.collect()
}

/// Plays the whole past of a population.
///
/// # Panics
/// As [`play`].
#[must_use]
pub fn play_past(service: &Service, population: &Population) -> Vec<PlayedPayment> {
    play(service, population.before(), (0..DAYS).flat_map(|day| population.day(day)), |_| ())
}

fn judge(client: &Client, payment: Payment) -> PlayedPayment {
    let body = payment.body("pending");
    let answer = client.try_post("/inject", body.as_bytes()).expect("the service answers");
    drop(answer.expect(200));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let played = PlayedPayment {
        verdict: text(&answer.at("/verdict")),
        rules: answer.triggered(),
        story: payment.story.clone(),
        id: payment.id.clone(),
        body,
    };
    let is_rejected = played.verdict == "block" || (played.verdict == "review" && played.story.is_some());
    report(client, &payment, if is_rejected { REJECTED } else { payment.outcome.status() });
    played
}

/// Reports a status as a ledger does.
fn report(client: &Client, payment: &Payment, status: &str) {
    let body = payment.body(status);
    let event = format!(r#"{{"event":"transaction.{status}","data":{body}}}"#);
    let answer = client.try_post("/ledgerwebhook", event.as_bytes());
    drop(answer.expect("the service answers").expect(200));
}

/// The verdicts of a rule set on a population.
#[derive(Debug, Default)]
pub struct PopulationResult {
    /// Honest payments.
    pub n_honest: usize,
    /// Honest payments that were held for review.
    pub n_held: usize,
    /// Honest payments that were blocked, with the rules.
    pub blocked: Vec<(String, Vec<String>)>,
    /// Stories, and those that were caught in time.
    pub n_stories: usize,
    /// Names of the stories that were not caught.
    pub missed: Vec<String>,
    /// Stories by typology: all, and caught.
    pub by_typology: BTreeMap<&'static str, (usize, usize)>,
    /// Rules by name.
    pub rules: BTreeMap<String, RuleResult>,
}

/// The matches of a rule on a population.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RuleResult {
    /// Honest payments that it matched.
    pub n_honest: usize,
    /// Stories with a payment that it matched no later than the story must be stopped.
    pub n_stories: usize,
    /// Stories that no other rule which holds or blocks matched in time.
    pub n_alone: usize,
}

impl PopulationResult {
    /// Counts what was played. `holds` says which rules hold or block.
    #[must_use]
    pub fn new<'s>(
        played: &[PlayedPayment],
        stories: impl Iterator<Item = &'s Story>,
        holds: impl Fn(&str) -> bool,
    ) -> Self {
        let mut result = Self::default();
        let by_id: BTreeMap<&str, &PlayedPayment> =
            played.iter().map(|payment| (payment.id.as_str(), payment)).collect();
        for payment in played.iter().filter(|payment| payment.story.is_none()) {
            result.count_honest(payment);
        }
        for story in stories {
            let in_time = story.payments.iter().take(story.stop_by + 1);
            let judged: Vec<&PlayedPayment> =
                in_time.filter_map(|payment| by_id.get(payment.id.as_str()).copied()).collect();
            result.count_story(story, &judged, &holds);
        }
        result
    }

    fn count_honest(&mut self, payment: &PlayedPayment) {
        self.n_honest += 1;
        self.n_held += usize::from(payment.verdict == "review");
        if payment.verdict == "block" {
            self.blocked.push((payment.id.clone(), payment.rules.clone()));
        }
        for rule in &payment.rules {
            self.rules.entry(rule.clone()).or_default().n_honest += 1;
        }
    }

    fn count_story(&mut self, story: &Story, judged: &[&PlayedPayment], holds: &impl Fn(&str) -> bool) {
        let is_caught = judged.iter().any(|payment| payment.is_stopped());
        self.n_stories += 1;
        let (n_all, n_caught) = self.by_typology.entry(story.typology).or_default();
        *n_all += 1;
        *n_caught += usize::from(is_caught);
        if !is_caught {
            self.missed.push(story.name.clone());
        }
        let matched: BTreeSet<&String> = judged.iter().flat_map(|payment| &payment.rules).collect();
        let holding: Vec<&&String> = matched.iter().filter(|rule| holds(rule)).collect();
        for rule in &matched {
            let result = self.rules.entry((*rule).clone()).or_default();
            result.n_stories += 1;
            result.n_alone += usize::from(holding.len() == 1 && holding.first() == Some(&rule));
        }
    }

    /// Returns the share of honest payments that were held.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn share_held(&self) -> f64 {
        self.n_held as f64 / self.n_honest.max(1) as f64
    }

    /// Returns the share of stories that were caught.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn share_caught(&self) -> f64 {
        1.0 - self.missed.len() as f64 / self.n_stories.max(1) as f64
    }

    /// Returns a summary as JSON.
    #[must_use]
    pub fn summary(&self) -> Value {
        json!({
            "honest": self.n_honest, "held": self.n_held, "blocked": self.blocked.len(),
            "stories": self.n_stories, "missed": self.missed,
        })
    }
}
