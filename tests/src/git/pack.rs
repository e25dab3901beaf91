//! Hand-made packs that Git would not produce: small on the wire, large when unpacked.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use flate2::{Compress, Compression, FlushCompress, Status};
use openssl::sha::sha1;

const COMMIT: u8 = 1;
const TREE: u8 = 2;
const BLOB: u8 = 3;
const OFFSET_DELTA: u8 = 6;
/// Number of zeros packed at a time, and copied by one delta instruction.
const PIECE_BYTES: u64 = 0xff_0000;

/// A pack under construction.
#[derive(Debug)]
pub struct Pack {
    bytes: Vec<u8>,
    n_objects: u32,
    head: Option<String>,
}

impl Default for Pack {
    fn default() -> Self {
        Self::new()
    }
}

impl Pack {
    /// Creates an empty pack.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), n_objects: 0, head: None }
    }

    /// Creates a pack with a commit of a single file; [`Self::head`] is the commit id.
    #[must_use]
    pub fn with_commit(path: &str, text: &str) -> Self {
        let mut pack = Self::new();
        let blob = pack.put(BLOB, "blob", text.as_bytes());
        let tree = [format!("100644 {path}\0").as_bytes(), &blob].concat();
        let tree = pack.put(TREE, "tree", &tree);
        let person = "Analyst <a@bank.example> 1700000000 +0000";
        let commit = format!("tree {}\nauthor {person}\ncommitter {person}\n\nchange\n", hexadecimal(&tree));
        let commit = pack.put(COMMIT, "commit", commit.as_bytes());
        pack.head = Some(hexadecimal(&commit));
        pack
    }

    /// Returns the commit id, or an arbitrary id if there is no commit.
    #[must_use]
    pub fn head(&self) -> String {
        self.head.clone().unwrap_or_else(|| "1".repeat(40))
    }

    /// Adds a blob of zeros that compresses to a thousandth of its size. Returns its offset.
    pub fn zeros(&mut self, n_bytes: u64) -> u64 {
        let start = self.begin(BLOB, n_bytes);
        self.bytes.extend(packed_zeros(n_bytes));
        start
    }

    /// Adds a delta of `n_bytes` bytes that repeats the beginning of a base object. The base must have at least
    /// `PIECE_BYTES` bytes. Returns its offset.
    pub fn copies(&mut self, base: u64, base_bytes: u64, n_bytes: u64) -> u64 {
        let mut delta = Vec::new();
        push_size(&mut delta, base_bytes);
        push_size(&mut delta, n_bytes);
        let mut left = n_bytes;
        while left > 0 {
            let piece = left.min(PIECE_BYTES);
            let [low, middle, high, ..] = piece.to_le_bytes();
            // Copy from offset 0; three bytes of length follow.
            delta.extend([0b1111_0000, low, middle, high]);
            left -= piece;
        }
        let start = self.begin(OFFSET_DELTA, delta.len() as u64);
        push_offset(&mut self.bytes, start - base);
        self.bytes.extend(deflated(&delta));
        start
    }

    /// Returns the complete pack.
    #[must_use]
    pub fn finished(self) -> Vec<u8> {
        let n_objects = self.n_objects;
        self.announcing(n_objects)
    }

    /// Returns the complete pack with this object count in the header.
    ///
    /// # Panics
    /// Never panics, because a pack always has a header.
    #[must_use]
    pub fn announcing(mut self, n_objects: u32) -> Vec<u8> {
        self.bytes.get_mut(8..12).expect("a pack has a header").copy_from_slice(&n_objects.to_be_bytes());
        let checksum = sha1(&self.bytes);
        self.bytes.extend(checksum);
        self.bytes
    }

    fn put(&mut self, kind: u8, name: &str, content: &[u8]) -> [u8; 20] {
        self.begin(kind, content.len() as u64);
        self.bytes.extend(deflated(content));
        sha1(&[format!("{name} {}\0", content.len()).as_bytes(), content].concat())
    }

    /// Writes an object header: kind and unpacked size. Returns its offset.
    fn begin(&mut self, kind: u8, n_bytes: u64) -> u64 {
        let start = self.bytes.len() as u64;
        let [low, ..] = n_bytes.to_le_bytes();
        let mut rest = n_bytes >> 4;
        let mut byte = kind << 4 | low & 0xf;
        while rest > 0 {
            self.bytes.push(byte | 0x80);
            let [low, ..] = rest.to_le_bytes();
            byte = low & 0x7f;
            rest >>= 7;
        }
        self.bytes.push(byte);
        self.n_objects += 1;
        start
    }
}

