//! Golden tests of the emitted instructions: `tests/golden/emit/*.wat` for one rule, `tests/golden/fused/*.wat` for
//! several.

use crate::emit::emit;
use crate::{CheckedRule, CompileOptions, compile, golden};

fn instructions(rules: &[CheckedRule]) -> String {
    let module = emit(rules).unwrap();
    let text = wasmprinter::print_bytes(&module.bytes).unwrap();
    let mut kept = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("(@custom")) {
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

fn rule(script: &str) -> CheckedRule {
    compile(script, &CompileOptions::default()).rule.unwrap()
}

#[test]
fn every_shape_of_condition_becomes_the_recorded_instructions() {
    golden::check_all("emit", "wat", |script| instructions(&[rule(script)]));
}

/// Each file contains several rules.
#[test]
fn rules_that_are_fused_become_the_recorded_instructions() {
    golden::check_all("fused", "wat", |scripts| {
        let bodies = scripts.split("rule ").skip(1);
        let rules: Vec<CheckedRule> = bodies.map(|body| rule(&format!("rule {body}"))).collect();
        instructions(&rules)
    });
}
