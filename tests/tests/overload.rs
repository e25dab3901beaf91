//! Overload: excess requests are rejected at once with a retry time, and nothing of them is stored.

use serde_json::json;
use tollgate_tests::{Client, Home, Service, client, sample};

const N_PARALLEL: usize = 32;
/// One round of this many overloads a service that accepts one transaction at a time.
const N_ROUNDS: usize = 50;

#[test]
fn an_excess_request_is_refused_at_once_and_leaves_nothing_behind() {
    let mut home = Home::new();
    home.set("SERVICE_IN_FLIGHT_MAX", "1");
    let service = Service::start(&home);
    let clients: Vec<Client> = (0..N_PARALLEL).map(|_| service.client()).collect();
    let (mut n_judged, mut n_refused) = (0, 0);
    for round in 0..N_ROUNDS {
        for (i, answer) in
            client::at_once(&clients, |i| sample::transaction(&id(round, i))).iter().enumerate()
        {
            let stored = service.transaction(&id(round, i));
            if answer.status == 200 {
                n_judged += 1;
                assert_eq!(stored.status, 200, "{}", id(round, i));
                continue;
            }
            n_refused += 1;
            assert_eq!((answer.status, answer.code().as_str()), (503, "overloaded"));
            let retry_after = answer.header("retry-after").and_then(|seconds| seconds.parse::<u32>().ok());
            assert!(retry_after.is_some_and(|seconds| (1..=60).contains(&seconds)), "{:?}", answer.headers);
            assert_eq!(stored.status, 404, "{} was refused and is there", id(round, i));
        }
        if n_refused > 0 && n_judged > 0 {
            break;
        }
    }
    assert!(n_refused > 0 && n_judged > 0, "{n_judged} judged, {n_refused} refused");

    let census = format!(r#"count(when currency == "EUR", "P1D") == {n_judged}"#);
    assert_eq!(service.save(&sample::rule("census", &census)).status, 201);
    let probe = sample::with(&sample::transaction("probe"), &json!({"currency": "XTS"}));
    assert_eq!(service.inject(&probe).triggered(), ["census"], "the refused are not counted, the judged are");
}

fn id(round: usize, i: usize) -> String {
    format!("r{round}-{i}")
}
