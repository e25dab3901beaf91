//! The end of the service: pending requests are answered, and no client delays the stop.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::wire::{Wire, request};
use tollgate_tests::{Client, Home, Service, process, proof, sample};

use super::{JSON, get, inject};

/// Upper bound for a stop without waiting, on a busy machine.
const PROMPT: Duration = Duration::from_secs(15);

fn wait_for_the_stop(service: &Service) {
    let said = service.log().wait_for(PROMPT, |line| line.contains("stopping").then_some(()));
    said.expect("the log says that the service stops");
}

#[test]
fn a_stop_answers_requests_under_way_and_does_not_wait_for_idle_clients() {
    let _alone = super::alone();
    let n = proof::rounds(50, 1_000);
    process::allow_files(4 * n as u64 + 1_000);
    let mut home = Home::new();
    home.set("SERVICE_STOP_TIMEOUT", "60s");
    home.set("SERVICE_BODY_TIMEOUT", "60s");
    let service = Service::start(&home);
    let mut idle: Vec<Wire> = (0..n).map(|_| Wire::connect(service.address())).collect();
    for wire in &mut idle {
        assert!(wire.send(&get(&service, "/healthz")) && wire.answer().is_some());
    }
    let silent: Vec<Wire> = (0..n).map(|_| Wire::connect(service.address())).collect();
    // All but the last byte: the service has read the head and waits for the rest.
    let mut under_way: Vec<(Wire, u8)> = (0..n)
        .map(|i| {
            let mut bytes = inject(&service, &sample::transaction(&format!("t{i}")));
            let last = bytes.pop().unwrap();
            let mut wire = Wire::connect(service.address());
            assert!(wire.send(&bytes));
            (wire, last)
        })
        .collect();
    // Queued after them: once this is answered, the service has accepted all of them and read their bytes.
    service.until("all are let in", || super::number(&service, "tollgate_connections_open") > 3 * n as u64);
    assert_eq!(service.get("/healthz").status, 200);
    let start = Instant::now();
    service.terminate();
    wait_for_the_stop(&service);
    for mut wire in idle.into_iter().chain(silent) {
        assert!(wire.poll_closed(), "an idle client is told nothing");
    }
    println!("{} idle clients were let go after {:?}", 2 * n, start.elapsed());
    assert!(start.elapsed() < PROMPT);
    for (wire, last) in &mut under_way {
        assert!(wire.send(&[*last]));
    }
    for (wire, _) in &mut under_way {
        let answer = wire.answer().expect("a request under way is answered");
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
        assert!(wire.poll_closed());
    }
    let (status, _) = service.wait();
    assert_eq!(status.code(), Some(0));
    assert!(start.elapsed() < 2 * PROMPT, "stopped after {:?}", start.elapsed());
    let service = Service::start(&home);
    for i in 0..n {
        assert_eq!(service.transaction(&format!("t{i}")).status, 200);
    }
}

#[test]
fn clients_without_an_end_are_waited_for_so_long_and_no_longer() {
    let mut home = Home::new();
    home.set("SERVICE_STOP_TIMEOUT", "1s");
    home.set("SERVICE_BODY_TIMEOUT", "10m");
    home.set("SERVICE_WRITE_TIMEOUT", "10m");
    let service = Service::start(&home);
    let mut stuck: Vec<Wire> = (0..20).map(|_| Wire::connect(service.address())).collect();
    for (i, wire) in stuck.iter_mut().enumerate() {
        let headers = [JSON, ("Content-Length", "1000")];
        let endless = request(service.address(), "POST /inject", &headers, b"{");
        let unread = get(&service, "/openapi.json").repeat(16);
        assert!(wire.send(if i % 2 == 0 { &endless } else { &unread }));
    }
    service.until("all are let in", || super::number(&service, "tollgate_connections_open") > 20);
    assert_eq!(service.get("/healthz").status, 200);
    let start = Instant::now();
    let (status, log) = service.stop();
    println!("stopped with 20 stuck clients after {:?}", start.elapsed());
    assert_eq!(status.code(), Some(0), "{}", log.join("\n"));
    assert!(start.elapsed() >= Duration::from_secs(1) && start.elapsed() < PROMPT, "{:?}", start.elapsed());
}

#[test]
fn a_stop_under_load_loses_nothing_that_was_acknowledged() {
    let home = Home::with_rules(&[(
        "seen.ws",
        sample::rule("seen", r#"count(when currency == "EUR", "P1D") >= 1"#),
    )]);
    let service = Service::start(&home);
    let clients: Vec<Client> = (0..8).map(|_| service.client()).collect();
    let acknowledged: Vec<(String, String)> = thread::scope(|scope| {
        let senders: Vec<_> = clients
            .iter()
            .enumerate()
            .map(|(index, client)| {
                scope.spawn(move || {
                    let mut acknowledged = Vec::new();
                    for n in 0.. {
                        let id = format!("c{index}-{n}");
                        let body = sample::with(&sample::transaction(&id), &json!({"currency": "EUR"}));
                        match client.try_post("/inject", body.to_string().as_bytes()) {
                            Ok(answer) if answer.status == 200 => acknowledged.push((id, answer.text())),
                            Ok(answer) => {
                                assert_eq!((answer.status, answer.code().as_str()), (503, "stopping"));
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    acknowledged
                })
            })
            .collect();
        service.until("there is traffic", || {
            super::number(&service, "tollgate_transactions_judged_total{verdict=\"block\"}") > 100
        });
        service.terminate();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    });
    let (status, log) = service.wait();
    assert_eq!(status.code(), Some(0), "{}", log.join("\n"));
    let service = Service::start(&home);
    for (id, verdict) in &acknowledged {
        let body = sample::with(&sample::transaction(id), &json!({"currency": "EUR"}));
        assert_eq!(&service.inject(&body).text(), verdict, "{id}");
    }
}