fn push_size(bytes: &mut Vec<u8>, mut size: u64) {
    while size >= 0x80 {
        let [low, ..] = size.to_le_bytes();
        bytes.push(low | 0x80);
        size >>= 7;
    }
    let [low, ..] = size.to_le_bytes();
    bytes.push(low);
}

/// Encodes an offset big-endian, minus one at each further byte.
fn push_offset(bytes: &mut Vec<u8>, mut offset: u64) {
    let mut digits = Vec::new();
    let mut more = 0;
    loop {
        let [low, ..] = offset.to_le_bytes();
        digits.push(low & 0x7f | more);
        offset >>= 7;
        if offset == 0 {
            break;
        }
        offset -= 1;
        more = 0x80;
    }
    bytes.extend(digits.into_iter().rev());
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(content.len() + 1024);
    let status = Compress::new(Compression::fast(), true)
        .compress_vec(content, &mut packed, FlushCompress::Finish)
        .expect("it can be packed");
    assert_eq!(status, Status::StreamEnd);
    packed
}

/// Returns a compressed stream of zeros that repeats one compressed piece.
fn packed_zeros(n_bytes: u64) -> Vec<u8> {
    const ADLER_MODULUS: u64 = 65_521;
    let packed = |n_bytes: u64| {
        let zeros = vec![0; usize::try_from(n_bytes).expect("a piece is small")];
        let mut packed = Vec::with_capacity(zeros.len() / 100 + 1024);
        Compress::new(Compression::best(), false)
            .compress_vec(&zeros, &mut packed, FlushCompress::Full)
            .expect("it can be packed");
        packed
    };
    let piece = packed(PIECE_BYTES);
    let mut stream = vec![0x78, 0x01];
    for _ in 0..n_bytes / PIECE_BYTES {
        stream.extend(&piece);
    }
    stream.extend(packed(n_bytes % PIECE_BYTES));
    // An empty last block, then the checksum.
    stream.extend([0x03, 0x00]);
    let checksum = u32::try_from((n_bytes % ADLER_MODULUS) << 16 | 1).expect("both halves have 16 bits");
    stream.extend(checksum.to_be_bytes());
    stream
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Upstream;
    use crate::needs;

    #[test]
    fn git_itself_can_read_them() {
        needs!(Git);
        let mut pack = Pack::with_commit("a.ws", "rule");
        let base = pack.zeros(PIECE_BYTES);
        pack.zeros(40 << 20);
        pack.copies(base, PIECE_BYTES, 50 << 20);
        let (head, bytes) = (pack.head(), pack.finished());
        assert!(bytes.len() < 200 * 1024, "{}", bytes.len());
        let upstream = Upstream::new();
        upstream.run(&["unpack-objects", "-q", "--strict"], &bytes);
        upstream.git(&["update-ref", "refs/heads/main", &head]);
        assert_eq!(upstream.file("a.ws").as_deref(), Some("rule"));
        let sizes = upstream.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectsize)"]);
        for expected in [PIECE_BYTES, 40 << 20, 50 << 20] {
            assert!(sizes.lines().any(|size| size == expected.to_string()), "{expected}: {sizes}");
        }
    }
}
