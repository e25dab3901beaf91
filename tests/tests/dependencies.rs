//! Dependencies: their licences, their sources, and the libraries that would bring a second TLS.

use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};
use tollgate_tests::repository;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Licences that let a binary be passed on without its sources.
const LICENCES: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];
/// OpenSSL is the only TLS, with the only set of trusted authorities.
const BANNED: [&str; 8] =
    ["aws-lc-rs", "aws-lc-sys", "boring", "mbedtls", "ring", "rustls", "webpki-roots", "wolfssl"];

/// Returns the packages of the lock file, those of other systems included.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(repository::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Lists the packages for which something does not hold.
#[track_caller]
fn check(what: &str, holds: impl Fn(&Value) -> bool) {
    let packages = packages();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let failing = packages.iter().filter(|package| !holds(package));
    let failing: Vec<String> = failing
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(failing.is_empty(), "{what}:\n{}", failing.join("\n"));
}

fn is_allowed(licence: &str) -> bool {
    let allowed = LICENCES.map(|name| Expression::parse(name).unwrap());
    let expression = Expression::parse_mode(licence, ParseMode::LAX).unwrap();
    expression.evaluate(|wanted| {
        allowed.iter().any(|one| one.requirements().any(|requirement| requirement.req == *wanted))
    })
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    check("licences that are not allowed", |package| package["license"].as_str().is_some_and(is_allowed));
    assert!(is_allowed("MIT/Apache-2.0") && is_allowed("GPL-3.0-only OR MIT"));
    assert!(!is_allowed("MIT AND GPL-3.0-only") && !is_allowed("Apache-2.0 WITH Classpath-exception-2.0"));
}

#[test]
fn every_dependency_comes_from_the_registry_or_from_this_repository() {
    check("other sources", |package| package["source"].as_str().is_none_or(|source| source == CRATES_IO));
}

#[test]
fn openssl_is_the_only_tls() {
    check("another TLS", |package| !BANNED.iter().any(|banned| package["name"] == **banned));
}
