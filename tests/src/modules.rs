//! Hand-written rule modules, with and without a manifest.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use serde_json::{Value, json};

/// Name of the custom section with the manifest.
const MANIFEST_SECTION: &str = "tollgate.manifest";

/// Assembles a module from the text format.
///
/// # Panics
/// Panics if the text is not a module.
#[must_use]
pub fn of_text(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the text is a module")
}

/// Returns a module without a manifest. It matches if the first field of its manifest is a number above `limit`.
#[must_use]
pub fn above(limit: u32) -> Vec<u8> {
    of_text(&format!(
        r#"(module
          (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (i64.extend_i32_u (f64.gt (call $number (i32.const 0)) (f64.const {limit})))))"#
    ))
}

/// Returns the manifest of one rule that reads the amount.
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

/// Returns a complete rule: [`above`] with [`manifest`], with the same verdict and score as [`crate::sample::rule`].
#[must_use]
pub fn rule(name: &str, limit: u32) -> Vec<u8> {
    with_manifest(&above(limit), &manifest(name))
}

/// Appends the manifest as the last section.
#[must_use]
pub fn with_manifest(module: &[u8], manifest: &Value) -> Vec<u8> {
    with_section(module, MANIFEST_SECTION, manifest.to_string().as_bytes())
}

/// Appends a custom section.
///
/// # Panics
/// Panics if the section is 2 MiB or longer.
#[must_use]
pub fn with_section(module: &[u8], name: &str, data: &[u8]) -> Vec<u8> {
    let name_length = u8::try_from(name.len()).ok().filter(|length| *length < 0x80);
    let mut section = vec![name_length.expect("a short name")];
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(data);
    let mut bytes = module.to_vec();
    bytes.push(0);
    // Three bytes of LEB128, regardless of the length.
    let length = u32::try_from(section.len()).ok().filter(|length| *length < 1 << 21);
    let length = length.expect("a section that is not too long");
    for (shift, more) in [(0, 0x80), (7, 0x80), (14, 0)] {
        bytes.push(u8::try_from((length >> shift) & 0x7f).expect("seven bits") | more);
    }
    bytes.extend(section);
    bytes
}
