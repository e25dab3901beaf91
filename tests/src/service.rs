//! A running service: started, awaited, stopped or killed.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test it serves"
)]

use std::io;
use std::ops::Deref;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::client::Client;
use crate::home::Home;
use crate::log::{self, Log};
use crate::poll::{self, PATIENCE, Pauses};
use crate::process;
use crate::sample;

/// Number of log lines shown when a test fails.
const LINES_SHOWN: usize = 40;

/// The process, its address and its log. Killed when dropped.
#[derive(Debug)]
pub struct Service {
    child: Child,
    log: Log,
    address: String,
    client: Client,
    /// Keeps the folder until the process is gone.
    _home: Home,
}

/// A start that failed.
#[derive(Debug)]
pub struct Refusal {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// The complete log.
    pub log: Vec<String>,
}

impl Service {
    /// Starts on this home and waits until it is ready.
    ///
    /// # Panics
    /// Panics if it does not become ready.
    #[must_use]
    #[track_caller]
    pub fn start(home: &Home) -> Self {
        Self::try_start(home).unwrap_or_else(|refusal| {
            panic!("the service does not start: {:?}\n{}", refusal.code, refusal.log.join("\n"))
        })
    }

    /// Starts on this home and waits until it is ready or has ended.
    ///
    /// # Errors
    /// Returns an error if it ends.
    ///
    /// # Panics
    /// Panics if it does neither in time.
    #[track_caller]
    pub fn try_start(home: &Home) -> Result<Self, Refusal> {
        let mut service = Self::try_listen(home)?;
        match service.ended_before_it_was_ready() {
            Some(status) => {
                service.log.finish();
                Err(Refusal { code: status.code(), signal: status.signal(), log: service.log.lines() })
            }
            None => Ok(service),
        }
    }

    /// Starts on this home and waits until it listens, ready or not.
    ///
    /// # Panics
    /// Panics if it does not listen.
    #[must_use]
    #[track_caller]
    pub fn listen(home: &Home) -> Self {
        Self::try_listen(home).unwrap_or_else(|refusal| {
            panic!("the service does not start: {:?}\n{}", refusal.code, refusal.log.join("\n"))
        })
    }

    fn try_listen(home: &Home) -> Result<Self, Refusal> {
        let mut child = spawn(&mut home.serve()).expect("the binary can be started");
        let mut log = Log::new(child.stderr.take().expect("the log is piped"));
        let Some(address) = log.wait_for(PATIENCE, listening) else {
            let _ = child.kill();
            let status = child.wait().expect("the process can be waited for");
            log.finish();
            return Err(Refusal { code: status.code(), signal: status.signal(), log: log.lines() });
        };
        let client = Client::new(&address);
        Ok(Self { child, log, address, client, _home: home.clone() })
    }

    /// Starts on this home with this command and waits until it is ready. The caller handles standard error.
    ///
    /// # Panics
    /// Panics if it does not become ready.
    #[must_use]
    #[track_caller]
    pub fn start_unheard(home: &Home, mut command: Command) -> Self {
        let mut child = spawn(&mut command).expect("the binary can be started");
        // The command holds copies of the process's file descriptors.
        drop(command);
        let (deadline, mut pauses) = (Instant::now() + PATIENCE, Pauses::default());
        let port = loop {
            if let Some(port) = process::listening_port(child.id()) {
                break port;
            }
            let status = child.try_wait().expect("the process can be waited for");
            assert!(status.is_none() && Instant::now() < deadline, "the service does not listen: {status:?}");
            pauses.pause();
        };
        let address = format!("127.0.0.1:{port}");
        let client = Client::new(&address);
        let mut service = Self { child, log: Log::new(io::empty()), address, client, _home: home.clone() };
        let ended = service.ended_before_it_was_ready();
        assert!(ended.is_none(), "the service ended: {ended:?}");
        service
    }

