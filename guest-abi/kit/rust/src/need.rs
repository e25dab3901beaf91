//! Slots of the manifest and the host calls that take them.

use crate::border;

/// A field of the transaction under evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field(pub i32);

/// A text listed in the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text(pub i32);

/// A list to look values up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List(pub i32);

/// A pattern to search for in texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern(pub i32);

/// A history lookup that returns a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregate(pub i32);

/// A history lookup that returns yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Previous(pub i32);

/// A part of a date-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub i32);

/// The kind of value in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No value.
    Missing,
    /// `true` or `false`.
    Boolean,
    /// A JSON number.
    Number,
    /// A text value.
    Text,
    /// A date-time field.
    Time,
    /// An object or an array.
    Structure,
}

/// Relations that hold between two values; none when either is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relations(i32);

/// Fills the last bytes of a buffer before the host writes to it. This byte never occurs in UTF-8.
const UNWRITTEN: u8 = 0xFF;
/// The most bytes left unwritten by a text longer than the buffer: one less than the longest character.
const UNWRITTEN_MAX: usize = 3;

impl Field {
    /// Returns the field as a number: a number, or a text that is entirely a plain decimal number.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        // SAFETY: only numbers are passed; no memory is accessed.
        there(unsafe { border::number(self.0) })
    }

    /// Returns the manifest text that equals the field exactly, if any.
    #[must_use]
    pub fn symbol(self) -> Option<Text> {
        // SAFETY: only numbers are passed; no memory is accessed.
        let text = unsafe { border::symbol(self.0) };
        (text >= 0).then_some(Text(text))
    }

    /// Returns the kind of the field's value.
    #[must_use]
    pub fn kind(self) -> Kind {
        // SAFETY: only numbers are passed; no memory is accessed.
        match unsafe { border::kind(self.0) } {
            border::KIND_BOOLEAN => Kind::Boolean,
            border::KIND_NUMBER => Kind::Number,
            border::KIND_TEXT => Kind::Text,
            border::KIND_TIME => Kind::Time,
            border::KIND_STRUCTURE => Kind::Structure,
            _ => Kind::Missing,
        }
    }

    /// Compares the field with another field.
    #[must_use]
    pub fn relate(self, other: Field) -> Relations {
        // SAFETY: only numbers are passed; no memory is accessed.
        Relations(unsafe { border::relate(self.0, other.0) })
    }

    /// Compares the field with a text of the manifest.
    #[must_use]
    pub fn relate_text(self, text: Text) -> Relations {
        // SAFETY: only numbers are passed; no memory is accessed.
        Relations(unsafe { border::relate_text(self.0, text.0) })
    }

    /// Copies the field's text into the buffer and returns it, cut to whole characters that fit. `None` when it is not
    /// a text.
    #[must_use]
    pub fn text(self, buffer: &mut [u8]) -> Option<&str> {
        let capacity = buffer.len().min(i32::MAX as usize);
        let buffer = buffer.get_mut(..capacity)?;
        buffer.iter_mut().rev().take(UNWRITTEN_MAX).for_each(|byte| *byte = UNWRITTEN);
        // SAFETY: the host writes at most `capacity` bytes, before it returns.
        let n_bytes = unsafe { border::text(self.0, buffer.as_mut_ptr(), capacity as i32) };
        if n_bytes < 0 {
            return None;
        }
        let n_written = (n_bytes as usize).min(capacity);
        let mut written = buffer.get(..n_written)?;
        while let [rest @ .., UNWRITTEN] = written {
            written = rest;
        }
        // SAFETY: the host writes whole characters in UTF-8.
        Some(unsafe { core::str::from_utf8_unchecked(written) })
    }

    /// Returns the length of the field's text in bytes. `None` when it is not a text.
    #[must_use]
    pub fn text_bytes(self) -> Option<usize> {
        // SAFETY: with a capacity of 0 the host writes nothing.
        let n_bytes = unsafe { border::text(self.0, core::ptr::null_mut(), 0) };
        (n_bytes >= 0).then_some(n_bytes as usize)
    }
}

impl List {
    /// Returns whether a field is in the list. `None` when the field or the list is missing.
    #[must_use]
    pub fn has(self, field: Field) -> Option<bool> {
        // SAFETY: only numbers are passed; no memory is accessed.
        tested(unsafe { border::member(field.0, self.0) })
    }

    /// Returns whether a computed number is in the list. `None` when the number is NaN or the list is missing.
    #[must_use]
    pub fn has_number(self, number: f64) -> Option<bool> {
        // SAFETY: only numbers are passed; no memory is accessed.
        tested(unsafe { border::member_number(number, self.0) })
    }

    /// Returns whether a text of the manifest is in the list. `None` when the list is missing.
    #[must_use]
    pub fn has_text(self, text: Text) -> Option<bool> {
        // SAFETY: only numbers are passed; no memory is accessed.
        tested(unsafe { border::member_text(text.0, self.0) })
    }
}

impl Pattern {
    /// Returns whether the pattern is found in a field. `None` when the field is missing.
    #[must_use]
    pub fn is_in(self, field: Field) -> Option<bool> {
        // SAFETY: only numbers are passed; no memory is accessed.
        tested(unsafe { border::matches(field.0, self.0) })
    }

    /// Returns whether the pattern is found in the plain decimal text of a number. `None` when the number is NaN.
    #[must_use]
    pub fn is_in_number(self, number: f64) -> Option<bool> {
        // SAFETY: only numbers are passed; no memory is accessed.
        tested(unsafe { border::matches_number(number, self.0) })
    }
}

impl Aggregate {
    /// Returns the aggregate's value; 0 when no past transaction qualifies.
    #[must_use]
    pub fn value(self) -> f64 {
        // SAFETY: only numbers are passed; no memory is accessed.
        unsafe { border::aggregate(self.0) }
    }
}

impl Previous {
    /// Returns whether such a past transaction exists.
    #[must_use]
    pub fn is_there(self) -> bool {
        // SAFETY: only numbers are passed; no memory is accessed.
        unsafe { border::previous(self.0) != 0 }
    }
}

impl Time {
    /// Returns this part of the date-time.
    #[must_use]
    pub fn part(self) -> Option<f64> {
        // SAFETY: only numbers are passed; no memory is accessed.
        there(unsafe { border::time_part(self.0) })
    }
}

impl Relations {
    /// `==`
    #[must_use]
    pub fn is_equal(self) -> bool {
        self.has(border::RELATION_EQUAL)
    }

    /// `!=`; false when either value is missing.
    #[must_use]
    pub fn is_not_equal(self) -> bool {
        self.has(border::RELATION_NOT_EQUAL)
    }

    /// `<`
    #[must_use]
    pub fn is_less(self) -> bool {
        self.has(border::RELATION_LESS)
    }

    /// `<=`
    #[must_use]
    pub fn is_at_most(self) -> bool {
        self.has(border::RELATION_LESS | border::RELATION_LEVEL)
    }

    /// `>`
    #[must_use]
    pub fn is_greater(self) -> bool {
        self.has(border::RELATION_GREATER)
    }

    /// `>=`
    #[must_use]
    pub fn is_at_least(self) -> bool {
        self.has(border::RELATION_GREATER | border::RELATION_LEVEL)
    }

    fn has(self, bits: i32) -> bool {
        self.0 & bits != 0
    }
}

fn there(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

fn tested(answer: i32) -> Option<bool> {
    match answer {
        border::TEST_YES => Some(true),
        border::TEST_NO => Some(false),
        _ => None,
    }
}
