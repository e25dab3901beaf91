//! Checks the manifest as plain JSON.

use serde_json::Value;

/// Maximum length of each list of needs.
const NEEDS: [(&str, usize); 7] = [
    ("fields", 256),
    ("texts", 256),
    ("lists", 256),
    ("patterns", 16),
    ("aggregates", 16),
    ("previous", 16),
    ("times", 256),
];
const VERDICTS: [&str; 6] = ["allow", "approve", "alert", "review", "deny", "block"];
const WINDOW_SECONDS_MAX: u64 = 400 * 86_400;

/// Returns all violations of the manifest.
pub(super) fn violations(bytes: &[u8]) -> Vec<String> {
    let Ok(manifest) = serde_json::from_slice::<Value>(bytes) else {
        return vec!["no JSON".to_owned()];
    };
    let mut found = Vec::new();
    let mut unless = |holds: bool, what: &str| {
        if !holds {
            found.push(what.to_owned());
        }
    };
    unless(manifest["abi_version"] == 1, "another version");
    let rules = manifest["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    unless(rules.len() == 1, "not one rule");
    for rule in rules {
        let text = |name: &str| rule[name].as_str().unwrap_or_default();
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        unless((1..=128).contains(&text("name").len()), "no name, or a long one");
        unless(text("name").chars().all(is_word), "a name of other characters than scripts have");
        unless(VERDICTS.contains(&text("verdict")), "no verdict");
        unless(rule["score"].as_f64().is_some_and(|score| (0.0..=1.0).contains(&score)), "no score");
        unless(rule["reason"].is_string() && text("reason").len() <= 1_024, "no reason, or a long one");
        unless(text("description").len() <= 4_096, "a long description");
    }
    let needs = |name: &str| manifest["needs"][name].as_array().map(Vec::as_slice).unwrap_or_default();
    for (name, most) in NEEDS {
        unless(needs(name).len() <= most, name);
    }
    unless(needs("aggregates").len() + needs("previous").len() <= 16, "too many questions to the history");
    let short = |pattern: &Value| pattern.as_str().is_some_and(|pattern| pattern.len() <= 1_024);
    unless(needs("patterns").iter().all(short), "a pattern that is none, or a long one");
    for question in needs("aggregates").iter().chain(needs("previous")) {
        let seconds = question["window"].as_str().and_then(seconds);
        unless(seconds.is_some_and(|seconds| (1..=WINDOW_SECONDS_MAX).contains(&seconds)), "a window");
    }
    for list in needs("lists") {
        unless(list["items"].as_array().is_none_or(|items| items.len() <= 1_000), "a long list");
    }
    for path in needs("fields") {
        unless(path.as_str().is_some_and(|path| path.split('.').count() <= 17), "a long path");
    }
    found
}

/// Returns the seconds of an ISO 8601 duration of days, hours, minutes and seconds, in this order.
fn seconds(text: &str) -> Option<u64> {
    let (mut total, mut digits, mut units) = (0_u64, String::new(), "DTHMS");
    for letter in text.strip_prefix('P')?.chars() {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        let end = units.find(letter)?;
        units = units.get(end + 1..)?;
        let unit = match letter {
            'T' if digits.is_empty() => continue,
            'D' => 86_400,
            'H' => 3_600,
            'M' => 60,
            'S' => 1,
            _ => return None,
        };
        total = total.checked_add(digits.parse::<u64>().ok()?.checked_mul(unit)?)?;
        digits.clear();
    }
    digits.is_empty().then_some(total)
}
