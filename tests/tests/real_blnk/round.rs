//! The payments of one kind: their accounts, and the requests to Blnk.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use serde_json::{Value, json};
use tollgate_tests::{Answer, sample};

use crate::real_blnk::server::Blnk;
use crate::real_blnk::until;

/// Minor units of one unit.
pub(crate) const PRECISION: u64 = 100;

/// The payments of one kind, between accounts that no other kind uses.
pub(crate) struct Round<'b> {
    pub(crate) blnk: &'b Blnk,
    name: &'static str,
    ledger: &'b str,
    accounts: RefCell<Vec<String>>,
    /// References of entries that Blnk has to store.
    references: RefCell<Vec<String>>,
    n_sent: Cell<usize>,
}

impl<'b> Round<'b> {
    pub(crate) fn new(blnk: &'b Blnk, name: &'static str, ledger: &'b str) -> Self {
        let (accounts, references) = (RefCell::default(), RefCell::default());
        Self { blnk, name, ledger, accounts, references, n_sent: Cell::new(0) }
    }

    /// Returns the number of payments requested so far.
    pub(crate) fn n_sent(&self) -> usize {
        self.n_sent.get()
    }

    pub(crate) fn accounts(&self) -> Vec<String> {
        self.accounts.borrow().clone()
    }

    pub(crate) fn references(&self) -> Vec<String> {
        self.references.borrow().clone()
    }

    /// Creates an empty account.
    pub(crate) fn account(&self) -> String {
        self.account_with(&json!({}))
    }

    /// Creates an empty account with these fields.
    pub(crate) fn account_with(&self, fields: &Value) -> String {
        let account = json!({"ledger_id": self.ledger, "currency": "EUR"});
        let created = self.blnk.call("POST", "/balances", &sample::with(&account, fields));
        let id = created["balance_id"].as_str().unwrap().to_owned();
        self.accounts.borrow_mut().push(id.clone());
        id
    }

    /// Creates an account that received this amount from `@world`.
    pub(crate) fn funded(&self, amount: u32) -> String {
        let account = self.account();
        self.fund(&account, amount, &json!({}));
        account
    }

    /// Pays an amount from `@world` at once.
    pub(crate) fn fund(&self, account: &str, amount: u32, fields: &Value) {
        let funding = json!({"amount": amount, "allow_overdraft": true, "skip_queue": true});
        self.pay("@world", account, &sample::with(&funding, fields));
    }

    /// Returns a new reference.
    pub(crate) fn reference(&self) -> String {
        self.n_sent.set(self.n_sent.get() + 1);
        format!("{}-{}", self.name.replace([' ', ',', ';'], ""), self.n_sent.get())
    }

    /// Returns the request of a payment of 100 with these fields added or replaced.
    pub(crate) fn request(&self, source: &str, destination: &str, fields: &Value) -> Value {
        let mut request = json!({
            "amount": 100, "precision": PRECISION, "currency": "EUR", "reference": self.reference(),
            "description": self.name, "source": source, "destination": destination,
        });
        request = sample::with(&request, fields);
        // An amount in minor units, and distributions, stand in place of other fields.
        let absent = [("precise_amount", "amount"), ("sources", "source"), ("destinations", "destination")];
        for (present, absent) in absent {
            if request.get(present).is_some() {
                request.as_object_mut().unwrap().remove(absent);
            }
        }
        request
    }

