//! Values of transactions that outlive the transactions.

use smallvec::SmallVec;
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{EventTime, Json, StructureDigest, Value};

use crate::spill::heap_bytes;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum OwnedValue {
    Missing,
    Boolean(bool),
    /// An exact number, on the heap because most values are texts.
    Number(Box<Decimal>),
    /// An exact text, even if it compares as caseless.
    Text(Box<str>),
    /// A time with its original text.
    Time(Box<EventTime>),
    /// The digest of a structure: no query reads more of a past one than whether it equals another.
    Structure(Box<StructureDigest>),
}

/// Digests of the structures of one transaction, each computed once for all series.
#[derive(Debug, Default)]
pub(super) struct StructureDigests {
    /// By the address of the structure, which does not move while the transaction is borrowed.
    known: SmallVec<[(usize, StructureDigest); 2]>,
}

impl StructureDigests {
    /// Forgets the digests of the last transaction.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    fn of(&mut self, value: &Value<'_>) -> Option<StructureDigest> {
        let address = match value {
            Value::List(items) => items.as_ptr().addr(),
            Value::Object(object) => std::ptr::from_ref::<Json>(object).addr(),
            _ => return None,
        };
        if let Some((_, digest)) = self.known.iter().find(|(known, _)| *known == address) {
            return Some(*digest);
        }
        let digest = value.structure_digest()?;
        self.known.push((address, digest));
        Some(digest)
    }
}

mod tag {
    pub(super) const MISSING: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const NUMBER: u8 = 3;
    pub(super) const TEXT: u8 = 4;
    pub(super) const TIME: u8 = 5;
    pub(super) const GIVEN_TIME: u8 = 6;
    /// Written by earlier versions: a structure in full.
    pub(super) const STRUCTURE_TEXT: u8 = 7;
    pub(super) const STRUCTURE: u8 = 8;
}

impl OwnedValue {
    pub(super) fn of(value: Value<'_>, digests: &mut StructureDigests) -> Self {
        match value {
            Value::Missing => OwnedValue::Missing,
            Value::Boolean(boolean) => OwnedValue::Boolean(boolean),
            Value::Number(number) => OwnedValue::Number(Box::new(number)),
            Value::Text(text) => OwnedValue::Text(text.into()),
            Value::Caseless(text) => OwnedValue::Text(text.sent.into()),
            Value::Time(time) => OwnedValue::Time(Box::new(time.clone())),
            Value::List(_) | Value::Object(_) => {
                digests.of(&value).map_or(OwnedValue::Missing, OwnedValue::of_structure)
            }
        }
    }

