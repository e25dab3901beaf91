//! Traces of requests reach a collector. What it receives is read by OpenTelemetry's library for Python.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use tollgate_tests::links::{Receiver, Reception, metric};
use tollgate_tests::schemathesis::Schemathesis;
use tollgate_tests::{Home, Service, needs, repository, sample};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn home(collector: &Receiver) -> Home {
    let mut home = Home::with_rules(&[("a.ws", sample::rule("large", "amount > 5000"))]);
    let url = collector.url();
    home.set("OTEL_EXPORTER_OTLP_ENDPOINT", url.strip_suffix("/hooks/alerts").unwrap());
    home.set("OTEL_BSP_SCHEDULE_DELAY", "20");
    home
}

fn inject(service: &Service, id: &str, traceparent: &str) -> u16 {
    let headers =
        [("content-type", "application/json"), ("traceparent", traceparent), ("x-request-id", "request-1")];
    let body = sample::transaction(id).to_string();
    service.client().send("POST", "/inject", &headers, body.as_bytes()).unwrap().status
}

/// Returns the spans in an export.
fn spans(body: &[u8]) -> Vec<Value> {
    let mut python = Schemathesis::get().python();
    python.arg(repository::root().join("tests/contract/spans.py"));
    let mut reading = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    reading.stdin.take().unwrap().write_all(body).unwrap();
    let output = reading.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_request_is_part_of_the_trace_of_its_client_and_has_parts_of_its_own() {
    needs!(Python);
    let collector = Receiver::start(Reception::Status(200));
    let home = home(&collector);
    let service = Service::start(&home);
    assert_eq!(inject(&service, "t-1", &format!("00-{TRACE}-{PARENT}-01")), 200);
    assert_eq!(inject(&service, "t-2", &format!("00-{TRACE}-{PARENT}-00")), 200);
    assert_eq!(service.get("/nowhere/at-all").status, 404);
    service.stop();
    let exports = collector.requests();
    assert!(exports.iter().all(|export| {
        export.header("request").starts_with("POST /v1/traces ")
            && export.header("content-type") == "application/x-protobuf"
    }));
    let spans: Vec<Value> = exports.iter().flat_map(|export| spans(&export.body)).collect();
    let by_name: BTreeMap<&str, &Value> =
        spans.iter().map(|span| (span["name"].as_str().unwrap(), span)).collect();
    assert_eq!(
        by_name.keys().copied().collect::<Vec<_>>(),
        ["GET", "POST /inject", "commit", "evaluate rules"],
        "one request is not sampled, and probes have no traces"
    );
    assert_eq!(spans.len(), 4);
    let inject = by_name["POST /inject"];
    assert_eq!((&inject["trace"], &inject["parent"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(inject["kind"], 2, "a server's");
    assert_eq!(inject["resource"]["service.name"], "tollgate");
    assert_eq!(
        inject["attributes"],
        json!({
            "http.request.method": "POST", "http.route": "/inject", "url.path": "/inject",
            "http.response.status_code": 200, "tollgate.request_id": "request-1",
        })
    );
    for part in ["commit", "evaluate rules"] {
        let part = by_name[part];
        assert_eq!((&part["trace"], &part["parent"]), (&inject["trace"], &inject["span"]));
        assert!(part["nanoseconds"].as_u64() <= inject["nanoseconds"].as_u64());
    }
    assert_eq!(by_name["GET"]["attributes"]["http.response.status_code"], 404);
    assert_eq!(by_name["GET"]["parent"], "");
}

#[test]
fn a_collector_that_refuses_or_does_not_answer_delays_no_request_and_is_reported() {
    for reception in [Reception::Status(400), Reception::Hanging] {
        let collector = Receiver::start(reception.clone());
        let home = home(&collector);
        let service = Service::start(&home);
        assert_eq!(inject(&service, "t-1", &format!("00-{TRACE}-{PARENT}-01")), 200);
        // A refused export does not keep the rest of the trace from the next one.
        assert!(!collector.wait_for(1).is_empty());
        assert_eq!(inject(&service, "t-2", &format!("00-{TRACE}-{PARENT}-01")), 200);
        let is_refused = reception == Reception::Status(400);
        if is_refused {
            let n_failed = || metric(&service, "tollgate_trace_exports_total{result=\"failed\"}");
            service.until("the failure is counted", || n_failed() >= 1);
        }
        let (status, log) = service.stop();
        let is_reported = log.iter().any(|line| line.contains("traces cannot be exported"));
        // At the end of the service an export without an answer may be given up, which is told too.
        assert!(is_reported || !is_refused, "{log:?}");
        assert!(status.success());
    }
}
