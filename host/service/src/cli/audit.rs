//! `tollgate audit replay`: derives the stored verdicts again and reports those that differ.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Value, json};
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::sandbox::Sandbox;
use tollgate_model::assessment::RuleFailure;
use tollgate_model::sequence::Sequence;
use tollgate_process::HistoryMemory;
use tollgate_store::{Store, spill_directory};

use crate::cli::say;
use tollgate_rules::replay::{
    Audit, AuditDeps, AuditFinding, AuditObserver, AuditRange, AuditRemark, AuditSummary, Difference,
};
use tollgate_telemetry::config::{Settings, load_dotenv, process_environment};
use tollgate_telemetry::logs::ErrorChain;

const EQUAL: u8 = 0;
const DIFFERENT: u8 = 1;
const IMPOSSIBLE: u8 = 2;

/// Maximum length of a value shown to people, in bytes.
const SHOWN_BYTES_MAX: usize = 400;

/// Arguments of `tollgate audit replay`.
#[derive(Debug, clap::Args)]
pub(super) struct ReplayArguments {
    /// Data directory [default: SERVICE_DATA_DIR]; a running service may have it open
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Sequence number of the first verdict
    #[arg(long, value_name = "SEQUENCE", default_value_t = 1)]
    from: u64,
    /// Sequence number of the last verdict
    #[arg(long, value_name = "SEQUENCE", default_value_t = u64::MAX, hide_default_value = true)]
    through: u64,
    /// Print JSON lines: one object for each finding, and a summary in the last line
    #[arg(long)]
    json: bool,
}

/// Returns the exit code: 0 if every verdict is reproduced, 1 if one differs, 2 if the result is undecided.
pub(super) fn replay(asked: &ReplayArguments) -> u8 {
    let mut paper = FindingPrinter { is_json: asked.json, is_lost: false };
    match summary(asked, &mut paper) {
        Ok(summary) => {
            paper.conclude(&summary);
            match summary {
                _ if paper.is_lost => IMPOSSIBLE,
                AuditSummary { n_differing: 1.., .. } => DIFFERENT,
                AuditSummary { n_not_derived: 1.., .. } => IMPOSSIBLE,
                _ => EQUAL,
            }
        }
        Err(error) => {
            say(&format!("error: {}", ErrorChain(&*error)));
            IMPOSSIBLE
        }
    }
}

fn summary(asked: &ReplayArguments, paper: &mut FindingPrinter) -> anyhow::Result<AuditSummary> {
    load_dotenv()?;
    let settings = Settings::read(process_environment)?;
    let directory = asked.data_dir.as_ref().unwrap_or(&settings.data_dir);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let store = runtime.block_on(Store::open_to_read(directory))?;
    let n_threads = settings.evaluation_threads;
    let sandbox = Sandbox::for_threads(settings.execution, n_threads)?;
    let audit = Audit::new(AuditDeps {
        store: store.clone(),
        executor: runtime.handle().clone(),
        artifacts: Arc::new(Artifacts::without_cache(
            &sandbox,
            Compiler::of_this_program(settings.walls_are_needed),
        )),
        sandbox,
        n_threads,
        memory_bytes: HistoryMemory::new(settings.memory_limit_bytes).bytes,
        spill_dir: spill_directory(settings.spill_dir.as_deref(), directory),
    });
    let stretch = AuditRange { from: Sequence(asked.from), through: Sequence(asked.through) };
    let summary = audit.replay(stretch, paper);
    store.confirm_read()?;
    summary?.context("standard output was closed")
}

/// Writes findings to standard output.
struct FindingPrinter {
    is_json: bool,
    /// Whether the reader of standard output is gone.
    is_lost: bool,
}

impl AuditObserver for FindingPrinter {
    fn on_finding(&mut self, finding: AuditFinding) {
        if self.is_json {
            self.write(&in_json(&finding).to_string());
        } else {
            for line in in_words(&finding) {
                self.write(&line);
            }
        }
    }

    fn reached(&mut self, _: Sequence) -> bool {
        !self.is_lost
    }
}

