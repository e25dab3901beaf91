//! Files that were meant as rules or lists, and that nothing reads, because their names are not those of rules or lists.
//!
//! A name counts if it is within one edit of a name that is read (`x.wss`, `x.ws `, `list/x.txt`), differs from it in case
//! (`X.WS`), or has more after it (`x.ws.txt`, `x.ws.j2`, `x.ws (1)`). Any other file counts if its beginning holds
//! `rule NAME {`.
//!
//! That text also stands in the documents beside rules, which are not meant as rules. So it counts only at the beginning
//! of a line, and not in a fenced block: a README with an example is left alone, and so is a sentence about a rule. In a
//! document format, such as Markdown, it counts only where the file begins with it. A scenario is JSON, where a line
//! never begins inside a string.

use std::collections::BTreeSet;
use std::fmt;

/// Number of bytes at the beginning of a file that are searched for a rule.
pub const HEAD_BYTES: usize = 4096;
/// Maximum number of ignored files that are named.
pub const NAMED_MAX: usize = 50;
/// Maximum length of a path as it is shown, in characters.
const SHOWN_CHARACTERS_MAX: usize = 200;

/// Folder of the lists.
const LISTS: &str = "lists";
const RULE_SUFFIXES: [&str; 2] = ["ws", "wasm"];
const LIST_SUFFIXES: [&str; 2] = ["txt", "csv"];
/// Suffixes of source text within one edit of `ws`. Repositories with modules also hold the sources of the modules.
const OTHER_FORMATS: [&str; 8] = ["as", "cs", "hs", "js", "ps", "rs", "s", "ts"];
/// Suffixes of documents, which may show a rule without being one.
const DOCUMENTS: [&str; 8] = [".md", ".markdown", ".mdx", ".rst", ".adoc", ".org", ".html", ".htm"];

/// The ignored files of one source of rules: the first by path, and the number of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredFiles {
    named: BTreeSet<String>,
    n_files: usize,
    n_unexamined: usize,
}

impl IgnoredFiles {
    /// Adds a file by its path below the source.
    pub fn add(&mut self, path: &str) {
        self.n_files += 1;
        self.named.insert(shown(path));
        if self.named.len() > NAMED_MAX {
            self.named.pop_last();
        }
    }

    /// Adds a file whose beginning was not read, because there are too many.
    pub const fn add_unexamined(&mut self) {
        self.n_unexamined += 1;
    }

    /// Returns whether there is nothing to report.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_files == 0 && self.n_unexamined == 0
    }

    /// Returns the number of ignored files.
    #[must_use]
    pub const fn n_files(&self) -> usize {
        self.n_files
    }

    /// Returns the paths of the first [`NAMED_MAX`] files.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(String::as_str)
    }

    /// Returns the number of ignored files that are not named.
    #[must_use]
    pub fn n_unnamed(&self) -> usize {
        self.n_files.saturating_sub(self.named.len())
    }
}

/// Formats the files for people, for example ``2 files look like rules or lists and are ignored: `A.WS`, `b.ws.txt` ``.
impl fmt::Display for IgnoredFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.n_files > 0 {
            let named: Vec<String> = self.named().map(|path| format!("`{path}`")).collect();
            let (files, look, are) =
                if self.n_files == 1 { ("file", "looks", "is") } else { ("files", "look", "are") };
            write!(f, "{} {files} {look} like rules or lists and {are} ignored: ", self.n_files)?;
            f.write_str(&named.join(", "))?;
            if self.n_unnamed() > 0 {
                write!(f, " and {} more", self.n_unnamed())?;
            }
            f.write_str("; rules are `*.ws` and `*.wasm`, lists are `lists/*.txt` and `lists/*.csv`")?;
        }
        if self.n_unexamined > 0 {
            let separator = if self.n_files > 0 { "; " } else { "" };
            write!(f, "{separator}{} other files were not searched for rules", self.n_unexamined)?;
        }
        Ok(())
    }
}

/// Returns a path in a form that is safe to show.
fn shown(path: &str) -> String {
    let shown = |character: char| match character {
        '"' | '\'' | '\\' => character.to_string(),
        _ => character.escape_debug().to_string(),
    };
    path.chars().take(SHOWN_CHARACTERS_MAX).map(shown).collect()
}

/// Returns whether the name of an ignored file resembles that of a rule or list. `path` is relative to the source, with
/// `/` as separator.
#[must_use]
pub fn is_misnamed(path: &str) -> bool {
    let path = path.to_lowercase();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_in_lists = || folder.split('/').any(|part| is_within_one_edit(part.trim(), LISTS));
    resembles(name, RULE_SUFFIXES) || resembles(name, LIST_SUFFIXES) && is_in_lists()
}

fn resembles(name: &str, suffixes: [&str; 2]) -> bool {
    let Some((_, own)) = name.rsplit_once('.') else { return false };
    let own = own.trim();
    let is_slip = |suffix: &str| is_within_one_edit(own, suffix) && !OTHER_FORMATS.contains(&own);
    suffixes.into_iter().any(|suffix| is_slip(suffix) || has_inside(name, suffix))
}

