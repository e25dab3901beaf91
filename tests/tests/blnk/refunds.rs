//! Queued refunds of Blnk before 0.15: only the queued entry names the refunded one, so its row does.

use serde_json::{Value, json};
use tollgate_tests::{Service, audit, needs, sample};

use crate::blnk::identity::{entry, id, status_of};
use crate::blnk::odd::dead;
use crate::blnk::tables::{Tables, caught_up};
use crate::blnk::truth::number;
use crate::blnk::{home, ok, tell_entry};

const REFERENCE: &str = "ref_00000000-0000-4000-8000-000000000002";

/// Returns the queued refund 2 of the entry with this number, with these fields.
fn refund(original: u32, fields: &Value) -> Value {
    let back = json!({
        "status": "QUEUED", "parent_transaction": id(original), "reference": REFERENCE, "source": "bln_2",
        "destination": "bln_1",
    });
    sample::with(&entry(2, &back), fields)
}

/// Returns the copy 3 of the queued refund.
fn copy(fields: &Value) -> Value {
    let copied = json!({
        "transaction_id": id(3), "parent_transaction": id(2), "reference": format!("{REFERENCE}_q"), "status": "APPLIED",
        "meta_data": {"QUEUED_PARENT_TRANSACTION": id(2), "queue_lane": "normal"},
    });
    refund(1, &sample::with(&copied, fields))
}

/// The entries of a history, and what becomes of the payments 1 and 2.
struct Case {
    entries: Vec<Value>,
    status: &'static str,
    refund: &'static str,
}

impl Case {
    /// A payment, and a refund with these fields of which the copy has further ones.
    fn new(fields: &Value, further: &Value, status: &'static str, refund_status: &'static str) -> Self {
        let copy = copy(&sample::with(fields, further));
        Self { entries: vec![entry(1, &json!({})), refund(1, fields), copy], status, refund: refund_status }
    }

    fn good() -> Self {
        Self::new(&json!({}), &json!({}), "REVERSED", "APPLIED")
    }
}

/// Checks the payments after these rows in this order, each in a poll of its own or all in one.
#[track_caller]
fn check_rows(tables: &Tables, case: &Case, order: &[usize]) {
    for (identity, evaluates, is_one_poll) in [("id", "true", false), ("reference", "false", true)] {
        tables.empty();
        let mut home = home();
        tables.feeds(&mut home);
        home.set("LEDGER_IDENTITY", identity);
        home.set("LEDGER_EVALUATE", evaluates);
        let rows = order.iter().map(|index| &case.entries[*index]);
        if is_one_poll {
            rows.clone().for_each(|row| tables.insert(row));
        }
        let service = Service::start(&home);
        if !is_one_poll {
            for row in rows {
                tables.insert(row);
                caught_up(&service);
            }
        }
        caught_up(&service);
        check_statuses(&service, case, &format!("{order:?} by {identity}, in one poll: {is_one_poll}"));
        drop(service.stop());
        audit::replay(&home).all_follow();
    }
}

#[track_caller]
fn check_statuses(service: &Service, case: &Case, when: &str) {
    let found = [1, 2].map(|number| status_of(service, &id(number)));
    assert_eq!(found, [case.status, case.refund], "{when}: {:#?}", case.entries);
    assert_eq!(number(service, "tollgate_history_transactions"), 2, "{when}");
    assert_eq!(dead(service), [] as [String; 0], "{when}");
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[test]
fn a_queued_refund_by_an_older_blnk_reverses_its_payment_in_every_order() {
    needs!(PostgreSql);
    let tables = Tables::open();
    for order in ORDERS {
        check_rows(&tables, &Case::good(), &order);
    }
}

#[test]
fn a_queued_refund_of_a_queued_payment_or_of_a_commit_reverses_it() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let queued = entry(1, &json!({"status": "QUEUED"}));
    let posted = |status: &str| {
        entry(
            1,
            &json!({
                "transaction_id": id(4), "parent_transaction": id(1), "reference": "order-1_q", "status": status,
                "meta_data": {"QUEUED_PARENT_TRANSACTION": id(1), "queue_lane": "normal"},
            }),
        )
    };
    let commit =
        json!({"parent_transaction": id(4), "reference": "ref_00000000-0000-4000-8000-000000000005"});
    let commit = entry(5, &commit);
    for original in [1, 4] {
        let entries = vec![queued.clone(), posted("APPLIED"), refund(original, &json!({})), copy(&json!({}))];
        let case = Case { entries, ..Case::good() };
        check_rows(&tables, &case, &[0, 1, 2, 3]);
        check_rows(&tables, &case, &[3, 2, 1, 0]);
    }
    let entries = vec![queued, posted("INFLIGHT"), commit, refund(5, &json!({})), copy(&json!({}))];
    check_rows(&tables, &Case { entries, ..Case::good() }, &[0, 1, 2, 3, 4]);
}