    fn of_structure(digest: StructureDigest) -> Self {
        OwnedValue::Structure(Box::new(digest))
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            OwnedValue::Missing => Value::Missing,
            OwnedValue::Boolean(boolean) => Value::Boolean(*boolean),
            OwnedValue::Number(number) => Value::Number(**number),
            OwnedValue::Text(text) => Value::Text(text),
            OwnedValue::Time(time) => Value::Time(time),
            // All that a filter can tell of a structure is that it is one.
            OwnedValue::Structure(_) => Value::List(&[]),
        }
    }

    /// Returns the approximate size on the heap, in bytes.
    pub(super) fn n_heap_bytes(&self) -> usize {
        match self {
            OwnedValue::Missing | OwnedValue::Boolean(_) => 0,
            OwnedValue::Number(_) => 48,
            OwnedValue::Text(text) => heap_bytes(text.len()),
            OwnedValue::Time(time) => 96 + heap_bytes(time.as_str().len()),
            OwnedValue::Structure(digest) => heap_bytes(digest.len()),
        }
    }

    /// Returns whether no query can distinguish the values, including the spelling of date-times.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (OwnedValue::Time(one), OwnedValue::Time(other)) => one.as_str() == other.as_str(),
            (one, other) => one == other,
        }
    }

    /// Returns a small hash that is equal for identical values and rarely equal for others.
    pub(super) fn print(&self) -> u8 {
        let fold = |bytes: &[u8]| bytes.iter().fold(0, |print: u8, byte| print.rotate_left(3) ^ byte);
        match self {
            OwnedValue::Missing => 0,
            OwnedValue::Boolean(boolean) => 1 + u8::from(*boolean),
            OwnedValue::Number(number) => fold(&number.mantissa().to_le_bytes()),
            OwnedValue::Text(text) => fold(text.as_bytes()),
            OwnedValue::Time(time) => fold(&time.micros().to_le_bytes()),
            OwnedValue::Structure(digest) => fold(&**digest),
        }
    }

    /// Appends the bytes; [`OwnedValue::read`] reads them.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let mut text = |tag: u8, text: &str| {
            bytes.push(tag);
            bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        match self {
            OwnedValue::Missing => bytes.push(tag::MISSING),
            OwnedValue::Boolean(boolean) => bytes.push(if *boolean { tag::TRUE } else { tag::FALSE }),
            OwnedValue::Number(number) => {
                bytes.extend_from_slice(&[tag::NUMBER, number.scale()]);
                bytes.extend_from_slice(&number.mantissa().to_le_bytes());
            }
            OwnedValue::Text(held) => text(tag::TEXT, held),
            OwnedValue::Time(time) => {
                text(if time.is_given() { tag::GIVEN_TIME } else { tag::TIME }, time.as_str());
                bytes.extend_from_slice(&time.micros().to_le_bytes());
            }
            OwnedValue::Structure(digest) => {
                bytes.push(tag::STRUCTURE);
                bytes.extend_from_slice(&**digest);
            }
        }
    }

    /// Advances past the value at the start of the bytes; returns `None` when there is none.
    pub(super) fn skip(bytes: &mut &[u8]) -> Option<()> {
        let (tag, rest) = bytes.split_first()?;
        *bytes = rest;
        let n_bytes = match *tag {
            tag::MISSING | tag::FALSE | tag::TRUE => 0,
            tag::NUMBER => 1 + size_of::<i128>(),
            tag::TEXT | tag::STRUCTURE_TEXT => length_of(bytes)?,
            tag::TIME | tag::GIVEN_TIME => length_of(bytes)? + size_of::<i64>(),
            tag::STRUCTURE => size_of::<StructureDigest>(),
            _ => return None,
        };
        *bytes = bytes.get(n_bytes..)?;
        Some(())
    }

    /// Reads the value at the start of the bytes and advances past it; returns `None` when there is none.
    pub(super) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first()?;
        *bytes = rest;
        Some(match *tag {
            tag::MISSING => OwnedValue::Missing,
            tag::FALSE => OwnedValue::Boolean(false),
            tag::TRUE => OwnedValue::Boolean(true),
            tag::NUMBER => {
                let [scale] = take(bytes)?;
                OwnedValue::Number(Box::new(Decimal::of_parts(i128::from_le_bytes(take(bytes)?), scale)?))
            }
            tag::TEXT => OwnedValue::Text(take_text(bytes)?.into()),
            tag::TIME | tag::GIVEN_TIME => {
                let text = take_text(bytes)?;
                let micros = i64::from_le_bytes(take(bytes)?);
                OwnedValue::Time(Box::new(EventTime::kept(micros, text, *tag == tag::GIVEN_TIME)))
            }
            tag::STRUCTURE => OwnedValue::of_structure(take(bytes)?),
            tag::STRUCTURE_TEXT => {
                let json = Json::reread(take_text(bytes)?)?;
                OwnedValue::of_structure(Value::of_json(Some(&json)).structure_digest()?)
            }
            _ => return None,
        })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn length_of(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(take(bytes)?)).ok()
}

fn take_text<'b>(bytes: &mut &'b [u8]) -> Option<&'b str> {
    let length = length_of(bytes)?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{number, text, time_at};

    #[test]
    fn every_kind_of_value_comes_back_from_its_bytes() {
        let decimal = Decimal::from_json("-99999999999999999999.000000000000000001").unwrap();
        let object = Json::Object(vec![("b".into(), Json::Null), ("a".into(), Json::Number(number("1.5")))]);
        let structure = Json::Array(vec![text("a\nb"), object, Json::Boolean(false)]);
        let all = [
            OwnedValue::Missing,
            OwnedValue::Boolean(true),
            OwnedValue::Boolean(false),
            OwnedValue::Number(Box::new(decimal)),
            OwnedValue::Text("naïve \" text".into()),
            OwnedValue::Time(Box::new(time_at(7))),
            OwnedValue::Time(Box::new(EventTime::parse("2026-01-05T11:00:00.123456789+01:00").unwrap())),
            OwnedValue::of(Value::of_json(Some(&structure)), &mut StructureDigests::default()),
        ];
        let mut bytes = Vec::new();
        all.iter().for_each(|held| held.write(&mut bytes));
        let mut rest = &bytes[..];
        for held in &all {
            let read = OwnedValue::read(&mut rest).unwrap();
            assert_eq!(&read, held);
            if let (OwnedValue::Time(read), OwnedValue::Time(held)) = (&read, held) {
                assert_eq!((read.as_str(), read.is_given()), (held.as_str(), held.is_given()));
            }
        }
        assert!(rest.is_empty());
        let mut rest = &bytes[..];
        all.iter().for_each(|_| OwnedValue::skip(&mut rest).unwrap());
        assert!(rest.is_empty());
        for cut in 0..bytes.len() {
            let mut rest = &bytes[..cut];
            assert!(all.iter().any(|_| OwnedValue::read(&mut rest).is_none()), "{cut}");
        }
    }
}
