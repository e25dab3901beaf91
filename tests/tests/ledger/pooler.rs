//! A pooler between the service and its ledger that assigns one database session to successive clients.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tollgate_tests::Service;
use tollgate_tests::needs;

use crate::ledger::bank::{Bank, caught_up, ledger_check};

/// PostgreSQL protocol messages sent before a session is assigned.
const AUTHENTICATED: [u8; 9] = [b'R', 0, 0, 0, 8, 0, 0, 0, 0];
const READY: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];
const GOODBYE: [u8; 5] = [b'X', 0, 0, 0, 4];
/// Duration for which an idle session is drained, so that late responses do not reach the next client.
const QUIET: Duration = Duration::from_millis(50);

/// A pooler with one client at a time.
struct Pooler {
    port: u16,
    client: Arc<Mutex<Option<TcpStream>>>,
    is_over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

/// A database session, and its initial messages for new clients.
struct KeptSession {
    server: TcpStream,
    greeting: Vec<u8>,
}

impl Pooler {
    fn before(database_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (client, is_over) = (Arc::<Mutex<_>>::default(), Arc::<AtomicBool>::default());
        let (current, over) = (Arc::clone(&client), Arc::clone(&is_over));
        let serving = thread::spawn(move || {
            let mut session = None;
            for arrived in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let arrived = arrived.unwrap();
                *current.lock().unwrap() = Some(arrived.try_clone().unwrap());
                session = serve(arrived, session, database_port);
            }
        });
        Self { port, client, is_over, serving: Some(serving) }
    }

    /// Closes the client's connection and keeps the session.
    fn cut(&self) {
        if let Some(client) = self.client.lock().unwrap().take() {
            client.shutdown(Shutdown::Both).ok();
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.cut();
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        self.serving.take().map(JoinHandle::join);
    }
}

/// Serves a client until it leaves. Returns the previous session if the client sends no startup message.
fn serve(mut client: TcpStream, session: Option<KeptSession>, port: u16) -> Option<KeptSession> {
    let Some(startup) = startup(&mut client) else { return session };
    let (server, known) = match session {
        Some(KeptSession { server, greeting }) => {
            client.write_all(&greeting).ok();
            (server, Some(greeting))
        }
        None => {
            let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            server.set_read_timeout(Some(QUIET)).unwrap();
            server.write_all(&startup).unwrap();
            (server, None)
        }
    };
    let has_left = AtomicBool::new(false);
    let received = thread::scope(|scope| {
        let answering = scope.spawn(|| answer(&server, &client, &has_left));
        let mut bytes = [0; 8192];
        while let Ok(n @ 1..) = (&client).read(&mut bytes) {
            if bytes[..n] == GOODBYE {
                break;
            }
            (&server).write_all(&bytes[..n]).unwrap();
        }
        has_left.store(true, Ordering::Relaxed);
        answering.join().unwrap()
    });
    let greeting = known.or_else(|| {
        let begin = received.windows(AUTHENTICATED.len()).position(|bytes| bytes == AUTHENTICATED)?;
        let end = received.windows(READY.len()).position(|bytes| bytes == READY)?;
        Some(received[begin..end + READY.len()].to_vec())
    });
    greeting.map(|greeting| KeptSession { server, greeting })
}

/// Forwards responses until the client has left and the database is idle. Returns the initial messages.
fn answer(mut server: &TcpStream, mut client: &TcpStream, has_left: &AtomicBool) -> Vec<u8> {
    let (mut received, mut bytes) = (Vec::new(), [0; 8192]);
    loop {
        match server.read(&mut bytes) {
            Ok(0) => return received,
            Ok(n) => {
                if received.len() < 64 * 1024 {
                    received.extend_from_slice(&bytes[..n]);
                }
                client.write_all(&bytes[..n]).ok();
            }
            Err(_) if has_left.load(Ordering::Relaxed) => return received,
            Err(_) => {}
        }
    }
}

fn startup(client: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    client.read_exact(&mut length).ok()?;
    let mut rest = vec![0; (u32::from_be_bytes(length) as usize).checked_sub(4)?];
    client.read_exact(&mut rest).ok()?;
    Some([&length[..], &rest].concat())
}

#[test]
fn a_pooler_that_loses_prepared_statements_is_named_with_the_parameter_that_helps() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let pooler = Pooler::before(bank.port());
    let dsn = bank.dsn().replace(&format!(":{}/", bank.port()), &format!(":{}/", pooler.port));
    let mut home = bank.home();
    home.set("LEDGER_DSN", &format!("{dsn}?sslmode=disable"));
    let service = Service::start(&home);
    caught_up(&service);
    pooler.cut();
    service.until("`/readyz` names the parameter", || {
        let said = ledger_check(&service);
        said.starts_with("not read: ")
            && said.contains("statement-cache-capacity=0")
            && said.contains("LEDGER_DSN")
    });
    service.stop();
    home.set("LEDGER_DSN", &format!("{dsn}?sslmode=disable&statement-cache-capacity=0"));
    let service = Service::start(&home);
    for id in ["first", "second"] {
        bank.sql(&format!("INSERT INTO transactions VALUES ('{id}', now(), 1, 'EUR', 's', 'd', 'r');"));
        service.until("the row is there", || service.transaction(id).status == 200);
        pooler.cut();
    }
}
