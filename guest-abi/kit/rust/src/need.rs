//! Slots of the manifest, and the questions to them.

use crate::border;

/// A field of the transaction under evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field(pub i32);

/// A text of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text(pub i32);

/// A list that values are looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List(pub i32);

/// A pattern that texts are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern(pub i32);

/// A question to the history that has a number for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregate(pub i32);

/// A question to the history that has yes or no for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Previous(pub i32);

/// A part of a date-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub i32);

/// What stands in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing is there.
    Missing,
    /// `true` or `false`.
    Boolean,
    /// A JSON number.
    Number,
    /// A text.
    Text,
    /// A date-time field.
    Time,
    /// An object or an array.
    Structure,
}

/// Relations that hold between two values; none when either is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relations(i32);

/// What is written over by the last bytes of a text that fills its buffer; no byte of UTF-8 is like this.
const UNWRITTEN: u8 = 0xFF;
/// A character has at most one byte more, so a buffer with a longer text has at most as many unwritten bytes.
const UNWRITTEN_MAX: usize = 3;

impl Field {
    /// The field as a number: a number, or a text that is wholly a plain decimal number.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        // SAFETY: numbers cross the border, and no memory is touched.
        there(unsafe { border::number(self.0) })
    }

    /// Which of the manifest's texts the field is, to the letter.
    #[must_use]
    pub fn symbol(self) -> Option<Text> {
        // SAFETY: numbers cross the border, and no memory is touched.
        let text = unsafe { border::symbol(self.0) };
        (text >= 0).then_some(Text(text))
    }

    /// What stands there.
    #[must_use]
    pub fn kind(self) -> Kind {
        // SAFETY: numbers cross the border, and no memory is touched.
        match unsafe { border::kind(self.0) } {
            border::KIND_BOOLEAN => Kind::Boolean,
            border::KIND_NUMBER => Kind::Number,
            border::KIND_TEXT => Kind::Text,
            border::KIND_TIME => Kind::Time,
            border::KIND_STRUCTURE => Kind::Structure,
            _ => Kind::Missing,
        }
    }

    /// How it stands to another field.
    #[must_use]
    pub fn relate(self, other: Field) -> Relations {
        // SAFETY: numbers cross the border, and no memory is touched.
        Relations(unsafe { border::relate(self.0, other.0) })
    }

    /// How it stands to a text of the manifest.
    #[must_use]
    pub fn relate_text(self, text: Text) -> Relations {
        // SAFETY: numbers cross the border, and no memory is touched.
        Relations(unsafe { border::relate_text(self.0, text.0) })
    }

    /// Its text, in this buffer: all of it, or as many whole characters as the buffer holds. `None` when it is no text.
    #[must_use]
    pub fn text(self, buffer: &mut [u8]) -> Option<&str> {
        let capacity = buffer.len().min(i32::MAX as usize);
        let buffer = buffer.get_mut(..capacity)?;
        buffer.iter_mut().rev().take(UNWRITTEN_MAX).for_each(|byte| *byte = UNWRITTEN);
        // SAFETY: the host writes at most as many bytes as the buffer has, and has written when it returns.
        let n_bytes = unsafe { border::text(self.0, buffer.as_mut_ptr(), capacity as i32) };
        if n_bytes < 0 {
            return None;
        }
        let n_written = (n_bytes as usize).min(capacity);
        let mut written = buffer.get(..n_written)?;
        while let [rest @ .., UNWRITTEN] = written {
            written = rest;
        }
        // SAFETY: the host writes whole characters, in UTF-8.
        Some(unsafe { core::str::from_utf8_unchecked(written) })
    }

    /// How many bytes its text has. `None` when it is no text.
    #[must_use]
    pub fn text_bytes(self) -> Option<usize> {
        // SAFETY: with a capacity of 0 nothing is written.
        let n_bytes = unsafe { border::text(self.0, core::ptr::null_mut(), 0) };
        (n_bytes >= 0).then_some(n_bytes as usize)
    }
}

impl List {
    /// Whether a field is in it. `None` when the field, or the list, is missing.
    #[must_use]
    pub fn has(self, field: Field) -> Option<bool> {
        // SAFETY: numbers cross the border, and no memory is touched.
        tested(unsafe { border::member(field.0, self.0) })
    }

    /// Whether a computed number is in it. `None` when the number is a NaN, or the list is missing.
    #[must_use]
    pub fn has_number(self, number: f64) -> Option<bool> {
        // SAFETY: numbers cross the border, and no memory is touched.
        tested(unsafe { border::member_number(number, self.0) })
    }

    /// Whether a text of the manifest is in it. `None` when the list is missing.
    #[must_use]
    pub fn has_text(self, text: Text) -> Option<bool> {
        // SAFETY: numbers cross the border, and no memory is touched.
        tested(unsafe { border::member_text(text.0, self.0) })
    }
}

impl Pattern {
    /// Whether it is found in a field. `None` when the field is missing.
    #[must_use]
    pub fn is_in(self, field: Field) -> Option<bool> {
        // SAFETY: numbers cross the border, and no memory is touched.
        tested(unsafe { border::matches(field.0, self.0) })
    }

    /// Whether it is found in the plain decimal text of a number. `None` when that is a NaN.
    #[must_use]
    pub fn is_in_number(self, number: f64) -> Option<bool> {
        // SAFETY: numbers cross the border, and no memory is touched.
        tested(unsafe { border::matches_number(number, self.0) })
    }
}

impl Aggregate {
    /// Its value; 0 when no past transaction takes part.
    #[must_use]
    pub fn value(self) -> f64 {
        // SAFETY: numbers cross the border, and no memory is touched.
        unsafe { border::aggregate(self.0) }
    }
}

impl Previous {
    /// Whether there is such a past transaction.
    #[must_use]
    pub fn is_there(self) -> bool {
        // SAFETY: numbers cross the border, and no memory is touched.
        unsafe { border::previous(self.0) != 0 }
    }
}

impl Time {
    /// That part of the date-time.
    #[must_use]
    pub fn part(self) -> Option<f64> {
        // SAFETY: numbers cross the border, and no memory is touched.
        there(unsafe { border::time_part(self.0) })
    }
}

impl Relations {
    /// `==`
    #[must_use]
    pub fn is_equal(self) -> bool {
        self.has(border::RELATION_EQUAL)
    }

    /// `!=`, which needs both values to be there.
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
