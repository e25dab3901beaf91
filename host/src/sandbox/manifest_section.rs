//! Manifests put into modules that come without.

use tollgate_guest_abi::{MANIFEST_SECTION, Manifest};

/// Id of custom sections in the binary format.
const CUSTOM_SECTION: u8 = 0;

/// The module with the manifest as its last section. One that is there already stays, and admission will not like two.
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

/// As LEB128: seven bits a byte, the lowest first.
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
