//! Finds the connections that have something to read.
//!
//! On Linux, epoll costs only as much as the ready connections. Polling thousands of connections at every turn would
//! take cores from the service under test. Other systems use poll.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::connection::Connection;

#[cfg(target_os = "linux")]
use {
    rustix::{event::epoll, fd::OwnedFd},
    std::mem::MaybeUninit,
};

#[cfg(target_os = "linux")]
const EVENTS_MAX: usize = 256;

/// Registered connections, by index.
#[derive(Debug)]
pub(super) struct ConnectionSchedule {
    #[cfg(target_os = "linux")]
    epoll: OwnedFd,
}

#[cfg(target_os = "linux")]
impl ConnectionSchedule {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Registers a new connection under this index. Closing the connection removes it.
    pub(super) fn watch(&self, slot: usize, connection: &Connection) -> io::Result<()> {
        let data = epoll::EventData::new_u64(slot as u64);
        Ok(epoll::add(&self.epoll, connection, data, epoll::EventFlags::IN)?)
    }

    /// Removes a closed connection that was not replaced.
    pub(super) fn remove(&self, connection: &Connection) {
        epoll::delete(&self.epoll, connection).ok();
    }

    /// Waits for at most `patience`. Returns the indices of connections that are readable or closed.
    pub(super) fn wait(&self, _all: &[Connection], patience: Duration) -> io::Result<Vec<usize>> {
        let ready = self.ready()?;
        if !ready.is_empty() {
            return Ok(ready);
        }
        // `poll` waits with finer resolution than `epoll_wait`, whose timeout is in milliseconds.
        wait_for(&mut [PollFd::new(&self.epoll, PollFlags::IN)], patience)?;
        self.ready()
    }

    fn ready(&self) -> io::Result<Vec<usize>> {
        let mut room = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS_MAX];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, &mut room, Some(&at_once)) {
            Ok((events, _)) => {
                Ok(events.iter().filter_map(|event| usize::try_from(event.data.u64()).ok()).collect())
            }
            Err(Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl ConnectionSchedule {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    pub(super) fn watch(&self, _slot: usize, _connection: &Connection) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn remove(&self, _connection: &Connection) {}

    pub(super) fn wait(&self, all: &[Connection], patience: Duration) -> io::Result<Vec<usize>> {
        let mut polled: Vec<PollFd<'_>> =
            all.iter().map(|connection| PollFd::new(connection, PollFlags::IN)).collect();
        wait_for(&mut polled, patience)?;
        let ready = polled.iter().enumerate().filter(|(_, one)| !one.revents().is_empty());
        Ok(ready.map(|(slot, _)| slot).collect())
    }
}

/// Waits until a descriptor is ready, a signal arrives, or `patience` has passed.
fn wait_for(polled: &mut [PollFd<'_>], patience: Duration) -> io::Result<()> {
    let patience = Timespec::try_from(patience).map_err(|_| Errno::INVAL)?;
    match poll(polled, Some(&patience)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
