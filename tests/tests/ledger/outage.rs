//! The ledger's database disappears and returns: requests are not affected, and the feed resumes within seconds.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::postgres::End;
use tollgate_tests::{Client, Service, SetOnDrop, needs, proof, sample};

use crate::ledger::bank::{Bank, caught_up, ledger_check};

/// Maximum delay until a recovered database is read again.
const RECOVERY_MAX: Duration = Duration::from_secs(5);
const N_CLIENTS: usize = 4;

fn row(id: &str) -> String {
    format!(
        "INSERT INTO transactions (transaction_id, amount, currency, reference, source) \
         VALUES ('{id}', 1, 'EUR', 'r', 'ledger');"
    )
}

/// Sends transactions until `is_over`. Returns their number and the longest latency.
fn inject(client: &Client, number: usize, is_over: &AtomicBool) -> (usize, Duration) {
    let (mut n, mut longest) = (0, Duration::ZERO);
    while !is_over.load(Ordering::SeqCst) {
        let transaction = sample::with(
            &sample::transaction(&format!("inject-{number}-{n}")),
            &json!({"source": format!("caller-{number}")}),
        );
        let started = Instant::now();
        let answer = client.inject(&transaction);
        longest = longest.max(started.elapsed());
        assert_eq!(answer.status, 200, "{}", answer.text());
        n += 1;
    }
    (n, longest)
}

#[test]
fn a_database_that_stops_and_starts_is_read_again_at_once_and_requests_go_on() {
    needs!(PostgreSql);
    let mut bank = Bank::open();
    bank.sql(&row("before"));
    let service = Service::start(&bank.home());
    service.until("the ledger is read", || service.transaction("before").status == 200);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let send = |number: usize| {
            let (client, is_over) = (service.client(), &is_over);
            scope.spawn(move || inject(&client, number, is_over))
        };
        let threads: Vec<_> = (0..N_CLIENTS).map(send).collect();
        let ending = SetOnDrop(&is_over);
        for (round, end) in [End::Fast, End::Kill, End::Fast].into_iter().enumerate() {
            bank.end(end);
            service.until("the service noticed", || ledger_check(&service).starts_with("not read: "));
            assert_eq!(service.get("/readyz").status, 200, "a ledger that is away keeps nobody waiting");
            thread::sleep(Duration::from_secs(round as u64));
            bank.begin();
            let back = Instant::now();
            let id = format!("after-{round}");
            bank.sql(&row(&id));
            service.until("the ledger is read again", || service.transaction(&id).status == 200);
            let recovery = back.elapsed();
            println!("{end:?}: read again {recovery:?} after PostgreSQL answered");
            assert!(recovery <= proof::time_limit(RECOVERY_MAX), "{recovery:?}");
            service.until("it says so", || ledger_check(&service) == "ok");
        }
        drop(ending);
        for thread in threads {
            let (n, longest) = thread.join().unwrap();
            println!("{n} injects meanwhile, 0 errors, the longest took {longest:?}");
            assert!(n > 0);
        }
    });
}

#[test]
fn a_service_starts_without_the_database_and_finds_it_later() {
    needs!(PostgreSql);
    let mut bank = Bank::open();
    bank.sql(&row("late"));
    bank.end(End::Fast);
    let service = Service::start(&bank.home());
    assert_eq!(service.inject(&sample::transaction("t")).status, 200);
    service.until("the service tried", || ledger_check(&service).starts_with("not read: "));
    bank.begin();
    service.until("the ledger is read", || service.transaction("late").status == 200);
    caught_up(&service);
}

/// Accepts connections and never responds.
#[test]
fn a_database_that_says_nothing_holds_nobody_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut home = tollgate_tests::Home::new();
    home.set("LEDGER_DSN", &format!("postgres://u:p@{}/core", silent.local_addr().unwrap()));
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).status, 200);
    service.until("the service gave it up", || ledger_check(&service).contains("did not answer within 5s"));
    let (status, _) = service.stop();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_service_that_is_to_wait_for_the_first_reading_is_not_ready_before_it_is_over() {
    needs!(PostgreSql);
    let mut bank = Bank::open();
    bank.sql(&row("before"));
    let mut home = bank.home();
    home.set("LEDGER_WAIT_FOR_FIRST_READING", "true");
    bank.end(End::Fast);
    let service = Service::listen(&home);
    let reading =
        || service.get("/readyz").at("/checks/ledger_reading").as_str().unwrap_or_default().to_owned();
    service.until("the history is there", || service.get("/readyz").at("/checks/history") == "ok");
    assert_eq!(service.get("/readyz").status, 503);
    assert!(reading().starts_with("failing: the ledger was not read to its end"), "{}", reading());
    bank.begin();
    service.until("it is ready", || service.get("/readyz").status == 200);
    assert_eq!((reading().as_str(), service.transaction("before").status), ("ok", 200));
    bank.end(End::Fast);
    service.until("the service noticed", || ledger_check(&service).starts_with("not read: "));
    assert_eq!(service.get("/readyz").status, 200, "it is a matter of the start");
}
