#![cfg(test)]
//! The API description is valid by two independent validators, and clients in TypeScript and Python that are generated
//! from it compile and work.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use serde_json::Value;
use tollgate_tests::binary::target_directory;
use tollgate_tests::{Home, Service, repository};

/// Runs `tests/openapi/check`, which installs its tools from PyPI and npm if they are missing.
fn check(arguments: &[&str]) -> Output {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _installing = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let tools = target_directory().unwrap_or_else(env::temp_dir).join("openapi-tools");
    let mut script = Command::new(repository::root().join("tests/openapi/check"));
    // Cargo's library path is not meant for these programs.
    script.arg(tools).args(arguments).env_remove("LD_LIBRARY_PATH").stdin(Stdio::null());
    script.output().unwrap()
}

fn told(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned()).concat()
}

fn write(document: &Value, folder: &Path) -> PathBuf {
    let path = folder.join("openapi.json");
    fs::write(&path, document.to_string()).unwrap();
    path
}

#[test]
fn two_validators_take_the_description_and_refuse_a_broken_one() {
    let home = Home::new();
    let service = Service::start(&home);
    let mut document = service.get("/openapi.json").expect(200);
    let path = write(&document, &home.current());
    let valid = check(&["validate", path.to_str().unwrap()]);
    assert!(valid.status.success(), "{}", told(&valid));
    document["paths"]["/inject"]["post"]["responses"] = Value::Null;
    let path = write(&document, &home.current());
    assert!(!check(&["validate", path.to_str().unwrap()]).status.success());
}

#[test]
fn generated_clients_compile_and_a_payment_is_judged_by_one() {
    let home = Home::new();
    let service = Service::start(&home);
    let path = write(&service.get("/openapi.json").expect(200), &home.current());
    let address = format!("http://{}", service.address());
    let made = check(&["clients", path.to_str().unwrap(), &address]);
    assert!(made.status.success(), "{}", told(&made));
    assert!(told(&made).contains("block ['generated']"), "{}", told(&made));
}
