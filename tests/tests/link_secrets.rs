//! Secrets of the outgoing links with full logging: none appears in a log, a response or a file.

use std::fs;
use std::path::Path;

use serde_json::json;
use tollgate_tests::links::{BLOCK_ALL, Dashboard, Manner, Receiver, Reception, link_status, signed};
use tollgate_tests::{Home, Service, sample};

const TOKEN: &str = "canary-tunnel-token-3f";
const PASSWORD: &str = "canary-webhook-password-7a";
const QUERY: &str = "key=canary-webhook-query-9c";
const ALERT_SECRET: &str = "whsec_Y2FuYXJ5LWFsZXJ0LXNlY3JldC0wMDAwMDAwMDAwMDA=";
const LEDGER_SECRET: &str = "canary-ledger-secret-5d";

/// Returns every form of the secrets: as configured, as sent, and as stored.
fn secrets() -> Vec<String> {
    let basic = openssl::base64::encode_block(format!("user:{PASSWORD}").as_bytes());
    let encoded_key = ALERT_SECRET.trim_start_matches("whsec_");
    let key = String::from_utf8(openssl::base64::decode_block(encoded_key).unwrap()).unwrap();
    let encoded = openssl::base64::encode_block(LEDGER_SECRET.as_bytes());
    [TOKEN, PASSWORD, "canary-webhook-query-9c", encoded_key, LEDGER_SECRET, &basic, &key, &encoded]
        .map(str::to_owned)
        .to_vec()
}

fn add_files(pieces: &mut Vec<(String, Vec<u8>)>, folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(pieces, &path);
        } else {
            pieces.push((path.to_string_lossy().into_owned(), fs::read(&path).unwrap_or_default()));
        }
    }
}

#[test]
fn no_secret_of_a_link_is_found_in_a_log_an_answer_or_a_file() {
    let dashboard = Dashboard::start(Manner::Fine);
    let receiver = Receiver::start(Reception::Status(200));
    let mut home = Home::with_rules(&[("all.ws", BLOCK_ALL)]);
    let url = receiver.url_with(&format!("user:{PASSWORD}"), QUERY);
    for (name, value) in [
        ("SERVICE_LOG", "trace"),
        ("TUNNEL_URL", &dashboard.url()),
        ("TUNNEL_TOKEN", TOKEN),
        ("TUNNEL_RECONNECT_MIN", "10ms"),
        ("TUNNEL_RECONNECT_MAX", "50ms"),
        ("ALERT_WEBHOOK_URL", &url),
        ("ALERT_WEBHOOK_SECRET", ALERT_SECRET),
        ("ALERT_WEBHOOK_RETRIES", "20ms"),
        ("ALERT_WEBHOOK_TIMEOUT", "1s"),
        ("LEDGER_WEBHOOK_SECRET", LEDGER_SECRET),
    ] {
        home.set(name, value);
    }
    let service = Service::start(&home);
    let mut pieces = Vec::new();
    exercise(&service, &dashboard, &receiver, &mut pieces);
    assert_eq!(dashboard.authorizations()[0], format!("Bearer {TOKEN}"), "the token did its work");
    let request = receiver.requests()[0].clone();
    assert!(request.header("authorization").starts_with("Basic "), "the password did its work");
    assert!(request.header("request").contains(QUERY), "the query did its work");
    let id = request.header("webhook-id");
    let signature = signed::standard(ALERT_SECRET, id, request.header("webhook-timestamp"), &request.body);
    assert_eq!(request.header("webhook-signature"), signature, "the secret did its work");

    let command_line = fs::read(format!("/proc/{}/cmdline", service.pid())).unwrap();
    pieces.push(("the command line".to_owned(), command_line));
    let (status, lines) = service.stop();
    assert!(status.success());
    assert!(lines.len() > 100, "everything is logged");
    pieces.push(("the log".to_owned(), lines.join("\n").into_bytes()));
    add_files(&mut pieces, &home.data());
    let mut n_found = 0;
    for secret in secrets() {
        for (index, bytes) in &pieces {
            if bytes.windows(secret.len()).any(|window| window == secret.as_bytes()) {
                println!("{secret} in {index}");
                n_found += 1;
            }
        }
    }
    let n_bytes: usize = pieces.iter().map(|(_, bytes)| bytes.len()).sum();
    println!("{} secrets, {n_bytes} bytes of logs, answers and files: {n_found} found", secrets().len());
    assert_eq!(n_found, 0);
}

/// Uses each link in success and failure, and reads every endpoint that might expose a secret.
fn exercise(
    service: &Service,
    dashboard: &Dashboard,
    receiver: &Receiver,
    pieces: &mut Vec<(String, Vec<u8>)>,
) {
    service.until("the tunnel is up", || link_status(service, "tunnel") == "ok");
    assert_eq!(service.inject(&sample::transaction("t1")).status, 200);
    assert!(dashboard.wait_for("t1").is_some() && receiver.wait_for_taken("t1").is_some());
    let body = json!({"event": "transaction.created", "data": sample::transaction("t2")}).to_string();
    let timestamp = chrono::Utc::now().timestamp().to_string();
    let signature = signed::stamped(LEDGER_SECRET, &timestamp, body.as_bytes());
    for signature in [signature.as_str(), "wrong"] {
        let headers = [
            ("content-type", "application/json"),
            ("x-blnk-timestamp", &timestamp),
            ("x-blnk-signature", signature),
        ];
        let answer = service.send("POST", "/ledgerwebhook", &headers, body.as_bytes()).unwrap();
        assert_eq!(answer.status, if signature == "wrong" { 401 } else { 200 });
        pieces.push(("an answer to the ledger".to_owned(), answer.body));
    }
    for manner in [Manner::Revoked, Manner::Boasting, Manner::Down] {
        dashboard.set_manner(manner);
        dashboard.hang_up();
        service.until("the tunnel is down", || link_status(service, "tunnel").starts_with("down"));
        pieces.push(("the readiness".to_owned(), service.get("/readyz").body));
    }
    for reception in [
        Reception::Status(500),
        Reception::Hanging,
        Reception::Redirect(receiver.url()),
        Reception::Status(410),
    ] {
        let id = format!("{reception:?}").chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        receiver.set(reception);
        assert_eq!(service.inject(&sample::transaction(&id)).status, 200);
        service.until("nothing is on its way", || {
            let page = service.get("/alerts/dead-letters");
            pieces.push(("the dead letters".to_owned(), page.body.clone()));
            pieces.push(("the readiness".to_owned(), service.get("/readyz").body));
            page.at("/pending") == 0
        });
    }
    for path in ["/metrics", "/readyz", "/alerts/dead-letters", "/transactions/t1", "/openapi.json"] {
        pieces.push((path.to_owned(), service.get(path).body));
    }
}
