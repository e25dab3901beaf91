//! The relay between a test client and a test remote.

use std::io::{Read as _, Write as _};

use parking_lot::Mutex;

use super::*;
use crate::network::SystemNetwork;

const LONG: Duration = Duration::from_secs(20);

/// A remote that reads one request head, sends these bytes, then waits for the end.
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

fn route(manner: RelayTransport, addresses: Vec<SocketAddr>) -> RelayRoute {
    RelayRoute {
        manner,
        authority: "git.example".to_owned(),
        path: "/a.git".to_owned(),
        service: GitService::Fetch,
        authorization: None,
        addresses,
        network: Arc::new(SystemNetwork),
        bytes_max: 1 << 20,
        time_max: LONG,
    }
}

/// Opens a relay that accepts this process as the worker.
fn open(route: RelayRoute) -> Relay {
    let relay = Relay::open(route).unwrap();
    relay.admit(std::process::id());
    relay
}

/// The worker's first request, with these fields.
fn listing(relay: &Relay, fields: &str) -> String {
    format!("GET /{}/info/refs?service=git-upload-pack HTTP/1.1\r\n{fields}\r\n", relay.way.key)
}

/// Sends a request and reads up to `n_bytes` of the response.
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
    let relay = open(route(RelayTransport::Plain, vec![address]));
    let request =
        listing(&relay, "Host: 127.0.0.1:9\r\nConnection: keep-alive\r\nAuthorization: x\r\nA: b\r\n");
    assert_eq!(ask(&relay, &request, 38), b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    drop(relay);
    let expected = "GET /a.git/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: git.example\r\nConnection: close\r\nA: b\r\n\r\n";
    assert_eq!(serving.join().unwrap(), expected);
}

#[test]
fn unknown_clients_are_refused_and_disturb_nobody() {
    let (address, serving) = remote(b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    let relay = open(route(RelayTransport::Plain, vec![address]));
    let key = relay.way.key.clone();
    let guess = "0".repeat(key.len());
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(("127.0.0.1", relay.port())).unwrap()).collect();
    for request in [
        "nonsense".to_owned(),
        "x".repeat(64 * 1024),
        "GET http://other.example/ HTTP/1.1".to_owned(),
        "CONNECT git.example:80 HTTP/1.1".to_owned(),
        "GET /info/refs?service=git-upload-pack HTTP/1.1".to_owned(),
        format!("GET /{guess}/info/refs?service=git-upload-pack HTTP/1.1"),
        // Even the worker may not request anything else.
        format!("GET /{key}/info/refs?service=git-receive-pack HTTP/1.1"),
        format!("GET /{key}/../other.git/info/refs?service=git-upload-pack HTTP/1.1"),
        format!("POST /{key}/git-receive-pack HTTP/1.1"),
        format!("DELETE /{key}/git-upload-pack HTTP/1.1"),
        format!("GET /{key} HTTP/1.1"),
    ] {
        assert_eq!(ask(&relay, &format!("{request}\r\n\r\n"), 1), b"", "{request}");
        assert_eq!(relay.cut(), None, "{request}");
    }
    assert_eq!(ask(&relay, &listing(&relay, ""), 12), b"HTTP/1.1 200");
    drop((relay, silent));
    assert!(serving.join().unwrap().starts_with("GET /a.git/info/refs?service=git-upload-pack "));
}

/// A network in which a connection completes only when the test allows it.
struct SlowNetwork {
    begun: std::sync::mpsc::SyncSender<()>,
    goes_on: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Network for SlowNetwork {
    fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(Vec::new())
    }

    fn connect(&self, address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
        self.begun.send(()).unwrap();
        self.goes_on.lock().recv().unwrap();
        TcpStream::connect_timeout(&address, patience)
    }
}

#[test]
fn unknown_clients_do_not_push_the_worker_out_while_it_waits_for_the_remote() {
    let (address, serving) = remote(b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    let (begun, has_begun) = std::sync::mpsc::sync_channel(1);
    let (go_on, goes_on) = std::sync::mpsc::sync_channel(1);
    let network = Arc::new(SlowNetwork { begun, goes_on: Mutex::new(goes_on) });
    let relay = open(RelayRoute { network, ..route(RelayTransport::Plain, vec![address]) });
    thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&relay, &listing(&relay, ""), 12));
        has_begun.recv_timeout(LONG).unwrap();
        let mut untrusted_modules: Vec<_> =
            (0..100).map(|_| TcpStream::connect(("127.0.0.1", relay.port())).unwrap()).collect();
        // Later connections evicted the first, so all of them have arrived.
        untrusted_modules[0].set_read_timeout(Some(LONG)).unwrap();
        assert_eq!(untrusted_modules[0].read(&mut [0]).unwrap(), 0);
        go_on.send(()).unwrap();
        assert_eq!(asking.join().unwrap(), b"HTTP/1.1 200");
    });
    drop(relay);
    serving.join().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn bytes_are_carried_for_the_worker_alone() {
    let (address, serving) = remote(b"hello".to_vec());
    let relay = Relay::open(route(RelayTransport::Raw, vec![address])).unwrap();
    let mut worker = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    relay.admit(worker.id());
    assert_eq!(ask(&relay, "stranger\r\n\r\n", 5), b"");
    worker.kill().unwrap();
    worker.wait().unwrap();
    relay.admit(std::process::id());
    assert_eq!(ask(&relay, "worker\r\n\r\n", 5), b"hello");
    drop(relay);
    assert_eq!(serving.join().unwrap(), "worker\r\n\r\n");
}

