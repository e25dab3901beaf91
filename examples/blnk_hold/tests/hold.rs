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
    fn start(home: &Home, blnk: &str) -> Self {
        fs::write(home.at("alert-secret"), SECRET).unwrap();
        fs::write(home.at("blnk-key"), format!("{KEY}\n")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_blnk-hold"))
            .env_clear()
            .env("HOLD_LISTEN", "127.0.0.1:0")
            .env("HOLD_ALERT_SECRET_FILE", home.at("alert-secret"))
            .env("BLNK_KEY_FILE", home.at("blnk-key"))
            .env("BLNK_URL", blnk)
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
    let events = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let hold = events
        .into_iter()
        .find(|event| event["kind"] == HOLD && event["event"] == "transaction.inflight")
        .unwrap();
    let body = hold["body"].as_str().unwrap().to_owned();
    let event: serde_json::Value = serde_json::from_str(&body).unwrap();
    (body, event["data"]["transaction_id"].as_str().unwrap().to_owned())
}

#[test]
fn a_hold_that_is_blocked_is_void() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let blnk = format!("http://{}", listener.local_addr().unwrap());
    let (told, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let sent = request(&stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}").unwrap();
            if told.send(sent).is_err() {
                return;
            }
        }
    });
    let mut home = Home::with_rules(&[("large.ws", sample::rule("large", "amount >= 100"))]);
    let program = Program::start(&home, &blnk);
    home.set("LEDGER_KIND", "blnk");
    home.set("ALERT_WEBHOOK_URL", &format!("http://{}/", program.address));
    home.set("ALERT_WEBHOOK_SECRET", SECRET);
    let service = Service::start(&home);
    let (body, id) = recorded();
    let answer = service.try_post("/blnkwebhook", body.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (head, body) = requests.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with(&format!("put /transactions/inflight/{id} http/1.1")), "{head}");
    assert!(head.contains(&format!("x-blnk-key: {KEY}")), "{head}");
    assert_eq!(body, r#"{"status":"void"}"#);
}

#[test]
fn an_alert_that_is_not_signed_voids_nothing() {
    let home = Home::new();
    let program = Program::start(&home, "http://127.0.0.1:1");
    let alert = br#"{"verdict": "block", "transaction_id": "txn_1"}"#;
    let client = Client::new(&program.address);
    assert_eq!(client.try_post("/", alert).unwrap().status, 401);
    let signed = [("webhook-id", "a"), ("webhook-timestamp", "1"), ("webhook-signature", "v1,AAAA")];
    assert_eq!(client.send("POST", "/", &signed, alert).unwrap().status, 401);
}
