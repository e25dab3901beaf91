//! A history, and rules that run against it alone.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use serde_json::{Value as Json, json};
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::registry::{BoundRule, ListInForce, Lists, RuleSet};
use tollgate_engine::sandbox::{CheckedModule, Sandbox, with_manifest};
use tollgate_guest_abi::limits::{FUEL_GRANTED_MAX, MEMORY_PAGES_GRANTED_MAX};
use tollgate_guest_abi::{ABI_VERSION, Cost, Manifest, Needs, RuleEntry, Semantics, Verdict};
use tollgate_history::History;
use tollgate_model::calendar::ZoneData;
use tollgate_model::instruction::{Grant, InstructionId, InstructionSource, PAGE_BYTES, RuleOwner};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_rules::intake::{Draft, Identity, KnownNames};

use crate::operations::{MemoryWrites, Operation, PAST_LONG_TEXT};

/// Accounts with most of the transactions, and how many accounts share the rest.
const N_BUSY: usize = 8;
const N_QUIET: usize = 40_000;
/// Transactions that are evaluated in turn.
const N_ASKED: usize = 64;
/// As many that their keys are in no cache of the processor.
const N_ASKED_COLD: usize = 16_384;
/// Time that is measured for each operation, in nanoseconds, and in how many batches.
const NS_MEASURED: f64 = 60_000_000.0;
const N_BATCHES: usize = 9;

pub(crate) struct Stage {
    sandbox: Sandbox,
    history: History,
    lists: Lists,
    n_rows: usize,
}

/// The fuel and the time of one evaluation.
pub(crate) struct Measured {
    pub(crate) fuel: f64,
    pub(crate) ns: f64,
}

impl Measured {
    pub(crate) fn ns_per_unit(&self) -> f64 {
        self.ns / self.fuel.max(1.0)
    }
}

impl Stage {
    pub(crate) fn new(n_rows: usize) -> anyhow::Result<Self> {
        let mut lists = Lists::default();
        let entries: Vec<String> = (0..10_000).map(|n| format!("listed-{n}")).collect();
        lists.insert(
            "many",
            ListInForce::read(&entries.join("\n"), InstructionSource::Api, Semantics::CURRENT),
        );
        let (sandbox, history) = (Sandbox::new()?, History::new());
        Ok(Self { sandbox, history, lists, n_rows })
    }

    /// Measures a module that does nothing but loop until its fuel is nearly used up.
    pub(crate) fn measure_loop(&self) -> anyhow::Result<Measured> {
        self.measure_module(LOOP)
    }

