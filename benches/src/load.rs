//! Clients that keep a service busy, at as little cost as they can.

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

/// What came of a load.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Answers a second.
    pub per_second: f64,
    /// What half of the answers took at most.
    pub p50: Duration,
    /// What 99 of 100 took at most.
    pub p99: Duration,
}

/// Sends transactions of the corpus to `POST /inject` at this address, by so many clients with a connection each. Each client
/// sends its next one when the last is answered, so a slow service is asked less.
///
/// # Errors
/// When a connection breaks, or an answer is not 200.
pub fn closed_loop(
    address: &str,
    traffic: Traffic,
    n_clients: usize,
    duration: Duration,
) -> anyhow::Result<Load> {
    let until = Instant::now() + duration;
    send(address, traffic, n_clients, 0, |_| Instant::now() < until)
}

/// The same, for the transactions of these numbers.
///
/// # Errors
/// When a connection breaks, or an answer is not 200.
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
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut latencies = Vec::new();
    loop {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        if !is_wanted(number) {
            return Ok(latencies);
        }
        let random = &mut Random::seeded(number as u64 * 2 + 1);
        let body = traffic.body(random, number, Utc::now()).to_string();
        let head = format!(
            "POST /inject HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let sent = Instant::now();
        writer.write_all([head, body].concat().as_bytes())?;
        read_answer(&mut reader)?;
        latencies.push(sent.elapsed());
    }
}

/// Reads one answer, which must be 200 and tell its length.
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