    /// Starts on this home, kills it after this delay, ready or not, and waits until it is gone.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start_and_kill(home: &Home, after: Duration) {
        let mut child = spawn(&mut home.serve()).expect("the binary can be started");
        let mut log = Log::new(child.stderr.take().expect("the log is piped"));
        thread::sleep(after);
        let _ = child.kill();
        child.wait().expect("the process can be waited for");
        log.finish();
    }

    /// Waits until it is ready. Returns its exit status if it ends instead.
    #[track_caller]
    fn ended_before_it_was_ready(&mut self) -> Option<ExitStatus> {
        let (deadline, mut pauses) = (Instant::now() + PATIENCE, Pauses::default());
        while !self.client.send("GET", "/readyz", &[], &[]).is_ok_and(|answer| answer.status == 200) {
            if let Some(status) = self.child.try_wait().expect("the process can be waited for") {
                return Some(status);
            }
            assert!(Instant::now() < deadline, "the service does not become ready");
            pauses.pause();
        }
        None
    }

    /// Returns `127.0.0.1:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns a client with separate connections, for another thread.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(&self.address)
    }

    /// Returns its log so far.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Injects payments that are alike until one is approved: what holds payments for review may end a little later than the state
    /// that it is for. Returns its verdict and how many were sent.
    ///
    /// # Panics
    /// Panics if none is approved in time.
    #[track_caller]
    pub fn inject_until_approved(&self, id: &str) -> (Answer, usize) {
        let mut answers = Vec::new();
        self.until("a payment is approved", || {
            let id = format!("{id}-{}", answers.len());
            answers.push(self.client.inject_admitted(&sample::transaction(&id)));
            answers.last().is_some_and(|answer| answer.status == 200 && answer.at("/verdict") == "approve")
        });
        let n_sent = answers.len();
        (answers.pop().expect("one was sent"), n_sent)
    }

    /// Polls until a condition holds. Returns the time that took.
    ///
    /// # Panics
    /// Panics if it does not hold in time.
    #[track_caller]
    pub fn until(&self, what: &str, holds: impl FnMut() -> bool) -> Duration {
        poll::until(what, PATIENCE, holds)
    }

    /// Sends SIGTERM without waiting.
    ///
    /// # Panics
    /// Panics if the signal cannot be sent.
    pub fn terminate(&self) {
        process::signal(self.pid(), "TERM");
    }

    /// Stops it with SIGTERM. Returns its exit status and log.
    ///
    /// # Panics
    /// Panics if it does not end in time.
    #[track_caller]
    pub fn stop(self) -> (ExitStatus, Vec<String>) {
        self.terminate();
        self.wait()
    }

    /// Waits for its end. Returns its exit status and log.
    ///
    /// # Panics
    /// Panics if it does not end in time.
    #[track_caller]
    pub fn wait(mut self) -> (ExitStatus, Vec<String>) {
        let (deadline, mut pauses) = (Instant::now() + PATIENCE, Pauses::default());
        loop {
            if let Some(status) = self.child.try_wait().expect("the process can be waited for") {
                self.log.finish();
                return (status, self.log.lines());
            }
            assert!(Instant::now() < deadline, "the service does not end");
            pauses.pause();
        }
    }

    /// Kills it with SIGKILL and waits until it is gone.
    ///
    /// # Panics
    /// Panics if it has already ended.
    #[track_caller]
    pub fn kill(mut self) {
        let ended = self.child.try_wait().expect("the process can be waited for");
        assert!(ended.is_none(), "the service ended by itself: {ended:?}");
        self.end();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.log.finish();
    }
}

/// A service can be called like its client.
impl Deref for Service {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Service {
    #[expect(clippy::print_stderr, reason = "the log of a failed test belongs into its output")]
    fn drop(&mut self) {
        self.end();
        if thread::panicking() {
            let lines = self.log.lines();
            let hidden = lines.len().saturating_sub(LINES_SHOWN);
            eprintln!("the service's log, {hidden} earlier lines left out:");
            lines.iter().skip(hidden).for_each(|line| eprintln!("  {line}"));
        }
    }
}

fn listening(line: &str) -> Option<String> {
    let fields = log::fields(line)?;
    let is_listening = fields.get("message")?.as_str()? == "listening";
    let address = fields.get("address")?.as_str()?;
    is_listening.then(|| address.to_owned())
}

/// Starts a program. Waits while it is open for writing: a child that another thread starts in the moment in which a script is
/// written holds the file until it has become another program.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < deadline => {
                thread::yield_now();
            }
            spawned => return spawned,
        }
    }
}
