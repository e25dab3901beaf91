//! Tables of status words: which stage each word means.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use sha2::{Digest as _, Sha256};

use super::StatusStage;
use super::words::{USUAL, WORDS};

/// Status words with their stages. A version of the rule set names it by its digest, because rules read stages.
#[derive(Clone)]
pub struct StatusWords {
    /// By the letters of each word, in lower case and without separators.
    entries: BTreeMap<Box<str>, (StatusStage, u8)>,
    digest: [u8; 32],
}

static BUILT_IN: LazyLock<Arc<StatusWords>> = LazyLock::new(|| {
    let entry = |(word, stage, position): &(&str, StatusStage, u8)| (letters(word), (*stage, *position));
    Arc::new(StatusWords::from_entries(WORDS.iter().map(entry).collect()))
});

/// Maximum size of a file with words, in bytes.
const FILE_BYTES_MAX: usize = 64 << 10;
/// Maximum length of a word, in bytes: that of a status.
const WORD_BYTES_MAX: usize = 255;

/// The reason why a file is no table of status words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatusWordsError {
    /// The file is too long.
    #[error("the table of status words has more than {FILE_BYTES_MAX} bytes")]
    TooLong,
    /// A line is not `word = stage`.
    #[error("line {line} of the table of status words is not `word = stage`, with a stage such as `settled`")]
    Line {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A word stands in the file twice, with or without other separators.
    #[error("line {line} of the table of status words repeats a word")]
    Repeated {
        /// Number of the line, from 1.
        line: usize,
    },
}

impl StatusWords {
    /// Returns the built-in table with the words of a file, which add to it and override it. A line is `word = stage`; a
    /// line that begins with `#` is a comment.
    ///
    /// # Errors
    /// If the text is not such a file.
    pub fn with_file(text: &str) -> Result<Self, StatusWordsError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(StatusWordsError::TooLong);
        }
        let mut own = BTreeMap::new();
        for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let wrong = StatusWordsError::Line { line };
            let (word, stage) = content.split_once('=').ok_or_else(|| wrong.clone())?;
            let (word, stage) = (letters(word.trim()), StatusStage::of_name(stage.trim()));
            let is_word =
                !word.is_empty() && word.len() <= WORD_BYTES_MAX && !word.contains(char::is_whitespace);
            let stage = stage.filter(|_| is_word).ok_or(wrong)?;
            if own.insert(word, (stage, USUAL)).is_some() {
                return Err(StatusWordsError::Repeated { line });
            }
        }
        let mut entries = BUILT_IN.entries.clone();
        for (word, entry) in own {
            // As if no table had the word.
            if entry.0 == StatusStage::Other {
                entries.remove(&word)
            } else {
                entries.insert(word, entry)
            };
        }
        Ok(Self::from_entries(entries))
    }

    /// Returns the built-in table.
    #[must_use]
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// Reads the form that [`StatusWords::to_stored`] writes. Returns `None` for any other text.
    #[must_use]
    pub fn from_stored(text: &str) -> Option<Self> {
        let entry = |line: &str| {
            let mut parts = line.split(' ');
            let (word, stage, position) = (parts.next()?, parts.next()?, parts.next()?);
            Some((word.into(), (StatusStage::of_name(stage)?, position.parse().ok()?)))
        };
        text.lines().map(entry).collect::<Option<_>>().map(Self::from_entries)
    }

    fn from_entries(entries: BTreeMap<Box<str>, (StatusStage, u8)>) -> Self {
        let digest = Sha256::digest(stored(&entries)).into();
        Self { entries, digest }
    }

    /// Returns the table as text: a line for each word, with its stage and its position in the stage.
    #[must_use]
    pub fn to_stored(&self) -> String {
        stored(&self.entries)
    }

    /// Returns the SHA-256 digest of that text.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns the digest in hexadecimal digits.
    #[must_use]
    pub fn digest_text(&self) -> String {
        self.digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the name of the stage that a status means: `other` for a word that the table does not have.
    #[must_use]
    pub fn stage_of(&self, status: &str) -> &'static str {
        self.entry_of(status).map_or(StatusStage::Other, |(stage, _)| stage).name()
    }

    /// Returns whether the status states that the money has moved.
    #[must_use]
    pub fn is_settled(&self, status: &str) -> bool {
        self.entry_of(status).is_some_and(|(stage, _)| stage == StatusStage::Settled)
    }

    /// Returns whether the status states that the money has not moved and will not move.
    #[must_use]
    pub fn is_failed(&self, status: &str) -> bool {
        let entry = self.entry_of(status);
        entry.is_some_and(|(stage, _)| matches!(stage, StatusStage::Failed | StatusStage::Expired))
    }

    /// Returns whether the status means the stage `failed` or a later one: the money has not moved, or was given back.
    #[must_use]
    pub fn is_failed_or_later(&self, status: &str) -> bool {
        self.entry_of(status).is_some_and(|(stage, _)| stage >= StatusStage::Failed)
    }

    /// Returns whether the table has the word.
    #[must_use]
    pub fn has(&self, status: &str) -> bool {
        self.entry_of(status).is_some()
    }

    /// Returns the stage and the position of a word of the table. Case and separators do not matter: `SentForSettle` is
    /// `sent_for_settle`.
    pub(super) fn entry_of(&self, status: &str) -> Option<(StatusStage, u8)> {
        match self.entries.get(status) {
            Some(entry) => Some(*entry),
            None => self.entries.get(&letters(status)).copied(),
        }
    }
}

