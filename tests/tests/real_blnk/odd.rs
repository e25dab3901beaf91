//! Holds in the closed form of docs/ledger.md, settled by `examples/blnk_hold`: an odd one is never committed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tollgate_tests::{Home, Service, binary, repository, sample};

use crate::real_blnk::programs::Program;
use crate::real_blnk::round::{Round, in_seconds};
use crate::real_blnk::server::{self, Blnk, DIGITS, create_ledger};
use crate::real_blnk::{caught_up, check_each, home, recommended, until, webhook};

const ALERT_SECRET: &str = "whsec_dGhlIHNlY3JldCBvZiB0aGUgYWxlcnRz";
/// Time until a hold expires, in seconds.
const EXPIRY: u64 = 20;
/// Time in which Blnk releases a hold that has expired.
const RELEASED_WITHIN: Duration = Duration::from_secs(20);
const HELD: &str = "INFLIGHT";
/// Amount from which the rule of the test blocks.
const BLOCKED: u32 = 5_000;
/// Maximum number of keys of an object. Blnk stores no metadata with more than the default.
const KEYS_MAX: usize = 64;

/// The kind of a hold, which decides the end that it must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HoldKind {
    /// It is committed.
    Good,
    /// It is void before it expires.
    Blocked,
    /// It stays held, or is void.
    Odd,
}

/// A hold that was posted.
struct Hold {
    kind: HoldKind,
    name: String,
    id: String,
}

/// A hold with what the service and Blnk say about it in the end.
struct Settled {
    hold: Hold,
    verdict: String,
    /// The status that the service knows.
    status: String,
    /// The reasons of the dead letters of its entries.
    letters: Vec<String>,
    end: String,
}

impl Settled {
    fn new(blnk: &Blnk, service: &Service, hold: Hold) -> Self {
        let letters = letters_of(service, blnk, &hold.id);
        let (verdict, end) = (verdict_of(service, &letters, &hold.id), end_of(blnk, &hold.id));
        let status = service.transaction(&hold.id).at("/status").as_str().unwrap_or("none").to_owned();
        Self { hold, verdict, status, letters, end }
    }

    /// Whether the end is that of its kind, and the service said so. An odd hold has the verdict `review` or none.
    fn is_right(&self) -> bool {
        match self.hold.kind {
            // Blnk releases a queued hold when it expires even if it was committed, which moves no money and is no dead letter.
            HoldKind::Good => {
                self.end.starts_with("APPLIED")
                    && self.status == "APPLIED"
                    && self.verdict.starts_with("approve")
                    && self.letters.is_empty()
            }
            HoldKind::Blocked => {
                self.end == "VOID" && self.verdict.starts_with("block") && self.letters.is_empty()
            }
            HoldKind::Odd => {
                ["VOID", HELD].contains(&&*self.end)
                    && ["review", "dead letter"].iter().any(|word| self.verdict.starts_with(word))
            }
        }
    }
}

#[test]
fn an_odd_hold_is_never_committed_and_a_good_one_is() {
    check_each(faults);
}

fn faults(binary: &Path) -> Vec<String> {
    let mut blnk = Blnk::create(binary);
    let intake = recommended(&blnk);
    let mut home = home(&blnk, intake);
    let program = start_program(&blnk, &home);
    home.write_rule("large.ws", sample::rule("large", &format!("amount >= {BLOCKED}")));
    home.age_rule("large.ws");
    home.set("ALERT_WEBHOOK_URL", &format!("http://{}/", address(&program)));
    home.set("ALERT_WEBHOOK_SECRET", ALERT_SECRET);
    home.set("ALERT_RISK_THRESHOLD", "0");
    home.set("SERVICE_OBJECT_KEYS_MAX", &KEYS_MAX.to_string());
    let service = Service::start(&home);
    let webhook = webhook(&blnk, &service);
    blnk.serve(&webhook);
    let ledger = create_ledger(&blnk);
    let round = Round::new(&blnk, "holds", &ledger);
    let holds = post(&round);
    wait_for_ends(&blnk, &holds);
    caught_up(&service);
    let reported: Vec<_> = holds.into_iter().map(|hold| Settled::new(&blnk, &service, hold)).collect();
    println!("\n{}, {intake:?}, closed form", blnk.name());
    report(&reported);
    println!("the program said:\n{}", program.log());
    let wrong = reported.iter().filter(|settled| !settled.is_right());
    let wrong = wrong.map(|Settled { hold, letters, end, .. }| {
        format!("{}, {}: {end}, dead letters: {letters:?}", blnk.name(), hold.name)
    });
    wrong.collect()
}