/// Returns whether a name has a suffix, and then something else: `x.ws.txt`, `x.ws~`.
fn has_inside(name: &str, suffix: &str) -> bool {
    let parts = name.split('.').skip(1);
    parts.filter_map(|part| part.strip_prefix(suffix)).any(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns whether at most one character is inserted, removed, replaced, or swapped with the next.
fn is_within_one_edit(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let n_same = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let (one, other) = (one.get(n_same..).unwrap_or_default(), other.get(n_same..).unwrap_or_default());
    match (one, other) {
        ([], [] | [_]) | ([_], []) => true,
        ([a, b, one @ ..], [c, d, other @ ..]) if (a, b, one) == (d, c, other) => true,
        ([_, one @ ..], [_, other @ ..]) if one == other => true,
        ([_, rest @ ..], other) if rest == other => true,
        (one, [_, rest @ ..]) => one == rest,
        _ => false,
    }
}

/// Returns whether the beginning of a file holds a rule: `rule NAME {` at the beginning of a line.
#[must_use]
pub fn holds_rule(path: &str, head: &[u8]) -> bool {
    // Without its zero bytes, UTF-16 reads like UTF-8.
    let bytes: Vec<u8> = head.iter().take(HEAD_BYTES).copied().filter(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&bytes);
    let mut rest = text.trim_start_matches(['\u{feff}', char::REPLACEMENT_CHARACTER]);
    let path = path.to_lowercase();
    let is_document = DOCUMENTS.iter().any(|suffix| path.ends_with(suffix));
    let (mut is_fenced, mut is_first) = (false, true);
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        let is_code = !line.is_empty() && !line.starts_with('#') && !line.starts_with("//");
        if is_code && !is_fence && !is_fenced && (is_first || !is_document) && begins_rule(rest.trim_start())
        {
            return true;
        }
        is_fenced ^= is_fence;
        is_first &= !is_code;
        rest = after;
    }
    false
}

/// Returns whether a text begins with `rule NAME {`; the name may contain placeholders of a template.
fn begins_rule(text: &str) -> bool {
    let Some((word, mut rest)) = text.split_once(char::is_whitespace) else { return false };
    if !word.eq_ignore_ascii_case("rule") {
        return false;
    }
    rest = rest.trim_start();
    let whole = rest.len();
    loop {
        let end =
            rest.find(|character: char| !character.is_alphanumeric() && character != '_' && character != '-');
        let after = rest.get(end.unwrap_or(rest.len())..).unwrap_or_default();
        let placeholder = [("{{", "}}"), ("${", "}"), ("<%", "%>")]
            .into_iter()
            .find_map(|(open, close)| Some(after.strip_prefix(open)?.split_once(close)?.1));
        match placeholder {
            Some(behind) => rest = behind,
            None => return after.len() < whole && after.trim_start().starts_with('{'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_near_that_of_a_rule_or_list_is_misnamed() {
        for path in [
            "X.WS",
            "a/x.Wasm",
            "x.ws.txt",
            "x.ws.j2",
            "x.ws ",
            "x.ws~",
            "x.ws (1)",
            "x.ws-old",
            "x.wss",
            "x.sw",
            "x.wsam",
            "x.wasm.gz",
            "lists/x.TXT",
            "lists/x.text",
            "lists/x.tsv",
            "lists/x.csv.gz",
            "list/x.txt",
            "Lists/x.csv",
            "cards/lists/x.txt",
            "lists/deep/x.txt",
        ] {
            assert!(is_misnamed(path), "{path:?}");
        }
    }

    #[test]
    fn other_files_beside_rules_are_not_misnamed() {
        for path in [
            "README.md",
            "LICENSE",
            "velocity/burst.json",
            "cases.json",
            "notes.txt",
            "news",
            "src/lib.rs",
            "rule.ts",
            "build.js",
            "data.csv",
            "kustomization.yaml",
            "x.wsdl",
            "lists/README.md",
            "logo.svg",
        ] {
            assert!(!is_misnamed(path), "{path:?}");
        }
    }

    #[track_caller]
    fn check(path: &str, head: &str, expected: bool) {
        assert_eq!(holds_rule(path, head.as_bytes()), expected, "{path}: {head:?}");
    }

    #[test]
    fn a_file_with_a_rule_at_the_beginning_of_a_line_holds_one() {
        check("x.rule", "rule a {\n", true);
        check("x", "# a comment\n\n  RULE\n  a\n{", true);
        check("x.tmpl", "{{ if .cards }}\nrule {{ .name }}_a {\n", true);
        check("x.yaml", "data:\n  a: |\n    rule a {\n", true);
        check("README.md", "rule a {\n", true);
        let utf_16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(b"rule a {".iter().flat_map(|b| [*b, 0])).collect();
        assert!(holds_rule("x.txt", &utf_16));
        assert!(!holds_rule("x", &[b" ".repeat(HEAD_BYTES).as_slice(), b"\nrule a {"].concat()));
    }

    #[test]
    fn a_file_that_shows_or_mentions_a_rule_does_not_hold_one() {
        check("README", "# Rules\n\nLike this:\n\n```\nrule a {\n}\n```\n", false);
        check("README.md", "# Rules\n\nLike this:\n\n    rule a {\n", false);
        check("x.json", "{\"script\": \"rule a {\\n\"}", false);
        check("x.txt", "A rule a { is short.\nrule of thumb\nruler a {\nrule {\n", false);
        check("x.txt", "// rule a {\n", false);
        check("x.txt", "", false);
    }

    #[test]
    fn fifty_files_are_named_and_the_others_are_counted() {
        let mut ignored = IgnoredFiles::default();
        assert!(ignored.is_empty());
        (0..53).for_each(|n| ignored.add(&format!("{n:02}.WS")));
        assert_eq!((ignored.named().count(), ignored.n_unnamed()), (50, 3));
        let text = ignored.to_string();
        assert!(text.starts_with("53 files look like rules or lists and are ignored: `00.WS`, "), "{text}");
        assert!(text.contains("`49.WS` and 3 more; rules are `*.ws`"), "{text}");
    }
}
