//! The benchmark harness: fixed, seeded work, measured beside an alternative in the same run.
//!
//! `benches/README.md` says how to run it, what it showed last, and what each comparison leaves out.

use tikv_jemallocator::Jemalloc;

pub mod bare;
pub mod corpus;
pub mod duckdb;
pub mod load;
pub mod random;
pub mod report;
pub mod shape;
pub mod sqlite;
pub mod traffic;

/// The service's, in every benchmark that is linked with this crate.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;
