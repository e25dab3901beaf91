//! Errors of the JSON reader.

/// A JSON error with its location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct JsonError {
    kind: JsonErrorKind,
    path: Option<String>,
}

/// The kind of a JSON error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// The bytes are not valid UTF-8.
    InvalidUtf8 {
        /// Number of valid bytes before the error.
        valid_bytes: usize,
        /// Actual encoding, if it is identified.
        cause: Option<&'static str>,
    },
    /// The text is not valid JSON.
    Malformed {
        /// Description of the error.
        reason: String,
        /// Line number, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
    },
    /// An object has a duplicate key.
    DuplicateKey {
        /// Decoded key.
        key: String,
    },
    /// Arrays and objects are nested too deeply.
    TooDeep {
        /// Maximum depth.
        depth_max: usize,
    },
    /// An object has too many keys.
    TooManyKeys {
        /// Maximum number of keys.
        keys_max: usize,
    },
    /// A number has too many digits.
    NumberOutOfRange,
    /// A text or a key contains the character NUL.
    NulCharacter,
}

impl JsonError {
    /// Creates an error about the whole text. [`JsonError::below`] prepends path steps.
    pub(super) const fn new(kind: JsonErrorKind) -> Self {
        Self { kind, path: None }
    }

    /// Creates the error about a number of too many digits in this field.
    pub(in crate::transaction) fn of_wide_number(field: &str) -> Self {
        Self::new(JsonErrorKind::NumberOutOfRange).below(PathStep::Key(field))
    }

    /// Prepends one step to the path.
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

    /// Returns the kind of error.
    #[must_use]
    pub const fn kind(&self) -> &JsonErrorKind {
        &self.kind
    }

    /// Returns the location as a path such as `meta_data.items[2].price`, or `None` for the whole text. The path is
    /// safe to display: control characters are escaped and long keys truncated.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Returns the error code, stable across versions.
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
        let subject = self.path.as_ref().map_or_else(|| "the body".to_owned(), |path| format!("`{path}`"));
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
                format!("{subject} has the key `{}` twice; send it once", shown(key))
            }
            JsonErrorKind::TooDeep { depth_max } => {
                format!("{subject} must not nest deeper than {depth_max} arrays and objects")
            }
            JsonErrorKind::TooManyKeys { keys_max } => {
                format!(
                    "{subject} has more than {keys_max} keys; send fewer, or set SERVICE_OBJECT_KEYS_MAX higher"
                )
            }
            JsonErrorKind::NumberOutOfRange => {
                format!(
                    "{subject} must be a number of at most 38 digits, before and after the point together"
                )
            }
            JsonErrorKind::NulCharacter => format!("{subject} must not hold the character NUL"),
        }
    }
}

pub(super) enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

/// Maximum number of characters of a caller's key in a message, which also escapes it for terminals.
const SHOWN_CHARACTERS_MAX: usize = 64;

pub(in crate::transaction) fn shown(key: &str) -> String {
    let mut shown: String = key.chars().take(SHOWN_CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if key.chars().nth(SHOWN_CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
