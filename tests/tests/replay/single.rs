//! A single verdict derived again on request while the service runs.

use serde_json::json;
use tollgate_tests::{Answer, Client, Service, sample, tampering};

use crate::replay::{home, traffic};

fn replay(client: &Client, id: &str) -> Answer {
    client.get(&format!("/transactions/{id}/replay"))
}

#[test]
fn a_verdict_can_be_asked_for_again_while_the_service_runs() {
    let home = home();
    let service = Service::start(&home);
    traffic(&service, "a", 12);
    let id = service.save(&sample::rule("large", "amount > 5")).expect(201)["id"].clone();
    traffic(&service, "b", 12);
    assert_eq!(service.delete(&format!("/instructions/{id}")).status, 204);
    assert_eq!(service.put("/lists/watched2", "application/json", br#"["s3"]"#).status, 201);
    // The state at that time, whatever happened to rules, lists and statuses since.
    for id in (0..12).flat_map(|n| [format!("a-{n}"), format!("b-{n}")]) {
        let replayed = replay(&service, &id).expect(200);
        assert_eq!(
            (&replayed["outcome"], &replayed["differences"], &replayed["failures"]),
            (&json!("equal"), &json!([]), &json!([])),
            "{id}: {replayed}"
        );
        assert_eq!(replayed["transaction_id"], json!(id));
    }
    assert_eq!(replay(&service, "unknown").code(), "transaction_not_found");

    let n_rows = tampering::sql(
        &home.data(),
        "UPDATE transactions SET assessment = replace(assessment, '\"verdict\":\"block\"', '\"verdict\":\"review\"') \
         WHERE transaction_id = 'b-5'",
    );
    assert_eq!(n_rows, 1);
    let replayed = replay(&service, "b-5").expect(200);
    assert_eq!(replayed["outcome"], "differs", "{replayed}");
    assert_eq!(replayed["differences"][0]["what"], "verdict", "{replayed}");
    assert_eq!(replayed["differences"][0]["stored"], "\"review\"", "{replayed}");
    assert_eq!(replayed["differences"][0]["derived"], "\"block\"", "{replayed}");
    assert_eq!(replay(&service, "b-6").at("/outcome"), "equal");
}
