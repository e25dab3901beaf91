//! What instructions a rule becomes: `tests/golden/emit/*.wat`.

use crate::emit::emit;
use crate::{Options, compile, golden};

/// The text of the module without its manifest.
fn instructions(script: &str) -> String {
    let rule = compile(script, &Options::default()).rule.unwrap();
    let module = emit(&[rule]).unwrap();
    let text = wasmprinter::print_bytes(&module.bytes).unwrap();
    let mut kept = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("(@custom")) {
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

#[test]
fn every_shape_of_condition_becomes_the_recorded_instructions() {
    golden::check_all("emit", "wat", instructions);
}
