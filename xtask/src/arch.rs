//! The page of modules, made from the first sentence of each module's documentation.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::root;

/// The page, from the root of the repository.
const PAGE: &str = "MODULES.md";
const HEAD: &str = "# Modules\n\n\
    Each file with the first sentence of its documentation. `cargo xtask arch` writes this page; [ARCHITECTURE.md](ARCHITECTURE.md)\n\
    explains how the crates work together. Modules three levels deep and tests of a module are left out.\n";
/// Folders below the one with the sources whose files are listed.
const DEPTH: usize = 1;

/// Writes the page, or with `is_check` fails if it differs.
pub(crate) fn run(is_check: bool) -> anyhow::Result<()> {
    let path = root().join(PAGE);
    let page = page()?;
    if is_check {
        let written = fs::read_to_string(&path).with_context(|| format!("{PAGE} cannot be read"))?;
        ensure!(written == page, "{PAGE} differs from the sources: `cargo xtask arch` rewrites it");
        return Ok(());
    }
    fs::write(&path, page).with_context(|| format!("{PAGE} cannot be written"))
}

fn page() -> anyhow::Result<String> {
    let mut page = HEAD.to_owned();
    for package in packages(root())? {
        let name = package.strip_prefix(root()).unwrap_or(&package).display().to_string();
        write!(page, "\n## {name}\n\n| File | Content |\n|---|---|\n")?;
        let mut files = sources(&package)?;
        files.retain(|file| depth(&package, file) <= DEPTH);
        // A module stands above the modules within it.
        files.sort_by_key(|file| file.with_extension(""));
        for file in files {
            let text = fs::read_to_string(&file)?;
            let shown = file.strip_prefix(&package).unwrap_or(&file).display().to_string();
            let sentence =
                first_sentence(&text).with_context(|| format!("{name}/{shown} has no documentation"))?;
            writeln!(page, "| `{shown}` | {} |", sentence.replace('|', "\\|"))?;
        }
    }
    Ok(page)
}

/// Returns how many folders of modules a file is in. The suites of a package are one program each.
fn depth(package: &Path, file: &Path) -> usize {
    let below = file.strip_prefix(package).unwrap_or(file);
    let n_folders = below.iter().count().saturating_sub(2);
    if below.starts_with("src") { n_folders } else { n_folders * (DEPTH + 1) }
}

/// Returns the folders of the packages below `folder`, in order.
fn packages(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        if !entry.is_dir() || is_left_out(&entry) {
            continue;
        }
        if entry.join("Cargo.toml").exists() {
            found.push(entry.clone());
        }
        found.extend(packages(&entry)?);
    }
    Ok(found)
}

/// Returns the Rust files of a package that are not those of a package within, nor tests of a module, in order.
fn sources(package: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(package)? {
        if entry.is_dir() {
            if !is_left_out(&entry) && !entry.join("Cargo.toml").exists() {
                found.extend(sources(&entry)?);
            }
        } else if entry.extension().is_some_and(|kind| kind == "rs") && !is_test_of_module(&entry) {
            found.push(entry);
        }
    }
    Ok(found)
}

/// Returns whether a file is `tests.rs`, or below a folder `tests` of a crate's sources.
fn is_test_of_module(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().collect();
    let sources = parts.iter().rposition(|part| *part == "src");
    let behind = sources.map_or(&[][..], |at| parts.get(at..).unwrap_or_default());
    behind.iter().any(|part| *part == "tests" || *part == "tests.rs")
}

fn is_left_out(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || ["target", "node_modules", "dist", "fixtures"].contains(&&*name)
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Returns the first sentence of the documentation of a module, without links to items.
fn first_sentence(text: &str) -> Option<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with("//!"));
    let lines =
        lines.map_while(|line| line.strip_prefix("//!")).map(str::trim).take_while(|line| !line.is_empty());
    let paragraph = without_links(&lines.collect::<Vec<_>>().join(" "));
    if paragraph.is_empty() {
        return None;
    }
    let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
    paragraph.get(..end).map(|sentence| sentence.trim_end_matches(':').to_owned())
}

/// Returns Markdown with the texts of its links alone.
fn without_links(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('[') {
        kept.push_str(before);
        let (label, behind) = behind.split_once(']').unwrap_or((behind, ""));
        kept.push_str(label);
        rest = behind
            .strip_prefix('(')
            .and_then(|target| target.split_once(')'))
            .map_or(behind, |(_, behind)| behind);
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(first_sentence(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn the_first_sentence_ends_at_a_full_stop_or_at_an_empty_line() {
        check("//! One [`Thing`]. And more.\n", Some("One `Thing`."));
        check("//! A [part](Part) of [`Thing`].\n", Some("A part of `Thing`."));
        check("#![cfg(test)]\n//! Over\n//! two lines:\n//!\n//! ```text\n", Some("Over two lines"));
        check("// No documentation.\n", None);
    }

    #[test]
    fn tests_of_a_module_are_left_out_and_suites_are_not() {
        for (path, expected) in [
            ("/r/host/model/src/amount/tests.rs", true),
            ("/r/host/model/src/tests/order.rs", true),
            ("/r/tests/tests/lists.rs", false),
            ("/r/tests/src/home.rs", false),
        ] {
            assert_eq!(is_test_of_module(Path::new(path)), expected, "{path}");
        }
    }
}
