//! Finds the process at the other end of a connection, on Linux.

use std::fs;
use std::net::{SocketAddr, SocketAddrV4, TcpStream};

/// Returns whether a process holds the other end of a local connection.
pub(super) fn holds(process: u32, here: &TcpStream) -> bool {
    let (Ok(SocketAddr::V4(theirs)), Ok(SocketAddr::V4(ours))) = (here.peer_addr(), here.local_addr()) else {
        return false;
    };
    let Some(inode) = inode_of(theirs, ours) else { return false };
    let held = format!("socket:[{inode}]");
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    files
        .flatten()
        .any(|file| fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == held.as_str()))
}

/// Returns the inode of the socket that connects these addresses.
fn inode_of(from: SocketAddrV4, to: SocketAddrV4) -> Option<String> {
    // Available even where `/proc` contains only processes.
    let table = fs::read_to_string("/proc/self/net/tcp").ok()?;
    let (from, to) = (shown(from), shown(to));
    table.lines().find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let is_it = columns.next() == Some(&from) && columns.next() == Some(&to);
        columns.nth(6).filter(|_| is_it).map(str::to_owned)
    })
}

/// Formats an address like the table: the four bytes as one number in native byte order.
fn shown(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}
