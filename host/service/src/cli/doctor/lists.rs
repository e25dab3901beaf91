//! Checks of named lists: invalid files, lines whose meaning has changed, invisible characters.

use std::fs;
use std::path::Path;

use tollgate_model::named_list::text;
use tollgate_store::kept_lists;

use super::DoctorReport;
use tollgate_rules::intake::{ListFile, UnreadableFile};

/// Maximum number of lines reported for one list.
const LINES_SHOWN: usize = 20;

/// Checks the list files of a rules directory; a missing directory has none.
pub(super) fn examine_files(rules_dir: &Path, report: &mut DoctorReport) {
    let Ok(entries) = fs::read_dir(rules_dir.join("lists")) else { return };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_list = [".txt", ".csv"].iter().any(|end| name.ends_with(end)) && !name.starts_with('.');
        if !is_list || !path.is_file() {
            continue;
        }
        let content = fs::read(&path).map_err(UnreadableFile::Io);
        let text = content.and_then(|bytes| String::from_utf8(bytes).map_err(|_| UnreadableFile::NotUtf8));
        let file = ListFile::new(format!("lists/{name}"), text);
        match &file.text {
            Ok(text) => {
                examine(&file.path, text, report);
                for warning in &file.warnings {
                    report
                        .warn("list", &format!("{}: line {}: {}", file.path, warning.line, warning.message));
                }
            }
            Err(error) => report.warn("list", &format!("{}: {error}", file.path)),
        }
    }
}

/// Checks lists that were set over the API or came from a repository.
pub(super) async fn examine_kept(data_dir: &Path, report: &mut DoctorReport) {
    // An unreadable database has already been reported.
    for list in kept_lists(data_dir).await.unwrap_or_default() {
        let is_of_directory =
            matches!(list.source, tollgate_model::instruction::InstructionSource::File { .. });
        if !is_of_directory {
            examine(&format!("`{}`, from {}", list.name, list.source), &list.entries, report);
        }
    }
}

fn examine(what: &str, list: &str, report: &mut DoctorReport) {
    for line in text::lines_read_differently(list).take(LINES_SHOWN) {
        report.warn(
            "list",
            &format!(
                "{what}: line {line} is read differently since semantics 2: a comment begins at the start of a line, or \
                 with a `#` between blanks"
            ),
        );
    }
    for (line, character) in text::invisible_characters(list).take(LINES_SHOWN) {
        let character = u32::from(character);
        report.warn("list", &format!("{what}: line {line} has the invisible character U+{character:04X}"));
    }
}
