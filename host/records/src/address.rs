//! Where a record lies: the slot of its segment and its offset.

/// Records begin at multiples of this many bytes.
pub(crate) const UNIT: usize = 16;
/// Size of a segment with its foot, in bytes. Tests write many small ones.
pub(crate) const SEGMENT_BYTES: usize = if cfg!(test) { 64 << 10 } else { 32 << 20 };
/// Units in a segment.
const SEGMENT_UNITS: u64 = (SEGMENT_BYTES / UNIT) as u64;
/// Number of segments at a time: 256 GiB.
pub(crate) const N_SLOTS: usize = (256 << 30) / SEGMENT_BYTES;
/// Bits of an address.
pub(crate) const ADDRESS_BITS: u32 = 34;

const _: () = assert!(SEGMENT_UNITS * N_SLOTS as u64 == 1 << ADDRESS_BITS, "an address fits its bits");

/// Where a record lies. It changes when the record is replaced or its segment is cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(u64);

impl Address {
    /// Returns the address of an offset, in bytes, in the segment of a slot.
    pub(crate) const fn new(slot: usize, offset: usize) -> Self {
        Self(slot as u64 * SEGMENT_UNITS + (offset / UNIT) as u64)
    }

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits & ((1 << ADDRESS_BITS) - 1))
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    pub(crate) const fn slot(self) -> usize {
        (self.0 / SEGMENT_UNITS) as usize
    }

    /// Returns the offset in the segment, in bytes.
    pub(crate) const fn offset(self) -> usize {
        (self.0 % SEGMENT_UNITS) as usize * UNIT
    }
}
