//! The API description is valid by two independent validators, its examples fit its schemas, and clients in TypeScript and
//! Python by five generators compile and work. The types of the console are generated from it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use serde_json::Value;
use tollgate_tests::binary::target_directory;
use tollgate_tests::{Home, Service, repository};

/// The types that the console has of the answers, as `npm run types` writes them.
const CONSOLE_TYPES: &str = "console/src/api/schema.d.ts";

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

fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned()).concat()
}

fn write(document: &Value, folder: &Path) -> PathBuf {
    let path = folder.join("openapi.json");
    fs::write(&path, document.to_string()).unwrap();
    path
}

/// Returns the payments that the README sends.
fn payments_of_readme() -> Vec<String> {
    let readme = fs::read_to_string(repository::root().join("README.md")).unwrap();
    let sent =
        readme.split("/inject ").skip(1).filter_map(|rest| rest.split_once("-d '")?.1.split('\'').next());
    let bodies: Vec<String> = sent.map(str::to_owned).collect();
    assert!(bodies.len() >= 2, "the README sends payments: {bodies:?}");
    bodies
}

#[test]
fn two_validators_take_the_description_with_its_examples_and_refuse_a_broken_one() {
    let home = Home::new();
    let service = Service::start(&home);
    let mut document = service.get("/openapi.json").expect(200);
    let path = write(&document, &home.current());
    let valid = check(&["validate", path.to_str().unwrap()]);
    assert!(valid.status.success(), "{}", printed(&valid));
    assert!(printed(&valid).contains(" operations"), "{}", printed(&valid));
    let mut odd = document.clone();
    odd["paths"]["/inject"]["post"]["requestBody"]["content"]["application/json"]["example"]["amount"] =
        "1e3".into();
    let path = write(&odd, &home.current());
    let refused = check(&["validate", path.to_str().unwrap()]);
    assert!(
        printed(&refused).contains("POST /inject request application/json: $.amount"),
        "{}",
        printed(&refused)
    );
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
    let bodies = home.at("bodies.json");
    fs::write(&bodies, format!("[{}]", payments_of_readme().join(","))).unwrap();
    let made = check(&["clients", path.to_str().unwrap(), &address, bodies.to_str().unwrap()]);
    assert!(made.status.success(), "{}", printed(&made));
    assert_eq!(printed(&made).matches("block ['generated']").count(), 2, "{}", printed(&made));
}

#[test]
fn the_types_of_the_console_are_those_of_the_description() {
    let home = Home::new();
    let service = Service::start(&home);
    let path = write(&service.get("/openapi.json").expect(200), &home.current());
    let output = home.at("schema.d.ts");
    let made = check(&["types", path.to_str().unwrap(), output.to_str().unwrap()]);
    assert!(made.status.success(), "{}", printed(&made));
    let is_equal =
        repository::read(&repository::root().join(CONSOLE_TYPES)) == fs::read_to_string(output).unwrap();
    assert!(
        is_equal,
        "{CONSOLE_TYPES} is of another description. Start this service, and in `console`: \
         npm run types -- http://127.0.0.1:8081/openapi.json"
    );
}
