//! Clients whose requests take as long, or as much memory, as they can.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_tests::{Client, modules, proof, sample, wire};

use super::authors::{nothing_special, wide, zeros};
use super::{Actor, Attack, Side};

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// Returns a text without digits, as long as [`zeros`].
fn letters(n: usize) -> String {
    format!("{}{n}", "o".repeat(60_000))
}

/// Makes answers of megabytes: a list, rules, and dead letters.
fn prepare_long_answers(client: &Client) {
    let n_entries = proof::rounds(200_000, 1_000_000);
    let entries = (0..n_entries).map(|number| format!("acct-{number:08}")).collect::<Vec<_>>().join("\n");
    assert_eq!(client.put("/lists/long", "text/plain", entries.as_bytes()).status, 201);
    for number in 0..60 {
        assert_eq!(client.post("/blnkwebhook", &unreadable(&format!("txn_{number}"))).status, 200);
    }
}

const LONG: [&str; 4] = ["/lists/long", "/instructions", "/instructions/summaries", "/ledger/dead-letters"];

/// Asks for long answers on connections that are read at 64 KiB in 100 ms, or not at all after the first bytes.
fn read_long_answers(actor: &Actor<'_>) {
    let path = LONG[actor.number % LONG.len()];
    let request = wire::request(actor.service.address(), &format!("GET {path}"), &[], b"");
    let mut reader = TcpStream::connect(actor.service.address()).unwrap();
    reader.write_all(&request).unwrap();
    reader.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut bytes = vec![0; 64 << 10];
    reader.read_exact(&mut bytes[..12]).unwrap();
    assert_eq!(&bytes[..12], b"HTTP/1.1 200");
    while !actor.is_over() {
        thread::sleep(Duration::from_millis(100));
        // At the end of the answer nothing more comes.
        if actor.side == Side::Harmless && reader.read(&mut bytes).is_err() {
            actor.each(10, |_| ());
        }
    }
}

/// Reads pages of a list, compressed or as they are.
fn read_compressed(actor: &Actor<'_>) {
    let client = actor.service.client();
    let headers: &[_] = if actor.side == Side::Hostile { &[("accept-encoding", "gzip")] } else { &[] };
    actor.each(4, |n| {
        let path = ["/lists/long", "/lists/long?limit=10000"][n % 2];
        assert_eq!(client.send("GET", path, headers, b"").unwrap().status, 200);
    });
}

/// Returns an event that can never be read.
fn unreadable(id: &str) -> Value {
    let mut event = readable(id);
    event["data"]["currency"] = json!("not a currency, and longer than any");
    event
}

fn readable(id: &str) -> Value {
    json!({"event": "transaction.applied", "data": {
        "transaction_id": id, "reference": id, "currency": "EUR", "amount": 1, "precise_amount": 100, "precision": 100,
        "source": "bln_1", "destination": "bln_2", "status": "APPLIED", "created_at": "2026-11-25T10:00:00Z",
        "meta_data": {"note": "x".repeat(60_000)},
    }})
}

fn tell_unreadable(actor: &Actor<'_>) {
    let client = actor.service.client();
    actor.each(25, |n| {
        let id = format!("txn_{}-{n}", actor.name);
        let event = if actor.side == Side::Hostile { unreadable(&id) } else { readable(&id) };
        let reported = client.post("/blnkwebhook", &event);
        assert!(matches!(reported.status, 200 | 503), "{}", reported.text());
    });
}

/// A module that fails for large amounts.
fn fragile() -> Vec<u8> {
    let module = modules::of_text(
        r#"(module
          (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (if (f64.gt (call $number (i32.const 0)) (f64.const 1000)) (then (unreachable)))
            (i64.const 0)))"#,
    );
    modules::with_manifest(&module, &modules::manifest("fragile"))
}

fn faults_of_fragile(client: &Client) -> Vec<String> {
    let all = client.get("/instructions").json();
    let fragile = all.as_array().unwrap().iter().find(|rule| rule["name"] == "fragile").unwrap().clone();
    (fragile["status"] != "active")
        .then(|| format!("the ordinary rule is {}", fragile["status"]))
        .into_iter()
        .collect()
}

/// Reports statuses that no table has, or one that every table has.
fn tell_statuses(actor: &Actor<'_>) {
    let client = actor.service.client();
    actor.each(100, |n| {
        let word = if actor.side == Side::Hostile { format!("word{n:04}") } else { "authorized".into() };
        let data = sample::with(
            &sample::transaction(&format!("{}-{}", actor.name, n / 64)),
            &json!({"status": word, "created_at": "2026-11-25T10:00:00Z"}),
        );
        let reported = client.post("/ledgerwebhook", &json!({"event": "transaction.updated", "data": data}));
        assert_eq!(reported.status, 200, "{}", reported.text());
    });
}

