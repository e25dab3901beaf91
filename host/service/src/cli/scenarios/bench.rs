//! Runs the cases of a scenario with one rule and all lists.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use chrono::Utc;
use serde::Serialize;
use tollgate_compiler::headline;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_engine::sandbox::{Execution, FailureDetail, Sandbox};
use tollgate_history::History;
use tollgate_model::assessment::{Assessment, FailedRule};
use tollgate_model::calendar::ZoneData;
use tollgate_model::instruction::{Grant, InstructionId, InstructionSource, RuleContent};
use tollgate_model::transaction::{Fingerprint, InjectRequest, RequestOptions, StatusWords};

use super::files::{ExpectedAnswer, Scenario, ScenarioCase, ScenarioFiles};
use tollgate_rules::intake::{Draft, Identity, IntakeError, KnownNames};
use tollgate_telemetry::config::{load_dotenv, process_environment, read_status_words, words, zone_data_dir};

/// Compiles rules and judges payments.
pub(super) struct ScenarioBench {
    sandbox: Sandbox,
    artifacts: Arc<Artifacts>,
    zones: Arc<ZoneData>,
    lists: Lists,
    currencies: BTreeSet<String>,
    status_words: Arc<StatusWords>,
}

/// The result of one case.
#[derive(Debug, Serialize)]
pub(super) struct CaseOutcome {
    pub(super) name: String,
    pub(super) passed: bool,
    pub(super) expected: ExpectedAnswer,
    /// The answer; `None` if a payment of the case was refused.
    pub(super) answered: Option<ExpectedAnswer>,
    pub(super) failures: Vec<CaseFailure>,
    /// The reason why a payment of the case was refused.
    pub(super) error: Option<String>,
    /// Duration of the case, in seconds.
    pub(super) seconds: f64,
}

/// A rule that failed on the payment of a case.
#[derive(Debug, Serialize)]
pub(super) struct CaseFailure {
    pub(super) rule: String,
    pub(super) failure: String,
    pub(super) message: String,
    pub(super) function: Option<String>,
    /// Offset of the instruction in the module, in bytes.
    pub(super) offset: Option<usize>,
    /// Fuel that the run used.
    pub(super) fuel: Option<u64>,
}

/// An answered payment.
#[derive(Clone)]
struct JudgedPayment {
    fingerprint: Fingerprint,
    assessment: Assessment,
    details: Vec<(usize, FailureDetail)>,
}

/// A rule set with one rule, and its past.
struct RunningScenario {
    history: History,
    evaluator: Evaluator,
    rule_set: Arc<RuleSet>,
    judged: HashMap<Arc<str>, JudgedPayment>,
}

impl ScenarioBench {
    pub(super) fn new(files: &ScenarioFiles) -> anyhow::Result<Self> {
        load_dotenv()?;
        let zones = ZoneData::of_directory(zone_data_dir(process_environment)?.as_deref())?;
        let sandbox = Sandbox::executing(Execution::Diagnosed)?;
        let artifacts = Arc::new(Artifacts::without_cache(&sandbox, Compiler::of_this_program(false)));
        let words = words(process_environment)?;
        let status_words = read_status_words(words.status_words.as_deref())?;
        let lists = files.lists.clone();
        Ok(Self { sandbox, artifacts, zones, lists, currencies: words.currencies, status_words })
    }

    /// Runs the cases of a scenario, in order and with one past.
    pub(super) fn run(&self, scenario: &Scenario, files: &ScenarioFiles) -> Result<Vec<CaseOutcome>, String> {
        let file = files.rules.get(&scenario.rule);
        let file = file.ok_or_else(|| format!("there is no rule `{}`", scenario.rule))?;
        let content = file.content.as_ref().map_err(|error| format!("{}: {error}", file.path))?;
        let mut running = self
            .start(&file.path, content)
            .map_err(|error| format!("{}: {}", file.path, words_of(&error)))?;
        Ok(scenario.cases.iter().map(|case| running.run(case)).collect())
    }

    fn start(&self, path: &str, content: &RuleContent) -> Result<RunningScenario, IntakeError> {
        let draft = match content {
            RuleContent::Script(script) => {
                let (lists, zones, currencies) = (&self.lists, &*self.zones, &self.currencies);
                Draft::compile(&self.artifacts, KnownNames { lists, zones, currencies }, script.clone())?
            }
            RuleContent::Module(bytes) => Draft::upload(&self.artifacts, bytes.clone(), Grant::default())?,
        };
        let history = History::new()
            .in_zones(Arc::clone(&self.zones))
            .with_status_words(Arc::clone(&self.status_words));
        let source = InstructionSource::File { path: path.to_owned() };
        let rule = draft.bind(&history, Identity::new(InstructionId(1), source, Utc::now()))?;
        let rule_set = RuleSet::new(1, vec![Arc::new(rule)], self.lists.clone());
        Ok(RunningScenario {
            history,
            evaluator: Evaluator::new(self.sandbox.clone()),
            rule_set: Arc::new(
                rule_set.in_zones(Arc::clone(&self.zones)).with_status_words(Arc::clone(&self.status_words)),
            ),
            judged: HashMap::new(),
        })
    }
}

