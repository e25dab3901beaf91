//! Payments in one batch: a thread sends lines, another one counts the answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::corpus::Requests;
use super::error::BenchError;
use super::target::HttpTarget;
use super::wire::{HEAD_END, position};

/// Lines that are sent together.
const LINES: usize = 64;
/// The time to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends payments in one batch for this long, and waits for all answers. Returns how many were answered per second.
///
/// # Errors
/// When the service does not answer each of them with a verdict.
pub(super) fn run(target: &HttpTarget, requests: &Requests, duration: Duration) -> Result<f64, BenchError> {
    let io = BenchError::io;
    let stream = TcpStream::connect(target.address).map_err(io("connect"))?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(io("set a time limit"))?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(io("set a time limit"))?;
    let began = Instant::now();
    let (n_sent, n_answered) = thread::scope(|scope| {
        let sending = scope.spawn(|| send(&stream, target, requests, began + duration));
        let answered = receive(&stream);
        let sent = sending.join().map_err(|_| BenchError::Nothing("the sender panicked".to_owned()))?;
        Ok::<_, BenchError>((sent.map_err(io("send a batch"))?, answered?))
    })?;
    if n_sent != n_answered || n_sent == 0 {
        return Err(BenchError::Answer(format!("{n_answered} of {n_sent} lines got a verdict")));
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    Ok(n_answered as f64 / began.elapsed().as_secs_f64())
}

fn send(
    mut stream: &TcpStream,
    target: &HttpTarget,
    requests: &Requests,
    end: Instant,
) -> std::io::Result<usize> {
    let head = format!(
        "POST /inject/batch HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n",
        target.host
    );
    stream.write_all(head.as_bytes())?;
    let (mut lines, mut body, mut n_sent) = (Vec::new(), Vec::new(), 0);
    while Instant::now() < end {
        lines.clear();
        for _ in 0..LINES {
            requests.write_body(&mut body);
            lines.extend_from_slice(&body);
            lines.push(b'\n');
        }
        let frame = format!("{:x}\r\n", lines.len());
        stream.write_all(&[frame.as_bytes(), &lines, b"\r\n"].concat())?;
        n_sent += LINES;
    }
    stream.write_all(b"0\r\n\r\n")?;
    Ok(n_sent)
}

/// Counts the verdicts until the response ends.
fn receive(mut stream: &TcpStream) -> Result<usize, BenchError> {
    let mut buffer = vec![0; 256 * 1024];
    let (mut n_answered, mut n_kept, mut has_head) = (0, 0, false);
    loop {
        let rest = buffer.get_mut(n_kept..).unwrap_or_default();
        let n_read = stream.read(rest).map_err(BenchError::io("read an answer"))?;
        if n_read == 0 {
            return Err(BenchError::Answer("the connection ended before the response".to_owned()));
        }
        let bytes = buffer.get(..n_kept + n_read).unwrap_or_default();
        let mut start = 0;
        if !has_head {
            let Some(head_end) = position(bytes, HEAD_END) else {
                n_kept = bytes.len();
                continue;
            };
            if !bytes.starts_with(b"HTTP/1.1 200 ") {
                return Err(BenchError::Answer(String::from_utf8_lossy(bytes).into_owned()));
            }
            (has_head, start) = (true, head_end + HEAD_END.len());
        }
        // The frames of chunks end with two characters, answers with one.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(start, |last| last + 1);
        for line in bytes.get(start..end).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            if line == b"0\r\n" {
                return Ok(n_answered);
            }
            if !line.ends_with(b"\r\n") {
                if !line.starts_with(br#"{"transaction_id""#) {
                    return Err(BenchError::Answer(String::from_utf8_lossy(line).into_owned()));
                }
                n_answered += 1;
            }
        }
        buffer.copy_within(end..n_kept + n_read, 0);
        n_kept = n_kept + n_read - end;
    }
}