/// Serves one of these answers per connection, and returns the fields received.
fn remote_of_many(answers: Vec<&'static str>) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let served = answers.into_iter().map(|answer| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            let (mut request, mut piece) = (Vec::new(), [0; 1024]);
            while !request.ends_with(b"\r\n\r\n") {
                let n_bytes = stream.read(&mut piece).unwrap();
                request.extend_from_slice(&piece[..n_bytes]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        served.collect()
    });
    (address, serving)
}

#[test]
fn credentials_are_shown_when_they_are_asked_for_and_not_twice_in_vain() {
    let asking = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    let fine = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let (address, serving) = remote_of_many(vec![fine, asking, fine, asking]);
    let authorization = Some(Secret::new("Basic canary".to_owned()));
    let relay = open(RelayRoute { authorization, ..route(RelayTransport::Plain, vec![address]) });
    let answers: Vec<Vec<u8>> = (0..4).map(|_| ask(&relay, &listing(&relay, ""), 12)).collect();
    assert_eq!(answers, [&b"HTTP/1.1 200"[..], b"HTTP/1.1 401", b"HTTP/1.1 200", b""]);
    assert_eq!(relay.cut(), Some(RelayCut::Refused));
    drop(relay);
    let shown: Vec<bool> = serving
        .join()
        .unwrap()
        .iter()
        .map(|asked| asked.contains("Authorization: Basic canary\r\n"))
        .collect();
    assert_eq!(shown, [false, false, true, true]);
}

#[test]
fn a_remote_without_a_trusted_certificate_hears_nothing() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Not TLS, but an unsolicited HTTP response.
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).ok();
        received
    });
    let relay = open(route(RelayTransport::Tls("git.example".to_owned()), vec![address]));
    assert_eq!(ask(&relay, &listing(&relay, "Authorization: canary\r\n"), 12), b"HTTP/1.1 502");
    assert_eq!(relay.cut(), Some(RelayCut::Untrusted));
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
        let relay = open(route(RelayTransport::Plain, vec![address]));
        let request = format!("POST /{}/git-upload-pack HTTP/1.1\r\n{fields}\r\n\r\n{body}", relay.way.key);
        assert_eq!(ask(&relay, &request, 38), b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        drop(relay);
        assert!(
            serving
                .join()
                .unwrap()
                .starts_with("POST /a.git/git-upload-pack HTTP/1.1\r\nHost: git.example\r\n")
        );
    }
}

#[test]
fn an_answer_that_leads_elsewhere_does_not_arrive() {
    for answer in
        ["302 Found\r\nLocation: http://127.0.0.1:9/", "100 Continue", "301 x\r\nConnection: keep-alive", "x"]
    {
        let (address, serving) = remote(format!("HTTP/1.1 {answer}\r\n\r\n").into_bytes());
        let relay = open(route(RelayTransport::Plain, vec![address]));
        assert_eq!(ask(&relay, &listing(&relay, ""), 1), b"", "{answer}");
        assert_eq!(relay.cut(), Some(RelayCut::Elsewhere), "{answer}");
        drop(relay);
        serving.join().unwrap();
    }
}

#[test]
fn too_many_bytes_end_the_connection() {
    let (address, serving) = remote(vec![b'x'; 1 << 20]);
    let relay = open(RelayRoute { bytes_max: 1000, ..route(RelayTransport::Raw, vec![address]) });
    let answer = ask(&relay, "hello\r\n\r\n", 1 << 20);
    assert!(answer.len() < 1 << 20, "{}", answer.len());
    assert_eq!(relay.cut(), Some(RelayCut::TooLarge));
    drop(relay);
    serving.join().unwrap();
}

#[test]
fn a_remote_that_says_nothing_is_waited_for_only_so_long() {
    let (address, serving) = remote(Vec::new());
    let time_max = Duration::from_millis(300);
    let relay = open(RelayRoute { time_max, ..route(RelayTransport::Raw, vec![address]) });
    assert_eq!(ask(&relay, "hello\r\n\r\n", 1), b"");
    assert_eq!(relay.cut(), Some(RelayCut::TooSlow));
    drop(relay);
    serving.join().unwrap();
}

#[test]
fn an_unreachable_remote_is_answered_with_502() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let relay = open(route(RelayTransport::Plain, vec![closed]));
    let answer = ask(&relay, &listing(&relay, ""), 12);
    assert_eq!(answer, b"HTTP/1.1 502");
    assert_eq!(relay.cut(), Some(RelayCut::Unreachable));
}

#[test]
fn a_handshake_that_drips_is_over_when_time_is_up() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        // A handshake record, byte by byte: no single read reaches its timeout.
        let record = [0x16, 0x03, 0x03, 0x3f, 0xff].into_iter().chain(std::iter::repeat_n(0, 16_000));
        let mut received = [0; 1024];
        for byte in record {
            let _ = stream.read(&mut received);
            if stream.write_all(&[byte]).is_err() {
                return;
            }
        }
    });
    let started = Instant::now();
    let route = route(RelayTransport::Tls("git.example".to_owned()), vec![address]);
    let relay = open(RelayRoute { time_max: Duration::from_millis(400), ..route });
    ask(&relay, &listing(&relay, ""), 1);
    assert_eq!(relay.cut(), Some(RelayCut::TooSlow));
    drop(relay);
    serving.join().unwrap();
    assert!(started.elapsed() < CONNECT_TIMEOUT, "{:?}", started.elapsed());
}
