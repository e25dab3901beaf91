//! Resolving and reaching a remote by name, in a test network.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use parking_lot::Mutex;

use super::*;

/// A public address; no test connects to it.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);

/// A name server whose answer changes with each query, and a network that leads only to this machine.
struct Rebinding {
    answers: Mutex<Vec<Vec<Ipv4Addr>>>,
    n_questions: Mutex<usize>,
    connected: Mutex<Vec<SocketAddr>>,
}

impl Rebinding {
    fn new(answers: &[&[Ipv4Addr]]) -> Arc<Self> {
        let answers = Mutex::new(answers.iter().map(|answer| answer.to_vec()).collect());
        Arc::new(Self { answers, n_questions: Mutex::default(), connected: Mutex::default() })
    }
}

impl Network for Rebinding {
    fn resolve(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        *self.n_questions.lock() += 1;
        let addresses = self.answers.lock().remove(0);
        Ok(addresses.into_iter().map(|address| (address, port).into()).collect())
    }

    fn connect(&self, address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
        self.connected.lock().push(address);
        if !address.ip().is_loopback() {
            return Err(io::ErrorKind::HostUnreachable.into());
        }
        TcpStream::connect_timeout(&address, patience)
    }
}

/// A remote given by name; any public address is allowed.
fn remote(port: u16) -> Remote {
    let (address, credentials) =
        RepositoryAddress::parse(&format!("http://rebinding.example:{port}/rules.git")).unwrap();
    let reach = NetworkPolicy { schemes: vec![Scheme::Http], hosts: Vec::new(), allow_private: false };
    Remote { address, credentials, ssh: SshIdentity::default(), reach }
}

fn set_out(port: u16, network: &Arc<Rebinding>) -> Result<Option<Relay>, GitError> {
    let network: Arc<dyn Network> = Arc::clone(network) as Arc<dyn Network>;
    remote(port).set_out(GitService::Fetch, Duration::from_secs(20), network)
}

/// Sends a worker's request and returns the response.
fn ask(relay: &Relay) -> String {
    let url = relay.url();
    let path = url.splitn(4, '/').nth(3).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!("GET /{path}/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).ok();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok();
    answer
}

#[test]
fn a_name_that_turns_to_loopback_leads_nowhere() {
    let inside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    inside.set_nonblocking(true).unwrap();
    let port = inside.local_addr().unwrap().port();
    let network = Rebinding::new(&[&[PUBLIC], &[Ipv4Addr::LOCALHOST], &[Ipv4Addr::LOCALHOST]]);
    let relay = set_out(port, &network).unwrap().unwrap();
    assert!(ask(&relay).starts_with("HTTP/1.1 502"));
    ask(&relay);
    assert_eq!(relay.cut(), Some(RelayCut::Unreachable));
    drop(relay);
    assert_eq!((*network.n_questions.lock(), &*network.connected.lock()), (1, &vec![(PUBLIC, port).into()]));
    // The next operation resolves again, and is refused before it connects.
    assert!(matches!(set_out(port, &network), Err(GitError::NotAllowed(_))));
    assert_eq!((*network.n_questions.lock(), network.connected.lock().len()), (2, 1));
    let nobody = inside.accept().unwrap_err();
    assert_eq!(nobody.kind(), io::ErrorKind::WouldBlock, "nobody came");
    println!("name server: public, then 127.0.0.1: 2 operations, 0 connections to loopback");
}

#[test]
fn one_private_address_condemns_a_name() {
    for hidden in [Ipv4Addr::LOCALHOST, Ipv4Addr::new(169, 254, 169, 254), Ipv4Addr::new(10, 0, 0, 1)] {
        let network = Rebinding::new(&[&[PUBLIC, hidden]]);
        assert!(matches!(set_out(80, &network), Err(GitError::NotAllowed(_))), "{hidden}");
        assert!(network.connected.lock().is_empty());
    }
}

#[test]
fn words_of_a_remote_are_short_and_obeyed_by_nobody() {
    assert_eq!(plain("a\u{1b}[31mb\r\nc\u{202e}d\u{e9}"), "a?[31mb??c?d?");
    assert_eq!(plain(&"x".repeat(100_000)).len(), 200);
}