    /// Requests a payment that Blnk must accept, and returns its id.
    #[track_caller]
    pub(crate) fn pay(&self, source: &str, destination: &str, fields: &Value) -> String {
        let request = self.request(source, destination, fields);
        let answer = self.blnk.accepted("POST", "/transactions", &request).text();
        self.references.borrow_mut().extend(legs(&request));
        // The first member of this name is that of the payment; legs and metadata follow.
        let id = answer.split_once(r#""transaction_id":""#).and_then(|(_, rest)| rest.split_once('"'));
        id.unwrap_or_else(|| panic!("no id: {answer}")).0.to_owned()
    }

    /// Requests a payment that Blnk must refuse.
    #[track_caller]
    pub(crate) fn pay_in_vain(&self, source: &str, destination: &str, fields: &Value) -> Answer {
        let answer = self.blnk.send("POST", "/transactions", &self.request(source, destination, fields));
        assert!(answer.status >= 400, "{}", answer.text());
        answer
    }

    /// Expects entries with these references.
    pub(crate) fn expect(&self, references: impl IntoIterator<Item = String>) {
        self.references.borrow_mut().extend(references);
    }

    /// Requests a hold and waits until it is held. Returns the id of the payment.
    #[track_caller]
    pub(crate) fn hold(&self, source: &str, destination: &str, fields: &Value) -> String {
        let hold = sample::with(&json!({"inflight": true}), fields);
        let id = self.pay(source, destination, &hold);
        self.wait_for_entry(&id, "'INFLIGHT'", 1);
        id
    }

    /// Commits or voids a hold, in part if an amount is given, and waits until that is stored. A second request waits for
    /// the first one, because Blnk refuses it until then.
    #[track_caller]
    pub(crate) fn settle(&self, hold: &str, status: &str, fields: &Value) {
        let ended = "'APPLIED', 'VOID'";
        let before = self.n_entries(hold, ended);
        let request = sample::with(&json!({"status": status}), fields);
        self.blnk.call("PUT", &format!("/transactions/inflight/{hold}"), &request);
        self.wait_for_entry(hold, ended, before + 1);
    }

    /// Waits until this many entries of a payment have one of these statuses.
    #[track_caller]
    pub(crate) fn wait_for_entry(&self, id: &str, statuses: &str, n: u64) {
        until("an entry is stored", || {
            let found = self.n_entries(id, statuses);
            (found < n).then(|| format!("{found} of {n} entries of {id} are {statuses}"))
        });
    }

    /// Counts the entries of a payment with one of these statuses: the first one, its children, and theirs.
    fn n_entries(&self, id: &str, statuses: &str) -> u64 {
        let count = self.blnk.sql(&format!(
            "SELECT count(*) FROM blnk.transactions t LEFT JOIN blnk.transactions p ON p.transaction_id = t.parent_transaction
             WHERE '{id}' IN (t.transaction_id, t.parent_transaction, p.parent_transaction) AND t.status IN ({statuses})"
        ));
        count.parse().unwrap()
    }

    /// Refunds a payment once it is posted. Blnk looks for further entries to refund while it refunds, and then answers that
    /// one has been refunded.
    #[track_caller]
    pub(crate) fn refund(&self, id: &str, fields: &Value) {
        self.n_sent.set(self.n_sent.get() + 1);
        self.wait_for_entry(id, "'APPLIED'", 1);
        let answer = self.blnk.send("POST", &format!("/refund-transaction/{id}"), fields);
        let is_refunded = answer.status < 300 || answer.text().contains("has already been refunded");
        assert!(is_refunded, "{}", answer.text());
    }
}

/// Returns the references under which Blnk stores a payment: its own, or one for each leg of a split payment.
fn legs(request: &Value) -> Vec<String> {
    let reference = request["reference"].as_str().unwrap();
    let n_legs = ["sources", "destinations"].iter().find_map(|name| request[*name].as_array().map(Vec::len));
    let mark = if request["skip_queue"] == true { '-' } else { '_' };
    match n_legs {
        Some(n_legs) => (1..=n_legs).map(|n| format!("{reference}{mark}{n}")).collect(),
        None => vec![reference.to_owned()],
    }
}

/// Returns the time in this many seconds, as Blnk reads it.
pub(crate) fn in_seconds(seconds: u64) -> String {
    (Utc::now() + Duration::from_secs(seconds)).to_rfc3339_opts(SecondsFormat::Secs, true)
}
