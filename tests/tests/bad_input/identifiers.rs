//! Identifiers that resemble others, and free texts that only look unusual.

use serde_json::{Value, json};
use tollgate_tests::{Answer, Home, Service, sample};

use super::{check_refused, check_unharmed, service};

/// Spellings that readers take for `acc-1`, and part of the error message for each.
const LOOK_ALIKES: [(&str, &str); 14] = [
    ("acc\u{200b}-1", "U+200B (zero width space) as character 4 of 6"),
    ("acc-1\u{200b}", "U+200B (zero width space) as character 6 of 6"),
    ("\u{feff}acc-1", "U+FEFF"),
    ("ac\u{ad}c-1", "U+00AD (soft hyphen)"),
    ("acc-1 ", "blank at its start or end, U+0020 (space) as character 6 of 6"),
    (" acc-1", "blank at its start or end, U+0020 (space) as character 1 of 6"),
    ("acc-1\u{a0}", "U+00A0 (no-break space)"),
    ("acc\u{2060}-1", "U+2060 (word joiner)"),
    ("a\u{200c}cc-1", "U+200C (zero width non-joiner)"),
    ("a\u{200d}cc-1", "U+200D (zero width joiner)"),
    ("acc-1\u{fe0f}", "U+FE0F"),
    ("acc-1\u{e0001}", "U+E0001"),
    ("\u{200e}acc-1", "control character, U+200E (left-to-right mark)"),
    ("acc-1\n", "control character, U+000A (line feed)"),
];

fn transaction(id: &str, field: &str, text: &str) -> Value {
    sample::with(&sample::transaction(id), &json!({ field: text }))
}

fn count(service: &Service, origin: &str) -> u64 {
    let line = format!("tollgate_unclear_identifiers_total{{origin=\"{origin}\"}} ");
    let page = service.get("/metrics").text();
    page.lines().find_map(|read| read.strip_prefix(&line)).unwrap().parse().unwrap()
}

fn report(service: &Service, data: &Value) -> Answer {
    let body = json!({"event": "transaction.created", "data": data}).to_string();
    service.try_post("/ledgerwebhook", body.as_bytes()).unwrap()
}

#[test]
fn an_identifier_that_looks_like_another_is_refused_with_the_character_and_its_position() {
    let service = service();
    for field in ["transaction_id", "source", "destination"] {
        for (text, said) in LOOK_ALIKES {
            let answer = service.inject(&transaction("new", field, text));
            check_refused(&format!("{field}: {text:?}"), &answer, 400, "invalid_field");
            assert_eq!(answer.at("/field"), field);
            let error = answer.at("/error").as_str().unwrap().to_owned();
            assert!(error.contains(&format!("`{field}`")) && error.contains(said), "{error}");
        }
    }
    assert_eq!(service.transaction("new").status, 404);
    assert_eq!(count(&service, "inject"), 0);
    check_unharmed(&service);
}

#[test]
fn identifiers_of_other_scripts_and_free_texts_are_taken() {
    let service = service();
    for (n, text) in
        ["می\u{200c}خواهم", "क्\u{200d}ष", "👩\u{200d}💻", "❤\u{fe0f}", "a b", "口座 1"].iter().enumerate()
    {
        for field in ["transaction_id", "source", "destination"] {
            let answer = service.inject(&transaction(&format!("{field}-{n}"), field, text));
            assert_eq!(answer.status, 200, "{field} {text}: {}", answer.text());
        }
    }
    let free = "\u{202b}שלום\u{200f}\nעולם\t\u{200b} ";
    let texts = json!({"reference": free, "description": free, "meta_data": {"note": free, free: 1}});
    let sent = sample::with(&sample::transaction("free"), &texts);
    assert_eq!(service.inject(&sent).status, 200);
    let stored = service.transaction("free").expect(200);
    for field in ["reference", "description", "meta_data"] {
        assert_eq!(stored[field], texts[field]);
    }
}

#[test]
fn a_look_alike_identifier_from_a_ledger_is_accepted_and_counted() {
    let service = service();
    for (n, (text, _)) in LOOK_ALIKES.iter().enumerate() {
        let data = sample::with(&sample::transaction(text), &json!({"source": "acc", "reference": "r"}));
        let answer = report(&service, &data);
        assert_eq!(answer.status, 200, "{text:?}: {}", answer.text());
        assert_eq!(count(&service, "event"), n as u64 + 1);
        // Already stored, so it is not a new identifier.
        let again = service.inject(&data);
        assert_eq!((again.status, again.at("/transaction_id")), (200, json!(text)), "{}", again.text());
    }
    assert_eq!(count(&service, "inject"), LOOK_ALIKES.len() as u64);
}

#[test]
fn as_sent_takes_all_but_control_characters_and_an_id_that_is_stored_stays_known() {
    let mut home = Home::with_rules(&[("everything.ws", sample::rule("everything", "amount >= 0"))]);
    home.set("SERVICE_IDENTIFIERS", "as_sent");
    let service = Service::start(&home);
    let (lenient, strict) = LOOK_ALIKES.split_at(12);
    let mut answers = Vec::new();
    for (text, _) in lenient {
        let answer = service.inject(&transaction("t", "transaction_id", text));
        assert_eq!(answer.status, 200, "{text:?}: {}", answer.text());
        answers.push((text, answer));
    }
    for (text, _) in strict {
        let answer = service.inject(&transaction("t", "transaction_id", text));
        check_refused(text, &answer, 400, "invalid_field");
    }
    service.stop();
    home.set("SERVICE_IDENTIFIERS", "clear");
    let service = Service::start(&home);
    for (text, answer) in answers {
        assert_eq!(service.inject(&transaction("t", "transaction_id", text)), answer, "{text:?}: a retry");
        let other = sample::with(&transaction("t", "transaction_id", text), &json!({"amount": 77}));
        check_refused(text, &service.inject(&other), 409, "transaction_conflict");
    }
    let new = service.inject(&transaction("t", "source", "acc-1 "));
    check_refused("a new one", &new, 400, "invalid_field");
}
