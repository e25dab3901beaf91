//! Repositories over SSH with a real `sshd`, and accepted and rejected keys.

use tollgate_tests::git::SshServer;
use tollgate_tests::needs;
use tollgate_tests::proof::is_full;

use super::*;

/// Creates a repository over SSH, and a home whose service follows it.
fn stage(key_type: &str) -> (Upstream, SshServer, Home) {
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = SshServer::start(key_type);
    let mut home = Home::new();
    home.set("WATCH_SCRIPT_GIT_REPO", &server.url(&upstream.path()));
    // Some servers reject the key.
    home.set("SERVICE_SOURCES_OPTIONAL", "true");
    home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
    home.set("WATCH_SCRIPT_GIT_SSH_KEY", &server.key().to_string_lossy());
    home.set("WATCH_SCRIPT_GIT_SSH_HOST_KEYS", &server.fingerprint());
    (upstream, server, home)
}

#[test]
fn a_key_that_is_let_in_clones_fetches_and_pushes() {
    needs!(Git, SshServer);
    let key_types: &[&str] = if is_full() { &["ed25519", "rsa", "ecdsa"] } else { &["ed25519", "rsa"] };
    for key_type in key_types {
        let (upstream, server, home) = stage(key_type);
        let service = Service::start(&home);
        assert_eq!(in_force(&service), ["a"], "{key_type}: {}", status(&service)["last_error"]);
        upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
        assert_eq!(sync(&service)["loaded"], json!(["b.ws"]));
        assert_eq!(service.save(&sample::rule("c", "amount > 1")).status, 201);
        let pushed = service.post("/git/push", &json!({"message": "Add c"})).expect(200);
        assert_eq!(upstream.head("main").map(|head| json!(head)), Some(pushed["commit"].clone()));
        assert!(upstream.file("c.ws").is_some());
        assert!(server.n_logged("Accepted publickey") >= 3, "{key_type}");
        assert_eq!(server.n_logged("Failed"), 0, "{key_type}");
    }
}

#[test]
fn a_key_that_is_not_let_in_is_shown_once() {
    needs!(Git, SshServer);
    let (_upstream, server, mut home) = stage("ed25519");
    home.set("WATCH_SCRIPT_GIT_SSH_KEY", &server.key_of_another().to_string_lossy());
    let service = Service::listen(&home);
    let n_connections = server.n_logged("Connection from");
    let begun = Instant::now();
    assert_eq!(service.post("/git/sync", &json!({})).code(), "git_credentials_refused");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(server.n_logged("Connection from"), n_connections + 1, "it is not tried again");
    assert_eq!(server.n_logged("Accepted"), 0);
    assert_eq!(in_force(&service), [""; 0]);
}

#[test]
fn a_host_whose_key_is_not_trusted_is_shown_no_key() {
    needs!(Git, SshServer);
    let (_upstream, server, mut home) = stage("ed25519");
    for trusted in [server.fingerprint_of_another(), String::new()] {
        home.set("WATCH_SCRIPT_GIT_SSH_HOST_KEYS", &trusted);
        let service = Service::listen(&home);
        let answer = service.post("/git/sync", &json!({}));
        assert_eq!(answer.code(), "git_remote_failed", "{}", answer.text());
        assert!(answer.text().contains("cannot be verified"), "{}", answer.text());
        assert_eq!(server.n_logged("publickey"), 0, "the key was not shown");
        assert_eq!(in_force(&service), [""; 0]);
    }
}

#[test]
fn a_key_file_that_cannot_be_read_is_said() {
    needs!(Git, SshServer);
    let (_upstream, server, mut home) = stage("ed25519");
    home.set("WATCH_SCRIPT_GIT_SSH_KEY", "/nowhere/key");
    let service = Service::listen(&home);
    let answer = service.post("/git/sync", &json!({}));
    assert_eq!(answer.code(), "git_credentials_refused", "{}", answer.text());
    assert!(answer.text().contains("WATCH_SCRIPT_GIT_SSH_KEY"), "{}", answer.text());
    assert_eq!(server.n_logged("publickey"), 0);
}
