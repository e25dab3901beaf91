//! Rule modules that our compiler did not make: written by hand, with a manifest or without.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use serde_json::{Value, json};

/// The custom section that carries the manifest.
const MANIFEST_SECTION: &str = "tollgate.manifest";

/// A module in the text format, as bytes.
///
/// # Panics
/// When the text is no module.
#[must_use]
pub fn of_text(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the text is a module")
}

/// Matches transactions whose first field, as the manifest names them, is a number above this; without a manifest.
#[must_use]
pub fn above(limit: u32) -> Vec<u8> {
    of_text(&format!(
        r#"(module
          (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (i64.extend_i32_u (f64.gt (call $number (i32.const 0)) (f64.const {limit})))))"#
    ))
}

/// The manifest of one rule that reads the amount.
#[must_use]
pub fn manifest(name: &str) -> Value {
    json!({
        "abi_version": 1,
        "rules": [
            { "name": name, "description": name, "verdict": "block", "score": 0.9, "reason": format!("{name} matched") },
        ],
        "needs": { "fields": ["amount"] },
    })
}

/// A whole rule: [`above`] with [`manifest`], named and severe as those of [`crate::sample::rule`].
#[must_use]
pub fn rule(name: &str, limit: u32) -> Vec<u8> {
    with_manifest(&above(limit), &manifest(name))
}

/// The module with this manifest as its last section.
#[must_use]
pub fn with_manifest(module: &[u8], manifest: &Value) -> Vec<u8> {
    with_section(module, MANIFEST_SECTION, manifest.to_string().as_bytes())
}

/// The module with one more custom section at its end.
///
/// # Panics
/// When the section is longer than 2 MiB.
#[must_use]
pub fn with_section(module: &[u8], name: &str, data: &[u8]) -> Vec<u8> {
    let name_length = u8::try_from(name.len()).ok().filter(|length| *length < 0x80);
    let mut section = vec![name_length.expect("a short name")];
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(data);
    let mut bytes = module.to_vec();
    bytes.push(0);
    // Three bytes of LEB128, whatever the length.
    let length = u32::try_from(section.len()).ok().filter(|length| *length < 1 << 21);
    let length = length.expect("a section that is not too long");
    for (shift, more) in [(0, 0x80), (7, 0x80), (14, 0)] {
        bytes.push(u8::try_from((length >> shift) & 0x7f).expect("seven bits") | more);
    }
    bytes.extend(section);
    bytes
}
