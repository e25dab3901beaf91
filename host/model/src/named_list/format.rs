//! Detection of files that are not lists: pointers, web pages and other documents in place of a list.
//!
//! Such a file is never read as a list, not even as an empty one. It is rejected, and the last good list stays in
//! force.
//!
//! This file and `text` use each other: a line is measured without its quotation marks, and an entry is written with them if
//! it would be rejected here.

use super::text;

/// Maximum length of an entry, and of a line that is not a JSON string, in characters.
pub const ENTRY_CHARACTERS_MAX: usize = 1024;

/// A small text that replaces content not fetched into a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContentPointer {
    /// Pointer of Git Large File Storage.
    #[error(
        "it is a Git LFS pointer, not the content; fetch the content with `git lfs pull`, or keep the file in Git without LFS"
    )]
    GitLfs,
    /// Pointer of git-annex.
    #[error(
        "it is a git-annex pointer, not the content; fetch the content with `git annex get`, or keep the file in Git itself"
    )]
    GitAnnex,
}

/// A reason why a text is not a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAList {
    /// A pointer.
    #[error(transparent)]
    Pointer(#[from] ContentPointer),
    /// An HTML or XML document.
    #[error("it is markup (HTML or XML), such as an error page; write one entry per line")]
    Markup {
        /// Line number, from 1.
        line: usize,
    },
    /// A JSON document.
    #[error("it is a JSON document; write one entry per line, or send JSON with `PUT /lists/{{name}}`")]
    Json,
    /// A file with an unresolved merge conflict.
    #[error("it contains merge conflict markers; resolve the conflict")]
    Conflict {
        /// Line number, from 1.
        line: usize,
    },
    /// A line too long for an entry.
    #[error(
        "a line has {characters} characters, at most {ENTRY_CHARACTERS_MAX} are allowed; write one entry per line"
    )]
    LongLine {
        /// Line number, from 1.
        line: usize,
        /// Length of the line in characters.
        characters: usize,
    },
    /// A carriage return without a line feed.
    #[error("it has a carriage return without a line feed; end lines with LF or CR LF")]
    CarriageReturn {
        /// Line number, from 1.
        line: usize,
    },
    /// A NUL character, as in UTF-16 and binary files.
    #[error("it contains the character NUL, so it is not text; save it as UTF-8")]
    Nul {
        /// Line number, from 1.
        line: usize,
    },
    /// An unclosed quotation mark, which makes rows ambiguous.
    #[error("a quotation mark is not closed; close it, or double it inside a cell in quotation marks")]
    Quotes {
        /// Line number, from 1.
        line: usize,
    },
    /// The comment `# column=NAME` of a table names no column of it.
    #[error(
        "`# column={column}` names no column of the first row; write the name of a column, or its number from 1"
    )]
    NoColumn {
        /// Line number of the first row, from 1.
        line: usize,
        /// The name.
        column: Box<str>,
    },
}

impl ContentPointer {
    /// Detects a pointer by the start of the content.
    #[must_use]
    pub fn parse(content: &[u8]) -> Option<Self> {
        const LFS: [&[u8]; 3] =
            [b"version https://git-lfs", b"version http://git-media", b"version https://hawser."];
        let starts_with = |start: &[u8]| content.starts_with(start);
        if LFS.into_iter().any(starts_with) {
            Some(Self::GitLfs)
        } else if starts_with(b"/annex/objects/") {
            Some(Self::GitAnnex)
        } else {
            None
        }
    }
}

impl NotAList {
    /// Returns the stable error code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Pointer(ContentPointer::GitLfs) => "git_lfs_pointer",
            Self::Pointer(ContentPointer::GitAnnex) => "git_annex_pointer",
            Self::Markup { .. } => "markup",
            Self::Json => "json",
            Self::Conflict { .. } => "merge_conflict",
            Self::LongLine { .. } => "long_line",
            Self::CarriageReturn { .. } => "carriage_return",
            Self::Nul { .. } => "nul",
            Self::Quotes { .. } => "quotes",
            Self::NoColumn { .. } => "no_column",
        }
    }

    /// Returns the line at fault, from 1, or `None` if the whole text is.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::Pointer(_) | Self::Json => None,
            Self::Markup { line }
            | Self::Conflict { line }
            | Self::LongLine { line, .. }
            | Self::CarriageReturn { line }
            | Self::Nul { line }
            | Self::Quotes { line }
            | Self::NoColumn { line, .. } => Some(*line),
        }
    }

    /// Returns whether the whole text has another format, so that no line of it is an entry.
    #[must_use]
    pub const fn is_another_format(&self) -> bool {
        matches!(self, Self::Pointer(_) | Self::Markup { .. } | Self::Json | Self::Conflict { .. })
    }
}

