//! Rules with an undefined list fail, alone and beside others.

use super::*;

/// Conditions that use `$nowhere`, directly and in filters.
const ASKING: [&str; 6] = [
    "source in $nowhere",
    "source not_in $nowhere",
    "amount > 1000000 and source in $nowhere",
    "amount > 1 or source in $nowhere",
    r#"count(when source == $current.source and destination in $nowhere, "P1D") >= 100"#,
    r#"sum(amount when destination not_in $nowhere, "P1D") > 1000000"#,
];

#[test]
fn each_fails_and_no_other_does() {
    let service = Service::start(&Home::new());
    for (number, condition) in ASKING.iter().enumerate() {
        let _ = service.save(&sample::rule(&format!("asks_{number}"), condition)).expect(201);
    }
    let _ = service.save(&sample::rule("high", "amount > 1")).expect(201);
    let _ = service.save(&sample::rule("never", "amount < 0")).expect(201);
    let judge = |id: &str| {
        let fields = json!({ "source": "acc-1", "destination": "acc-2" });
        service.inject(&sample::with(&sample::transaction(id), &fields))
    };
    let fused = service
        .get("/metrics")
        .text()
        .lines()
        .find(|line| line.starts_with("tollgate_rules_fused "))
        .map(str::to_owned);
    assert_eq!(fused.as_deref(), Some("tollgate_rules_fused 8"), "bodies answer for all of them");
    let answer = judge("t1");
    let failures = answer.at("/failures");
    let failures = failures.as_array().unwrap();
    assert_eq!(failures.len(), ASKING.len(), "{failures:?}");
    assert!(failures.iter().all(|failed| failed["failure"] == "list"), "{failures:?}");
    assert_eq!(answer.triggered(), ["high"]);
    let lists = service.get("/readyz").at("/checks/lists");
    let expected = "degraded: these lists are not set: `$nowhere`; 6 rules that name them fail, since ";
    assert!(lists.as_str().is_some_and(|word| word.starts_with(expected)), "{lists}");
    assert_eq!(put(&service, "nowhere", &json!([])).status, 201);
    let answer = judge("t2");
    assert_eq!(answer.at("/failures"), json!([]));
    assert_eq!(answer.triggered(), ["asks_1", "asks_3", "high"]);
    assert_eq!(service.get("/readyz").at("/checks/lists"), "ok");
}

#[test]
fn a_replay_says_the_same() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $nowhere"))]);
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t1")).at("/verdict"), "review");
    assert_eq!(put(&service, "nowhere", &json!([])).status, 201);
    assert_eq!(service.inject(&sample::transaction("t2")).at("/verdict"), "approve");
    assert!(service.stop().0.success());
    assert_eq!(tollgate_tests::audit::replay(&home).all_follow(), 2);
}
