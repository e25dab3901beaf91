//! Which of many connections have something to read.
//!
//! On Linux who asks is told of those alone, and pays for those alone: with thousands of connections a look at each, at every
//! turn, would take the cores from the service that is measured. Elsewhere each is looked at.

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

/// So many are told of at once.
#[cfg(target_os = "linux")]
const EVENTS_MAX: usize = 256;

/// Connections by their places.
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

    /// The connection at this place is a new one. One that is dropped is forgotten.
    pub(super) fn watch(&self, place: usize, connection: &Connection) -> io::Result<()> {
        let data = epoll::EventData::new_u64(place as u64);
        Ok(epoll::add(&self.epoll, connection, data, epoll::EventFlags::IN)?)
    }

    /// This one is closed, and nothing came in its place.
    pub(super) fn forget(&self, connection: &Connection) {
        epoll::delete(&self.epoll, connection).ok();
    }

    /// Waits at most so long. Places that have something to read, or are closed.
    pub(super) fn wait(&self, _all: &[Connection], patience: Duration) -> io::Result<Vec<usize>> {
        let ready = self.ready()?;
        if !ready.is_empty() {
            return Ok(ready);
        }
        // To the microsecond, which waiting for the events themselves is not.
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

    /// The connection at this place is a new one.
    pub(super) fn watch(&self, _place: usize, _connection: &Connection) -> io::Result<()> {
        Ok(())
    }

    /// This one is closed, and nothing came in its place.
    pub(super) fn forget(&self, _connection: &Connection) {}

    /// Waits at most so long. Places that have something to read, or are closed.
    pub(super) fn wait(&self, all: &[Connection], patience: Duration) -> io::Result<Vec<usize>> {
        let mut polled: Vec<PollFd<'_>> =
            all.iter().map(|connection| PollFd::new(connection, PollFlags::IN)).collect();
        wait_for(&mut polled, patience)?;
        let ready = polled.iter().enumerate().filter(|(_, one)| !one.revents().is_empty());
        Ok(ready.map(|(place, _)| place).collect())
    }
}

/// Until one of them is ready, or somebody interrupts, or so long.
fn wait_for(polled: &mut [PollFd<'_>], patience: Duration) -> io::Result<()> {
    let patience = Timespec::try_from(patience).map_err(|_| Errno::INVAL)?;
    match poll(polled, Some(&patience)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
