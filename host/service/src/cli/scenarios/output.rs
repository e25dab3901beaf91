//! The results of scenarios as text, as JSON and in the format of JUnit.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::json;

use super::bench::{CaseFailure, CaseOutcome};
use super::files::ExpectedAnswer;

/// The results of all scenarios.
pub(super) struct TestReport {
    pub(super) scenarios: Vec<ScenarioOutcome>,
    pub(super) n_rules_untested: usize,
}

/// The results of one scenario.
#[derive(Serialize)]
pub(super) struct ScenarioOutcome {
    /// Path below the directory.
    pub(super) file: String,
    pub(super) rule: String,
    /// The cases, or the reason why none was run.
    #[serde(flatten, serialize_with = "cases_or_error")]
    pub(super) cases: Result<Vec<CaseOutcome>, String>,
}

fn cases_or_error<S: serde::Serializer>(
    cases: &Result<Vec<CaseOutcome>, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match cases {
        Ok(cases) => json!({ "cases": cases, "error": null }).serialize(serializer),
        Err(error) => json!({ "cases": [], "error": error }).serialize(serializer),
    }
}

impl TestReport {
    pub(super) fn is_good(&self) -> bool {
        !self.scenarios.is_empty() && self.n_failed() == 0 && self.n_errors() == 0
    }

    fn cases(&self) -> impl Iterator<Item = &CaseOutcome> {
        self.scenarios.iter().flat_map(|scenario| scenario.cases.iter().flatten())
    }

    fn n_failed(&self) -> usize {
        self.cases().filter(|case| !case.passed).count()
    }

    /// The number of scenarios that could not be run.
    fn n_errors(&self) -> usize {
        self.scenarios.iter().filter(|scenario| scenario.cases.is_err()).count()
    }

    /// Returns the deviations, and then a summary.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for ScenarioOutcome { file, cases, .. } in &self.scenarios {
            match cases {
                Err(error) => lines.push(format!("error: {file}: {error}")),
                Ok(cases) => {
                    let failed = cases.iter().filter(|case| !case.passed);
                    lines.extend(failed.map(|case| format!("failed: {file}: {}: {}", case.name, why(case))));
                }
            }
        }
        if self.scenarios.is_empty() {
            let message = "nothing to test: there is no `NAME.json` beside `NAME.ws` or `NAME.wasm`, and no `cases.json`";
            lines.push(format!("error: {message}"));
        }
        if self.n_rules_untested > 0 {
            lines.push(format!("{} rules have no scenario", self.n_rules_untested));
        }
        let (n_scenarios, n_cases) = (self.scenarios.len(), self.cases().count());
        let (n_failed, n_errors) = (self.n_failed(), self.n_errors());
        lines.push(format!(
            "{n_scenarios} scenarios, {n_cases} cases: {n_failed} failed, {n_errors} scenarios not run"
        ));
        lines
    }

    pub(super) fn json(&self) -> String {
        let report = json!({
            "cases": self.cases().count(),
            "failed": self.n_failed(),
            "not_run": self.n_errors(),
            "rules_without_scenario": self.n_rules_untested,
            "scenarios": self.scenarios,
        });
        format!("{report:#}")
    }

    pub(super) fn junit(&self) -> String {
        let mut xml =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tollgate test\">\n".to_owned();
        for scenario in &self.scenarios {
            suite(&mut xml, scenario);
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

/// Writes a scenario as a suite. Writing to a text cannot fail.
fn suite(xml: &mut String, ScenarioOutcome { file, rule, cases }: &ScenarioOutcome) {
    let (file, rule) = (escaped(file), escaped(rule));
    let n_cases = cases.as_ref().map_or(1, Vec::len);
    let n_failed = cases.iter().flatten().filter(|case| !case.passed).count();
    let n_errors = usize::from(cases.is_err());
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{file}\" tests=\"{n_cases}\" failures=\"{n_failed}\" errors=\"{n_errors}\">"
    );
    match cases {
        Err(error) => {
            let error = escaped(error);
            let _ = writeln!(
                xml,
                "    <testcase classname=\"{rule}\" name=\"scenario\" file=\"{file}\"><error message=\"{error}\"/></testcase>"
            );
        }
        Ok(cases) => {
            for case in cases {
                let _ = write!(
                    xml,
                    "    <testcase classname=\"{rule}\" name=\"{}\" file=\"{file}\" time=\"{:.6}\"",
                    escaped(&case.name),
                    case.seconds
                );
                let _ = if case.passed {
                    writeln!(xml, "/>")
                } else {
                    writeln!(xml, "><failure message=\"{}\"/></testcase>", escaped(&why(case)))
                };
            }
        }
    }
    xml.push_str("  </testsuite>\n");
}

/// Returns the reason why a case failed, in one line.
fn why(case: &CaseOutcome) -> String {
    if let Some(error) = &case.error {
        return error.clone();
    }
    let failures: Vec<String> = case.failures.iter().map(failure).collect();
    if !failures.is_empty() {
        return failures.join("; ");
    }
    let answered = case.answered.as_ref().map(answer).unwrap_or_default();
    format!("expected {}, answered {answered}", answer(&case.expected))
}

fn failure(failure: &CaseFailure) -> String {
    let CaseFailure { rule, failure, message, function, offset, fuel } = failure;
    let function = function.as_ref().map(|name| format!(" in `{name}`")).unwrap_or_default();
    let offset = offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default();
    let fuel = fuel.map(|fuel| format!(", {fuel} units of fuel used")).unwrap_or_default();
    format!("rule `{rule}` failed ({failure}){function}{offset}: {message}{fuel}")
}

fn answer(answer: &ExpectedAnswer) -> String {
    let ExpectedAnswer { verdict, score, reason, triggered } = answer;
    let reason = reason.as_ref().map(|reason| format!(", {reason:?}")).unwrap_or_default();
    format!("{verdict} {score} by [{}]{reason}", triggered.join(", "))
}

/// Escapes a text for an attribute; characters that XML does not allow are replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            character if character.is_control() => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_has_no_character_that_ends_it() {
        assert_eq!(escaped("a<\"b\"> & \u{1}\n"), "a&lt;&quot;b&quot;&gt; &amp; \u{fffd} ");
    }
}
