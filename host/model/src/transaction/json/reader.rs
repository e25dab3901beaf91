//! Conversion of bytes into [`Json`], level by level.
//!
//! serde_json first checks the grammar of the whole text without recursion and splits it into the raw texts of its
//! parts. The depth of a part is known before it is opened. Numbers stay raw, so they lose no digits. Texts without
//! escapes are copied unchanged.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::error::{PathStep, shown};
use super::surrogates::without_lone_halves;
use super::{Json, JsonError, JsonErrorKind, JsonNumber, cause};
use crate::transaction::OBJECT_KEYS_DEFAULT;

/// Limits for the parts of a JSON text. Its total length is limited elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Maximum number of arrays and objects around a value.
    pub depth_max: usize,
    /// Maximum number of keys per object.
    pub keys_max: usize,
    /// Free texts; `None` if there are none.
    pub free_texts: Option<FreeTexts>,
    /// Whether a number of more digits than [`Decimal`](crate::decimal::Decimal) supports is a
    /// [`Json::WideNumber`], and not an error.
    pub takes_wide_numbers: bool,
}

/// The texts for people, in which U+FFFD replaces a lone surrogate. In other texts it is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeTexts {
    /// Depth from which texts are free. Deeper texts are always free.
    depth: usize,
    /// Names at exactly that depth that are not free texts.
    except: &'static [&'static str],
}

impl JsonLimits {
    /// Limits for requests.
    pub const REQUEST: JsonLimits = JsonLimits {
        depth_max: 32,
        keys_max: OBJECT_KEYS_DEFAULT,
        free_texts: None,
        takes_wide_numbers: false,
    };

    /// Limits for an envelope around one [`JsonLimits::REQUEST`].
    pub const ENVELOPE: JsonLimits = JsonLimits { depth_max: Self::REQUEST.depth_max + 1, ..Self::REQUEST };

    /// Limits for texts that the service wrote, with any number of keys.
    pub const STORED: JsonLimits =
        JsonLimits { keys_max: usize::MAX, takes_wide_numbers: true, ..Self::REQUEST };

    /// Returns the limits for a transaction with this maximum number of keys per object.
    #[must_use]
    pub const fn transaction(keys_max: usize) -> JsonLimits {
        let free_texts = Some(FreeTexts { depth: 1, except: &NAMES });
        JsonLimits { keys_max, free_texts, takes_wide_numbers: true, ..Self::REQUEST }
    }

    /// Returns the limits for an envelope around one [`JsonLimits::transaction`].
    #[must_use]
    pub const fn envelope(keys_max: usize) -> JsonLimits {
        let free_texts = Some(FreeTexts { depth: 2, except: &NAMES });
        JsonLimits { keys_max, free_texts, takes_wide_numbers: true, ..Self::ENVELOPE }
    }

    /// Returns the same limits without numbers of any number of digits.
    #[must_use]
    pub const fn without_wide_numbers(self) -> JsonLimits {
        JsonLimits { takes_wide_numbers: false, ..self }
    }

    /// Returns the limits for the separate `meta_data` of one [`JsonLimits::transaction`].
    #[must_use]
    pub const fn metadata(keys_max: usize) -> JsonLimits {
        let free_texts = Some(FreeTexts { depth: 0, except: &[] });
        JsonLimits { depth_max: Self::REQUEST.depth_max - 1, keys_max, free_texts, takes_wide_numbers: true }
    }
}

/// Transaction fields whose texts are identifiers, codes or times.
const NAMES: [&str; 10] = [
    "transaction_id",
    "currency",
    "source",
    "destination",
    "status",
    "hash",
    "created_at",
    "effective_date",
    "scheduled_for",
    "inflight_expiry_date",
];

