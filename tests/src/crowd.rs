//! Clients that are none: connections that keep the service waiting, thousands of them, and when each comes to its end.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use crate::answer::Answer;
use crate::wire;

/// Between two looks at whose turn it is to say something.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a client of one kind does.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// What it says at once.
    pub greeting: Vec<u8>,
    /// What it says then, over and over, byte by byte with so long between two; nothing when it is empty.
    pub trickle: (Vec<u8>, Duration),
    /// Whether it reads what it is told before the end.
    pub reads: bool,
}

/// How the connection of one came to its end.
#[derive(Debug)]
pub struct End {
    /// The name of its shape.
    pub name: &'static str,
    /// How long it lasted, from before it was opened.
    pub lasted: Duration,
    /// The last answer that it had not read until then.
    pub last_words: Option<Answer>,
}

/// All of them.
#[derive(Debug)]
pub struct Crowd {
    epoll: OwnedFd,
    shapes: Vec<Shape>,
    members: Vec<Option<Member>>,
    ends: Vec<End>,
    coming: Coming,
}

/// Who is still to come.
#[derive(Debug)]
struct Coming {
    address: String,
    n_wanted: usize,
    /// The time in which all come, one as long after the other as the next.
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
    /// So many connections of each shape, in turns: what [`Crowd::watch`] opens in so much time.
    ///
    /// # Panics
    /// When the system does not watch sockets.
    #[must_use]
    pub fn of(address: &str, shapes: &[Shape], n_of_each: usize, over: Duration) -> Self {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("the system watches sockets");
        let coming = Coming { address: address.to_owned(), n_wanted: n_of_each * shapes.len(), over };
        Self { epoll, shapes: shapes.to_vec(), members: Vec::new(), ends: Vec::new(), coming }
    }

    /// Opens those whose time it is, as many as have come due since the last look.
    fn come(&mut self, elapsed: Duration) {
        let Coming { n_wanted, over, .. } = self.coming;
        let share = if elapsed >= over { 1.0 } else { elapsed.as_secs_f64() / over.as_secs_f64() };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a whole")]
        let n_due = (n_wanted as f64 * share) as usize;
        while self.members.len() < n_due {
            self.add(self.members.len() % self.shapes.len());
        }
    }

    fn add(&mut self, place: usize) {
        let Some(shape) = self.shapes.get(place) else { return };
        let opened = Instant::now();
        let mut stream = TcpStream::connect(&self.coming.address).expect("the service takes connections");
        // Whoever is refused at once may be gone again.
        let _ = stream.write_all(&shape.greeting);
        stream.set_nonblocking(true).expect("a socket can do without blocking");
        let what = if shape.reads { epoll::EventFlags::IN } else { epoll::EventFlags::empty() };
        let number = epoll::EventData::new_u64(self.members.len() as u64);
        epoll::add(&self.epoll, &stream, number, what | epoll::EventFlags::RDHUP)
            .expect("a socket is watched");
        self.members.push(Some(Member { stream, shape: place, opened, spoke: opened, n_said: 0 }));
    }

    /// How many have no end yet.
    fn n_open(&self) -> usize {
        self.coming.n_wanted - self.ends.len()
    }

    /// Opens all, and goes on until they are at their end, or the time is over; the ends, and how many have none.
    ///
    /// # Panics
    /// When the system does not watch any more, or the service is not there.
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

    /// Something happened to this one: it was told something, or it is over.
    fn look(&mut self, number: usize) {
        let Some(place) = self.members.get_mut(number) else { return };
        let Some(member) = place else { return };
        let mut heard = Vec::new();
        // The end of what can be read is the end, unless there is only nothing more for now.
        let is_over = match member.stream.read_to_end(&mut heard) {
            Ok(_) => true,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        };
        if is_over {
            let name = self.shapes.get(member.shape).map_or("", |shape| shape.name);
            let last_words = wire::answers(&heard).pop();
            self.ends.push(End { name, lasted: member.opened.elapsed(), last_words });
            *place = None;
        }
    }

    /// Whose turn it is says a byte.
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
