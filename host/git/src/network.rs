//! Name resolution and connections; tests substitute their own network.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// The network through which remotes are reached.
pub(super) trait Network: Send + Sync {
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

    /// Connects to an IP address, within `patience`.
    fn connect(&self, address: SocketAddr, patience: Duration) -> io::Result<TcpStream>;
}

pub(super) struct SystemNetwork;

impl Network for SystemNetwork {
    fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        (host, port).to_socket_addrs().map(Iterator::collect)
    }

    fn connect(&self, address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&address, patience)
    }
}
