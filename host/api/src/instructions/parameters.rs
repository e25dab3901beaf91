//! The manifest of a module without one, as query parameters.

use std::collections::BTreeMap;

use tollgate_engine::sandbox::AdmissionFinding;
use tollgate_guest_abi::{ABI_VERSION, Cost, Manifest, Needs, RuleEntry, Semantics, Verdict};
use utoipa::IntoParams;

use crate::query::decoded;
use crate::quoted::quoted;
use tollgate_rules::intake::MANIFEST_CHECK;

/// Schema for the OpenAPI document only; the query is parsed below.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct ModuleParameters {
    /// Name of the rule: letters, digits and `_`.
    #[param(example = "Large")]
    name: Option<String>,
    /// Purpose of the rule; optional even if other parameters are present.
    description: Option<String>,
    /// Verdict of the rule when it matches.
    verdict: Option<Verdict>,
    /// Risk from 0 (low) to 1 (high).
    #[param(minimum = 0, maximum = 1)]
    score: Option<f64>,
    /// Reason shown to an analyst.
    reason: Option<String>,
    /// Inputs that the module may read: the member `needs` of a manifest, as JSON. Optional even if other parameters
    /// are present.
    #[param(example = r#"{"fields":["amount"]}"#)]
    needs: Option<String>,
}

/// Reads the manifest from a query; returns `None` without parameters.
///
/// # Errors
/// Returns everything that is wrong with the parameters.
pub(super) fn manifest_of(query: &str) -> Result<Option<Manifest>, Vec<AdmissionFinding>> {
    if query.is_empty() {
        return Ok(None);
    }
    let mut given = QueryParameters::read(query);
    let name = given.required("name");
    let description = given.texts.remove("description");
    let verdict = given.required("verdict");
    let verdict = given.judged(verdict, |word| {
        let known = Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word);
        known.ok_or_else(|| {
            "`verdict` must be `allow`, `approve`, `alert`, `review`, `deny` or `block`".to_owned()
        })
    });
    let score = given.required("score");
    let score = given.judged(score, |digits| {
        let score = digits.parse::<f64>().ok().filter(|score| (0.0..=1.0).contains(score));
        score.ok_or_else(|| "`score` must be a number from 0 to 1".to_owned())
    });
    let reason = given.required("reason");
    let needs = given.texts.remove("needs").unwrap_or_else(|| "{}".to_owned());
    let needs = given.judged(Some(needs), |json| {
        if !json.trim_start().starts_with('{') {
            return Err("`needs` must be a JSON object".to_owned());
        }
        let malformed =
            |error: serde_json::Error| format!("`needs` cannot be read: {}", quoted(&error.to_string()));
        serde_json::from_str::<Needs>(&json).map_err(malformed)
    });
    match (name, verdict, score, reason, needs) {
        (Some(name), Some(verdict), Some(score), Some(reason), Some(needs)) if given.faults.is_empty() => {
            let rules = vec![RuleEntry { name, description, verdict, score, reason }];
            let semantics = Semantics::default();
            Ok(Some(Manifest { abi_version: ABI_VERSION, semantics, rules, needs, cost: Cost::default() }))
        }
        _ => Err(given.faults.into_iter().map(finding).collect()),
    }
}

fn finding(message: String) -> AdmissionFinding {
    AdmissionFinding { check: MANIFEST_CHECK, offset: None, message }
}

const KNOWN: [&str; 6] = ["name", "description", "verdict", "score", "reason", "needs"];

/// The parsed query parameters and the errors found in them.
#[derive(Default)]
struct QueryParameters {
    texts: BTreeMap<&'static str, String>,
    faults: Vec<String>,
}

impl QueryParameters {
    fn read(query: &str) -> Self {
        let mut given = Self::default();
        for parameter in query.split('&') {
            let (name, text) = parameter.split_once('=').unwrap_or((parameter, ""));
            match (decoded(name), decoded(text)) {
                (Some(name), Some(text)) => given.take(&name, text),
                _ => given.faults.push("the query is not percent-encoded UTF-8".to_owned()),
            }
        }
        given
    }

    fn take(&mut self, name: &str, text: String) {
        let Some(known) = KNOWN.into_iter().find(|known| *known == name) else {
            return self.faults.push(format!("there is no parameter {}", quoted(name)));
        };
        if self.texts.insert(known, text).is_some() {
            self.faults.push(format!("the parameter `{known}` occurs twice"));
        }
    }

    fn required(&mut self, name: &'static str) -> Option<String> {
        let text = self.texts.remove(name);
        if text.is_none() {
            self.faults.push(format!("the parameter `{name}` is missing"));
        }
        text
    }

    fn judged<T>(
        &mut self,
        text: Option<String>,
        judge: impl FnOnce(String) -> Result<T, String>,
    ) -> Option<T> {
        judge(text?).map_err(|fault| self.faults.push(fault)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "name=Large&verdict=review&score=0.5&reason=Too%20large%3A+Ä";

    #[track_caller]
    fn check_refused(query: &str, expected: &[&str]) {
        let faults = manifest_of(query).unwrap_err();
        assert!(faults.iter().all(|fault| fault.check == "manifest" && fault.offset.is_none()));
        let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert_eq!(messages, expected, "{query}");
    }

    #[test]
    fn without_parameters_the_manifest_is_the_modules_own() {
        assert_eq!(manifest_of(""), Ok(None));
    }

    #[test]
    fn parameters_spell_out_a_manifest() {
        let needs = "needs=%7B%22fields%22%3A%5B%22amount%22%5D%7D";
        let manifest = manifest_of(&format!("{WHOLE}&{needs}&description=")).unwrap().unwrap();
        let entry = RuleEntry {
            name: "Large".to_owned(),
            description: Some(String::new()),
            verdict: Verdict::Review,
            score: 0.5,
            reason: "Too large: Ä".to_owned(),
        };
        assert_eq!(manifest.rules, [entry]);
        assert_eq!(manifest.needs.fields.len(), 1);
        assert_eq!(Manifest::from_bytes(&manifest.to_bytes()), Ok(manifest));
    }

    #[test]
    fn everything_that_is_wrong_with_them_is_said_at_once() {
        let missing =
            ["name", "verdict", "score", "reason"].map(|name| format!("the parameter `{name}` is missing"));
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        check_refused("description=x", &missing);
        check_refused(&format!("{WHOLE}&verdikt=allow"), &["there is no parameter `verdikt`"]);
        check_refused(&format!("{WHOLE}&score=0.5"), &["the parameter `score` occurs twice"]);
        check_refused(&format!("{WHOLE}&"), &["there is no parameter ``"]);
        for broken in ["%", "%4", "%zz", "%ff", "%é"] {
            let query = format!("{WHOLE}&description={broken}");
            check_refused(&query, &["the query is not percent-encoded UTF-8"]);
        }
        check_refused(&format!("{WHOLE}&needs=[]"), &["`needs` must be a JSON object"]);
        for score in ["2", "-0.1", "NaN", "inf", "", "0,5"] {
            let query = format!("name=a&verdict=review&score={score}&reason=b");
            check_refused(&query, &["`score` must be a number from 0 to 1"]);
        }
        check_refused(
            "name=a&verdict=Review&score=1&reason=b&needs=%7B",
            &[
                "`verdict` must be `allow`, `approve`, `alert`, `review`, `deny` or `block`",
                "`needs` cannot be read: `EOF while parsing an object at line 1 column 1`",
            ],
        );
    }
}
