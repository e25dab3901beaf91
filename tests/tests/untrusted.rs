#![cfg(test)]
//! Rules of untrusted authors: named hostile modules, generated modules, and good rules beside them.
//!
//! ```text
//!  tests/hostile/*.wat ─┐
//!  binaries, limits,    ├─▶ corpus ──▶ arrivals: upload to verdict, beside other traffic
//!  manifests ───────────┘      └────▶ second_reader: an independent check
//!  generated ──▶ bench: two sandboxes, one result ──▶ second_reader
//! ```

#[path = "untrusted/arrivals.rs"]
mod arrivals;
#[path = "untrusted/bench.rs"]
mod bench;
#[path = "untrusted/binaries.rs"]
mod binaries;
#[path = "untrusted/breaker.rs"]
mod breaker;
#[path = "untrusted/bytes.rs"]
mod bytes;
#[path = "untrusted/canary.rs"]
mod canary;
#[path = "untrusted/corpus.rs"]
mod corpus;
#[path = "untrusted/generated.rs"]
mod generated;
#[path = "untrusted/guest.rs"]
mod guest;
#[path = "untrusted/limits.rs"]
mod limits;
#[path = "untrusted/manifests.rs"]
mod manifests;
#[path = "untrusted/neighbours.rs"]
mod neighbours;
#[path = "untrusted/second_reader.rs"]
mod second_reader;
#[path = "untrusted/storm.rs"]
mod storm;
#[path = "untrusted/traffic.rs"]
mod traffic;
#[path = "untrusted/wrong_imports.rs"]
mod wrong_imports;
