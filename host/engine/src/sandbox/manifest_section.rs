//! Adds manifests to modules and removes them.

use tollgate_guest_abi::{MANIFEST_SECTION, Manifest};
use wasmparser::{Encoding, Parser, Payload};

/// Id of custom sections in the binary format.
const CUSTOM_SECTION: u8 = 0;

/// Appends the manifest as the last section. An existing manifest is kept, and admission rejects two.
#[must_use]
pub fn with_manifest(module: &[u8], manifest: &Manifest) -> Vec<u8> {
    let mut content = Vec::new();
    write_length(&mut content, MANIFEST_SECTION.len());
    content.extend_from_slice(MANIFEST_SECTION.as_bytes());
    content.extend_from_slice(&manifest.to_bytes());
    let mut bytes = module.to_vec();
    bytes.push(CUSTOM_SECTION);
    write_length(&mut bytes, content.len());
    bytes.extend_from_slice(&content);
    bytes
}

/// Returns the module without its manifests; `None` if its sections do not form a module.
#[must_use]
pub fn without_manifest(module: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut n_seen = 0;
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.ok()?;
        let end = match &payload {
            Payload::Version { encoding: Encoding::Module, range, .. } => range.end,
            Payload::Version { .. } => return None,
            // The range of a section excludes its id and length.
            other => other.as_section().map_or(n_seen, |(_, range)| range.end),
        };
        let is_manifest =
            matches!(&payload, Payload::CustomSection(section) if section.name() == MANIFEST_SECTION);
        if !is_manifest {
            bytes.extend_from_slice(module.get(n_seen..end)?);
        }
        n_seen = end;
    }
    Some(bytes)
}

/// Writes LEB128: seven bits per byte, lowest first.
fn write_length(bytes: &mut Vec<u8>, length: usize) {
    let mut rest = length;
    loop {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits")]
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}