impl FindingPrinter {
    fn conclude(&mut self, summary: &AuditSummary) {
        let AuditSummary { n_verdicts, n_differing, n_taken_over, n_not_derived, n_unjudged, .. } = *summary;
        if self.is_json {
            let through = summary.through.0;
            let summary = json!({
                "verdicts": n_verdicts, "differ": n_differing, "taken_over": n_taken_over,
                "not_derived": n_not_derived, "by_another_service": summary.n_by_another_service,
                "on_assumed_terms": summary.n_on_assumed_terms, "unjudged": n_unjudged,
                "rule_sets": summary.n_versions, "passes": summary.n_passes, "through": through,
            });
            return self.write(&json!({ "summary": summary }).to_string());
        }
        let n_derived = n_verdicts.saturating_sub(n_not_derived);
        self.write(&format!("{n_derived} verdicts re-derived, {n_differing} differ"));
        for (n, what) in [
            (n_taken_over, "match if a recorded rule failure is accepted that cannot be reproduced"),
            (n_not_derived, "could not be derived here: a rule ran out of time, or the machine failed"),
            (
                summary.n_by_another_service,
                "were given by another version of the service, or by one that was not recorded",
            ),
            (
                summary.n_on_assumed_terms,
                "are by rule sets that predate the recording of grants: the default grants were assumed for modules",
            ),
            (n_unjudged, "transactions are in the log without a verdict"),
        ] {
            if n > 0 {
                self.write(&format!("{n} {what}"));
            }
        }
    }

    fn write(&mut self, line: &str) {
        self.is_lost |= writeln!(io::stdout(), "{line}").is_err();
    }
}

fn in_words(finding: &AuditFinding) -> Vec<String> {
    let position = &finding.position;
    let (id, sequence, version) = (&position.transaction_id, position.sequence, position.rule_set_version);
    let head = format!("transaction `{}`, number {sequence}, rule set {version}", id.escape_debug());
    match &finding.what {
        AuditRemark::Differs(differences) => {
            let line = |Difference { what, stored, derived }: &Difference| {
                format!("{head}: {what} differs: stored {}, derived {}", shown(stored), shown(derived))
            };
            differences.iter().map(line).collect()
        }
        AuditRemark::TakenOver(failures) => vec![format!("{head}: taken over: {}", in_list(failures))],
        AuditRemark::NotDerived(failures) => vec![format!("{head}: not derived here: {}", in_list(failures))],
    }
}

fn in_list(failures: &[(String, RuleFailure)]) -> String {
    let one =
        |(name, failure): &(String, RuleFailure)| format!("rule `{name}` failed as `{}`", failure.as_str());
    failures.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns the value in a form safe for terminals.
fn shown(value: &str) -> String {
    if value.is_empty() {
        return "nothing".to_owned();
    }
    let end = value.floor_char_boundary(SHOWN_BYTES_MAX);
    let text: String = value.get(..end).unwrap_or_default().chars().flat_map(printable).collect();
    if end < value.len() { format!("{text}…") } else { text }
}

fn printable(character: char) -> Vec<char> {
    if character.is_control() { character.escape_debug().collect() } else { vec![character] }
}

fn in_json(finding: &AuditFinding) -> Value {
    let position = &finding.position;
    let failures = |failures: &[(String, RuleFailure)]| -> Value {
        failures.iter().map(|(name, how)| json!({ "name": name, "failure": how.as_str() })).collect()
    };
    let (kind, what) = match &finding.what {
        AuditRemark::Differs(differences) => {
            let one = |Difference { what, stored, derived }: &Difference| json!({ "what": what, "stored": stored, "derived": derived });
            ("differs", differences.iter().map(one).collect())
        }
        AuditRemark::TakenOver(taken_over) => ("taken_over", failures(taken_over)),
        AuditRemark::NotDerived(died) => ("not_derived", failures(died)),
    };
    json!({
        "transaction_id": position.transaction_id, "sequence": position.sequence.0,
        "rule_set_version": position.rule_set_version, kind: what,
    })
}