/// Returns an error with the first diagnostic, if it has one.
fn words_of(error: &IntakeError) -> String {
    match error {
        IntakeError::Compile(diagnostics) => headline(diagnostics),
        error => error.to_string(),
    }
}

impl RunningScenario {
    fn run(&mut self, case: &ScenarioCase) -> CaseOutcome {
        let began = std::time::Instant::now();
        let past = case.history.iter().try_for_each(|past| self.judge(past.get()).map(drop));
        let judged = past.and_then(|()| self.judge(case.transaction.get()));
        let mut outcome = CaseOutcome {
            name: case.name.clone(),
            passed: false,
            expected: case.expect.clone(),
            answered: None,
            failures: Vec::new(),
            error: None,
            seconds: 0.0,
        };
        match judged {
            Ok(judged) => {
                outcome.failures = failures_of(&judged);
                let answered = answer_of(judged.assessment);
                outcome.passed = outcome.failures.is_empty() && is_as_expected(&answered, &case.expect);
                outcome.answered = Some(answered);
            }
            Err(error) => outcome.error = Some(error),
        }
        outcome.seconds = began.elapsed().as_secs_f64();
        outcome
    }

    /// Judges a payment as `POST /inject` does. The same id gets its first answer.
    fn judge(&mut self, body: &str) -> Result<JudgedPayment, String> {
        let read = InjectRequest::read(body.as_bytes(), &RequestOptions::default(), Utc::now());
        let InjectRequest { transaction, fingerprint, objection, .. } =
            read.map_err(|error| error.to_string())?;
        let transaction = Arc::new(transaction);
        if let Some(known) = self.judged.get(&transaction.transaction_id) {
            return if known.fingerprint == fingerprint {
                Ok(known.clone())
            } else {
                Err(format!("another payment has the transaction_id `{}`", transaction.transaction_id))
            };
        }
        if let Some(objection) = objection {
            return Err(objection.to_string());
        }
        let sequence = self.history.admit(Arc::clone(&transaction), |sequence| sequence);
        let outcomes = self.evaluator.evaluate(&self.rule_set, &transaction, sequence);
        let noted = outcomes.noted().filter_map(|(rule_index, outcome)| {
            let instruction = &self.rule_set.rules.get(rule_index)?.rule.instruction;
            Some((instruction.record.id, &instruction.entry, outcome.clone()))
        });
        let id = Arc::clone(&transaction.transaction_id);
        let version = (self.rule_set.version, self.rule_set.semantics);
        let assessment = Assessment::consolidate(&id, version, Utc::now(), noted);
        let judged = JudgedPayment { fingerprint, assessment, details: self.evaluator.take_failures() };
        self.judged.insert(id, judged.clone());
        Ok(judged)
    }
}

fn failures_of(judged: &JudgedPayment) -> Vec<CaseFailure> {
    let detail = judged.details.first().map(|(_, detail)| detail);
    let failures = judged.assessment.failures.iter();
    let failure = |FailedRule { name, failure, .. }: &FailedRule| CaseFailure {
        rule: name.clone().unwrap_or_default(),
        failure: failure.as_str().to_owned(),
        message: detail.map_or_else(|| failure.to_string(), |detail| detail.message.clone()),
        function: detail.and_then(|detail| detail.function.clone()),
        offset: detail.and_then(|detail| detail.offset),
        fuel: detail.map(|detail| detail.fuel),
    };
    failures.map(failure).collect()
}

fn answer_of(assessment: Assessment) -> ExpectedAnswer {
    ExpectedAnswer {
        verdict: assessment.verdict.to_string(),
        score: assessment.score,
        reason: Some(assessment.reason),
        triggered: assessment.triggered.into_iter().filter_map(|rule| rule.name).collect(),
    }
}

fn is_as_expected(answered: &ExpectedAnswer, expected: &ExpectedAnswer) -> bool {
    answered.verdict == expected.verdict
        && answered.score.total_cmp(&expected.score).is_eq()
        && answered.triggered == expected.triggered
        && expected.reason.as_ref().is_none_or(|reason| answered.reason.as_ref() == Some(reason))
}