/// Sends the payment of one id again and again, each time with another long text, or new payments.
fn contradict(actor: &Actor<'_>) {
    let client = actor.service.client();
    actor.each(25, |n| {
        let id = if actor.side == Side::Hostile { actor.name.clone() } else { format!("{}-{n}", actor.name) };
        let sent = sample::with(&sample::transaction(&id), &json!({"meta_data": {"note": letters(n)}}));
        assert!(matches!(client.inject(&sent).status, 200 | 409));
    });
}

/// Checks scripts that are as costly to compile as they can be, or have as many bytes of comments.
fn check_scripts(actor: &Actor<'_>) {
    let client = actor.service.client();
    actor.each(20, |n| {
        let asked = (0..64).map(|at| {
            format!(r#"count(when source == $current.source and amount > {}, "P{}D") > {n}"#, at + n, 1 + at)
        });
        let condition = asked.collect::<Vec<_>>().join(" or ");
        let script = match actor.side {
            Side::Hostile => sample::rule("checked", &condition),
            Side::Harmless => format!("# {condition}\n{}", sample::rule("checked", "amount > 1000000")),
        };
        let body = json!({ "script": script }).to_string();
        let checked = client.send("POST", "/instructions/check", JSON, body.as_bytes()).unwrap();
        assert!(checked.status < 500, "{}", checked.text());
    });
}

/// Bodies that come a byte at a time, or connections that say nothing.
fn trickle(actor: &Actor<'_>) {
    let head = "POST /inject HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{\"a\":\"";
    let mut connections: Vec<TcpStream> =
        (0..50).map(|_| TcpStream::connect(actor.service.address()).unwrap()).collect();
    let begin = head.replace("localhost", actor.service.address());
    if actor.side == Side::Hostile {
        connections.iter_mut().for_each(|connection| connection.write_all(begin.as_bytes()).unwrap());
    }
    actor.each(20, |_| {
        if actor.side == Side::Hostile {
            // A connection that the service has closed takes nothing.
            connections.iter_mut().for_each(|connection| drop(connection.write_all(b"x")));
        }
    });
}

/// Returns a time in the last days: later with every payment, or anywhere.
fn time(side: Side, n: usize) -> String {
    let second = if side == Side::Hostile { n * 7_919 % 86_400 } else { n };
    format!("2026-11-20T{:02}:{:02}:{:02}Z", second / 3_600 % 24, second / 60 % 60, second % 60)
}

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            act: |actor| {
                actor.pay(10, |n| {
                    let text = if actor.side == Side::Hostile { zeros(n) } else { letters(n) };
                    json!({"meta_data": {"note": text}})
                });
            },
            ..on_notes("long numeric texts for ordinary rules")
        },
        Attack {
            act: |actor| {
                actor.pay(10, |n| {
                    let note = if actor.side == Side::Hostile { wide(n) } else { json!(letters(n)) };
                    json!({"meta_data": {"note": note}})
                });
            },
            ..on_notes("wide objects for ordinary rules")
        },
        Attack {
            prepare: prepare_long_answers,
            n_clients: 58,
            act: read_long_answers,
            ..nothing_special("58 readers that do not read")
        },
        Attack {
            prepare: prepare_long_answers,
            act: read_compressed,
            ..nothing_special("compressed answers")
        },
        Attack {
            configure: |home| home.write_rule("fragile.wasm", fragile()),
            n_clients: 4,
            act: |actor| {
                let amount = if actor.side == Side::Hostile { 9_999 } else { 10 };
                actor.pay(250, |n| json!({"amount": amount, "source": format!("s-{}", n % 64)}));
            },
            judge: faults_of_fragile,
            ..nothing_special("failures of an ordinary rule")
        },
        Attack { act: tell_unreadable, ..nothing_special("events that can never be read") },
        Attack { act: tell_statuses, ..nothing_special("statuses that no table has") },
        Attack { act: contradict, ..nothing_special("contradictions of one payment") },
        Attack { act: check_scripts, ..nothing_special("checks of costly scripts") },
        Attack { act: trickle, n_clients: 4, ..nothing_special("bodies of a byte at a time") },
        Attack {
            n_clients: 4,
            act: |actor| {
                actor.pay(100, |n| json!({"source": "one", "created_at": time(actor.side, n)}));
            },
            ..nothing_special("payments of one account in any order")
        },
    ]
}

/// An attack on rules that compare a text of the payment.
fn on_notes(name: &'static str) -> Attack {
    Attack {
        configure: |home| {
            for n in 0..16 {
                let condition = format!(
                    r#"meta_data.note == {n} or count(when meta_data.note == $current.meta_data.note and amount > {n}, "P30D") > 1000000"#
                );
                home.write_rule(
                    &format!("good_note_{n}.ws"),
                    sample::rule(&format!("good_note_{n}"), &condition),
                );
            }
        },
        ..nothing_special(name)
    }
}