/// Checks the text of a list with one entry per line.
///
/// # Errors
/// The reason why it is not a list.
pub fn check(list: &str) -> Result<(), NotAList> {
    check_any(list)?;
    let too_long = |(number, line): (usize, &str)| {
        // Only lines with too many bytes are examined further.
        let line = Some(line).filter(|line| line.len() > ENTRY_CHARACTERS_MAX)?;
        let characters = too_many_characters(&text::without_quotes(line))?;
        Some(NotAList::LongLine { line: number, characters })
    };
    numbered(list).find_map(too_long).map_or(Ok(()), Err)
}

/// Checks the rules common to all lists, whatever separates entries.
pub(super) fn check_any(text: &str) -> Result<(), NotAList> {
    let text = text.trim_start_matches('\u{feff}');
    if let Some(pointer) = ContentPointer::parse(text.as_bytes()) {
        return Err(pointer.into());
    }
    if let Some((line, _)) = numbered(text).find(|(_, line)| line.contains('\0')) {
        return Err(NotAList::Nul { line });
    }
    if let Some(line) = markup(text) {
        return Err(NotAList::Markup { line });
    }
    if is_json(text) {
        return Err(NotAList::Json);
    }
    if let Some((line, _)) = numbered(text).find(|(_, line)| is_conflict_mark(line)) {
        return Err(NotAList::Conflict { line });
    }
    if let Some((line, _)) = numbered(text).find(|(_, line)| line.contains('\r')) {
        return Err(NotAList::CarriageReturn { line });
    }
    Ok(())
}

pub(super) fn too_many_characters(entry: &str) -> Option<usize> {
    // A character takes at least one byte.
    let characters = if entry.len() > ENTRY_CHARACTERS_MAX { entry.chars().count() } else { 0 };
    (characters > ENTRY_CHARACTERS_MAX).then_some(characters)
}

/// Returns the lines without line endings, numbered from 1.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// Returns the line on which markup begins: the first line with content, or a line found only in a page.
fn markup(text: &str) -> Option<usize> {
    const OF_PAGES: [&str; 6] = ["<!doctype", "<html", "<head>", "<body", "<?xml", "</html"];
    let of_page = |line: &str| {
        OF_PAGES
            .into_iter()
            .any(|start| line.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start)))
    };
    let mut is_first = true;
    for (number, line) in numbered(text) {
        let line = line.trim();
        if !line.starts_with('<') {
            is_first &= line.is_empty() || line.starts_with('#');
            continue;
        }
        let is_tag =
            line.chars().nth(1).is_some_and(|next| next.is_ascii_alphabetic() || "!?/".contains(next));
        if of_page(line) || is_first && is_tag {
            return Some(number);
        }
        is_first = false;
    }
    None
}

/// Returns whether the text is a JSON document, complete or truncated.
fn is_json(text: &str) -> bool {
    let text = text.trim();
    let begins = |open: char, next: &[char]| {
        text.strip_prefix(open).is_some_and(|rest| rest.trim_start().starts_with(next))
    };
    let first = text.lines().next().unwrap_or_default().trim_end();
    begins('{', &['"', '}'])
        || begins('[', &['"', '{', '[', ']'])
        || matches!(first, "[" | "{")
        || text.starts_with(['[', '{']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn is_conflict_mark(line: &str) -> bool {
    line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ") || line == "======="
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_code(text: &str, code: &str, line: Option<usize>) {
        let refused = check(text).unwrap_err();
        assert_eq!((refused.code(), refused.line()), (code, line), "{text:?}");
    }

    #[test]
    fn content_that_is_no_list_is_refused_with_its_code() {
        let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        check_code(lfs, "git_lfs_pointer", None);
        check_code(&format!("\u{feff}{lfs}"), "git_lfs_pointer", None);
        check_code("/annex/objects/SHA256E-s10--ab\n", "git_annex_pointer", None);
        check_code("<!DOCTYPE html>\n<html></html>\n", "markup", Some(1));
        check_code("\n# list\n  <p>Not Found</p>\n", "markup", Some(3));
        check_code("Bad gateway\n<HTML lang=en>\n", "markup", Some(2));
        check_code("<?xml version=\"1.0\"?>\n<list/>\n", "markup", Some(1));
        for json in [
            "[]",
            "{}",
            "[\"a\",\n\"b\"]",
            "{\"error\": \"not",
            "[\n  \"a\",",
            "[1, 2]",
            "{\"id\":1}\n{\"id\":2}\n",
        ] {
            check_code(json, "json", None);
        }
        check_code("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n", "merge_conflict", Some(2));
        check_code("a\rb\rc", "carriage_return", Some(1));
        check_code("a\nb\0\n", "nul", Some(2));
        check_code(&format!("a\n{}\n", "x".repeat(1025)), "long_line", Some(2));
    }

    #[test]
    fn odd_entries_are_entries() {
        for text in [
            "",
            "# nothing yet\n",
            "\u{feff}a\r\nb\r\n",
            "[UNKNOWN]\n{none}\n",
            "a\n<none>\n",
            "< 5 >\n",
            "\"quoted\"\n",
            "version 2\n",
            "====\n",
            &"x".repeat(1024),
        ] {
            assert_eq!(check(text), Ok(()), "{text:?}");
        }
    }
}
