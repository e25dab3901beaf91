//! The console that the service serves, in real Chromium.
//!
//! The browser tests are JavaScript below `console/tests`: this builds the console in a copy, and runs them against the
//! service. As root it installs Chromium where it is missing. The full mode needs a release build, which `TOLLGATE_BINARY` may
//! name.

mod browser;
mod demos;
mod pictures;

use std::fs;
use std::path::Path;

use browser::Browser;
use serde_json::Value;
use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::{Home, Service, needs, proof, repository, sample};

/// Tests that measure a release build on a quiet machine; in full mode only.
const MEASUREMENTS: [&str; 2] = ["/load.test.mjs", "/performance.test.mjs"];

#[test]
fn the_service_serves_the_console_under_its_policy() {
    let home = Home::new();
    let service = Service::start(&home);
    let page = service.get("/console/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap().to_owned();
    let server = repository::read(&repository::root().join("console/tests/serve.mjs"));
    for directive in policy.split("; ") {
        assert!(server.contains(directive), "the browser tests run without `{directive}`");
    }
    let tag = page.header("etag").unwrap().to_owned();
    let client = service.client();
    let again = client.send("GET", "/console/", &[("if-none-match", &tag)], b"").unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
    let html = page.text();
    if html.contains("This build of Tollgate has no console") {
        // Whoever built the program had no Node. In CI there is one.
        assert!(std::env::var_os("TOLLGATE_CONSOLE").is_none_or(|mode| mode != "required"), "{html}");
        assert!(html.contains("apt-get install nodejs npm"), "{html}");
        return;
    }
    let files = html.split('"').filter(|text| text.ends_with(".js") || text.ends_with(".css"));
    let files: Vec<&str> = files.collect();
    assert!(files.len() > 1, "{html}");
    for file in files {
        let plain = client.send("GET", &format!("/console/{file}"), &[], b"").unwrap();
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{file}");
        assert!(plain.header("cache-control").unwrap().contains("immutable"), "{file}");
    }
    let browser = client.send("GET", "/", &[("accept", "text/html,*/*")], b"").unwrap();
    assert_eq!((browser.status, browser.header("location")), (307, Some("console/")));
    assert_eq!((service.get("/").status, service.get("/console/nothing.js").status), (404, 404));
}

#[test]
fn people_use_the_console_in_a_browser() {
    needs!(Chromium, Git, Node);
    let browser = Browser::take();
    let tests = fs::read_dir(browser.path("tests")).unwrap().map(|entry| entry.unwrap().path());
    let tests = tests.map(|path| path.to_str().unwrap().to_owned());
    let is_run = |path: &String| proof::is_full() || !MEASUREMENTS.iter().any(|name| path.ends_with(name));
    let mut tests: Vec<String> = tests.filter(|path| path.ends_with(".test.mjs")).filter(is_run).collect();
    tests.sort();
    let options = ["--test", "--test-concurrency=1", "--test-reporter=spec"].map(str::to_owned);
    let upstream = Upstream::with(&[("first.ws", sample::rule("first", "amount > 1000"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let url = server.url();
    let variables = [("GIT_URL", Path::new(&url)), ("GIT_PATH", &upstream.path())];
    println!("{}", browser.node(&[&options[..], &tests].concat(), &variables));
}

#[test]
fn the_list_of_packages_names_exact_versions() {
    let packages: Value =
        serde_json::from_str(&repository::read(&repository::root().join("console/package.json"))).unwrap();
    for kind in ["dependencies", "devDependencies"] {
        for (name, version) in packages[kind].as_object().unwrap() {
            let version = version.as_str().unwrap();
            assert!(version.chars().all(|sign| sign.is_ascii_digit() || sign == '.'), "{name} {version}");
        }
    }
}
