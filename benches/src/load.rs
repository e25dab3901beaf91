//! Load generators with minimal overhead.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use chrono::Utc;

use crate::corpus::Traffic;
use crate::random::Random;

/// The result of a load.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Responses per second.
    pub per_second: f64,
    /// Median latency.
    pub p50: Duration,
    /// 99th percentile of the latency.
    pub p99: Duration,
}

/// Sends transactions of the corpus over this many connections for `duration`. Each client waits for the response
/// before it sends the next transaction, so a slow service receives fewer.
///
/// # Errors
/// Returns an error if a connection breaks or a response is not 200.
pub fn closed_loop(
    address: &str,
    traffic: Traffic,
    n_clients: usize,
    duration: Duration,
) -> anyhow::Result<Load> {
    let until = Instant::now() + duration;
    send(address, traffic, n_clients, 0, |_| Instant::now() < until)
}

/// Sends the transactions of these numbers in the same way.
///
/// # Errors
/// Returns an error if a connection breaks or a response is not 200.
pub fn closed_loop_of(
    address: &str,
    traffic: Traffic,
    n_clients: usize,
    numbers: Range<usize>,
) -> anyhow::Result<Load> {
    send(address, traffic, n_clients, numbers.start, |number| number < numbers.end)
}

fn send(
    address: &str,
    traffic: Traffic,
    n_clients: usize,
    first: usize,
    is_wanted: impl Fn(usize) -> bool + Sync,
) -> anyhow::Result<Load> {
    let numbers = AtomicUsize::new(first);
    let started = Instant::now();
    let latencies: anyhow::Result<Vec<Vec<Duration>>> = thread::scope(|scope| {
        let clients: Vec<_> = (0..n_clients)
            .map(|_| scope.spawn(|| keep_sending(address, traffic, &numbers, &is_wanted)))
            .collect();
        clients.into_iter().map(|client| client.join().ok().context("a client panicked")?).collect()
    });
    let elapsed = started.elapsed().as_secs_f64();
    let mut latencies = latencies?.concat();
    latencies.sort();
    let at =
        |share: usize| latencies.get(latencies.len() * share / 100).copied().context("no answer arrived");
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let n = latencies.len() as f64;
    Ok(Load { per_second: n / elapsed, p50: at(50)?, p99: at(99)? })
}

fn keep_sending(
    address: &str,
    traffic: Traffic,
    numbers: &AtomicUsize,
    is_wanted: impl Fn(usize) -> bool,
) -> anyhow::Result<Vec<Duration>> {
    let mut client = Client::connect(address, traffic)?;
    let mut latencies = Vec::new();
    loop {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        if !is_wanted(number) {
            return Ok(latencies);
        }
        latencies.push(client.inject(number)?.elapsed());
    }
}

/// Sends transactions of the corpus from `first` on at a fixed rate while `goes_on` holds, over several connections in
/// turn. Latencies count from the due time of a request, so that queueing behind a slow response is included.
///
/// # Errors
/// Returns an error if a connection breaks or a response is not 200.
pub fn open_loop(
    address: &str,
    traffic: Traffic,
    n_clients: u32,
    per_second: f64,
    first: usize,
    goes_on: impl Fn() -> bool + Sync,
) -> anyhow::Result<Vec<Duration>> {
    let interval = Duration::from_secs_f64(1.0 / per_second);
    let (numbers, goes_on) = (AtomicUsize::new(first), &goes_on);
    let begun = Instant::now();
    let latencies: anyhow::Result<Vec<Vec<Duration>>> = thread::scope(|scope| {
        let keep_pace = |client_number: u32| -> anyhow::Result<Vec<Duration>> {
            let mut client = Client::connect(address, traffic)?;
            let mut latencies = Vec::new();
            let mut due = begun + interval * client_number;
            while goes_on() {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                client.inject(numbers.fetch_add(1, Ordering::Relaxed))?;
                latencies.push(due.elapsed());
                due += interval * n_clients;
            }
            Ok(latencies)
        };
        let clients: Vec<_> = (0..n_clients).map(|number| scope.spawn(move || keep_pace(number))).collect();
        clients.into_iter().map(|client| client.join().ok().context("a client panicked")?).collect()
    });
    Ok(latencies?.concat())
}

/// A connection.
struct Client<'a> {
    address: &'a str,
    traffic: Traffic,
    writer: TcpStream,
    reader: BufReader<TcpStream>,
}

impl<'a> Client<'a> {
    fn connect(address: &'a str, traffic: Traffic) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { address, traffic, writer: stream.try_clone()?, reader: BufReader::new(stream) })
    }

    /// Sends a transaction and waits for its verdict. Returns the time of sending.
    fn inject(&mut self, number: usize) -> anyhow::Result<Instant> {
        let random = &mut Random::seeded(number as u64 * 2 + 1);
        let body = self.traffic.body(random, number, Utc::now()).to_string();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.traffic.path(),
            self.address,
            body.len()
        );
        let sent = Instant::now();
        self.writer.write_all([head, body].concat().as_bytes())?;
        read_answer(&mut self.reader)?;
        Ok(sent)
    }
}

/// Reads one response, which must be 200 with a content length.
fn read_answer(reader: &mut BufReader<TcpStream>) -> anyhow::Result<()> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    ensure!(line.starts_with("HTTP/1.1 200"), "answered {line:?}");
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(())
}
