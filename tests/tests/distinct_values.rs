//! `distinct` counts a text and the number that it equals once.

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, sample};

#[test]
fn a_card_that_is_sent_as_a_number_and_as_a_text_is_one_card() {
    let rule = |n: usize| {
        let condition = format!(r#"distinct(metadata.card when source == $current.source, "P1D") == {n}"#);
        (format!("n{n}.ws"), sample::rule(&format!("n{n}"), &condition))
    };
    let service = Service::start(&Home::with_rules(&[rule(1), rule(2), rule(3)]));
    for (n, (card, expected)) in [
        (json!(4111), &[][..]),
        (json!("4111"), &["n1"]),
        (json!(4111.0), &["n1"]),
        (json!("04111"), &["n1"]),
        (json!("4112"), &["n2"]),
        (json!(4112), &["n3"]),
        (Value::Null, &["n3"]),
    ]
    .into_iter()
    .enumerate()
    {
        let fields =
            json!({"source": "acc-1", "meta_data": {"card": card}, "created_at": "2026-01-01T00:00:00Z"});
        let payment = sample::with(&sample::transaction(&format!("t{n}")), &fields);
        assert_eq!(service.inject(&payment).triggered(), expected, "{n}: {card}");
    }
}
