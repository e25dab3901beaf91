//! Thousands of misbehaving connections that keep the service waiting, and the time at which each one ends.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use crate::answer::Answer;
use crate::wire;

/// Interval between two rounds of sending.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Behaviour of one kind of client.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Name of the shape.
    pub name: &'static str,
    /// Bytes sent on connect.
    pub greeting: Vec<u8>,
    /// Bytes sent afterwards in a loop, one at a time, with this pause between two. May be empty.
    pub trickle: (Vec<u8>, Duration),
    /// Whether the client reads responses before the connection ends.
    pub reads: bool,
}

/// The end of one connection.
#[derive(Debug)]
pub struct End {
    /// Name of the shape.
    pub name: &'static str,
    /// Duration of the connection, measured from before it was opened.
    pub lasted: Duration,
    /// The last response that was still unread.
    pub last_words: Option<Answer>,
}

/// A set of connections of several shapes.
#[derive(Debug)]
pub struct Crowd {
    epoll: OwnedFd,
    shapes: Vec<Shape>,
    members: Vec<Option<Member>>,
    ends: Vec<End>,
    coming: Coming,
}

/// Connections still to be opened.
#[derive(Debug)]
struct Coming {
    address: String,
    n_wanted: usize,
    /// Period over which the connections are opened, at equal intervals.
    over: Duration,
}

#[derive(Debug)]
struct Member {
    stream: TcpStream,
    shape: usize,
    opened: Instant,
    spoke: Instant,
    n_said: usize,
}

impl Crowd {
    /// Creates `n_of_each` connections of each shape, in alternation. [`Crowd::watch`] opens them over the period
    /// `over`.
    ///
    /// # Panics
    /// Panics if epoll is unavailable.
    #[must_use]
    pub fn new(address: &str, shapes: &[Shape], n_of_each: usize, over: Duration) -> Self {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("the system watches sockets");
        let coming = Coming { address: address.to_owned(), n_wanted: n_of_each * shapes.len(), over };
        Self { epoll, shapes: shapes.to_vec(), members: Vec::new(), ends: Vec::new(), coming }
    }

    /// Opens the connections that are due.
    fn come(&mut self, elapsed: Duration) {
        let Coming { n_wanted, over, .. } = self.coming;
        let share = if elapsed >= over { 1.0 } else { elapsed.as_secs_f64() / over.as_secs_f64() };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a whole")]
        let n_due = (n_wanted as f64 * share) as usize;
        while self.members.len() < n_due {
            self.add(self.members.len() % self.shapes.len());
        }
    }

    fn add(&mut self, index: usize) {
        let Some(shape) = self.shapes.get(index) else { return };
        let opened = Instant::now();
        let mut stream = TcpStream::connect(&self.coming.address).expect("the service takes connections");
        // A service that rejects the connection may already have closed it.
        let _ = stream.write_all(&shape.greeting);
        stream.set_nonblocking(true).expect("a socket can do without blocking");
        let what = if shape.reads { epoll::EventFlags::IN } else { epoll::EventFlags::empty() };
        let number = epoll::EventData::new_u64(self.members.len() as u64);
        epoll::add(&self.epoll, &stream, number, what | epoll::EventFlags::RDHUP)
            .expect("a socket is watched");
        self.members.push(Some(Member { stream, shape: index, opened, spoke: opened, n_said: 0 }));
    }

    /// Returns the number of connections that have not ended.
    fn n_open(&self) -> usize {
        self.coming.n_wanted - self.ends.len()
    }

    /// Opens all connections and waits until each has ended or the time is over. Returns the ends and the number still
    /// open.
    ///
    /// # Panics
    /// Panics if epoll fails or the service is not reachable.
    pub fn watch(mut self, within: Duration) -> (Vec<End>, usize) {
        let start = Instant::now();
        let mut spoken = start;
        while self.n_open() > 0 && start.elapsed() < within {
            self.come(start.elapsed());
            let mut events = Vec::with_capacity(1024);
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_EVERY.subsec_nanos()) };
            epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout))
                .expect("sockets are watched");
            for event in events {
                self.look(usize::try_from(event.data.u64()).expect("a number of ours"));
            }
            if spoken.elapsed() >= LOOK_EVERY {
                spoken = Instant::now();
                self.speak();
            }
        }
        let n_open = self.n_open();
        (self.ends, n_open)
    }

    /// Handles an event of one connection: data or its end.
    fn look(&mut self, number: usize) {
        let Some(slot) = self.members.get_mut(number) else { return };
        let Some(member) = slot else { return };
        let mut received = Vec::new();
        // End of file means the end, unless the read would block.
        let is_over = match member.stream.read_to_end(&mut received) {
            Ok(_) => true,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        };
        if is_over {
            let name = self.shapes.get(member.shape).map_or("", |shape| shape.name);
            let last_words = wire::answers(&received).pop();
            self.ends.push(End { name, lasted: member.opened.elapsed(), last_words });
            *slot = None;
        }
    }

    /// Sends one byte on each connection whose pause is over.
    fn speak(&mut self) {
        for member in self.members.iter_mut().flatten() {
            let Some(Shape { trickle: (text, pause), .. }) = self.shapes.get(member.shape) else { continue };
            let byte = text.get(member.n_said % text.len().max(1));
            if let Some(byte) = byte.filter(|_| member.spoke.elapsed() >= *pause) {
                let _ = member.stream.write(&[*byte]);
                member.spoke = Instant::now();
                member.n_said += 1;
            }
        }
    }
}
