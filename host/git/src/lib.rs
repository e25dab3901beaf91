//! Git repositories, confined processes for untrusted data, and trusted certificate authorities.
//!
//! `git` reads rules from a repository and writes them back, `confinement` restricts processes of this program, and
//! `tls` finds the trusted authorities. Data from a remote is parsed in a confined process.
//!
//! This crate does not depend on rules, transactions, the store or settings. Callers pass addresses, credentials and
//! limits.

pub mod confinement;
pub mod git;
pub mod tls;