#[test]
fn a_queued_refund_that_its_event_reports_before_or_after_its_rows_reverses_its_payment() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let case = Case::good();
    let [payment, queued, copy] = [0, 1, 2].map(|index| &case.entries[index]);
    // A number is the number of rows that are read before the event.
    for n_before in 0..=3 {
        tables.empty();
        let mut home = home();
        tables.feeds(&mut home);
        let service = Service::start(&home);
        for (n, row) in [payment, queued, copy].into_iter().enumerate() {
            if n == n_before {
                ok(&tell_entry(&service, copy));
            }
            tables.insert(row);
            caught_up(&service);
        }
        ok(&tell_entry(&service, copy));
        check_statuses(&service, &case, &format!("{n_before} rows before the event"));
        assert!(service.transaction(&id(2)).expect(200)["verdict"].is_string());
        service.kill();
        let service = Service::start(&home);
        caught_up(&service);
        check_statuses(&service, &case, "after a kill");
    }
}

#[test]
fn a_queued_entry_that_moves_something_else_or_is_not_posted_reverses_nothing() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let (none, other) = (json!({}), json!({"amount": 99, "precise_amount": 9900}));
    for case in [
        Case::new(&other, &none, "APPLIED", "APPLIED"),
        Case::new(&json!({"source": "bln_3"}), &none, "APPLIED", "APPLIED"),
        Case::new(&json!({"source": "bln_1", "destination": "bln_2"}), &none, "APPLIED", "APPLIED"),
        Case::new(&json!({"currency": "USD"}), &none, "APPLIED", "APPLIED"),
        Case::new(&none, &json!({"status": "REJECTED"}), "APPLIED", "REJECTED"),
        Case::new(&none, &json!({"status": "INFLIGHT"}), "APPLIED", "INFLIGHT"),
    ] {
        check_rows(&tables, &case, &[0, 1, 2]);
        check_rows(&tables, &case, &[2, 1, 0]);
    }
}

#[test]
fn a_client_that_chooses_reference_and_metadata_reverses_nothing() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let claim = json!({
        "QUEUED_PARENT_TRANSACTION": id(1), "queue_lane": "normal", "parent_transaction": id(1), "_refund": id(1),
    });
    // The parent is Blnk's own, and a payment of a client has none, or that of a split payment.
    for parent in ["", "txn_00000000-0000-4000-8000-000000000090"] {
        let forged = refund(1, &json!({"parent_transaction": parent, "meta_data": claim}));
        let entries = vec![entry(1, &json!({})), forged, copy(&json!({"meta_data": claim}))];
        let case = Case { entries, status: "APPLIED", refund: "APPLIED" };
        check_rows(&tables, &case, &[0, 1, 2]);
        check_rows(&tables, &case, &[0, 2, 1]);
    }
    // A queued payment back under a reference of the client's own names no refunded entry.
    let own = json!({"reference": "order-2"});
    let case = Case::new(&own, &json!({"reference": "order-2_q"}), "APPLIED", "APPLIED");
    check_rows(&tables, &case, &[0, 1, 2]);
    check_rows(&tables, &case, &[0, 2, 1]);
}
