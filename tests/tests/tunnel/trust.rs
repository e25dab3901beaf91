//! The tunnel accepts only a valid certificate of a trusted authority for the requested host.

use std::fs;

use tollgate_tests::links::{Dashboard, Manner, link_status};
use tollgate_tests::{Authority, Home, Service};

use crate::tunnel::{TOKEN, block, block_unheard, home, notifications, until_down, until_up};

/// Creates a home that trusts only this authority.
fn trusting(authority: &Authority, url: &str) -> Home {
    let mut home = home(url);
    let path = home.at("authorities.pem");
    fs::write(&path, authority.pem()).unwrap();
    home.set("SSL_CERT_FILE", &path.to_string_lossy());
    home
}

#[test]
fn a_dashboard_with_a_certificate_of_a_trusted_authority_gets_alerts() {
    let authority = Authority::new("Bank Authority");
    let dashboard = Dashboard::start_secure(&authority.identity());
    let service = Service::start(&trusting(&authority, &dashboard.url()));
    until_up(&service);
    block(&service, "t");
    assert!(dashboard.wait_for("t").is_some());
    assert_eq!(dashboard.authorizations(), [format!("Bearer {TOKEN}")]);
}

#[test]
fn every_other_certificate_is_refused_before_the_token_is_shown() {
    let authority = Authority::new("Bank Authority");
    for (what, identity) in [
        ("of another authority", Authority::new("Somebody").identity()),
        ("for another host", authority.identity_of_another()),
        ("expired", authority.expired_identity()),
    ] {
        let dashboard = Dashboard::start_secure(&identity);
        let service = Service::start(&trusting(&authority, &dashboard.url()));
        until_down(&service, "no trusted TLS connection");
        block_unheard(&service, "t");
        service.until("it was tried again", || dashboard.attempts().len() > 3);
        assert_eq!(dashboard.authorizations(), [""; 0], "{what}");
        assert_eq!((dashboard.received_ids().len(), notifications(&service, "down")), (0, 1), "{what}");
        println!("{what}: {}", link_status(&service, "tunnel"));
    }
}

#[test]
fn a_dashboard_that_speaks_no_tls_is_none() {
    let dashboard = Dashboard::start(Manner::Fine);
    let service = Service::start(&home(&dashboard.url().replace("ws://", "wss://")));
    until_down(&service, "no trusted TLS connection");
    block(&service, "t");
}

#[test]
fn an_address_that_cannot_be_used_stops_the_start() {
    for (url, why) in [
        ("https://127.0.0.1/", "wss://host/path"),
        ("nowhere", "wss://host/path"),
        ("ws://dashboard.example/", "over TLS only"),
        ("wss://user:canary-password@dashboard.example/", "use one of them"),
    ] {
        let refusal = Service::try_start(&home(url)).unwrap_err();
        let log = refusal.log.join("\n");
        assert!(log.contains("TUNNEL_URL") && log.contains(why), "{url}: {log}");
        assert!(!log.contains("canary"), "{log}");
    }
}
