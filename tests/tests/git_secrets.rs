//! Twelve secrets on every path of Git with full logging: none appears anywhere.

use std::fs::{self, ReadDir};
use std::path::Path;

use serde_json::{Value, json};
use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::{Answer, Home, Service, needs, sample};

/// Place of a secret.
#[derive(Debug, Clone, Copy)]
enum Hand {
    /// `WATCH_SCRIPT_GIT_TOKEN`
    Token,
    /// Password in `WATCH_SCRIPT_GIT_REPO`.
    Configured,
    /// Token of a request.
    RequestToken,
    /// Password in the URL of a request.
    RequestPassword,
    /// Token before the `@` in the URL of a request.
    RequestUser,
    /// Password in a rejected URL.
    Refused,
}

/// The secret, its place, and whether the server accepts it.
const CANARIES: [(&str, Hand, bool); 12] = [
    ("canary-one-2f7c", Hand::Token, true),
    ("canary-two-91ab", Hand::Token, false),
    ("canary/three+ü:", Hand::Configured, true),
    ("canary-four-77d0", Hand::Configured, false),
    ("canary-five-a0a0", Hand::RequestToken, true),
    ("canary-six-5e5e", Hand::RequestToken, false),
    ("canary@seven%", Hand::RequestPassword, true),
    ("canary-eight-c3c3", Hand::RequestPassword, false),
    ("canary-nine-1d1d", Hand::RequestUser, true),
    ("canary-ten-b6b6", Hand::RequestUser, false),
    ("canary-eleven-4242", Hand::Refused, false),
    ("canary-twelve-\u{20ac}", Hand::Refused, false),
];

/// Returns every spelling in which a secret could appear.
fn spellings(secret: &str) -> Vec<Vec<u8>> {
    let escaped: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let partly = percent(secret);
    let mut spellings = vec![secret.to_owned(), escaped.clone(), escaped.to_lowercase(), partly];
    // In base64, alone and after possible user names.
    for user in ["", "user:", "x-access-token:"] {
        spellings.push(base64(&format!("{user}{secret}")).trim_end_matches('=').to_owned());
    }
    spellings.push(base64(&format!("{secret}:")).trim_end_matches('=').to_owned());
    spellings.into_iter().map(String::into_bytes).collect()
}

fn percent(secret: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    secret
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for three in text.as_bytes().chunks(3) {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for index in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * index)) as usize & 63];
            encoded.push(if index <= three.len() { char::from(digit) } else { '=' });
        }
    }
    encoded
}

/// All output and files of a service.
#[derive(Default)]
struct Traces {
    /// Place and content.
    pieces: Vec<(String, Vec<u8>)>,
}

impl Traces {
    fn add_answer(&mut self, what: &str, answer: &Answer) {
        self.pieces.push((format!("the answer of {what}"), answer.body.clone()));
        self.pieces.push((format!("the headers of {what}"), format!("{:?}", answer.headers).into_bytes()));
    }

    fn add_files(&mut self, folder: &Path) {
        self.add_entries(fs::read_dir(folder).unwrap());
    }

    fn add_entries(&mut self, entries: ReadDir) {
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // The folder of a Git operation may disappear before it is read.
                fs::read_dir(&path).into_iter().for_each(|entries| self.add_entries(entries));
            } else {
                self.pieces.push((path.to_string_lossy().into_owned(), fs::read(&path).unwrap_or_default()));
            }
        }
    }

    #[track_caller]
    fn check(&self, secret: &str) {
        for spelling in spellings(secret) {
            for (index, bytes) in &self.pieces {
                let found = bytes.windows(spelling.len()).any(|window| window == spelling);
                assert!(!found, "{secret:?} as {:?} in {index}", String::from_utf8_lossy(&spelling));
            }
        }
    }
}

#[test]
fn no_secret_is_found_in_a_log_an_answer_a_file_or_an_argument() {
    needs!(Git);
    let mut n_bytes = 0;
    for (secret, hand, is_right) in CANARIES {
        let traces = run(secret, hand, is_right);
        traces.check(secret);
        n_bytes += traces.pieces.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    }
    println!("{} secrets, {n_bytes} bytes of logs, answers and files: 0 found", CANARIES.len());
}

