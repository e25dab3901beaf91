//! Embeds the shipped rules and lists, which the demo saves over the API.

#![expect(clippy::print_stdout, reason = "a build script talks to Cargo by standard output")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let rules = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../rules");
    println!("cargo::rerun-if-changed={}", rules.display());
    let (mut scripts, mut lists) = (String::new(), String::new());
    for folder in sorted(&rules)?.iter().filter(|path| path.is_dir()) {
        for file in sorted(folder)? {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let entry = |all: &mut String| writeln!(all, "({name:?}, include_str!({file:?})),");
            let written = match file.extension().and_then(|extension| extension.to_str()) {
                Some("ws") => entry(&mut scripts),
                Some("txt") => entry(&mut lists),
                _ => continue,
            };
            written.map_err(io::Error::other)?;
        }
    }
    let text = format!(
        "pub(super) const SCRIPTS: &[(&str, &str)] = &[\n{scripts}];\npub(super) const LISTS: &[(&str, &str)] = &[\n{lists}];\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("shipped.rs"), text)
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