fn letters(word: &str) -> Box<str> {
    let is_separator = |character: &char| matches!(character, '_' | '-' | ' ');
    let kept = word.chars().filter(|character| !is_separator(character));
    kept.map(|character| character.to_ascii_lowercase()).collect()
}

fn stored(entries: &BTreeMap<Box<str>, (StatusStage, u8)>) -> String {
    entries.iter().map(|(word, (stage, position))| format!("{word} {} {position}\n", stage.name())).collect()
}

impl fmt::Debug for StatusWords {
    /// Writes the digest alone: the identity of a series contains it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StatusWords({})", self.digest_text())
    }
}

impl PartialEq for StatusWords {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for StatusWords {}

impl Hash for StatusWords {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_from_its_text_with_its_digest() {
        let built_in = StatusWords::built_in();
        let again = StatusWords::from_stored(&built_in.to_stored()).unwrap();
        assert_eq!(*built_in, again);
        assert_eq!(again.entries, built_in.entries);
        for wrong in ["applied settled", "applied gone 5", "applied settled x"] {
            assert!(StatusWords::from_stored(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_file_adds_words_and_overrides_them() {
        let file = "\u{feff}# own words\n\ngezahlt = settled\r\nApproved= settled\nerror =other\n";
        let words = StatusWords::with_file(file).unwrap();
        for (status, stage) in
            [("GEZAHLT", "settled"), ("approved", "settled"), ("error", "other"), ("applied", "settled")]
        {
            assert_eq!(words.stage_of(status), stage, "{status}");
        }
        assert_ne!(words, *StatusWords::built_in());
        assert_eq!(StatusWords::with_file("# nothing\n").unwrap(), *StatusWords::built_in());
        assert_eq!(StatusWords::from_stored(&words.to_stored()).unwrap(), words);
        for (wrong, line) in [("paid", 1), ("# ok\npaid = gone", 2), ("= settled", 1), ("a\u{a0}b = void", 1)]
        {
            assert_eq!(StatusWords::with_file(wrong), Err(StatusWordsError::Line { line }), "{wrong}");
        }
        let repeated = StatusWords::with_file("my-word = void\nMyWord = held\n");
        assert_eq!(repeated, Err(StatusWordsError::Repeated { line: 2 }));
        assert_eq!(StatusWords::with_file(&"#".repeat(65_537)), Err(StatusWordsError::TooLong));
    }

    #[test]
    fn a_status_has_the_stage_of_its_word_whatever_its_spelling() {
        for (status, stage) in [
            ("pending", "created"),
            ("on the desk", "other"),
            ("PDNG", "queued"),
            ("scheduled", "scheduled"),
            ("In-Flight", "held"),
            ("Sent For Settle", "held"),
            ("APPLIED", "settled"),
            ("declined", "failed"),
            ("expired", "expired"),
            ("Voided", "void"),
            ("ChargedBack", "returned"),
            ("", "other"),
        ] {
            assert_eq!(StatusWords::built_in().stage_of(status), stage, "{status}");
        }
    }
}
