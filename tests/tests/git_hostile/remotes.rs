//! Servers that request credentials, send too many bytes, take too long, or redirect.

use std::time::{Duration, Instant};
use tollgate_tests::needs;

use super::*;

#[test]
fn a_redirect_is_not_followed_and_gets_no_credentials() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let thief = GitServer::start(upstream.root(), Mood::Refusing);
    let server = GitServer::start(upstream.root(), Mood::Redirecting(format!("http://{}", thief.address())));
    let service = Service::start(&open_home());
    let answer = clone(&service, &server.url_as("user:canary"));
    assert_eq!(answer.code(), "git_remote_not_allowed", "{}", answer.text());
    assert!(thief.asked().is_empty(), "{:?}", thief.asked());
    // Also after the credentials were sent to the right server.
    let authorization = "Basic dXNlcjpjYW5hcnk=";
    server.set_mood(Mood::Asking(authorization.to_owned()));
    assert_eq!(clone(&service, &server.url_as("user:canary")).status, 200);
    assert!(server.asked().iter().any(|asked| asked.headers.contains(authorization)));
    server.set_mood(Mood::Redirecting(format!("http://{}", thief.address())));
    assert_eq!(service.post("/git/sync", &json!({})).code(), "git_remote_not_allowed");
    assert!(thief.asked().is_empty(), "{:?}", thief.asked());
}

#[test]
fn wrong_credentials_are_shown_once() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Refusing);
    let service = Service::start(&open_home());
    let begun = Instant::now();
    assert_eq!(clone(&service, &server.url_as("user:wrong")).code(), "git_credentials_refused");
    assert!(server.asked().len() <= 2, "{:?}", server.asked());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(clone(&service, &server.url()).code(), "git_credentials_refused", "there are none to show");
}

#[test]
fn the_configured_token_goes_to_the_configured_remote_alone() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let other = GitServer::start(upstream.root(), Mood::Refusing);
    let mut home = open_home();
    home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
    home.set("WATCH_SCRIPT_GIT_TOKEN", "canary-token");
    home.set("SERVICE_GIT_ALLOW_HOSTS", "127.0.0.1");
    let service = Service::start(&home);
    assert_eq!(clone(&service, &other.url()).code(), "git_credentials_refused");
    assert!(other.asked().iter().all(|asked| !asked.headers.to_lowercase().contains("authorization")));
}

#[test]
fn a_remote_that_says_nothing_keeps_nobody_from_working_or_stopping() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let mut home = open_home();
    home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
    assert!(Service::start(&home).stop().0.success());
    server.set_mood(Mood::Silent);
    let begun = Instant::now();
    let service = Service::start(&home);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a"]);
    let begun = Instant::now();
    assert!(service.stop().0.success());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}