fn report(reported: &[Settled]) {
    println!(
        "| hold | verdict or reason | status | dead letters | end in Blnk | right |\n|---|---|---|---|---|---|"
    );
    for settled in reported {
        let Settled { hold, verdict, status, letters, end } = settled;
        let (n_letters, is_right) = (letters.len(), settled.is_right());
        println!("| {} | {verdict} | {status} | {n_letters} | {end} | {is_right} |", hold.name);
    }
    for kind in [HoldKind::Good, HoldKind::Blocked, HoldKind::Odd] {
        let of_kind = || reported.iter().filter(|settled| settled.hold.kind == kind);
        let n_right = of_kind().filter(|settled| settled.is_right()).count();
        println!("| {kind:?}: {n_right} of {} | | | | | |", of_kind().count());
    }
}

/// Waits until every hold has ended. Blnk cannot release every hold that it accepts, so the wait ends some time after the
/// holds have expired.
fn wait_for_ends(blnk: &Blnk, holds: &[Hold]) {
    let deadline = Instant::now() + Duration::from_secs(EXPIRY) + RELEASED_WITHIN;
    while Instant::now() < deadline && holds.iter().any(|hold| end_of(blnk, &hold.id) == HELD) {
        thread::sleep(Duration::from_millis(100));
    }
}

/// Posts good holds, blocked ones and odd ones, in turn directly and through the queue.
fn post(round: &Round<'_>) -> Vec<Hold> {
    let (source, destination) = (round.funded(1_000_000), round.account());
    let post = |name: &str, kind, n: usize, fields: &Value| {
        let held = json!({
            "inflight": true, "inflight_expiry_date": in_seconds(EXPIRY), "skip_queue": n.is_multiple_of(2),
            "allow_overdraft": true,
        });
        let id = round.pay(&source, &destination, &sample::with(&held, fields));
        let way = if n.is_multiple_of(2) { "skip_queue" } else { "queued" };
        Hold { kind, name: format!("{name}, {way}"), id }
    };
    let mut holds: Vec<Hold> = (0..4).map(|n| post("good", HoldKind::Good, n, &json!({}))).collect();
    let blocked = json!({"amount": BLOCKED});
    holds.extend((0..2).map(|n| post("blocked", HoldKind::Blocked, n, &blocked)));
    let odd = odd_fields();
    assert_eq!(odd.len(), 12);
    let odd = odd.into_iter().enumerate();
    holds.extend(odd.map(|(n, (name, fields))| post(&format!("odd: {name}"), HoldKind::Odd, n, &fields)));
    holds
}

/// Returns fields that Blnk accepts, and that no transaction of the service may have whole.
fn odd_fields() -> Vec<(&'static str, Value)> {
    let long = "x".repeat(4_097);
    let deep = |depth: usize| (0..depth).fold(json!("end"), |inner, _| json!({ "in": inner }));
    let keys: Map<String, Value> = (0..=KEYS_MAX).map(|n| (format!("key-{n}"), json!(n))).collect();
    let reference = |n: usize, letter: &str| letter.repeat(n);
    vec![
        ("a description of 4,097 bytes", json!({"description": long})),
        ("a description of 4,098 bytes in letters of three", json!({"description": "€".repeat(1_366)})),
        ("metadata 34 deep", json!({"meta_data": deep(34)})),
        ("metadata 300 deep", json!({"meta_data": {"value": deep(300), "other": 1}})),
        ("a number of 39 digits", json!({"meta_data": {"number": DIGITS}})),
        ("a number of 301 digits", json!({"meta_data": {"list": [1e300]}})),
        ("a reference of 351 bytes", json!({"reference": reference(351, "r")})),
        ("a reference of 2,000 bytes", json!({"reference": reference(2_000, "s")})),
        ("a value with too many keys", json!({"meta_data": {"value": keys}})),
        ("too many keys", json!({"meta_data": keys})),
        ("an amount of 39 digits", json!({"precise_amount": DIGITS})),
        (
            "a description, a depth, a number and a reference",
            json!({"description": long, "meta_data": {"value": deep(40), "number": DIGITS}, "reference": reference(257, "t")}),
        ),
    ]
}

