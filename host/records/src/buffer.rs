//! Buffers for reads around the page cache, which require aligned memory.

/// Alignment of buffers, offsets and lengths, in bytes.
pub(crate) const PAGE_BYTES: usize = 4_096;

/// Bytes that begin at a multiple of 4,096.
#[derive(Debug)]
pub struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    n_bytes: usize,
}

impl AlignedBuffer {
    /// Creates a buffer of zeros with so many bytes, rounded up to whole pages.
    pub(crate) fn new(n_bytes: usize) -> Self {
        let n_bytes = n_bytes.next_multiple_of(PAGE_BYTES);
        let memory = vec![0; n_bytes + PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES);
        Self { memory, start, n_bytes }
    }

    /// Returns its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.start + self.n_bytes).unwrap_or_default()
    }

    /// Returns its bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.start..self.start + self.n_bytes).unwrap_or_default()
    }
}
