//! kill -9 while alerts are pending: none is lost, and each keeps its id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::channel;
use std::thread;

use tollgate_tests::links::{Receiver, Reception};
use tollgate_tests::{Answer, Service, proof, sample};

use crate::alerts::{dead_letters, impatient, until_settled};

const N_CLIENTS: usize = 8;

/// Injects until the service is killed under load. Returns the acknowledged ids.
fn load(service: Service, cycle: usize) -> Vec<String> {
    const N_BEFORE_THE_CRASH: usize = 80;
    let (tell, reported) = channel();
    thread::scope(|scope| {
        for number in 0..N_CLIENTS {
            let (client, tell) = (service.client(), tell.clone());
            scope.spawn(move || {
                for round in 0.. {
                    let id = format!("c{cycle}-{number}-{round}");
                    let body = sample::transaction(&id).to_string();
                    match client.try_post("/inject", body.as_bytes()) {
                        Ok(Answer { status: 200, .. }) => tell.send(id).unwrap(),
                        _ => return,
                    }
                }
            });
        }
        drop(tell);
        let mut answered: Vec<String> = reported.iter().take(N_BEFORE_THE_CRASH).collect();
        service.kill();
        answered.extend(reported);
        answered
    })
}

#[test]
fn after_kill_9_every_alert_of_an_answered_verdict_arrives_under_one_id_or_is_a_dead_letter() {
    let receiver = Receiver::start(Reception::Status(200));
    let home = impatient(&[receiver.url()]);
    let cycles = proof::rounds(8, 100);
    let mut answered = Vec::new();
    for cycle in 0..cycles {
        // Alternate success, failure and timeout, so that the crash hits alerts in every state.
        receiver.set(match cycle % 3 {
            0 => Reception::Status(200),
            1 => Reception::Status(500),
            _ => Reception::Hanging,
        });
        answered.extend(load(Service::start(&home), cycle));
    }
    receiver.set(Reception::Status(200));
    let service = Service::start(&home);
    until_settled(&service);
    let n_dead = service.get("/alerts/dead-letters").at("/count").as_u64().unwrap();
    let letters = dead_letters(&service, n_dead.try_into().unwrap());
    let page = service.get("/alerts/dead-letters").expect(200);
    let dead: BTreeSet<&str> = page["dead_letters"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["transaction_id"].as_str())
        .collect();

    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    let requests = receiver.requests();
    for request in &requests {
        let transaction_id = request.transaction_id();
        if request.is_taken {
            taken.insert(transaction_id.clone());
        }
        ids.entry(transaction_id).or_default().insert(request.header("webhook-id").to_owned());
    }
    assert!(ids.values().all(|ids| ids.len() == 1), "an alert has one id");
    for id in &answered {
        assert!(taken.contains(id) || dead.contains(id.as_str()), "nobody heard of {id}");
    }
    // An alert is sent only after its verdict is durable.
    for id in ids.keys() {
        assert_eq!(service.transaction(id).status, 200, "{id} was sent and is not stored");
    }
    println!(
        "{cycles} crashes, {} answered alerts: {} taken in {} requests, {} dead letters, 0 lost",
        answered.len(),
        taken.len(),
        requests.len(),
        letters.len()
    );
}
