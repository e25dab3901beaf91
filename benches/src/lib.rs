//! The benchmark harness: fixed, seeded work, measured against an alternative in the same run.
//!
//! `benches/README.md` describes usage and what is measured; `benches/results` has the latest results.

use tikv_jemallocator::Jemalloc;

pub mod bare;
pub mod duckdb;
pub mod random;
pub mod record_stores;
pub mod records;
pub mod report;
pub mod rule_files;
pub mod shape;
pub mod sqlite;
pub mod traffic;
pub mod twins;

/// The service's allocator, for every benchmark linked with this crate.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;