    /// Measures a module that writes memory, with the most that a service can grant.
    pub(crate) fn measure_memory(&self, memory: &MemoryWrites) -> anyhow::Result<Measured> {
        let MemoryWrites { n_pages, every, .. } = memory;
        let n_bytes = n_pages * PAGE_BYTES;
        self.measure_module(&format!(
            r#"(module (memory (export "memory") {n_pages}) (func (export "evaluate") (result i64) (local $at i32)
                (loop $again
                    (i32.store8 (local.get $at) (i32.const 1))
                    (br_if $again
                        (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const {every}))) (i32.const {n_bytes}))))
                (i64.const 0)))"#
        ))
    }

    fn measure_module(&self, text: &str) -> anyhow::Result<Measured> {
        let rule = RuleEntry {
            name: "loop".into(),
            description: None,
            verdict: Verdict::Review,
            score: 0.5,
            reason: "because".into(),
        };
        let manifest = Manifest {
            abi_version: ABI_VERSION,
            semantics: Semantics::CURRENT,
            rules: vec![rule],
            needs: Needs::default(),
            cost: Cost::default(),
        };
        let bytes = with_manifest(&wat::parse_str(text)?, &manifest);
        let granted = MEMORY_PAGES_GRANTED_MAX * PAGE_BYTES;
        let grant = Grant { fuel: FUEL_GRANTED_MAX, memory_bytes: granted, ..Grant::default() };
        let module = CheckedModule::check(&bytes, grant)?.compile_here(&self.sandbox, &bytes)?;
        let identity = Identity::new(InstructionId(1), InstructionSource::Upload, Utc::now());
        let rule = Draft::of_module(module, bytes)?.bind(&self.history, identity)?;
        let transactions = [transaction(json!({}))?];
        self.run(rule, &transactions)
    }

    /// Measures an operation, less an evaluation that does nothing.
    pub(crate) fn measure(&self, operation: &Operation) -> anyhow::Result<Measured> {
        let rule = self.compile("amount < 0")?;
        let n_asked = if operation.name.starts_with("cold") { N_ASKED_COLD } else { N_ASKED };
        let asked = (0..n_asked).map(|n| transaction((operation.asked)(n)));
        let asked: Vec<_> = asked.collect::<anyhow::Result<_>>()?;
        let nothing = self.run(rule, &asked)?;
        let rule = self.compile(&operation.when)?;
        if operation.when.contains("P30D") && self.history.is_empty() {
            self.fill()?;
        }
        let measured = self.run(rule, &asked)?;
        Ok(Measured { fuel: measured.fuel - nothing.fuel, ns: measured.ns - nothing.ns })
    }

    fn fill(&self) -> anyhow::Result<()> {
        for n in 0..self.n_rows {
            self.history.admit(transaction(past(n))?, |_| ());
        }
        Ok(())
    }

    fn compile(&self, when: &str) -> anyhow::Result<BoundRule> {
        let script = format!("rule measured {{ when {when} then review score 0.5 reason \"because\" }}");
        let artifacts = Arc::new(Artifacts::without_cache(&self.sandbox, Compiler::in_this_process()));
        let (zones, currencies) = (ZoneData::built_in(), BTreeSet::new());
        let known = KnownNames { lists: &self.lists, zones: &zones, currencies: &currencies };
        let draft = Draft::compile(&artifacts, known, script).with_context(|| when.to_owned())?;
        let identity = Identity::new(InstructionId(1), InstructionSource::Api, Utc::now());
        Ok(draft.bind(&self.history, identity)?)
    }

    fn run(&self, rule: BoundRule, asked: &[Arc<Transaction>]) -> anyhow::Result<Measured> {
        // No bound suffices for this owner, so each run is measured.
        let owner = RuleOwner { name: "measured".into(), fuel: u64::MAX, sustained_fuel: Some(0) };
        let rule = Arc::new(rule.owned_by(Some(&owner)));
        let rule_set = Arc::new(RuleSet::new(1, vec![rule], self.lists.clone()));
        let mut evaluator = Evaluator::new(self.sandbox.clone());
        let as_of = Sequence(self.history.last_sequence().0 + 1);
        let mut fuel = 0;
        let started = Instant::now();
        for transaction in asked {
            black_box(evaluator.evaluate(&rule_set, transaction, as_of));
            fuel += evaluator.costs().iter().map(|(_, cost)| cost.fuel).sum::<u64>();
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let (n_asked, of_round) = (asked.len() as f64, started.elapsed().as_nanos() as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
        let n_rounds = (NS_MEASURED / 9.0 / of_round).ceil().max(1.0) as usize;
        let mut batches = Vec::new();
        for _ in 0..N_BATCHES {
            let started = Instant::now();
            for transaction in (0..n_rounds).flat_map(|_| asked) {
                black_box(evaluator.evaluate(&rule_set, black_box(transaction), as_of));
            }
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            batches.push(started.elapsed().as_nanos() as f64 / n_rounds as f64 / n_asked);
        }
        batches.sort_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let fuel = fuel as f64 / n_asked;
        Ok(Measured { fuel, ns: batches.get(N_BATCHES / 2).copied().unwrap_or(f64::NAN) })
    }
}

/// Counts down from a number that nearly uses up the fuel of a run.
const LOOP: &str = r#"(module (func (export "evaluate") (result i64) (local $n i32) (local $sum i64)
    (local.set $n (i32.const 90000))
    (loop $again
        (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u (local.get $n))))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br_if $again (local.get $n)))
    (i64.and (local.get $sum) (i64.const 0))))"#;

/// Returns a past transaction: half of them of busy accounts, which reach back one day.
fn past(n: usize) -> Json {
    let is_busy = n.is_multiple_of(2);
    let source =
        if is_busy { format!("busy-{}", n / 2 % N_BUSY) } else { format!("quiet-{}", n * 7 % N_QUIET) };
    let second = 1_772_323_200 + i64::try_from(n).unwrap_or(0);
    let text = if is_busy && n / 2 % N_BUSY == 7 {
        "x".repeat(PAST_LONG_TEXT)
    } else {
        format!("payment {n} for rent and more")
    };
    json!({
        "transaction_id": format!("past-{n}"), "amount": n % 5_000, "currency": "EUR", "source": source,
        "destination": format!("shop-{}", n % 300), "reference": format!("reference-{n}"), "description": text,
        "created_at": DateTime::from_timestamp(second, 0).unwrap_or_default().to_rfc3339(), "effective_date": "2026-01-01T00:00:00Z",
        "meta_data": {
            "card": format!("card-{n}"), "number": n % 1_000, "spelled": format!("{:0width$}", 7, width = 1 + n % 60),
            "one": 1, "order": {"items": [n, n + 1], "place": format!("place-{n}")},
        },
    })
}

/// Returns a transaction with these fields besides the required ones.
fn transaction(fields: Json) -> anyhow::Result<Arc<Transaction>> {
    let required = json!({
        "transaction_id": "asked", "amount": 10, "currency": "EUR", "reference": "asked", "source": "busy-0",
        "created_at": "2026-03-25T00:00:00Z",
    });
    let mut whole: BTreeMap<String, Json> = serde_json::from_value(required)?;
    whole.extend(serde_json::from_value::<BTreeMap<String, Json>>(fields)?);
    let body = serde_json::to_vec(&whole)?;
    let (transaction, _) = Transaction::parse(&body, DateTime::<Utc>::UNIX_EPOCH)?;
    Ok(Arc::new(transaction))
}
