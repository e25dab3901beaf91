//! The other side of Git: bare repositories, and a server that hands them out over HTTP on loopback, with TLS or without, and one behind SSH.

pub mod pack;
pub mod server;
pub mod ssh;
pub mod upstream;

pub use pack::Pack;
pub use server::{Asked, GitServer, Mood};
pub use ssh::SshServer;
pub use upstream::Upstream;
