//! The relay between a client and a remote of the test's own.

use std::io::{Read as _, Write as _};

use super::*;

const LONG: Duration = Duration::from_secs(20);

/// A remote that reads one request head and answers these bytes, then waits for the end.
fn remote(answer: Vec<u8>) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 1024];
        while !request.ends_with(b"\r\n\r\n") {
            let n_bytes = stream.read(&mut piece).unwrap_or(0);
            if n_bytes == 0 {
                break;
            }
            request.extend_from_slice(&piece[..n_bytes]);
        }
        stream.write_all(&answer).ok();
        // Until the relay closes.
        while stream.read(&mut piece).is_ok_and(|n_bytes| n_bytes > 0) {}
        String::from_utf8_lossy(&request).into_owned()
    });
    (address, serving)
}

fn route(manner: Manner, addresses: Vec<SocketAddr>) -> Route {
    Route { manner, authority: "git.example".to_owned(), addresses, bytes_max: 1 << 20, time_max: LONG }
}

/// Everything that comes back for a request.
fn ask(relay: &Relay, request: &str, n_bytes: usize) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.take(n_bytes as u64).read_to_end(&mut answer).ok();
    answer
}

#[test]
fn a_request_arrives_as_the_server_expects_it() {
    let (address, serving) = remote(b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    let relay = Relay::open(route(Manner::Plain, vec![address])).unwrap();
    let request =
        "GET /a/info/refs?x=1 HTTP/1.1\r\nHost: 127.0.0.1:9\r\nConnection: keep-alive\r\nA: b\r\n\r\n";
    assert_eq!(ask(&relay, request, 38), b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    drop(relay);
    let expected = "GET /a/info/refs?x=1 HTTP/1.1\r\nHost: git.example\r\nConnection: close\r\nA: b\r\n\r\n";
    assert_eq!(serving.join().unwrap(), expected);
}

#[test]
fn what_is_no_request_to_the_remote_is_not_sent_on() {
    for request in ["GET http://other.example/ HTTP/1.1", "CONNECT git.example:80 HTTP/1.1", "nonsense"] {
        let (address, serving) = remote(Vec::new());
        let relay = Relay::open(route(Manner::Plain, vec![address])).unwrap();
        assert_eq!(ask(&relay, &format!("{request}\r\n\r\n"), 1), b"", "{request}");
        assert_eq!(relay.cut(), Some(Cut::Elsewhere), "{request}");
        drop(relay);
        assert_eq!(serving.join().unwrap(), "");
    }
}

#[test]
fn a_remote_without_a_trusted_certificate_hears_nothing() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // No TLS, and not as if it were waiting for any.
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).ok();
        heard
    });
    let relay = Relay::open(route(Manner::Tls("git.example".to_owned()), vec![address])).unwrap();
    assert_eq!(ask(&relay, "GET /a HTTP/1.1\r\nAuthorization: canary\r\n\r\n", 12), b"HTTP/1.1 502");
    assert_eq!(relay.cut(), Some(Cut::Untrusted));
    drop(relay);
    assert!(!serving.join().unwrap().windows(6).any(|six| six == b"canary"));
}

#[test]
fn a_body_goes_through_in_either_form() {
    for (fields, body) in [
        ("Content-Length: 9", "01234\r\n\r\n"),
        ("Transfer-Encoding: chunked", "5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n"),
    ] {
        let (address, serving) = remote(b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
        let relay = Relay::open(route(Manner::Plain, vec![address])).unwrap();
        let request = format!("POST /a HTTP/1.1\r\n{fields}\r\n\r\n{body}");
        assert_eq!(ask(&relay, &request, 38), b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        drop(relay);
        assert!(serving.join().unwrap().starts_with("POST /a HTTP/1.1\r\nHost: git.example\r\n"));
    }
}

#[test]
fn an_answer_that_leads_elsewhere_does_not_arrive() {
    for answer in
        ["302 Found\r\nLocation: http://127.0.0.1:9/", "100 Continue", "301 x\r\nConnection: keep-alive", "x"]
    {
        let (address, serving) = remote(format!("HTTP/1.1 {answer}\r\n\r\n").into_bytes());
        let relay = Relay::open(route(Manner::Plain, vec![address])).unwrap();
        assert_eq!(ask(&relay, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", 1), b"", "{answer}");
        assert_eq!(relay.cut(), Some(Cut::Elsewhere), "{answer}");
        drop(relay);
        serving.join().unwrap();
    }
}

#[test]
fn too_many_bytes_end_the_connection() {
    let (address, serving) = remote(vec![b'x'; 1 << 20]);
    let relay = Relay::open(Route { bytes_max: 1000, ..route(Manner::Raw, vec![address]) }).unwrap();
    let answer = ask(&relay, "hello\r\n\r\n", 1 << 20);
    assert!(answer.len() < 1 << 20, "{}", answer.len());
    assert_eq!(relay.cut(), Some(Cut::TooLarge));
    drop(relay);
    serving.join().unwrap();
}

#[test]
fn a_remote_that_says_nothing_is_waited_for_only_so_long() {
    let (address, serving) = remote(Vec::new());
    let time_max = Duration::from_millis(300);
    let relay = Relay::open(Route { time_max, ..route(Manner::Raw, vec![address]) }).unwrap();
    assert_eq!(ask(&relay, "hello\r\n\r\n", 1), b"");
    assert_eq!(relay.cut(), Some(Cut::TooSlow));
    drop(relay);
    serving.join().unwrap();
}

#[test]
fn nobody_at_any_address_is_said() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let relay = Relay::open(route(Manner::Plain, vec![closed])).unwrap();
    let answer = ask(&relay, "GET / HTTP/1.1\r\n\r\n", 12);
    assert_eq!(answer, b"HTTP/1.1 502");
    assert_eq!(relay.cut(), Some(Cut::Unreachable));
}

#[test]
fn a_handshake_that_drips_is_over_when_time_is_up() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        // A record of the handshake, byte by byte: each comes well before patience with a single read ends.
        let record = [0x16, 0x03, 0x03, 0x3f, 0xff].into_iter().chain(std::iter::repeat_n(0, 16_000));
        let mut heard = [0; 1024];
        for byte in record {
            let _ = stream.read(&mut heard);
            if stream.write_all(&[byte]).is_err() {
                return;
            }
        }
    });
    let started = Instant::now();
    let route = route(Manner::Tls("git.example".to_owned()), vec![address]);
    let relay = Relay::open(Route { time_max: Duration::from_millis(400), ..route }).unwrap();
    ask(&relay, "GET /a HTTP/1.1\r\n\r\n", 1);
    assert_eq!(relay.cut(), Some(Cut::TooSlow));
    drop(relay);
    serving.join().unwrap();
    assert!(started.elapsed() < CONNECT_TIMEOUT, "{:?}", started.elapsed());
}
