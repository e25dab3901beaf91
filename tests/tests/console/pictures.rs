//! The pictures of the documents: the console of a service with the example rules, after a played population, at a fixed time.
//!
//! The clock of the service follows the payments, by libfaketime. The full mode writes `docs/console/*.png`.

use std::fs::{self, File};
use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::json;
use tollgate_population::{DAYS, Population};
use tollgate_tests::programs::{Program, require};
use tollgate_tests::{Home, Service, needs, played, proof, repository};

use crate::console::browser::Browser;

const NOW: &str = "2026-10-15T12:00:00Z";
/// With this seed a payment to a sanctioned wallet is blocked on the last day.
const SEED: u64 = 3;
const PICTURES: [&str; 6] = ["overview", "rules", "rule", "editor", "transaction", "system"];
const N_CUSTOMERS: usize = 600;
const N_DAYS: u32 = 6;
/// Payments that are judged while the overview is open.
const N_LIVE: usize = 12;
/// A page without its content is smaller.
const N_BYTES_MIN: u64 = 20_000;

#[test]
fn the_pictures_of_the_documents_are_made() {
    needs!(Chromium, LibFaketime, Node);
    if !proof::is_full() {
        return println!("SKIPPED: the pictures are made with TOLLGATE_PROOF=full");
    }
    let browser = Browser::take();
    let now: DateTime<Utc> = NOW.parse().unwrap();
    let mut home = Home::new();
    let clock = home.at("clock");
    File::create(&clock).unwrap();
    follow(&mut home, &clock);
    let population = Population::ending_at(now, SEED, N_CUSTOMERS);
    let mut days = (DAYS - N_DAYS..=DAYS).flat_map(|day| population.day(day)).peekable();
    set(&clock, days.peek().unwrap().created_at);
    let service = Service::start(&home);
    save_rules(&service);
    let read_figures = || drop(service.get("/instructions/summaries").expect(200));
    let mut minute = 0;
    let past = std::iter::from_fn(|| days.next_if(|payment| payment.created_at <= now));
    let played = played::play(&service, population.before(), past, |at| {
        // Figures count for the minute in which they are read.
        if at.timestamp() / 60 > minute {
            minute = at.timestamp() / 60;
            read_figures();
        }
        set(&clock, at);
    });
    read_figures();
    set(&clock, now);
    let live: String = days.take(N_LIVE).map(|payment| payment.body("pending") + "\n").collect();
    fs::write(browser.path("live.jsonl"), live).unwrap();
    let folder = repository::root().join("docs/console");
    let url = format!("http://{}", service.address());
    let live = browser.path("live.jsonl");
    let variables = [
        ("CONSOLE_URL", Path::new(&url)),
        ("CONSOLE_NOW", Path::new(NOW)),
        ("CONSOLE_CLOCK", &clock),
        ("LIVE", &live),
        ("PICTURES", &folder),
    ];
    println!("{} payments\n{}", played.len(), browser.node(&["tests/pictures.mjs".to_owned()], &variables));
    for name in PICTURES {
        let n_bytes = fs::metadata(folder.join(format!("{name}.png"))).unwrap().len();
        assert!(n_bytes >= N_BYTES_MIN, "{name}: {n_bytes} bytes");
    }
}

/// Has the clock of a service follow the time of a file.
fn follow(home: &mut Home, clock: &Path) {
    let library = format!("/usr/lib/{}-linux-gnu/faketime/libfaketime.so.1", std::env::consts::ARCH);
    require(Program::LibFaketime);
    for (name, value) in [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME", "%"),
        ("FAKETIME_FOLLOW_FILE", clock.to_str().unwrap()),
        ("FAKETIME_FOLLOW_ABSOLUTE", "1"),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ] {
        home.set(name, value);
    }
}

fn set(clock: &Path, at: DateTime<Utc>) {
    File::options().write(true).open(clock).unwrap().set_modified(at.into()).unwrap();
}

/// Saves the example rules and lists over the API, as the demo does.
fn save_rules(service: &Service) {
    for path in repository::files("rules/lists", ".txt") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = repository::read(&path);
        let entries: Vec<&str> =
            text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let entries = json!(entries).to_string();
        drop(service.put(&format!("/lists/{name}"), "application/json", entries.as_bytes()).expect(201));
    }
    for path in repository::files("rules", ".ws") {
        let script = json!({"script": repository::read(&path)});
        drop(service.post("/compile-and-save-instruction", &script).expect(201));
    }
}
