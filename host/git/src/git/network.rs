//! Names and connections, as the system gives them; a test has a network of its own.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// All of the world that a remote is reached through.
pub(super) trait Network: Send + Sync {
    /// Every address of a host.
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

    /// A connection to an address, not to a name.
    fn connect(&self, address: SocketAddr, patience: Duration) -> io::Result<TcpStream>;
}

/// The system's.
pub(super) struct SystemNetwork;

impl Network for SystemNetwork {
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        (host, port).to_socket_addrs().map(Iterator::collect)
    }

    fn connect(&self, address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&address, patience)
    }
}
