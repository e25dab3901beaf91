//! The other side of Git: bare repositories, and a server that hands them out over HTTP on loopback, with TLS or without.

pub mod authority;
pub mod pack;
pub mod server;
pub mod upstream;

pub use authority::{Authority, Identity};
pub use pack::Pack;
pub use server::{Asked, GitServer, Mood};
pub use upstream::Upstream;
