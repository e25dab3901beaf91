//! `--history-only`: rows count from then on, and have no verdict until one is requested.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, audit, poll, proof, sample};

use super::{
    LIMIT, LIMITED, N_ACCOUNTS, check, command, is_stored, run, said, transaction, write, write_payments,
};

const HISTORY_ONLY: [&str; 1] = ["--history-only"];

#[test]
fn a_past_counts_and_has_no_verdict_until_one_is_requested() {
    let home = Home::with_rules(&[("limited.ws", LIMITED)]);
    let service = Service::start(&home);
    let n_rows = (LIMIT + 10) * N_ACCOUNTS;
    let file = write_payments(&home, n_rows);
    for _ in 0..2 {
        check(&run(&home, &service, &HISTORY_ONLY, &[&file]), 0, &[&format!("{n_rows} stored")]);
    }
    assert_eq!(service.get("/transactions/t1").json()["verdict"], Value::Null);
    let (_, service) = (service.stop(), Service::start(&home));
    let verdict = |number: usize| service.inject(&transaction(number)).json()["verdict"].clone();
    assert_eq!(verdict(n_rows + 1), "review", "the past counts");
    let altered = sample::with(&transaction(1), &json!({"reference": "another"}));
    assert_eq!(service.inject(&altered).expect(409)["field"], "reference");
    // Each as of its place in the file, also if the last is asked for first.
    for number in [n_rows, LIMIT * N_ACCOUNTS + 1, LIMIT * N_ACCOUNTS, 1] {
        let expected = if number > LIMIT * N_ACCOUNTS { "review" } else { "approve" };
        assert_eq!(verdict(number), expected, "{number}");
        assert_eq!(service.get(&format!("/transactions/t{number}")).json()["verdict"], expected);
    }
    drop(service.stop());
    let replayed = audit::replay(&home);
    assert_eq!((replayed.all_follow(), replayed.number("unjudged")), (5, n_rows as u64));
}

#[test]
fn rows_that_are_no_past_are_named_and_no_other_is_lost() {
    let home = Home::new();
    let service = Service::start(&home);
    let mut without_time = transaction(2);
    without_time.as_object_mut().unwrap().remove("created_at");
    let other = sample::with(&transaction(1), &json!({"amount": 7}));
    let lines = [transaction(1), without_time, transaction(3), other, json!([]), transaction(4)];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let file = write(&home, "payments.ndjson", lines);
    let words = [
        "payments.ndjson:2: `created_at` is missing",
        "payments.ndjson:4: another transaction with this id was accepted before, with another `amount`",
        "payments.ndjson:5: ",
        "3 stored, 3 refused",
    ];
    check(&run(&home, &service, &HISTORY_ONLY, &[&file]), 1, &words);
    assert!([1, 3, 4].iter().all(|number| is_stored(&service, *number)) && !is_stored(&service, 2));
    for (name, value) in [
        ("SERVICE_TIME_TOLERANCE", "PT5M"),
        ("SERVICE_WINDOW_CLOCK", "arrival"),
        ("SERVICE_DEDUPLICATE_BY_HASH", "P1D"),
    ] {
        let mut home = Home::new();
        home.set(name, value);
        let service = Service::start(&home);
        check(
            &run(&home, &service, &HISTORY_ONLY, &[&file]),
            2,
            &[name, "past transactions are stored as they are"],
        );
    }
}

#[test]
fn a_past_is_stored_once_whatever_ends_the_import_or_the_service() {
    let mut home = Home::with_rules(&[("limited.ws", LIMITED)]);
    let service = Service::start(&home);
    let port = service.address().rsplit(':').next().unwrap().to_owned();
    let n_rows = proof::rounds(20_000, 10_000_000);
    let file = write_payments(&home, n_rows);
    let patience = Duration::from_secs(3_600);
    let mut import = command(&home, &service, &HISTORY_ONLY, &[&file]).spawn().unwrap();
    poll::until("rows are stored", patience, || is_stored(&service, n_rows / 3));
    import.kill().unwrap();
    import.wait().unwrap();
    let import = command(&home, &service, &HISTORY_ONLY, &[&file]).stderr(Stdio::piped()).spawn().unwrap();
    poll::until("more rows are stored", patience, || is_stored(&service, 2 * n_rows / 3));
    service.kill();
    home.set("SERVICE_PORT", &port);
    let service = Service::start(&home);
    let output = import.wait_with_output().unwrap();
    check(&output, 0, &[&format!("{n_rows} stored")]);
    println!("{}", said(&output));
    drop(service.stop());
    let replayed = audit::replay(&home);
    assert_eq!((replayed.all_follow(), replayed.number("unjudged")), (0, n_rows as u64));
}
