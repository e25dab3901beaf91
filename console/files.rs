//! The files of the web console, as the build embedded them.

/// A file of the console.
#[derive(Debug, Clone, Copy)]
pub struct ConsoleFile {
    /// Path below the console.
    pub name: &'static str,
    /// Media type.
    pub content_type: &'static str,
    /// Whether its content never changes, because its name contains a hash of it.
    pub is_immutable: bool,
    /// Content.
    pub bytes: &'static [u8],
    /// Content, compressed with gzip; `None` if that is not worth it.
    pub gzip: Option<&'static [u8]>,
}

// The table `FILES`, which has at least the file `index.html`.
include!(concat!(env!("OUT_DIR"), "/files.rs"));
