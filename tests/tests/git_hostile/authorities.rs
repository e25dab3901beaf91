//! Remotes with TLS: only an authenticated server is trusted, and no other server receives a secret.

use std::fs;

use tollgate_tests::Authority;
use tollgate_tests::needs;

use super::*;

/// The header value for `user:canary`.
const AUTHORIZATION: &str = "Basic dXNlcjpjYW5hcnk=";

/// Creates a home that trusts only this authority.
fn trusting(authority: &Authority) -> Home {
    let mut home = open_home();
    let path = home.at("authorities.pem");
    fs::write(&path, authority.pem()).unwrap();
    home.set("SSL_CERT_FILE", &path.to_string_lossy());
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "https");
    home
}

#[test]
fn a_remote_that_proves_itself_is_cloned_fetched_and_pushed_to() {
    needs!(Git);
    let authority = Authority::new("Bank Authority");
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let mood = Mood::Asking(AUTHORIZATION.to_owned());
    let server = GitServer::start_tls(upstream.root(), mood, &authority.identity());
    let service = Service::start(&trusting(&authority));
    assert_eq!(clone(&service, &server.url_as("user:canary")).status, 200);
    upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    assert_eq!(service.post("/git/sync", &json!({})).status, 200);
    assert_eq!(names(&service), ["a", "b"]);
    assert_eq!(service.save(&sample::rule("c", "amount > 1")).status, 201);
    assert_eq!(service.post("/git/push", &json!({"message": "Add c"})).status, 200);
    assert!(upstream.file("c.ws").is_some());
}

#[test]
fn a_remote_that_does_not_prove_itself_is_refused_and_hears_no_secret() {
    needs!(Git);
    let (ours, theirs) = (Authority::new("Bank Authority"), Authority::new("Somebody"));
    let namesake = Authority::new("Bank Authority");
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let service = Service::start(&trusting(&ours));
    for (what, identity) in [
        ("of another authority", theirs.identity()),
        ("of another authority of this name", namesake.identity()),
        ("for another address", ours.identity_of_another()),
        ("expired", ours.expired_identity()),
    ] {
        let server = GitServer::start_tls(upstream.root(), Mood::Asking(AUTHORIZATION.to_owned()), &identity);
        let answer = clone(&service, &server.url_as("user:canary"));
        assert_eq!(answer.code(), "git_remote_failed", "{what}: {}", answer.text());
        assert!(answer.text().contains("cannot be verified"), "{what}: {}", answer.text());
        assert!(server.asked().is_empty(), "{what}: {:?}", server.asked());
    }
    let plain = GitServer::start(upstream.root(), Mood::Asking(AUTHORIZATION.to_owned()));
    let url = plain.url_as("user:canary").replace("http://", "https://");
    let answer = clone(&service, &url);
    assert!(answer.text().contains("cannot be verified"), "no TLS at all: {}", answer.text());
    assert!(plain.asked().iter().all(|asked| !asked.headers.contains("canary")), "{:?}", plain.asked());
    assert_eq!(names(&service), [""; 0]);
}
