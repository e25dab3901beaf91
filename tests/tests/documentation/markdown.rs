//! The subset of Markdown that the documents of this repository use.

use std::collections::BTreeMap;

/// A fenced block.
pub(crate) struct Fence {
    /// First word after the fence.
    pub(crate) language: String,
    /// Text between the fences.
    pub(crate) text: String,
}

/// Returns all fenced blocks, in order.
pub(crate) fn fences(document: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut open: Option<Fence> = None;
    for line in document.lines() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(language), None) => {
                let language = language.split_whitespace().next().unwrap_or_default().to_owned();
                open = Some(Fence { language, text: String::new() });
            }
            (Some(_), Some(_)) => fences.extend(open.take()),
            (None, Some(fence)) => {
                fence.text.push_str(line);
                fence.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    fences
}

/// Returns the targets of all links outside code.
pub(crate) fn links(document: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(document) {
        let line = without_code(line);
        for (start, _) in line.match_indices("](") {
            let target = line.get(start + 2..).unwrap_or_default();
            links.extend(target.split([')', ' ']).next().map(str::to_owned));
        }
        if let Some((label, target)) = line.split_once("]: ").filter(|(label, _)| label.starts_with('[')) {
            let is_footnote = label.starts_with("[^");
            links.extend(target.split_whitespace().next().filter(|_| !is_footnote).map(str::to_owned));
        }
    }
    links
}

/// Returns the texts of all headings. A repeated text carries its number, as its anchor does.
pub(crate) fn headings(document: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let texts = prose(document).filter(|line| line.starts_with('#'));
    let mut headings = Vec::new();
    for text in texts.map(|line| line.trim_start_matches('#').trim().to_owned()) {
        let n_before = seen.entry(text.clone()).or_default();
        headings.push(if *n_before == 0 { text } else { format!("{text} {n_before}") });
        *n_before += 1;
    }
    headings
}

/// Returns the anchor of a heading within its page.
pub(crate) fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Returns the lines outside fences.
fn prose(document: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    document.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Masks the text between backticks in a line.
fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts.map(|(n, part)| if n % 2 == 0 { part.to_owned() } else { "-".repeat(part.len()) }).collect()
}