pub(super) fn read(bytes: &[u8], limits: JsonLimits) -> Result<Json, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (valid_bytes, cause) = (error.valid_up_to(), cause::encoding(bytes));
        JsonError::new(JsonErrorKind::InvalidUtf8 { valid_bytes, cause })
    })?;
    let reader = JsonReader { text, limits };
    if text.starts_with('{') {
        // Parsing the object checks the whole text.
        return reader.object(text, 1);
    }
    let whole: &RawValue = reader.decode(text)?;
    reader.value(whole.get(), 0, "")
}

/// As [`read`], but leaves out single values of the object at this path that are beyond the limits. Returns the names of
/// these values.
pub(super) fn read_leaving_out(
    bytes: &[u8],
    limits: JsonLimits,
    path: &[&str],
) -> Result<(Json, Vec<Box<str>>), JsonError> {
    let error = match read(bytes, limits) {
        Ok(json) => return Ok((json, Vec::new())),
        Err(error) => error,
    };
    let text = std::str::from_utf8(bytes).map_err(|_| error)?;
    let mut left_out = Vec::new();
    let json = JsonReader { text, limits }.object_leaving_out(text, 1, path, &mut left_out)?;
    Ok((json, left_out))
}

/// Number of keys compared without a heap allocation.
const KEYS_INLINE: usize = 32;

struct JsonReader<'a> {
    text: &'a str,
    limits: JsonLimits,
}

impl<'a> JsonReader<'a> {
    /// Reads a value. `raw` is a slice of [`JsonReader::text`] without surrounding whitespace, `depth` its nesting, and
    /// `key` its key in an object.
    fn value(&self, raw: &'a str, depth: usize, key: &str) -> Result<Json, JsonError> {
        match raw.as_bytes().first() {
            Some(b'{') => self.object(raw, depth + 1),
            Some(b'[') => self.array(raw, depth + 1),
            Some(b'"') => self.text(raw, depth, key),
            Some(b't') => Ok(Json::Boolean(true)),
            Some(b'f') => Ok(Json::Boolean(false)),
            Some(b'n') => Ok(Json::Null),
            _ => match JsonNumber::of_json(raw) {
                Ok(number) => Ok(Json::Number(number)),
                Err(_) if self.limits.takes_wide_numbers => Ok(Json::WideNumber(raw.into())),
                Err(_) => Err(JsonError::new(JsonErrorKind::NumberOutOfRange)),
            },
        }
    }

    fn is_free_text(&self, depth: usize, key: &str) -> bool {
        self.limits
            .free_texts
            .is_some_and(|free| depth > free.depth || (depth == free.depth && !free.except.contains(&key)))
    }

    fn text(&self, raw: &'a str, depth: usize, key: &str) -> Result<Json, JsonError> {
        let spelled = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        // A text without escapes is its own value, and the grammar excludes control characters in it.
        if !spelled.contains('\\') {
            return Ok(Json::Text(spelled.into()));
        }
        let mended = self.is_free_text(depth, key).then(|| without_lone_halves(raw)).flatten();
        let text: Box<str> = match &mended {
            Some(mended) => serde_json::from_str(mended).map_err(|error| self.malformed(raw, &error))?,
            None => self.decode(raw)?,
        };
        Ok(Json::Text(without_nul(text)?))
    }

    fn array(&self, raw: &'a str, depth: usize) -> Result<Json, JsonError> {
        self.check_depth(depth)?;
        let items: Vec<&RawValue> = self.decode(raw)?;
        let read = |(index, item): (usize, &&'a RawValue)| {
            self.value(item.get(), depth, "").map_err(|error| error.below(PathStep::Index(index)))
        };
        Ok(Json::Array(items.iter().enumerate().map(read).collect::<Result<_, _>>()?))
    }

    fn object(&self, raw: &'a str, depth: usize) -> Result<Json, JsonError> {
        let ObjectMembers(members) = self.checked_members(raw, depth)?;
        let mut entries = Vec::with_capacity(members.len());
        for (key, member) in members {
            let key = without_nul(key)?;
            let value =
                self.value(member.get(), depth, &key).map_err(|error| error.below(PathStep::Key(&key)))?;
            entries.push((key, value));
        }
        Ok(Json::Object(entries))
    }