/// Returns the status of the entry that ended a hold, or that of the hold.
fn end_of(blnk: &Blnk, id: &str) -> String {
    let ended = blnk.sql(&format!(
        "SELECT DISTINCT t.status FROM blnk.transactions t LEFT JOIN blnk.transactions p ON p.transaction_id = t.parent_transaction
         WHERE '{id}' IN (t.parent_transaction, p.parent_transaction) AND t.status IN ('APPLIED', 'VOID')"
    ));
    if ended.is_empty() { HELD.to_owned() } else { ended.replace('\n', " and ") }
}

/// Returns the verdict about a hold, or the reason why nobody could judge it.
fn verdict_of(service: &Service, letters: &[String], id: &str) -> String {
    let found = service.transaction(id);
    if found.status == 200 {
        let left_out = found.at("/left_out").to_string();
        return format!("{}, left out: {left_out}", found.at("/verdict").as_str().unwrap_or("none"));
    }
    letters.first().map_or_else(|| "unknown".to_owned(), |reason| format!("dead letter: {reason}"))
}

/// Returns the reasons of the dead letters of a hold's entries, the latest one first.
fn letters_of(service: &Service, blnk: &Blnk, id: &str) -> Vec<String> {
    let entries = blnk.sql(&format!(
        "SELECT t.transaction_id FROM blnk.transactions t LEFT JOIN blnk.transactions p ON p.transaction_id = t.parent_transaction
         WHERE '{id}' IN (t.transaction_id, t.parent_transaction, p.parent_transaction)"
    ));
    let letters = service.get("/ledger/dead-letters").at("/dead_letters");
    let of_hold = |letter: &&Value| entries.lines().any(|entry| letter["transaction_id"] == entry);
    let reason = |letter: &Value| letter["reason"].as_str().unwrap_or_default().to_owned();
    letters.as_array().into_iter().flatten().filter(of_hold).map(reason).collect()
}

/// Starts `examples/blnk_hold` in the closed form.
fn start_program(blnk: &Blnk, home: &Home) -> Program {
    fs::write(home.at("alert-secret"), ALERT_SECRET).unwrap();
    fs::write(home.at("blnk-key"), server::SECRET).unwrap();
    let mut command = Command::new(build_program());
    command
        .env_clear()
        .env("HOLD_LISTEN", "127.0.0.1:0")
        .env("HOLD_ALERT_SECRET_FILE", home.at("alert-secret"))
        .env("HOLD_COMMIT", "approve")
        .env("BLNK_KEY_FILE", home.at("blnk-key"))
        .env("BLNK_URL", blnk.url());
    Program::start("blnk-hold", &mut command, &home.at("elsewhere"))
}

/// Returns the address of the program, which its first line says.
fn address(program: &Program) -> String {
    let mut address = String::new();
    until("the program listens", || {
        let log = program.log();
        let first = log.lines().next().and_then(|line| line.strip_prefix("listening on "));
        address = first.filter(|_| log.ends_with('\n')).unwrap_or_default().to_owned();
        address.is_empty().then_some(log)
    });
    address
}

/// Builds the program into the target directory of the running test.
fn build_program() -> PathBuf {
    let target = binary::target_directory().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--locked", "--workspace", "--bin", "blnk-hold", "--target-dir"])
        .arg(&target);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let status = cargo.current_dir(repository::root()).status().unwrap();
    assert!(status.success(), "blnk-hold does not build");
    let profile = env::current_exe().unwrap();
    profile.ancestors().nth(2).unwrap().join("blnk-hold")
}
