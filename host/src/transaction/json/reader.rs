//! Bytes to [`Json`], level by level.
//!
//! serde_json checks the grammar of the whole text first, without recursion, and cuts it into the raw texts of its parts;
//! the depth of a part is known before it is opened. Numbers stay raw texts, so no digit is lost on the way, and so do texts
//! without escapes, which stand there as they are.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::error::Step;
use super::{Json, JsonError, JsonErrorKind, Number};

/// How large the parts of a text may be. Its length is its owner's to limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Most arrays and objects around a value.
    pub depth_max: usize,
    /// Most keys of one object.
    pub keys_max: usize,
}

impl JsonLimits {
    /// For what callers send.
    pub const REQUEST: JsonLimits = JsonLimits { depth_max: 32, keys_max: 256 };

    /// For an envelope around one [`JsonLimits::REQUEST`].
    pub const ENVELOPE: JsonLimits = JsonLimits { depth_max: Self::REQUEST.depth_max + 1, ..Self::REQUEST };

    /// For what the service wrote itself: a request and the fields it filled in.
    pub(in crate::transaction) const STORED: JsonLimits =
        JsonLimits { keys_max: Self::REQUEST.keys_max + 16, ..Self::REQUEST };
}

pub(super) fn read(bytes: &[u8], limits: JsonLimits) -> Result<Json, JsonError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError::new(JsonErrorKind::InvalidUtf8 { valid_bytes: error.valid_up_to() }))?;
    let reader = Reader { text, limits };
    if text.starts_with('{') {
        // Taking it apart checks the whole of it.
        return reader.object(text, 1);
    }
    let whole: &RawValue = reader.decode(text)?;
    reader.value(whole.get(), 0)
}

/// Keys of one object that are compared where they stand.
const KEYS_IN_PLACE: usize = 32;

struct Reader<'a> {
    text: &'a str,
    limits: JsonLimits,
}

impl<'a> Reader<'a> {
    /// `raw` is one value of [`Reader::text`], without blanks around it; `depth` counts what is around it.
    fn value(&self, raw: &'a str, depth: usize) -> Result<Json, JsonError> {
        match raw.as_bytes().first() {
            Some(b'{') => self.object(raw, depth + 1),
            Some(b'[') => self.array(raw, depth + 1),
            Some(b'"') => self.text(raw),
            Some(b't') => Ok(Json::Boolean(true)),
            Some(b'f') => Ok(Json::Boolean(false)),
            Some(b'n') => Ok(Json::Null),
            _ => Number::of_json(raw)
                .map(Json::Number)
                .map_err(|_| JsonError::new(JsonErrorKind::NumberOutOfRange)),
        }
    }

    fn text(&self, raw: &'a str) -> Result<Json, JsonError> {
        let spelled = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        // Without escapes it stands there as it is, and no control character in it is grammatical.
        if !spelled.contains('\\') {
            return Ok(Json::Text(spelled.into()));
        }
        Ok(Json::Text(without_nul(self.decode(raw)?)?))
    }

    fn array(&self, raw: &'a str, depth: usize) -> Result<Json, JsonError> {
        self.check_depth(depth)?;
        let items: Vec<&RawValue> = self.decode(raw)?;
        let read = |(index, item): (usize, &&'a RawValue)| {
            self.value(item.get(), depth).map_err(|error| error.below(Step::Index(index)))
        };
        Ok(Json::Array(items.iter().enumerate().map(read).collect::<Result<_, _>>()?))
    }

    fn object(&self, raw: &'a str, depth: usize) -> Result<Json, JsonError> {
        self.check_depth(depth)?;
        let Members(members) = self.decode(raw)?;
        let keys_max = self.limits.keys_max;
        if members.len() > keys_max {
            return Err(JsonError::new(JsonErrorKind::TooManyKeys { keys_max }));
        }
        check_unique(members.iter().map(|(key, _)| &**key).collect())?;
        let mut entries = Vec::with_capacity(members.len());
        for (key, member) in members {
            let key = without_nul(key)?;
            let value = self.value(member.get(), depth).map_err(|error| error.below(Step::Key(&key)))?;
            entries.push((key, value));
        }
        Ok(Json::Object(entries))
    }

    fn check_depth(&self, depth: usize) -> Result<(), JsonError> {
        let depth_max = self.limits.depth_max;
        if depth > depth_max {
            return Err(JsonError::new(JsonErrorKind::TooDeep { depth_max }));
        }
        Ok(())
    }

    fn decode<T: Deserialize<'a>>(&self, raw: &'a str) -> Result<T, JsonError> {
        serde_json::from_str(raw).map_err(|error| self.malformed(raw, &error))
    }

    /// serde_json counts from the start of `raw`, callers from the start of the text.
    fn malformed(&self, raw: &str, error: &serde_json::Error) -> JsonError {
        let n_before = raw.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        let before = self.text.get(..n_before).unwrap_or_default();
        let (n_lines, last_line) = before
            .rsplit_once('\n')
            .map_or((0, before), |(above, last_line)| (above.matches('\n').count() + 1, last_line));
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        JsonError::new(JsonErrorKind::Malformed {
            reason: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
            line: error.line() + n_lines,
            column: error.column() + if error.line() == 1 { last_line.len() } else { 0 },
        })
    }
}

fn without_nul(text: Box<str>) -> Result<Box<str>, JsonError> {
    if text.contains('\0') {
        return Err(JsonError::new(JsonErrorKind::NulCharacter));
    }
    Ok(text)
}

/// Keys are compared decoded, so that no spelling of a key slips past.
fn check_unique(mut keys: SmallVec<[&str; KEYS_IN_PLACE]>) -> Result<(), JsonError> {
    keys.sort_unstable();
    for (key, next) in keys.iter().zip(keys.iter().skip(1)) {
        if key == next {
            return Err(JsonError::new(JsonErrorKind::DuplicateKey { key: (*key).to_owned() }));
        }
    }
    Ok(())
}

/// An object cut into its keys and the raw texts of their values. One with very many keys is not kept whole.
struct Members<'a>(Vec<(Box<str>, &'a RawValue)>);

/// Most objects have no more.
const MEMBERS_USUAL: usize = 16;
/// Beyond every limit that is in use, so that a longer object is surely refused.
const MEMBERS_KEPT_MAX: usize = 1_024;

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(MEMBERS_USUAL);
                while members.len() < MEMBERS_KEPT_MAX {
                    match map.next_entry()? {
                        Some(member) => members.push(member),
                        None => return Ok(Members(members)),
                    }
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}
