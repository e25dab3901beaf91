//! Classifies the paths of a repository: which are rule files, and which are safe to write.

/// Folder of the lists, at the top of a repository.
pub(super) const LISTS: &str = "lists";
/// Maximum length of a path and of a part of it, in bytes.
const PATH_BYTES_MAX: usize = 1024;
const PART_BYTES_MAX: usize = 255;
pub(super) const DEPTH_MAX: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    /// `*.ws`, in any folder.
    Script,
    /// `*.wasm`, in any folder.
    Module,
    /// `lists/*.txt`, `lists/*.csv`.
    List,
    /// Has the suffix of a rule file, but is unsafe to write to a disk.
    Odd,
    /// Any other path, and every hidden one.
    Other,
}

impl PathKind {
    /// Returns whether a file there is a rule file that may be read and written.
    pub(super) const fn is_rule_file(self) -> bool {
        matches!(self, Self::Script | Self::Module | Self::List)
    }
}

pub(super) fn kind_of(path: &[u8]) -> PathKind {
    let kind = match path.rsplit(|byte| *byte == b'/').next().unwrap_or_default() {
        name if name.ends_with(b".ws") => PathKind::Script,
        name if name.ends_with(b".wasm") => PathKind::Module,
        name if [&b".txt"[..], b".csv"].iter().any(|end| name.ends_with(end)) && is_in_lists(path) => {
            PathKind::List
        }
        _ => return PathKind::Other,
    };
    let Ok(text) = std::str::from_utf8(path) else { return PathKind::Odd };
    if text.split('/').any(|part| part.starts_with('.') && part != "..") {
        return PathKind::Other;
    }
    if text.len() <= PATH_BYTES_MAX && text.split('/').count() <= DEPTH_MAX && text.split('/').all(is_sane) {
        kind
    } else {
        PathKind::Odd
    }
}

fn is_in_lists(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    parts.next() == Some(LISTS.as_bytes()) && parts.count() == 1
}

/// Returns whether a name has the same meaning on every file system.
fn is_sane(part: &str) -> bool {
    let is_odd = |character: char| {
        character.is_control() || "\\:*?\"<>|".contains(character) || is_direction(character)
    };
    !part.is_empty()
        && part != ".."
        && part.len() <= PART_BYTES_MAX
        && !part.contains(is_odd)
        && !is_short_name(part)
}

/// Matches characters that change the direction of the text, so that a path would look like another.
const fn is_direction(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Some file systems resolve `GIT~1` to `.git`.
fn is_short_name(part: &str) -> bool {
    part.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("git~"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: PathKind) {
        assert_eq!(kind_of(path.as_bytes()), expected, "{path:?}");
    }

    #[test]
    fn a_path_is_a_script_a_module_a_list_or_nothing() {
        for path in ["a.ws", "cards/deep/b.ws", "Ä rule.ws", "lists/c.ws"] {
            check(path, PathKind::Script);
        }
        for path in ["a.wasm", "cards/b.wasm", "lists/c.wasm", "a.ws.wasm"] {
            check(path, PathKind::Module);
        }
        check("lists/blocked.txt", PathKind::List);
        check("lists/blocked.csv", PathKind::List);
        for path in [
            "README.md",
            "a.ws.bak",
            "a.wasm~",
            "wasm",
            "blocked.txt",
            "lists/a/b.txt",
            ".a.ws",
            ".a.wasm",
            ".git/a.ws",
            "a/.b/c.ws",
            "",
        ] {
            check(path, PathKind::Other);
        }
    }

    #[test]
    fn a_path_that_could_lead_astray_is_odd() {
        let long = "x".repeat(256) + ".ws";
        let deep = "a/".repeat(16) + "a.ws";
        for path in
            ["../a.ws", "a/../b.ws", "/a.ws", "a//b.ws", "git~1/a.ws", "GIT~2.ws", "a\\b.ws", "c:a.ws"]
        {
            check(path, PathKind::Odd);
        }
        for path in ["../a.wasm", "a\nb.ws", "a\0.ws", "\u{202e}sw.ws", &long, &deep] {
            check(path, PathKind::Odd);
        }
        assert_eq!(kind_of(b"\xff.ws"), PathKind::Odd);
    }
}
