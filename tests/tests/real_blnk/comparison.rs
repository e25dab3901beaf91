//! The payments of the service beside the balances of Blnk: sums, counts, statuses and verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;
use tollgate_tests::{Client, Service};

use crate::blnk::truth::{self, Payment, check_no_conflict, number};
use crate::real_blnk::caught_up;
use crate::real_blnk::rows::Rows;
use crate::real_blnk::server::Blnk;

/// Time in which an event that is on its way arrives.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(40);

/// Statuses of payments that moved money; a refund moves it back as a separate payment.
const MOVED: [&str; 2] = ["APPLIED", "REVERSED"];

/// A payment as the service answers it.
#[derive(Debug)]
struct Counted {
    status: String,
    accounts: [String; 2],
    /// The amount in minor units, and the number of these in one unit.
    units: i128,
    precision: i128,
    has_verdict: bool,
}

/// The payments of a service, by their ids.
pub(crate) struct Comparison {
    counted: BTreeMap<String, Counted>,
    /// The accounts of each payment according to Blnk. A payment that was split has several.
    accounts: BTreeMap<String, BTreeSet<String>>,
    /// The amount of each payment in minor units according to Blnk.
    units: BTreeMap<String, i128>,
    balances: BTreeMap<String, i128>,
    /// Statuses that differ.
    late: Vec<String>,
}

impl Comparison {
    /// Waits until the service has the payments of Blnk, and fails unless it has all of them and none in addition. Events
    /// may still be on their way when Blnk has nothing left to do.
    #[track_caller]
    pub(crate) fn new(blnk: &Blnk, service: &Service, when: &str) -> Self {
        Self::by(blnk, service, when, |_, id| id.to_owned())
    }

    /// Does the same for payments that are identified by their references, of which these were judged first.
    #[track_caller]
    pub(crate) fn by_reference(
        blnk: &Blnk,
        service: &Service,
        when: &str,
        judged: &BTreeSet<String>,
    ) -> Self {
        Self::by(blnk, service, when, |rows, id| {
            let whole = rows.whole(id).filter(|whole| judged.contains(*whole));
            whole.unwrap_or_else(|| rows.reference(id)).to_owned()
        })
    }

    #[track_caller]
    fn by(blnk: &Blnk, service: &Service, when: &str, name: impl Fn(&Rows, &str) -> String) -> Self {
        let rows = Rows::read(blnk);
        let mut expected: BTreeMap<String, Payment> = BTreeMap::new();
        let mut accounts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let (mut precisions, mut units) = (BTreeMap::new(), BTreeMap::new());
        for (first, payment) in rows.payments() {
            let id = name(&rows, &first);
            accounts.entry(id.clone()).or_default().extend(rows.accounts(&first));
            precisions.insert(id.clone(), rows.precision(&first));
            *units.entry(id.clone()).or_default() += rows.units(&first);
            let whole = expected.entry(id).or_insert_with(|| Payment { amount: 0.0, ..payment.clone() });
            whole.amount += payment.amount;
            assert_eq!(whole.status, payment.status, "the legs of a split payment have one status");
        }
        let late = follow(service, &expected, when);
        let counted = precisions.into_iter().map(|(id, precision)| {
            let counted = Counted::read(service, &id, precision);
            (id, counted)
        });
        Self { counted: counted.collect(), accounts, units, balances: balances(blnk), late }
    }

    /// Returns what is wrong about an account: its balance or its number of payments.
    pub(crate) fn fault_of(&self, account: &str) -> Option<String> {
        let (sum, balance) = (self.sum(account), self.balances[account]);
        let (n_counted, n_expected) = (self.payments(account), self.expected_payments(account));
        (sum != balance || n_counted != n_expected).then(|| {
            format!("{account}: {sum} of {balance} minor units, {n_counted} of {n_expected} payments")
        })
    }

    /// Returns what is wrong about single payments: the status or the amount differs, or nobody judged it.
    pub(crate) fn faults_of_payments(&self) -> Vec<String> {
        let fault = |(id, payment): (&String, &Counted)| {
            let expected = self.units[id];
            let amount = (payment.units != expected)
                .then(|| format!("{id}: {} minor units, not {expected}", payment.units));
            let verdict = (!payment.has_verdict).then(|| format!("{id}, {}: no verdict", payment.status));
            [amount, verdict].into_iter().flatten()
        };
        self.late.iter().cloned().chain(self.counted.iter().flat_map(fault)).collect()
    }

    /// Returns every account that a payment touches.
    pub(crate) fn accounts(&self) -> BTreeSet<String> {
        self.accounts.values().flatten().cloned().collect()
    }

    /// Returns the number of all payments.
    pub(crate) fn n_payments(&self) -> usize {
        self.counted.len()
    }

