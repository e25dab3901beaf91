//! Rules of untrusted authors: named hostile modules, generated modules, and good rules beside them.
//!
//! ```text
//!  tests/hostile/*.wat ─┐
//!  binaries, limits,    ├─▶ corpus ──▶ arrivals: upload to verdict, beside other traffic
//!  manifests ───────────┘      └────▶ second_reader: an independent check
//!  generated ──▶ bench: two sandboxes, one result ──▶ second_reader
//! ```

mod arrivals;
mod bench;
mod binaries;
mod breaker;
mod bytes;
mod canary;
mod corpus;
mod generated;
mod guest;
mod limits;
mod manifests;
mod neighbours;
mod second_reader;
mod storm;
mod traffic;
mod wrong_imports;
