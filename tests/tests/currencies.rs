//! The field `currency` compares whatever its case and the blanks at its ends.

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, sample};

fn home() -> Home {
    let rules = [
        ("equal", r#"currency == "USD""#),
        ("unequal", r#"currency != "usd""#),
        ("listed", r#"currency in ("Usd", "JPY")"#),
        ("list_named", "currency in $traded"),
        ("field", "metadata.expected == currency"),
        ("pattern", r#"currency regex "^USD$""#),
        ("key", r#"count(when currency == "USD" and source == $current.source, "P1D") > 0"#),
        ("own_key", r#"count(when currency == $current.currency and source == $current.source, "P1D") > 0"#),
        ("filter", r#"count(when currency != "USD" and source == $current.source, "P1D") > 0"#),
        (
            "matched",
            r#"previous_transaction(within: "P1D", match: { currency: $current.currency, source: $current.source })"#,
        ),
        ("several", r#"distinct(currency when source == $current.source, "P1D") > 1"#),
    ];
    let mut files: Vec<_> =
        rules.iter().map(|(name, when)| (format!("{name}.ws"), sample::rule(name, when))).collect();
    files.push(("lists/traded.txt".to_owned(), "uSd\n".to_owned()));
    Home::with_rules(&files)
}

fn payment(id: &str, currency: &str) -> Value {
    sample::with(
        &sample::transaction(id),
        &json!({"currency": currency, "source": "acc-1", "meta_data": {"expected": "usd"},
                "created_at": "2026-01-01T00:00:00Z"}),
    )
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

fn report(client: &Client, id: &str, currency: &str) -> Vec<String> {
    let event = json!({"event": "transaction.applied", "data": payment(id, currency)});
    assert_eq!(client.post("/ledgerwebhook", &event).status, 200);
    let stored = client.transaction(id).expect(200);
    assert_eq!(stored["currency"], json!(currency), "the currency is stored as it was sent");
    let names =
        stored["triggered"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    sorted(names.collect())
}

#[test]
fn a_currency_compares_whatever_its_case_and_the_blanks_at_its_ends() {
    let service = Service::start(&home());
    let now = ["equal", "field", "list_named", "listed"];
    let since = ["equal", "field", "key", "list_named", "listed", "matched", "own_key"];
    assert_eq!(report(&service, "t1", "usd"), now);
    assert_eq!(report(&service, "t2", "USD "), since);
    assert_eq!(report(&service, "t3", "\u{a0}Usd"), since);
    let with_pattern: Vec<_> = since.iter().copied().chain(["pattern"]).collect();
    assert_eq!(sorted(service.inject(&payment("t4", "USD")).triggered()), with_pattern);
    assert_eq!(report(&service, "t5", "EUR"), ["key", "unequal"]);
    assert_eq!(report(&service, "t6", "eur "), ["filter", "key", "matched", "own_key", "several", "unequal"]);
}

#[test]
fn a_report_whose_currency_differs_in_case_alone_is_about_the_same_payment() {
    let service = Service::start(&home());
    assert_eq!(service.inject(&payment("t1", "USD")).status, 200);
    let event = |currency: &str| json!({"event": "transaction.applied", "data": payment("t1", currency)});
    assert_eq!(service.post("/ledgerwebhook", &event("usd ")).status, 200);
    assert_eq!(service.transaction("t1").expect(200)["status"], json!("applied"));
    assert_eq!(service.post("/ledgerwebhook", &event("EUR")).status, 409);
}

#[test]
fn an_inject_with_a_blank_at_an_end_of_its_currency_is_refused() {
    let mut home = home();
    let service = Service::start(&home);
    for currency in ["USD ", " USD", "USD\u{a0}", "US\u{200b}D"] {
        let answer = service.inject(&payment("refused", currency));
        assert_eq!((answer.status, answer.code()), (400, "invalid_field".to_owned()), "{currency:?}");
        assert_eq!(answer.json()["field"], json!("currency"), "{currency:?}");
    }
    service.stop();
    home.set("SERVICE_IDENTIFIERS", "as_sent");
    let service = Service::start(&home);
    let answer = service.inject(&payment("accepted", "USD "));
    assert_eq!(sorted(answer.triggered()), ["equal", "field", "list_named", "listed"]);
}

#[test]
fn a_rule_that_names_no_currency_code_is_warned_of() {
    let mut home = Home::new();
    let codes = |service: &Service| {
        let rule = sample::rule("named", r#"currency in ("EURO", "usdt", "usd", "978")"#);
        let saved = service.save(&rule).expect(201);
        let warnings = saved["warnings"].as_array().unwrap().clone();
        assert_eq!(service.delete(&format!("/instructions/{}", saved["id"])).status, 204);
        warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let service = Service::start(&home);
    assert_eq!(codes(&service), ["W509", "W509"]);
    service.stop();
    home.set("SERVICE_CURRENCIES", "USDT, points");
    assert_eq!(codes(&Service::start(&home)), ["W509"]);
}
