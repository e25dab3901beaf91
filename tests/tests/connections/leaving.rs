//! Clients that disconnect during their request or before the response.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::wire::{Wire, answers};
use tollgate_tests::{Client, Home, Service, sample};

use super::{check_alive, inject};

/// A service with a rule that counts, which reveals transactions that stayed behind.
fn service() -> Service {
    let counting = sample::rule(
        "counting",
        r#"count(when currency == "XTS" and source == $current.source, "P1D") >= 1"#,
    );
    Service::start(&Home::with_rules(&[("counting.ws", counting)]))
}

fn transaction(id: &str) -> Value {
    sample::with(&sample::transaction(id), &json!({"currency": "XTS", "source": format!("of-{id}")}))
}

#[test]
fn a_client_that_leaves_at_any_byte_leaves_all_of_its_transaction_or_nothing() {
    let service = service();
    let n_bytes = inject(&service, &transaction("at-000")).len();
    let id = |n_sent: usize| format!("at-{n_sent:03}");
    for n_sent in 0..=n_bytes {
        let bytes = inject(&service, &transaction(&id(n_sent)));
        assert_eq!(bytes.len(), n_bytes);
        let mut wire = Wire::connect(service.address());
        assert!(wire.send(&bytes[..n_sent]));
    }
    for n_sent in 0..=n_bytes {
        let stored = service.transaction(&id(n_sent));
        // A complete request may or may not have been read before the disconnect.
        let may_be_there = n_sent == n_bytes;
        assert!(
            stored.status == 404 || may_be_there && stored.status == 200,
            "{n_sent} bytes: {}",
            stored.text()
        );
        let first = service.inject(&transaction(&id(n_sent)));
        assert_eq!((first.status, first.triggered()), (200, Vec::new()), "{n_sent} bytes: counted before");
        let again = service.inject(&transaction(&id(n_sent)));
        assert_eq!(first, again, "{n_sent} bytes");
    }
    check_alive(&service, "after");
}

#[test]
fn an_answer_that_was_lost_is_given_again_to_the_byte() {
    let service = service();
    for round in 0..20 {
        let body = transaction(&format!("lost-{round}"));
        let (lost, n_errors) = lose(&service, &body);
        assert_eq!((lost.0, n_errors), (200, 1));
        let again = service.inject(&body);
        assert_eq!((again.status, again.text()), lost);
    }
    check_alive(&service, "after");
}

/// Sends a request through a proxy that drops the response. Returns the response and the number of clients without one.
fn lose(service: &Service, body: &Value) -> ((u16, String), usize) {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = Client::new(&proxy.local_addr().unwrap().to_string());
    thread::scope(|scope| {
        let sent = scope.spawn(move || client.try_post("/inject", body.to_string().as_bytes()));
        let (mut from, _) = proxy.accept().unwrap();
        // A retry cannot connect.
        drop(proxy);
        let mut to = TcpStream::connect(service.address()).unwrap();
        let mut request = vec![0; 4096];
        let mut n_bytes = 0;
        while !is_whole(&request[..n_bytes], body) {
            n_bytes += from.read(&mut request[n_bytes..]).unwrap();
        }
        let text = String::from_utf8(request[..n_bytes].to_vec()).unwrap();
        // The response ends with the connection.
        let text = text.replacen("\r\n", "\r\nConnection: close\r\n", 1);
        to.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        to.read_to_end(&mut answer).unwrap();
        drop(from);
        let answer = answers(&answer).pop().expect("a whole answer");
        let n_errors = usize::from(sent.join().unwrap().is_err());
        ((answer.status, answer.text()), n_errors)
    })
}

fn is_whole(request: &[u8], body: &Value) -> bool {
    request.ends_with(body.to_string().as_bytes())
}
