//! The configurations of `docs/operations.md`, run by the real nginx and the real Caddy in front of the service.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tollgate_tests::programs::{Program, require};
use tollgate_tests::{Client, Home, Service, needs, ports, repository, sample};

const NAME: &str = "tollgate.example.com";
const PAYMENTS: &str = "Basic cGF5bWVudHM6c2VjcmV0";
const RULES: &str = "Basic cnVsZXM6c2VjcmV0";

/// A running proxy, ended when dropped.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        // nginx ends its workers only when it is asked to.
        drop(Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status());
        self.0.wait().ok();
    }
}

/// Returns the configuration of the page in this language.
fn configuration(language: &str) -> String {
    let page = fs::read_to_string(repository::root().join("docs/operations.md")).unwrap();
    let code = page.split(&format!("```{language}\n")).nth(1).expect("the page has the configuration");
    code.split("```").next().unwrap().to_owned()
}

#[track_caller]
fn replaced(text: &str, pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the page has no `{from}`");
        text.replace(from, to)
    })
}

fn home() -> Home {
    let mut home = Home::new();
    home.set("SERVICE_ALLOWED_HOSTS", NAME);
    home.set("LEDGER_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    home
}

fn free_address() -> String {
    format!("127.0.0.1:{}", ports::unused())
}

fn started(mut command: Command, address: &str, service: &Service) -> Proxy {
    let proxy = Proxy(command.stdin(Stdio::null()).spawn().unwrap());
    service.until("the proxy listens", || TcpStream::connect(address).is_ok());
    proxy
}

/// Checks what each caller reaches behind a proxy.
fn check(address: &str) {
    let client = Client::new(address);
    let send = |method: &str, path: &str, user: &str, body: &[u8]| {
        let mut headers = vec![("host", NAME), ("content-type", "application/json")];
        if !user.is_empty() {
            headers.push(("authorization", user));
        }
        client.send(method, path, &headers, body).unwrap()
    };
    let payment = sample::transaction("t").to_string();
    let list = json!((0..62_000).map(|n| format!("acc-{n:0236}")).collect::<Vec<_>>()).to_string();
    assert!(list.len() > 14 << 20, "the list is as long as the service takes it");
    for (method, path, user, body, expected) in [
        ("GET", "/healthz", "", "", 200),
        ("GET", "/readyz", "", "", 200),
        ("POST", "/inject", "", &*payment, 401),
        ("POST", "/inject", "Basic cGF5bWVudHM6d3Jvbmc=", &*payment, 401),
        ("POST", "/inject", PAYMENTS, &*payment, 200),
        ("GET", "/transactions/t", "", "", 401),
        ("GET", "/transactions/t", PAYMENTS, "", 200),
        ("GET", "/instructions", "", "", 401),
        ("GET", "/instructions", PAYMENTS, "", 401),
        ("GET", "/instructions", RULES, "", 200),
        ("PUT", "/lists/long", PAYMENTS, "[]", 401),
        ("PUT", "/lists/long", RULES, &*list, 201),
        ("GET", "/console/", "", "", 401),
        ("GET", "/metrics", "", "", 401),
    ] {
        let answer = send(method, path, user, body.as_bytes());
        assert_eq!(answer.status, expected, "{method} {path} {user}: {}", answer.text());
    }
    // The service itself refuses an event that is not signed.
    assert_eq!(send("POST", "/ledgerwebhook", "", b"{}").code(), "signature_missing");
    check_events(address);
}

/// Checks that events arrive while the stream is open.
fn check_events(address: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!("GET /events HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: {RULES}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut read = Vec::new();
    let mut part = [0; 4096];
    while !String::from_utf8_lossy(&read).contains("event:") {
        let n_bytes = stream.read(&mut part).expect("an event arrives");
        assert!(n_bytes > 0, "the stream ended: {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&part[..n_bytes]);
    }
}

#[test]
fn the_configuration_of_nginx_authenticates_each_caller() {
    needs!(Nginx);
    require(Program::Nginx);
    let home = home();
    let service = Service::start(&home);
    let (address, folder) = (free_address(), home.at(""));
    let folder = folder.display();
    fs::write(home.at("tollgate.rules"), "rules:{PLAIN}secret\n").unwrap();
    fs::write(home.at("tollgate.payments"), "payments:{PLAIN}secret\nrules:{PLAIN}secret\n").unwrap();
    let server = replaced(
        &configuration("nginx"),
        &[
            ("127.0.0.1:8081", service.address()),
            ("listen 443 ssl;", &format!("listen {address};")),
            ("    ssl_certificate /etc/ssl/tollgate.pem;\n", ""),
            ("    ssl_certificate_key /etc/ssl/tollgate.key;\n", ""),
            ("/etc/nginx/", &format!("{folder}/")),
        ],
    );
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};"))
        .concat();
    let main = format!(
        "user root; daemon off; pid {folder}/nginx.pid; error_log stderr; events {{}} http {{ access_log off; {temporary}\n{server} }}"
    );
    fs::write(home.at("nginx.conf"), main).unwrap();
    let mut nginx = Command::new("nginx");
    nginx.arg("-c").arg(home.at("nginx.conf")).arg("-p").arg(home.at(""));
    let _proxy = started(nginx, &address, &service);
    check(&address);
}

#[test]
fn the_configuration_of_caddy_authenticates_each_caller() {
    needs!(Caddy);
    require(Program::Caddy);
    let home = home();
    let service = Service::start(&home);
    let address = free_address();
    let port = address.rsplit(':').next().unwrap();
    let hashed = Command::new("caddy").args(["hash-password", "--plaintext", "secret"]).output().unwrap();
    let digest = String::from_utf8_lossy(&hashed.stdout).trim().to_owned();
    let site = replaced(
        &configuration("caddy"),
        &[
            ("tollgate.example.com {", &format!("http://{NAME}:{port} {{\n\tbind 127.0.0.1")),
            ("127.0.0.1:8081", service.address()),
            ("DIGEST_OF_RULES", &digest),
            ("DIGEST_OF_PAYMENTS", &digest),
        ],
    );
    fs::write(home.at("Caddyfile"), format!("{{\n\tadmin off\n\tauto_https off\n}}\n{site}")).unwrap();
    let mut caddy = Command::new("caddy");
    caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(home.at("Caddyfile"));
    caddy.env("HOME", home.at("")).env("XDG_DATA_HOME", home.at("")).env("XDG_CONFIG_HOME", home.at(""));
    let _proxy = started(caddy, &address, &service);
    check(&address);
}
