//! A forward reader of bytes.

/// Reason for the end of reading.
pub(super) type Stop = String;

/// A position in some bytes.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    pub(super) const fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        let byte = *self.bytes.get(self.at).ok_or("the bytes end too early")?;
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'b [u8], Stop> {
        let end = self.at.checked_add(length).ok_or("a length beyond all bytes")?;
        let taken = self.bytes.get(self.at..end).ok_or("the bytes end too early")?;
        self.at = end;
        Ok(taken)
    }

    /// Reads an unsigned 32-bit LEB128 number.
    pub(super) fn number(&mut self) -> Result<u32, Stop> {
        let mut value: u64 = 0;
        for group in 0..5 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * group);
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| "a number over 32 bits".to_owned());
            }
        }
        Err("a number of more than five bytes".to_owned())
    }

    pub(super) fn index(&mut self) -> Result<usize, Stop> {
        usize::try_from(self.number()?).map_err(|error| error.to_string())
    }

    /// Reads a signed LEB128 number of this many bits, in at most the necessary number of bytes.
    pub(super) fn signed(&mut self, bits: u32) -> Result<i64, Stop> {
        let mut value: i128 = 0;
        for group in 0..bits.div_ceil(7) {
            let byte = self.byte()?;
            value |= i128::from(byte & 0x7f) << (7 * group);
            if byte & 0x80 == 0 {
                if byte & 0x40 != 0 {
                    value -= 1 << (7 * (group + 1));
                }
                let most: i128 = 1 << (bits - 1);
                let fits = (-most..most).contains(&value);
                return if fits { Ok(value as i64) } else { Err(format!("a number over {bits} bits")) };
            }
        }
        Err(format!("a number too long for {bits} bits"))
    }

    /// Reads the operand of a constant instruction.
    pub(super) fn literal(&mut self, code: u8) -> Result<(), Stop> {
        match code {
            0x41 => self.signed(32).map(|_| ()),
            0x42 => self.signed(64).map(|_| ()),
            0x43 => self.take(4).map(|_| ()),
            0x44 => self.take(8).map(|_| ()),
            _ => Err(format!("the instruction {code:#04x} for a constant")),
        }
    }

    pub(super) fn name(&mut self) -> Result<&'b str, Stop> {
        let length = self.index()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| "a name that is no UTF-8".to_owned())
    }

    pub(super) fn rest(&mut self) -> &'b [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }
}
