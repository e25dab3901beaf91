//! Ports for programs that cannot choose one themselves.

use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ports that the kernel gives to nobody who asks for any port, unless it is set up in an unusual way: this number of them, from
/// the first one on.
const FIRST: u32 = 12_000;
const NUMBER: u32 = 20_000;
/// Ports between those that two processes of tests begin with.
const APART: u32 = 127;

/// Ports that this process has taken.
static N_TAKEN: AtomicU32 = AtomicU32::new(0);

/// Returns a port of loopback that nobody uses. It is returned once.
///
/// # Panics
/// Panics if all are in use.
#[must_use]
#[expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]
pub fn unused() -> u16 {
    let next = || {
        let number = process::id().wrapping_mul(APART).wrapping_add(N_TAKEN.fetch_add(1, Ordering::Relaxed));
        u16::try_from(FIRST + number % NUMBER).ok()
    };
    let is_unused = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (0..NUMBER).filter_map(|_| next()).find(is_unused).expect("there is an unused port")
}
