//! `tollgate check`: exit codes, standard input, the policy, and the output for programs.

use std::io::Write as _;

use serde_json::{Value, json};

use super::*;

/// Runs `tollgate check` on the rules directory with these options; returns the exit code and all output.
fn check_rules(home: &Home, options: &[&str]) -> (Option<i32>, String) {
    let rules = home.rules().display().to_string();
    let arguments: Vec<&str> = ["check"].iter().chain(options).copied().chain([rules.as_str()]).collect();
    let output = run(home, &arguments);
    (output.status.code(), said(&output))
}

#[track_caller]
fn check_fails(files: &[(&str, &str)], words: &str) {
    let (code, said) = check_rules(&Home::with_rules(files), &[]);
    assert!(said.contains(words), "no `{words}` in:\n{said}");
    assert_eq!(code, Some(1), "{said}");
}

#[test]
fn check_fails_for_files_of_one_name_for_nothing_and_for_a_refused_file() {
    let rule = sample::rule("a", "amount > 1");
    let two_rules = [("a.ws", rule.as_str()), ("b.ws", rule.as_str())];
    check_fails(&two_rules, "b.ws: the rule `a` is already defined in ");
    let two_lists = [("lists/l.csv", "id\nacc-1\n"), ("lists/l.txt", "acc-1\n")];
    check_fails(&two_lists, "lists/l.txt: the list `l` is already defined in lists/l.csv");
    check_fails(&[], "nothing to check");
    check_fails(&[("README.md", "# Rules\n")], "nothing to check");
    let refused = [("a.ws", rule.as_str()), ("lists/l.txt", "<html></html>\n")];
    check_fails(&refused, "lists/l.txt:1: the file is not a list");
    // Files that are named one by one have one name too.
    let output = check(&Home::with_rules(&two_rules), &["a.ws", "b.ws"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}

#[test]
fn check_denies_warnings_only_when_it_is_asked_to() {
    let [unknown_field, unknown_list, rule] =
        ["currency == EUR", "source in $unknown", "amount > 1"].map(|condition| sample::rule("a", condition));
    for files in [
        [("a.ws", unknown_field.as_str()), ("b.txt", "")],
        [("a.ws", unknown_list.as_str()), ("lists/known.txt", "acc-1\n")],
        [("a.ws", rule.as_str()), ("B.WS", rule.as_str())],
    ] {
        let home = Home::with_rules(&files);
        let (code, said) = check_rules(&home, &[]);
        assert!(code == Some(0) && said.contains("warning"), "{said}");
        assert_eq!(check_rules(&home, &["--deny-warnings"]).0, Some(1), "{said}");
    }
    let home = Home::with_rules(&[("a.ws", rule.as_str())]);
    assert_eq!(check_rules(&home, &["--deny-warnings"]).0, Some(0));
    // A rule that is named one by one is checked whatever its name is.
    let output = check(&Home::with_rules(&[("a.ws.txt", rule)]), &["a.ws.txt"]);
    let said = said(&output);
    assert!(said.contains("rule `a`") && said.contains("reads a script only from a file `*.ws`"), "{said}");
}

#[test]
fn check_answers_programs_in_json_and_github_in_annotations() {
    let home = Home::with_rules(&[
        ("bad.ws", "rule bad {\n  when nonsense(amount) > 1\n  then review score 0.5\n}\n".to_owned()),
        ("good.ws", sample::rule("good", "amount > 1")),
        ("X.WS", sample::rule("x", "amount > 1")),
    ]);
    let (code, said) = check_rules(&home, &["--json"]);
    let report: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(code, Some(1), "{said}");
    let counts = ["files", "files_with_errors", "warnings"].map(|name| report[name].as_u64());
    assert_eq!(counts, [Some(2), Some(1), Some(1)], "{said}");
    assert_eq!(report["checked"][0]["rules"], json!([{"name": "good", "verdict": "block"}]), "{said}");
    let findings = report["findings"].as_array().unwrap();
    let error = findings.iter().find(|finding| finding["severity"] == "error").expect("an error");
    assert_eq!((&error["line"], &error["column"]), (&json!(2), &json!(8)), "{said}");
    assert!(error["file"].as_str().unwrap().ends_with("bad.ws") && error["code"].is_string(), "{said}");

    let (code, said) = check_rules(&home, &["--github"]);
    assert_eq!(code, Some(1), "{said}");
    let bad = home.rules().join("bad.ws").display().to_string();
    assert!(said.contains(&format!("::error file={bad},line=2,endLine=2,col=8,title=E")), "{said}");
    assert!(said.contains("::warning file=") && !said.contains("worst case"), "{said}");
}

#[test]
fn check_holds_rules_against_a_policy() {
    let home = Home::with_rules(&[
        ("a.ws", sample::rule("a", "amount > 1")),
        ("b.ws", sample::rule("b", "currency == \"EUR\"")),
    ]);
    let policy = home.at("policy.json");
    fs::write(&policy, r#"{"grants": [{"source": "file", "fields": ["amount"]}]}"#).unwrap();
    let policy = policy.to_str().unwrap();
    let (code, said) = check_rules(&home, &["--policy", policy]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error[not_granted]: ") && said.contains("b.ws: "), "{said}");
    assert!(said.contains("1 of 2 files with errors"), "{said}");
    let (code, said) = check_rules(&home, &["--policy", policy, "--source", "git"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("2 of 2 files with errors"), "nothing is granted to Git: {said}");
    let (code, said) = check_rules(&home, &["--policy", "/nowhere"]);
    assert!(code == Some(1) && said.contains("cannot be read"), "{said}");
}

#[test]
fn check_reads_a_script_from_standard_input() {
    let home = Home::new();
    for (script, code) in [(sample::rule("a", "amount > 1"), 0), ("rule a {".to_owned(), 1)] {
        let mut command = bare_command(&home.current(), &["check", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains("<stdin>"), "{}", said(&output));
    }
}
