//! Tests of requests against a receiver that closes connections.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::*;

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
const TIME_MAX: Duration = Duration::from_secs(10);

/// Answers the first request of each connection, reads the next and closes without an answer.
async fn serve(listener: TcpListener, seen: mpsc::UnboundedSender<()>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let seen = seen.clone();
        tokio::spawn(async move {
            read_request(&mut stream, &seen).await;
            stream.write_all(ANSWER).await.unwrap();
            read_request(&mut stream, &seen).await;
        });
    }
}

async fn read_request(stream: &mut TcpStream, seen: &mpsc::UnboundedSender<()>) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"{}") {
        if stream.read_buf(&mut bytes).await.unwrap_or_default() == 0 {
            return;
        }
    }
    seen.send(()).unwrap();
}

/// Sends two messages over a kept connection. Returns whether the second was delivered, and how many requests arrived.
fn send_two(headers: &[(&'static str, String)]) -> (bool, usize) {
    // On one thread the connection is kept before the next message is sent.
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Secret::new(format!("http://{}/", listener.local_addr().unwrap()));
        let address = PeerAddress::read(&url, None, Protocol::Http).unwrap();
        let (seen, mut requests) = mpsc::unbounded_channel();
        let server = tokio::spawn(serve(listener, seen));
        let post = Post::new(TrustStore::of_the_system().unwrap(), TIME_MAX);
        post.send(&address, headers, "{}").await.unwrap();
        let second = post.send(&address, headers, "{}").await;
        server.abort();
        let n_requests = std::iter::from_fn(|| requests.try_recv().ok()).count();
        (second.is_ok(), n_requests)
    })
}

#[test]
fn a_message_with_an_id_is_sent_again_when_a_kept_connection_was_closed() {
    assert_eq!(send_two(&[("webhook-id", "msg_1".to_owned())]), (true, 3));
}

#[test]
fn a_message_without_an_id_is_not_sent_again() {
    assert_eq!(send_two(&[]), (false, 2));
}
