//! The corpus has the documented mix and is reproducible.

use std::collections::BTreeSet;

use tollgate_compiler::{CompileOptions, compile};

use super::*;

#[test]
fn every_rule_compiles_without_a_word_and_so_many_aggregates_are_asked() {
    for (n_rules, n_aggregates) in
        [(10, 0), (10, 10), (10, 50), (100, 10), (1_000, 50), (1_000, AGGREGATES_MAX)]
    {
        let named_lists = BTreeSet::from([WATCHED.to_owned()]);
        let options = CompileOptions { named_lists: Some(&named_lists), ..CompileOptions::default() };
        let mut asked = BTreeSet::new();
        let scripts = scripts(n_rules, n_aggregates);
        assert_eq!(scripts.len(), n_rules);
        for Script { text, .. } in &scripts {
            let compiled = compile(text, &options);
            assert!(compiled.rule.is_some(), "{text}: {:?}", compiled.diagnostics);
            asked.extend(
                text.lines()
                    .filter(|line| line.contains("$current."))
                    .map(|line| line.trim_start_matches([' ', 'w', 'h', 'e', 'n', 'o', 'r']).to_owned()),
            );
        }
        assert_eq!(asked.len(), n_aggregates, "{n_rules} rules: {asked:#?}");
    }
}

#[test]
fn the_corpus_has_the_mix_it_says() {
    let scripts = scripts(1_000, 50);
    let n_with = |part: &str| scripts.iter().filter(|script| script.text.contains(part)).count();
    assert_eq!((n_with("regex"), n_with("$current.")), (100, 100));
    assert!(n_with(" in (") + n_with(&format!(" in ${WATCHED}")) == 200, "{}", n_with(" in ("));
}

#[test]
fn the_same_is_asked_for_only_where_rules_are_enough_for_it() {
    assert!(can_ask(0, 0) && can_ask(10, 50) && can_ask(7, 50));
    assert!(!can_ask(0, 1) && !can_ask(6, 50) && !can_ask(1_000, AGGREGATES_MAX + 1));
}

#[test]
fn requests_differ_in_their_ids_and_in_nothing_that_has_a_length() {
    let requests = Requests::to("127.0.0.1:1");
    let (mut buffer, mut ids) = (Vec::new(), BTreeSet::new());
    for _ in 0..10_000 {
        requests.write(&mut buffer);
        let text = String::from_utf8(buffer.clone()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        let json: serde_json::Value = serde_json::from_str(body).unwrap();
        assert!(ids.insert(json["transaction_id"].as_str().unwrap().to_owned()), "{body}");
    }
}
