//! Tests of body caps: how much of a body is read before it is refused, counted at the socket.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Counts the bytes that the server reads from its sockets.
struct Counting<T> {
    inner: T,
    n_bytes: Arc<AtomicUsize>,
}

impl Listener for Counting<TcpListener> {
    type Io = Counting<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        let (inner, address) = self.inner.accept().await.unwrap();
        (Counting { inner, n_bytes: Arc::clone(&self.n_bytes) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl AsyncRead for Counting<TcpStream> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.n_bytes.fetch_add(buffer.filled().len() - before, Ordering::Relaxed);
        polled
    }
}

impl AsyncWrite for Counting<TcpStream> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Far longer than any conversation here takes, even on a busy machine.
const TALK_MAX: Duration = Duration::from_secs(120);

/// Runs `talk` against a new server; returns its result and the number of bytes that the server read.
fn served<T, F: Future<Output = T>>(talk: impl FnOnce(TcpStream) -> F) -> (T, usize) {
    let fixture = Fixture::new();
    fixture.runtime.block_on(async {
        let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, n_bytes) = (inner.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let listener = Counting { inner, n_bytes: Arc::clone(&n_bytes) };
        let server = tokio::spawn(axum::serve(listener, fixture.router()).into_future());
        let talk = talk(TcpStream::connect(address).await.unwrap());
        let said = tokio::time::timeout(TALK_MAX, talk).await.expect("neither side waits for the other");
        server.abort();
        (said, n_bytes.load(Ordering::Relaxed))
    })
}

/// Writes until everything is written or the server responds.
async fn write(stream: &TcpStream, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        tokio::select! {
            biased;
            _ = stream.readable() => return false,
            _ = stream.writable() => match stream.try_write(bytes) {
                Ok(n_written) => bytes = &bytes[n_written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
    }
    true
}

/// Writes everything, even if the server responds meanwhile.
async fn send_all(stream: TcpStream, bytes: Vec<u8>) -> TcpStream {
    let mut left = bytes.as_slice();
    while !left.is_empty() {
        stream.writable().await.unwrap();
        match stream.try_write(left) {
            Ok(n_written) => left = &left[n_written..],
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}"),
        }
    }
    stream
}

/// Reads to the end of the connection or to the first error.
async fn read(stream: &TcpStream) -> String {
    let (mut read, mut piece) = (Vec::new(), [0; 4096]);
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut piece) {
            Ok(0) => break,
            Ok(n_read) => read.extend_from_slice(&piece[..n_read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    String::from_utf8(read).unwrap()
}

fn head(path: &str, headers: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\r\n")
}

/// Bytes that the HTTP server may read from a socket at once.
const READ_AHEAD_BYTES_MAX: usize = 512 * 1024;

const PATHS: [(&str, usize); 3] =
    [("/inject", 64 * 1024), ("/ledgerwebhook", 256 * 1024), ("/compile-and-save-instruction", 128 * 1024)];

#[track_caller]
fn check_too_large(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("\"code\":\"body_too_large\""), "{answer}");
}

#[test]
fn a_body_without_end_is_read_up_to_the_cap_and_no_further() {
    for (path, bytes_max) in PATHS {
        let (answer, n_bytes) = served(async |stream| {
            let piece = [b"1000\r\n", [b' '; 0x1000].as_slice(), b"\r\n"].concat();
            let mut taken = write(&stream, head(path, "Transfer-Encoding: chunked\r\n").as_bytes()).await;
            while taken {
                taken = write(&stream, &piece).await;
            }
            read(&stream).await
        });
        check_too_large(&answer);
        assert!(n_bytes > bytes_max, "{path}: {n_bytes}");
        // Read-ahead, and bytes discarded so that the response arrives.
        assert!(n_bytes <= bytes_max + READ_AHEAD_BYTES_MAX + linger::LINGER_BYTES_MAX, "{path}: {n_bytes}");
    }
}

#[test]
fn an_announced_length_over_the_cap_is_refused_before_the_body_is_read() {
    for (path, bytes_max) in PATHS {
        let (answer, n_bytes) = served(async |stream| {
            let head = head(path, &format!("Content-Length: {}\r\nExpect: 100-continue\r\n", bytes_max + 1));
            write(&stream, head.as_bytes()).await;
            let answer = read(&stream).await;
            (answer, head.len())
        });
        check_too_large(&answer.0);
        assert_eq!(n_bytes, answer.1, "the head alone was read");
    }
}

#[test]
fn a_client_that_sends_all_before_it_reads_gets_its_refusal() {
    for (path, bytes_max) in PATHS {
        for n_sent in [bytes_max + 1, linger::ANNOUNCED_BYTES_MAX] {
            let (answer, n_bytes) = served(async |stream| {
                let head = head(path, &format!("Content-Length: {n_sent}\r\n"));
                let request = [head.into_bytes(), vec![b' '; n_sent]].concat();
                let stream = send_all(stream, request).await;
                read(&stream).await
            });
            check_too_large(&answer);
            assert!(n_bytes > n_sent, "{path}: {n_bytes}");
        }
    }
}

#[test]
fn a_client_that_takes_its_time_to_send_all_gets_its_refusal() {
    // One second in total.
    const PAUSE: Duration = Duration::from_millis(60);
    const PIECE_BYTES: usize = 16 * 1024;
    let (path, bytes_max) = ("/ledgerwebhook", 256 * 1024);
    let (answer, n_bytes) = served(async |mut stream| {
        write(&stream, head(path, &format!("Content-Length: {}\r\n", bytes_max + PIECE_BYTES)).as_bytes())
            .await;
        for _ in 0..=bytes_max / PIECE_BYTES {
            tokio::time::sleep(PAUSE).await;
            stream = send_all(stream, vec![b' '; PIECE_BYTES]).await;
        }
        read(&stream).await
    });
    check_too_large(&answer);
    assert!(n_bytes > bytes_max + PIECE_BYTES, "{n_bytes}");
}

#[test]
fn a_body_of_just_the_cap_is_read() {
    let fixture = Fixture::new();
    for (path, bytes_max) in PATHS {
        check_error(&fixture.send("POST", path, &[], vec![b' '; bytes_max]), "malformed_json");
        check_error(&fixture.send("POST", path, &[], vec![b' '; bytes_max + 1]), "body_too_large");
    }
}

#[test]
fn a_body_that_breaks_off_is_incomplete() {
    let (answer, _) = served(async |stream| {
        write(&stream, head("/inject", "Transfer-Encoding: chunked\r\n").as_bytes()).await;
        write(&stream, b"4\r\n{\"a\"\r\nnot a length\r\n").await;
        read(&stream).await
    });
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("\"code\":\"incomplete_body\""), "{answer}");
}
