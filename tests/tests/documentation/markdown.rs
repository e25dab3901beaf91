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

/// Returns the sentences outside fences. Code and links count as the words they show; a cell of a table is a text of its own.
pub(crate) fn sentences(document: &str) -> Vec<String> {
    let mut texts: Vec<String> = vec![String::new()];
    for line in prose(document) {
        let line = line.trim();
        let begins_block =
            line.is_empty() || line.starts_with(['#', '|', '-', '*', '>']) || is_numbered(line);
        if line.starts_with('|') {
            texts.extend(line.split('|').map(str::to_owned));
            texts.push(String::new());
            continue;
        }
        if begins_block {
            texts.push(String::new());
        }
        if let Some(text) = texts.last_mut() {
            text.push_str(line);
            text.push(' ');
        }
    }
    texts.iter().flat_map(|text| split_sentences(&without_addresses(&without_code(text)))).collect()
}

fn is_numbered(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| number.chars().all(|c| c.is_ascii_digit()))
}

fn split_sentences(text: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if let Some(sentence) = sentences.last_mut() {
            sentence.push_str(word);
            sentence.push(' ');
        }
        let ends = word.trim_end_matches([')', '*', '"']).ends_with(['.', '!', '?', ':', ';']);
        let next_begins = words.peek().is_some_and(|next| !next.starts_with(|c: char| c.is_lowercase()));
        if ends && next_begins {
            sentences.push(String::new());
        }
    }
    sentences
}

/// Removes the addresses of links and keeps their texts.
fn without_addresses(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("](") {
        kept.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    kept + rest
}
