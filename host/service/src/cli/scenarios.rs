//! `tollgate test`: runs the scenarios beside rules and modules in this process.
//!
//! ```text
//!  DIR ─survey─▶ rules, lists          scenario: the past and a payment, and what has to be answered
//!   └──find──▶ scenarios ─▶ one rule with all lists ─▶ the evaluator of the service ─▶ text, JSON, JUnit
//! ```
//!
//! The code of modules is compiled so that it knows where it fails, which the service leaves out for speed. Answers and
//! fuel are the same.

mod bench;
mod files;
mod output;

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;

use crate::cli::say;
use bench::ScenarioBench;
use files::ScenarioFiles;
use output::{ScenarioOutcome, TestReport};
use tollgate_telemetry::logs::ErrorChain;

/// Arguments of `tollgate test`.
#[derive(Debug, Args)]
pub(super) struct TestArguments {
    /// Print one JSON object to standard output, and no text
    #[arg(long)]
    json: bool,
    /// Write the results in the format of JUnit to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Directory with rules, modules, lists and scenarios: `NAME.json` beside `NAME.ws` or `NAME.wasm`, and `cases.json`
    directory: PathBuf,
}

/// Returns the exit code: 1 if a case fails, a scenario cannot be run, or there is none.
pub(super) fn test(asked: &TestArguments) -> u8 {
    let report = match run(asked) {
        Ok(report) => report,
        Err(error) => {
            say(&format!("error: {error}"));
            return 1;
        }
    };
    if asked.json {
        // If nobody reads, the exit code still reports the result.
        io::stdout().write_all(format!("{}\n", report.json()).as_bytes()).ok();
    } else {
        report.lines().iter().for_each(|line| say(line));
    }
    if let Some(file) = &asked.junit
        && let Err(error) = std::fs::write(file, report.junit())
    {
        say(&format!("error: cannot write {}: {error}", file.display()));
        return 1;
    }
    u8::from(!report.is_good())
}

fn run(asked: &TestArguments) -> Result<TestReport, String> {
    let shown = asked.directory.display();
    let files =
        ScenarioFiles::find(&asked.directory).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let bench = ScenarioBench::new(&files).map_err(|error| ErrorChain(&*error).to_string())?;
    let outcomes = files.scenarios.iter().map(|(path, scenario)| {
        let (rule, cases) = match scenario {
            Err(error) => (String::new(), Err(error.clone())),
            Ok(scenario) => (scenario.rule.clone(), bench.run(scenario, &files)),
        };
        ScenarioOutcome { file: path.clone(), rule, cases }
    });
    Ok(TestReport { scenarios: outcomes.collect(), n_rules_untested: files.n_untested() })
}
