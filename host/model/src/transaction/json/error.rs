//! Why a text is not taken as JSON.

/// A refusal, with the place it points at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct JsonError {
    kind: JsonErrorKind,
    path: Option<String>,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// The bytes are no UTF-8 from this one on, counted from 0.
    InvalidUtf8 {
        /// How many bytes before it are.
        valid_bytes: usize,
        /// What it is instead, where that can be told.
        cause: Option<&'static str>,
    },
    /// The text is no JSON.
    Malformed {
        /// What was found or expected.
        reason: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
    },
    /// An object names a key twice.
    DuplicateKey {
        /// The key, decoded.
        key: String,
    },
    /// Arrays and objects nest deeper than allowed.
    TooDeep {
        /// What is allowed.
        depth_max: usize,
    },
    /// An object has more keys than allowed.
    TooManyKeys {
        /// What is allowed.
        keys_max: usize,
    },
    /// A number has more digits than are kept.
    NumberOutOfRange,
    /// A text or a key holds the character NUL.
    NulCharacter,
}

impl JsonError {
    /// About the whole text; a path is put in front with [`JsonError::below`].
    pub(super) const fn new(kind: JsonErrorKind) -> Self {
        Self { kind, path: None }
    }

    /// The same, seen from one level further out.
    #[must_use]
    pub(super) fn below(mut self, step: PathStep<'_>) -> Self {
        let outer = match step {
            PathStep::Key(key) => shown(key),
            PathStep::Index(index) => format!("[{index}]"),
        };
        self.path = Some(match self.path {
            None => outer,
            Some(inner) if inner.starts_with('[') => format!("{outer}{inner}"),
            Some(inner) => format!("{outer}.{inner}"),
        });
        self
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> &JsonErrorKind {
        &self.kind
    }

    /// Where, as a path of keys and positions such as `meta_data.items[2].price`; `None` for the text as a whole. Safe to
    /// show: control characters are escaped, long keys cut.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Names the kind, stable across versions.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.kind {
            JsonErrorKind::InvalidUtf8 { .. } => "invalid_utf8",
            JsonErrorKind::Malformed { .. } => "malformed_json",
            JsonErrorKind::DuplicateKey { .. } => "duplicate_key",
            JsonErrorKind::TooDeep { .. } => "too_deep",
            JsonErrorKind::TooManyKeys { .. } => "too_many_keys",
            JsonErrorKind::NumberOutOfRange => "number_out_of_range",
            JsonErrorKind::NulCharacter => "nul_character",
        }
    }

    fn message(&self) -> String {
        let place = self.path.as_ref().map_or_else(|| "the body".to_owned(), |path| format!("`{path}`"));
        match &self.kind {
            JsonErrorKind::InvalidUtf8 { valid_bytes, cause: None } => {
                format!("the body is not UTF-8 after byte {valid_bytes}; send it in UTF-8")
            }
            JsonErrorKind::InvalidUtf8 { cause: Some(cause), .. } => {
                format!("the body is not UTF-8: {cause}; send it in UTF-8")
            }
            JsonErrorKind::Malformed { reason, line, column } => {
                let part = self.path.as_ref().map_or_else(String::new, |path| format!(" in `{path}`"));
                format!("the body is not JSON{part}: {reason} at line {line}, column {column}")
            }
            JsonErrorKind::DuplicateKey { key } => {
                format!("{place} has the key `{}` twice; send it once", shown(key))
            }
            JsonErrorKind::TooDeep { depth_max } => {
                format!("{place} must not nest deeper than {depth_max} arrays and objects")
            }
            JsonErrorKind::TooManyKeys { keys_max } => {
                format!(
                    "{place} has more than {keys_max} keys; send fewer, or set SERVICE_OBJECT_KEYS_MAX higher"
                )
            }
            JsonErrorKind::NumberOutOfRange => {
                format!("{place} must be a number of at most 38 digits, before and after the point together")
            }
            JsonErrorKind::NulCharacter => format!("{place} must not hold the character NUL"),
        }
    }
}

/// One step of a path, outermost first.
pub(super) enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

/// A caller's key as a message shows it: at most this many characters, nothing a terminal would act on.
const SHOWN_CHARACTERS_MAX: usize = 64;

pub(in crate::transaction) fn shown(key: &str) -> String {
    let mut shown: String = key.chars().take(SHOWN_CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if key.chars().nth(SHOWN_CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
