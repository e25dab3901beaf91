//! `tollgate pack`: adds a manifest to a module, for languages that cannot write a custom section.

use std::fs;
use std::path::Path;

use tollgate_engine::sandbox::{with_manifest, without_manifest};
use tollgate_guest_abi::Manifest;

use crate::cli::say;

/// Returns the exit code: 1 if a file cannot be read or written, or is invalid.
pub(super) fn pack(module: &Path, manifest: &Path, output: &Path) -> u8 {
    match packed(module, manifest, output) {
        Ok(done) => {
            say(&done);
            0
        }
        Err(error) => {
            say(&format!("error: {error}"));
            1
        }
    }
}

/// Writes the packed module and returns a summary.
fn packed(module: &Path, manifest: &Path, output: &Path) -> Result<String, String> {
    let read =
        |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let words = read(manifest)?;
    let manifest =
        Manifest::from_bytes(&words).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let whole = read(module)?;
    let bare =
        without_manifest(&whole).ok_or_else(|| format!("{}: not a WebAssembly module", module.display()))?;
    let bytes = with_manifest(&bare, &manifest);
    let shown = output.display();
    fs::write(output, &bytes).map_err(|error| format!("cannot write {shown}: {error}"))?;
    let names: Vec<String> =
        manifest.rules.iter().map(|rule| format!("`{}`", rule.name.escape_debug())).collect();
    let replaced = if bare.len() < whole.len() { ", which replaces the previous one" } else { "" };
    Ok(format!("{shown}: {} bytes, with the manifest of {}{replaced}", bytes.len(), names.join(", ")))
}
