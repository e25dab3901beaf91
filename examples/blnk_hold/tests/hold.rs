#![cfg(test)]
//! Tests the path from the event of a hold to the request that voids it. The service and the program are real; a socket
//! replaces Blnk.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, sample};

const PATIENCE: Duration = Duration::from_secs(20);
const SECRET: &str = "whsec_dGhlIHNlY3JldCBvZiB0aGUgYWxlcnRz";
const KEY: &str = "key-of-blnk-51c0";
/// Kind of the recorded hold, which has the amount 100.
const HOLD: &str = "hold and commit, skip_queue";

/// The program on a free port. Killed when dropped.
struct Program {
    child: Child,
    address: String,
}

impl Program {
    fn start(home: &Home, blnk: &str, committed: &str) -> Self {
        fs::write(home.at("alert-secret"), SECRET).unwrap();
        fs::write(home.at("blnk-key"), format!("{KEY}\n")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_blnk-hold"))
            .env_clear()
            .env("HOLD_LISTEN", "127.0.0.1:0")
            .env("HOLD_ALERT_SECRET_FILE", home.at("alert-secret"))
            .env("BLNK_KEY_FILE", home.at("blnk-key"))
            .env("BLNK_URL", blnk)
            .env("HOLD_COMMIT", committed)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, address }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reads one request: its first line and headers in lower case, and its body.
fn request(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line.to_lowercase());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

/// Returns the body of the recorded event and its transaction id.
fn recorded() -> (String, String) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/recordings/blnk/events.jsonl");
    let events = fs::read_to_string(path).unwrap();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let hold = events
        .into_iter()
        .find(|event| event["kind"] == HOLD && event["event"] == "transaction.inflight")
        .unwrap();
    let body = hold["body"].as_str().unwrap().to_owned();
    let event: Value = serde_json::from_str(&body).unwrap();
    (body, event["data"]["transaction_id"].as_str().unwrap().to_owned())
}

/// A socket in place of Blnk, and the requests that it received.
fn blnk() -> (String, mpsc::Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (reported, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let sent = request(&stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}").unwrap();
            if reported.send(sent).is_err() {
                return;
            }
        }
    });
    (address, requests)
}

/// A service that blocks amounts from 100 on, and alerts the program.
fn service(home: &mut Home, program: &Program, threshold: &str) -> Service {
    home.set("LEDGER_KIND", "blnk");
    home.set("ALERT_WEBHOOK_URL", &format!("http://{}/", program.address));
    home.set("ALERT_WEBHOOK_SECRET", SECRET);
    home.set("ALERT_RISK_THRESHOLD", threshold);
    Service::start(home)
}

#[track_caller]
fn tell(service: &Service, body: &str) {
    let answer = service.try_post("/blnkwebhook", body.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn a_hold_that_is_blocked_is_void() {
    let (blnk, requests) = blnk();
    let mut home = Home::with_rules(&[("large.ws", sample::rule("large", "amount >= 100"))]);
    let program = Program::start(&home, &blnk, "");
    let service = service(&mut home, &program, "0.5");
    let (body, id) = recorded();
    tell(&service, &body);
    let (head, body) = requests.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with(&format!("put /transactions/inflight/{id} http/1.1")), "{head}");
    assert!(head.contains(&format!("x-blnk-key: {KEY}")), "{head}");
    assert_eq!(body, r#"{"status":"void"}"#);
}

#[test]
fn in_the_closed_form_only_an_approved_hold_is_committed() {
    let (blnk, requests) = blnk();
    let mut home = Home::with_rules(&[("large.ws", sample::rule("large", "amount >= 101"))]);
    let program = Program::start(&home, &blnk, "approve");
    let service = service(&mut home, &program, "0");
    let (body, id) = recorded();
    let reported = |id: &str, field: &str, value: Value| {
        let mut event: Value = serde_json::from_str(&body).unwrap();
        event["data"]["transaction_id"] = id.into();
        event["data"][field] = value;
        tell(&service, &event.to_string());
    };
    // One cannot be read at all, and a part of the other was left out: nobody approved either.
    reported("txn_1", "precision", json!(-100));
    reported("txn_2", "description", "x".repeat(4_097).into());
    let left_out = service.transaction("txn_2").expect(200);
    assert_eq!((&left_out["verdict"], &left_out["left_out"]), (&json!("review"), &json!(["description"])));
    tell(&service, &body);
    let (head, body) = requests.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with(&format!("put /transactions/inflight/{id} http/1.1")), "{head}");
    assert_eq!(body, r#"{"status":"commit"}"#);
    service.until("every alert is delivered", || {
        service.get("/metrics").text().lines().any(|line| line == "tollgate_alerts_pending 0")
    });
    assert!(requests.try_recv().is_err(), "no other hold is settled");
}

#[test]
fn an_alert_that_is_not_signed_voids_nothing() {
    let home = Home::new();
    let program = Program::start(&home, "http://127.0.0.1:1", "");
    let alert = br#"{"verdict": "block", "transaction_id": "txn_1"}"#;
    let client = Client::new(&program.address);
    assert_eq!(client.try_post("/", alert).unwrap().status, 401);
    let signed = [("webhook-id", "a"), ("webhook-timestamp", "1"), ("webhook-signature", "v1,AAAA")];
    assert_eq!(client.send("POST", "/", &signed, alert).unwrap().status, 401);
}