/// Runs a service with a secret: start, clone, sync, pull, push, rejected requests, stop.
fn run(secret: &str, hand: Hand, is_right: bool) -> Traces {
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let user = match hand {
        Hand::Token | Hand::RequestToken => format!("x-access-token:{secret}"),
        Hand::RequestUser => format!("{secret}:"),
        _ => format!("user:{secret}"),
    };
    let authorization = format!("Basic {}", base64(&user));
    let server = GitServer::start(upstream.root(), Mood::Fine);
    server.set_mood(if is_right { Mood::Asking(authorization.clone()) } else { Mood::Refusing });
    let mut home = Home::new();
    for (name, value) in [
        ("SERVICE_LOG", "trace"),
        ("SERVICE_GIT_ALLOW_SCHEMES", "http"),
        ("SERVICE_GIT_ALLOW_PRIVATE", "true"),
        ("SERVICE_GIT_ALLOW_HOSTS", "127.0.0.1"),
        ("WATCH_SCRIPT_GIT_POLL_INTERVAL", "150ms"),
        ("SERVICE_SOURCES_OPTIONAL", "true"),
    ] {
        home.set(name, value);
    }
    match hand {
        Hand::Token => {
            home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
            home.set("WATCH_SCRIPT_GIT_TOKEN", secret);
        }
        Hand::Configured => {
            home.set("WATCH_SCRIPT_GIT_REPO", &server.url_as(&format!("user:{}", percent(secret))))
        }
        _ => {}
    }
    let service = Service::start(&home);
    let traces = exercise(&service, &server, &home, &clone_request(secret, hand, &server));
    let was_shown = server.asked().iter().any(|asked| asked.headers.contains(&authorization));
    assert_eq!(was_shown, !matches!(hand, Hand::Refused), "the secret did its work: {secret:?}");
    finish(service, &home, traces)
}

fn clone_request(secret: &str, hand: Hand, server: &GitServer) -> Value {
    match hand {
        Hand::Token | Hand::Configured => json!({ "url": server.url() }),
        Hand::RequestToken => json!({ "url": server.url(), "token": secret }),
        Hand::RequestPassword => json!({ "url": server.url_as(&format!("user:{}", percent(secret))) }),
        Hand::RequestUser => json!({ "url": server.url_as(&percent(secret)) }),
        Hand::Refused => json!({ "url": format!("https://user:{}@10.0.0.1/a b", secret), "branch": "main" }),
    }
}

fn exercise(service: &Service, server: &GitServer, home: &Home, clone: &Value) -> Traces {
    let mut traces = Traces::default();
    traces.add_answer("clone", &service.post("/git/clone", clone));
    let command_line = fs::read(format!("/proc/{}/cmdline", service.pid())).unwrap();
    traces.pieces.push(("the command line".to_owned(), command_line));
    let _ = service.save(&sample::rule("saved", "amount > 1"));
    for (path, body) in [
        ("/git/sync", json!({})),
        ("/git/pull", json!({})),
        ("/git/push", json!({"message": "More"})),
        ("/git/clone", json!({"url": "https://other.invalid/a"})),
    ] {
        traces.add_answer(path, &service.post(path, &body));
    }
    // Errors of every kind.
    for mood in [Mood::Babbling, Mood::Down, Mood::Redirecting("http://10.0.0.1".to_owned())] {
        server.set_mood(mood);
        traces.add_answer("a failing sync", &service.post("/git/sync", &json!({})));
    }
    for path in ["/git/status", "/instructions", "/metrics", "/readyz", "/openapi.json"] {
        traces.add_answer(path, &service.get(path));
    }
    traces.add_files(&home.data());
    traces
}

fn finish(service: Service, home: &Home, mut traces: Traces) -> Traces {
    let (status, lines) = service.stop();
    assert!(status.success());
    traces.pieces.push(("the log".to_owned(), lines.join("\n").into_bytes()));
    traces.add_files(&home.data());
    traces
}

#[test]
fn a_secret_that_is_there_would_be_found() {
    let mut traces = Traces::default();
    traces.pieces.push(("a place".to_owned(), b"x canary-one-2f7c y".to_vec()));
    traces.pieces.push(("another".to_owned(), base64("user:canary-two").into_bytes()));
    for secret in ["canary-one-2f7c", "canary-two"] {
        assert!(std::panic::catch_unwind(|| traces.check(secret)).is_err(), "{secret}");
    }
    traces.check("canary-three");
}
