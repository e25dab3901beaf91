//! Parses the README's `curl` commands like a shell and sends them without either program.

use tollgate_tests::{Answer, Service, repository};

/// A request from the documentation.
pub(crate) struct Curl {
    method: Option<String>,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Curl {
    /// Parses every request of a block; any other line is an error.
    pub(crate) fn parse_all(block: &str) -> Vec<Self> {
        let commands = block.replace("\\\n", " ");
        commands_of(&commands).iter().map(|words| Self::new(words)).collect()
    }

    fn new(words: &[String]) -> Self {
        let mut request = Self { method: None, path: String::new(), headers: Vec::new(), body: Vec::new() };
        let mut words = words.iter();
        assert_eq!(words.next().map(String::as_str), Some("curl"), "only requests may stand in such a block");
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("`{word}` needs a value")).clone();
            match word.as_str() {
                "-s" | "-sS" | "-i" | "-f" | "-fsS" | "--silent" | "--fail" => {}
                "-X" | "--request" => request.method = Some(value()),
                "-H" | "--header" => {
                    let header = value();
                    let (name, text) = header.split_once(':').unwrap();
                    request.headers.push((name.to_owned(), text.trim().to_owned()));
                }
                "--json" => {
                    request.headers.push(("content-type".to_owned(), "application/json".to_owned()));
                    request.body = data(&value());
                }
                "-d" | "--data" | "--data-binary" | "--data-raw" => request.body = data(&value()),
                other if other.starts_with('-') => {
                    panic!("the README uses `curl {other}`, unknown to this test")
                }
                address => address_of(address).clone_into(&mut request.path),
            }
        }
        request
    }

    /// Sends the request to this service.
    pub(crate) fn send(&self, service: &Service) -> Answer {
        let method = self.method.as_deref().unwrap_or(if self.body.is_empty() { "GET" } else { "POST" });
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        service.send(method, &self.path, &headers, &self.body).unwrap()
    }
}

fn address_of(address: &str) -> &str {
    let address = address.strip_prefix("http://").unwrap_or(address);
    for host in ["localhost:8081", "127.0.0.1:8081"] {
        if let Some(path) = address.strip_prefix(host) {
            return path;
        }
    }
    panic!("the README speaks to `{address}`, not to the local default");
}

/// Returns the body, inline or from a file of the repository.
fn data(text: &str) -> Vec<u8> {
    match text.strip_prefix('@') {
        Some(path) => std::fs::read(repository::root().join(path)).unwrap(),
        None => text.as_bytes().to_vec(),
    }
}

/// Splits a text into commands and words: blanks separate words, quotes group them, a newline or `;` ends a command.
fn commands_of(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some(end) if end == character => break,
                        Some('\\') if character == '"' => word.extend(characters.next()),
                        Some(inner) => word.push(inner),
                        None => panic!("a quote is not closed in:\n{text}"),
                    }
                }
            }
            '#' if word.is_none() => while characters.next_if(|next| *next != '\n').is_some() {},
            ' ' | '\t' | '\n' | ';' => {
                commands.last_mut().unwrap().extend(word.take());
                if "\n;".contains(character) {
                    commands.push(Vec::new());
                }
            }
            '|' | '>' | '<' | '$' | '`' | '&' => {
                panic!("a shell's `{character}` is unknown to this test:\n{text}")
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    commands.last_mut().unwrap().extend(word);
    commands.retain(|words| !words.is_empty());
    commands
}

/// Returns the URLs a page loads by itself: scripts, styles and images, but not links.
pub(crate) fn loaded_by(page: &str) -> Vec<String> {
    let mut addresses = Vec::new();
    for (tag, attribute) in [("<script", "src="), ("<link", "href="), ("<img", "src="), ("<iframe", "src=")] {
        for (start, _) in page.match_indices(tag) {
            let element = page.get(start..).unwrap_or_default().split('>').next().unwrap_or_default();
            let Some((_, value)) = element.split_once(attribute) else { continue };
            let quote = value.chars().next().unwrap_or_default();
            addresses.extend(value.split(quote).nth(1).map(str::to_owned));
        }
    }
    addresses.retain(|address| !address.starts_with("data:"));
    addresses
}