    /// Returns the number of payments that have an account on a side, 0 for the source, and the sum according to Blnk of those
    /// that moved money, as a decimal number.
    pub(crate) fn moved(&self, account: &str, side: usize) -> (usize, String) {
        let payments: Vec<(&String, &Counted)> =
            self.counted.iter().filter(|(_, payment)| payment.accounts[side] == account).collect();
        let moved = payments.iter().filter(|(_, payment)| MOVED.contains(&&*payment.status));
        let (units, precision) = moved.fold((0, 1), |(units, precision), (id, payment)| {
            assert!([1, payment.precision].contains(&precision), "{account} has two precisions");
            (units + self.units[*id], payment.precision)
        });
        let digits = precision.ilog10() as usize;
        (payments.len(), format!("{}.{:0digits$}", units / precision, units % precision))
    }

    /// Returns the number of payments that touch one of these accounts.
    pub(crate) fn n_payments_of(&self, accounts: &[String]) -> usize {
        let touches = |payment: &&Counted| payment.accounts.iter().any(|account| accounts.contains(account));
        self.counted.values().filter(touches).count()
    }

    fn sum(&self, account: &str) -> i128 {
        let moved = self.counted.values().filter(|payment| MOVED.contains(&&*payment.status));
        moved
            .map(|payment| {
                let [source, destination] = payment.accounts.each_ref().map(|one| i128::from(one == account));
                payment.units * (destination - source)
            })
            .sum()
    }

    fn payments(&self, account: &str) -> usize {
        let touches = |payment: &&Counted| payment.accounts.iter().any(|one| one == account);
        self.counted.values().filter(touches).count()
    }

    fn expected_payments(&self, account: &str) -> usize {
        self.accounts.values().filter(|accounts| accounts.contains(account)).count()
    }
}

impl Counted {
    #[track_caller]
    fn read(client: &Client, id: &str, precision: i128) -> Self {
        let answer = client.send(
            "GET",
            &format!("/transactions/{id}"),
            &[("accept", "application/json; decimals=string")],
            &[],
        );
        let payment = answer.unwrap().expect(200);
        assert_eq!(
            payment["transaction_id"], id,
            "a payment has the id that Blnk gave to the client, or its reference"
        );
        let text = |name: &str| payment[name].as_str().unwrap_or_default().to_owned();
        Self {
            status: text("status"),
            accounts: [text("source"), text("destination")],
            units: minor_units(&text("amount"), precision),
            precision,
            has_verdict: payment["verdict"].is_string(),
        }
    }
}

/// Waits until the service has exactly these payments. Returns those whose status still differs when time is up.
#[track_caller]
fn follow(service: &Service, expected: &BTreeMap<String, Payment>, when: &str) -> Vec<String> {
    caught_up(service);
    let deadline = Instant::now() + FOLLOWS_WITHIN;
    let mut late: Vec<&String> = expected.keys().collect();
    while !late.is_empty() && Instant::now() < deadline {
        late.retain(|id| status_of(service, id) != expected[*id].status);
    }
    caught_up(service);
    let fault = |id: &String| format!("{id} is `{}`, not {:?}", status_of(service, id), expected[id]);
    let faults: Vec<String> = late.into_iter().map(fault).collect();
    if faults.is_empty() {
        truth::check(service, expected, when);
    }
    check_no_conflict(service, 0, when);
    let counted = ["tollgate_history_transactions", "tollgate_ledger_waiting_entries"]
        .map(|name| number(service, name));
    assert_eq!(counted, [expected.len() as u64, 0], "{when}: payments, and entries that wait; {faults:#?}");
    faults
}

fn status_of(client: &Client, id: &str) -> String {
    client.transaction(id).at("/status").as_str().unwrap_or_default().to_lowercase()
}

/// Returns an amount in minor units, of which one unit has `precision`. A fraction of a minor unit fails.
#[track_caller]
fn minor_units(amount: &str, precision: i128) -> i128 {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let scale = 10_i128.pow(u32::try_from(fraction.len()).unwrap());
    let digits: i128 = format!("{whole}{fraction}").parse().unwrap_or_else(|_| panic!("amount `{amount}`"));
    let units = digits * precision;
    assert_eq!(units % scale, 0, "{amount} has a fraction of a minor unit");
    units / scale
}

/// Returns the balances of Blnk in minor units.
fn balances(blnk: &Blnk) -> BTreeMap<String, i128> {
    let balance = |row: &Value| {
        let units = row["balance"].as_str().unwrap().parse().unwrap();
        (row["balance_id"].as_str().unwrap().to_owned(), units)
    };
    let rows = blnk.select("SELECT balance_id, balance::text AS balance FROM blnk.balances");
    rows.iter().map(balance).collect()
}
