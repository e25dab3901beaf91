//! Tests of the client against a server that closes connections.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

use super::*;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const PAYMENT: &str = r#"{"transaction_id":"a","amount":1}"#;
const REPORT: &str = r#"{"event":"transaction.applied","data":{"transaction_id":"a"}}"#;
const NO_ID: &str = r#"{"script":"rule a { when amount > 1 then block }"}"#;

/// A server that answers the first request of each connection and reads the next without an answer, as one does whose idle
/// timeout has just passed.
struct ClosingServer {
    target: HttpTarget,
    /// The paths of all requests.
    paths: Arc<Mutex<Vec<String>>>,
}

impl ClosingServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let paths = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&paths);
        // The thread ends with the test process; it holds only sockets.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream);
                if let Some(path) = read_request(&mut reader) {
                    seen.lock().push(path);
                    reader.get_ref().write_all(OK).unwrap();
                    let next = read_request(&mut reader);
                    seen.lock().extend(next);
                }
            }
        });
        Self { target: HttpTarget { address, host: address.to_string(), pid: None }, paths }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let (mut path, mut n_bytes) = (None, 0);
    for line in reader.lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
        n_bytes = line.strip_prefix("Content-Length: ").map_or(n_bytes, |n| n.parse().unwrap());
    }
    reader.read_exact(&mut vec![0; n_bytes]).ok()?;
    path
}

/// Sends the same request twice, and checks how often the server saw it.
#[track_caller]
fn check(method: &str, path: &str, body: &str, n_seen: usize) {
    let server = ClosingServer::start();
    let mut client = Client::new(server.target.clone());
    for _ in 0..2 {
        assert_eq!(client.expect(200, method, path, body).unwrap(), "{}");
    }
    assert_eq!(*server.paths.lock(), vec![path; n_seen], "{method}");
}

#[test]
fn a_payment_with_an_id_is_sent_again_when_its_connection_was_closed() {
    check("POST", "/inject", PAYMENT, 3);
    check("POST", "/ledgerwebhook", REPORT, 3);
    check("GET", "/metrics", "", 3);
}

#[test]
fn a_request_without_an_id_has_its_own_connection_and_is_never_sent_again() {
    check("POST", "/compile-and-save-instruction", NO_ID, 2);
    check("POST", "/inject", r#"{"amount":1}"#, 2);
}

#[test]
fn payments_that_are_sent_at_once_survive_closed_connections() {
    let server = ClosingServer::start();
    // The server handles one connection after the other, so there is one client.
    let mut clients = [Client::new(server.target.clone())];
    for _ in 0..3 {
        let answers = expect_each(&mut clients, 200, ("POST", "/inject"), &[PAYMENT.to_owned()]);
        assert_eq!(answers.unwrap(), ["{}"]);
    }
}

#[test]
fn a_server_that_never_answers_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    let mut client = Client::new(HttpTarget { address, host: address.to_string(), pid: None });
    let error = client.send("POST", "/inject", PAYMENT).unwrap_err().to_string();
    assert!(error.contains("closed before the response"), "{error}");
}
