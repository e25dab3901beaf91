//! Addresses in API requests.

use std::net::TcpListener;
use std::time::{Duration, Instant};
use tollgate_tests::needs;

use super::*;

/// By default only HTTPS to public hosts is allowed.
const REFUSED: [(&str, &str); 30] = [
    ("http://git.example/a.git", "git_remote_not_allowed"),
    ("ssh://git@git.example/a.git", "git_remote_not_allowed"),
    ("git@git.example:a.git", "git_remote_not_allowed"),
    ("file:///etc/passwd", "git_remote_not_allowed"),
    ("/var/lib/rules.git", "git_remote_not_allowed"),
    ("https://127.0.0.1/a.git", "git_remote_not_allowed"),
    ("https://127.0.0.1:5432/a.git", "git_remote_not_allowed"),
    ("https://localhost/a.git", "git_remote_not_allowed"),
    ("https://LOCALHOST:8081/a.git", "git_remote_not_allowed"),
    ("https://10.0.0.1/a.git", "git_remote_not_allowed"),
    ("https://169.254.169.254/latest/meta-data", "git_remote_not_allowed"),
    ("https://192.168.1.1/a.git", "git_remote_not_allowed"),
    ("https://[::1]/a.git", "git_remote_not_allowed"),
    ("https://[::ffff:127.0.0.1]/a.git", "git_remote_not_allowed"),
    ("https://[fe80::1]/a.git", "git_remote_not_allowed"),
    ("https://0.0.0.0/a.git", "git_remote_not_allowed"),
    ("https://127.1/a.git", "git_address_invalid"),
    ("https://0x7f.1/a.git", "git_address_invalid"),
    ("https://2130706433/a.git", "git_address_invalid"),
    ("https://0177.0.0.1/a.git", "git_address_invalid"),
    ("https://①②⑦.0.0.1/a.git", "git_address_invalid"),
    ("https://git.example\\@127.0.0.1/a.git", "git_address_invalid"),
    ("https://git.example/../../etc", "git_address_invalid"),
    ("git://git.example/a.git", "git_address_invalid"),
    ("ext::sh -c id", "git_address_invalid"),
    ("--upload-pack=id", "git_address_invalid"),
    ("-u", "git_address_invalid"),
    ("ssh://-oProxyCommand=id/a", "git_address_invalid"),
    ("https://git.example/a\r\nHost: x", "git_address_invalid"),
    ("https://a@b@git.example/a", "git_address_invalid"),
];

#[test]
fn every_address_that_leads_astray_is_refused_and_nobody_is_asked() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let home = Home::new();
    let service = Service::start(&home);
    for (url, code) in REFUSED {
        let answer = clone(&service, url);
        assert_eq!(answer.code(), code, "{url}: {}", answer.text());
    }
    let port = trap.local_addr().unwrap().port();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        assert_eq!(clone(&service, &format!("https://{host}:{port}/a.git")).code(), "git_remote_not_allowed");
    }
    assert!(trap.accept().is_err(), "somebody connected");
    assert!(!home.data().join("git/rules").exists(), "nothing was cloned");
}

#[test]
fn other_hosts_than_that_of_the_configured_repository_need_leave() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let mut home = open_home();
    home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "https,http");
    let service = Service::start(&home);
    assert_eq!(clone(&service, "https://git.example/a.git").code(), "git_remote_not_allowed");
    assert_eq!(clone(&service, &server.url()).status, 200);
}

#[test]
fn a_name_that_is_nobody_is_not_waited_for() {
    let service = Service::start(&Home::new());
    let begun = Instant::now();
    assert_eq!(clone(&service, "https://nobody.invalid/a.git").code(), "git_unreachable");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}