    /// As [`JsonReader::object`], but leaves out values of the object at this path that cannot be read.
    fn object_leaving_out(
        &self,
        raw: &'a str,
        depth: usize,
        path: &[&str],
        left_out: &mut Vec<Box<str>>,
    ) -> Result<Json, JsonError> {
        let ObjectMembers(members) = self.checked_members(raw, depth)?;
        let mut entries = Vec::with_capacity(members.len());
        for (key, member) in members {
            let key = without_nul(key)?;
            let value = match path {
                [first, rest @ ..] if **first == *key && member.get().starts_with('{') => {
                    self.object_leaving_out(member.get(), depth + 1, rest, left_out)
                }
                _ => self.value(member.get(), depth, &key),
            };
            match value {
                Ok(value) => entries.push((key, value)),
                Err(_) if path.is_empty() => left_out.push(shown(&key).into()),
                Err(error) => return Err(error.below(PathStep::Key(&key))),
            }
        }
        Ok(Json::Object(entries))
    }

    /// Splits an object into its members, within the limits.
    fn checked_members(&self, raw: &'a str, depth: usize) -> Result<ObjectMembers<'a>, JsonError> {
        self.check_depth(depth)?;
        let keys_max = self.limits.keys_max;
        let members = self.members(raw, keys_max)?;
        if members.0.len() > keys_max {
            return Err(JsonError::new(JsonErrorKind::TooManyKeys { keys_max }));
        }
        check_unique(members.0.iter().map(|(key, _)| &**key).collect())?;
        Ok(members)
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

    fn members(&self, raw: &'a str, keys_max: usize) -> Result<ObjectMembers<'a>, JsonError> {
        let mut parser = serde_json::Deserializer::from_str(raw);
        let seed = MembersSeed { n_kept_max: keys_max.saturating_add(1) };
        let members = seed.deserialize(&mut parser).and_then(|members| parser.end().map(|()| members));
        members.map_err(|error| self.malformed(raw, &error))
    }

    /// Converts an error position relative to `raw` into one relative to the whole text.
    fn malformed(&self, raw: &str, error: &serde_json::Error) -> JsonError {
        let n_before = raw.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        let before = self.text.get(..n_before).unwrap_or_default();
        let (n_lines, last_line) = before
            .rsplit_once('\n')
            .map_or((0, before), |(above, last_line)| (above.matches('\n').count() + 1, last_line));
        let message = error.to_string();
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        let said = message.strip_suffix(&suffix).unwrap_or(&message);
        let above: usize = raw.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let stopped = n_before + above + error.column().saturating_sub(1);
        JsonError::new(JsonErrorKind::Malformed {
            reason: cause::reason(self.text, stopped, said),
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

/// Compares keys in decoded form, so that escapes cannot hide a duplicate.
fn check_unique(mut keys: SmallVec<[&str; KEYS_INLINE]>) -> Result<(), JsonError> {
    keys.sort_unstable();
    for (key, next) in keys.iter().zip(keys.iter().skip(1)) {
        if key == next {
            return Err(JsonError::new(JsonErrorKind::DuplicateKey { key: (*key).to_owned() }));
        }
    }
    Ok(())
}

/// An object split into its keys and the raw texts of their values, truncated if there are too many keys.
struct ObjectMembers<'a>(Vec<(Box<str>, &'a RawValue)>);

const MEMBERS_USUAL: usize = 16;

/// Reads an object, keeps a limited number of members and skips the rest.
struct MembersSeed {
    n_kept_max: usize,
}

impl<'de> DeserializeSeed<'de> for MembersSeed {
    type Value = ObjectMembers<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MembersSeed {
    type Value = ObjectMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(MEMBERS_USUAL);
        while members.len() < self.n_kept_max {
            match map.next_entry()? {
                Some(member) => members.push(member),
                None => return Ok(ObjectMembers(members)),
            }
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(ObjectMembers(members))
    }
}
