#![cfg(test)]
//! The console that the service serves, in real Chromium.
//!
//! The browser tests are JavaScript below `console/tests`: this builds the console in a copy, and runs them against the
//! service. As root it installs Chromium where it is missing. The full mode needs a release build, which `TOLLGATE_BINARY` may
//! name.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tollgate_tests::binary::binary;
use tollgate_tests::{Home, Service, Toolchain, proof, repository};

const CHROMIUM: &str = "/usr/bin/chromium";
/// Files and folders that the build and the tests of the console read.
const SOURCES: [&str; 7] =
    ["package.json", "package-lock.json", "tsconfig.json", "build.mjs", "build", "src", "tests"];

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
    install_chromium();
    // Node and npm are among the compilers.
    let _ = Toolchain::get();
    let place = repository::root().join("target/console");
    fs::remove_dir_all(place.join("src")).ok();
    for source in SOURCES {
        copy(&repository::root().join("console").join(source), &place.join(source));
    }
    run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]), &place);
    run(Command::new("npx").args(["--no-install", "tsc", "--noEmit"]), &place);
    let dist = place.join("dist");
    run(Command::new("node").arg("build.mjs").arg(&dist), &place);
    let tests = fs::read_dir(place.join("tests")).unwrap().map(|entry| entry.unwrap().path());
    let mut tests: Vec<_> = tests.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
    tests.sort();
    let mut command = Command::new("node");
    command.args(["--test", "--test-concurrency=1"]).args(tests);
    command.env("TOLLGATE_BIN", binary()).env("CONSOLE_DIST", &dist);
    // The limits of time are for a release build on a quiet machine.
    command.env("TIME_SLACK", if proof::is_full() { "1" } else { "5" });
    command.env("TOLLGATE_REPOSITORY", repository::root());
    run(&mut command, &place);
}

fn install_chromium() {
    if !Path::new(CHROMIUM).exists() {
        let packages = "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium";
        run(Command::new("sh").args(["-c", packages]), Path::new("/"));
    }
}

#[track_caller]
fn run(command: &mut Command, place: &Path) {
    let output = command.current_dir(place).output().unwrap();
    let told =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}\n{told}");
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        copy(&from.join(&name), &to.join(&name));
    }
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
