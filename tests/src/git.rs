//! The other side of Git: bare repositories, and a server that hands them out over HTTP on loopback.

pub mod server;
pub mod upstream;

pub use server::{Asked, GitServer, Mood};
pub use upstream::Upstream;
