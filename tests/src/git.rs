//! Git servers for tests: bare repositories, an HTTP server on loopback with or without TLS, and an SSH server.

pub mod pack;
pub mod server;
pub mod ssh;
pub mod upstream;

pub use pack::Pack;
pub use server::{Asked, GitServer, Mood};
pub use ssh::SshServer;
pub use upstream::Upstream;
