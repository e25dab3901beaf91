//! Repositories of others, the processes that talk with them, and whom to trust.
//!
//! `git` reads rules out of a repository and writes them back, `confinement` puts walls around processes of our own, `tls` says which
//! authorities the system trusts. It promises that what a remote sends is parsed in a process that can reach nothing else.
//!
//! It knows no rule, no transaction, no store and no setting: addresses, credentials and limits are handed in.

pub mod confinement;
pub mod git;
pub mod tls;
