//! The grouping of rules into bodies, the bodies a change rebuilds, and the failure of a body.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tollgate_compiler::emit::{Selection, emit};
use tollgate_compiler::{CheckedRule, CompileOptions, compile};
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::fusion;
use tollgate_engine::registry::{BoundModule, BoundRule, FusedBody, FusedMember, Lists, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_history::History;
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::instruction::{Instruction, Quarantine, QuarantineCause};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_tests::{sample, subject};

/// A numbered set of rules that changes.
struct Stage {
    sandbox: Sandbox,
    history: History,
    rules: BTreeMap<usize, Arc<BoundRule>>,
    bodies: Vec<Arc<FusedBody>>,
}

/// The bodies after a change.
#[derive(Debug, PartialEq, Eq)]
struct Bodies {
    /// Number of rules in each.
    sizes: Vec<usize>,
    /// Number of bodies that did not exist before.
    n_new: usize,
}

impl Stage {
    fn new(numbers: std::ops::Range<usize>) -> Self {
        let mut stage = Self {
            sandbox: Sandbox::new().unwrap(),
            history: History::new(),
            rules: BTreeMap::new(),
            bodies: Vec::new(),
        };
        numbers.for_each(|number| stage.put(number, number));
        stage.fuse();
        stage
    }

    /// Adds rule `number`, which matches amounts over `limit`.
    fn put(&mut self, number: usize, limit: usize) {
        self.put_rule(number, &format!("amount > {limit}"));
    }

    fn put_rule(&mut self, number: usize, condition: &str) {
        let rule = checked(&sample::rule(&format!("r{number}"), condition));
        let rule = subject::bind(number, &rule, &self.sandbox, &self.history).unwrap();
        self.rules.insert(number, Arc::new(rule));
    }

    fn change(&mut self, number: usize, change: impl FnOnce(BoundRule) -> BoundRule) {
        let rule = self.rules.remove(&number).unwrap();
        self.rules.insert(number, Arc::new(change((*rule).clone())));
    }

    fn all(&self) -> Vec<Arc<BoundRule>> {
        self.rules.values().map(Arc::clone).collect()
    }

    fn fuse(&mut self) -> Bodies {
        let bodies = fusion::bodies(&|bytes| self.sandbox.admit(bytes), &self.bodies, &self.all());
        let is_new = |body: &&Arc<FusedBody>| !self.bodies.iter().any(|known| Arc::ptr_eq(known, body));
        let n_new = bodies.iter().filter(is_new).count();
        let sizes = bodies.iter().map(|body| body.members.len()).collect();
        self.bodies = bodies;
        Bodies { sizes, n_new }
    }

    /// Returns the results of all rules for an amount, and the number of failed bodies. Results without bodies must be
    /// equal.
    #[track_caller]
    fn judge(&self, amount: usize) -> (Vec<RuleOutcome>, usize) {
        let (transaction, as_of) = self.accept(amount);
        let (alone, _) = self.evaluate(&[], &transaction, as_of);
        let (outcomes, n_failed) = self.evaluate(&self.bodies, &transaction, as_of);
        assert_eq!(outcomes, alone, "of {amount}");
        (outcomes, n_failed)
    }

    fn accept(&self, amount: usize) -> (Arc<Transaction>, Sequence) {
        let sent = json!({ "amount": amount, "source": "s", "description": "rent" });
        let transaction = parse(&sample::with(&sample::transaction("t"), &sent));
        let as_of = self.history.admit(Arc::clone(&transaction), |sequence| sequence);
        (transaction, as_of)
    }

    fn evaluate(
        &self,
        bodies: &[Arc<FusedBody>],
        transaction: &Arc<Transaction>,
        as_of: Sequence,
    ) -> (Vec<RuleOutcome>, usize) {
        let rule_set = Arc::new(RuleSet::fused(1, self.all(), bodies, Lists::default()));
        let mut evaluator = Evaluator::new(self.sandbox.clone());
        let outcomes = evaluator.evaluate(&rule_set, transaction, as_of).of_each();
        (outcomes, evaluator.n_bodies_failed())
    }

    /// Returns the results of all rules for this currency and amount, and the number of skipped bodies.
    fn spare(&self, currency: &str, amount: usize) -> (Vec<RuleOutcome>, usize) {
        let sent =
            sample::with(&sample::transaction("t"), &json!({ "amount": amount, "currency": currency }));
        let rule_set = Arc::new(RuleSet::fused(1, self.all(), &self.bodies, Lists::default()));
        let mut evaluator = Evaluator::new(self.sandbox.clone());
        let outcomes = evaluator.evaluate(&rule_set, &parse(&sent), Sequence(1)).of_each();
        (outcomes, evaluator.n_bodies_spared())
    }
}

fn parse(sent: &Json) -> Arc<Transaction> {
    let (transaction, _) =
        Transaction::parse(sent.to_string().as_bytes(), chrono::DateTime::UNIX_EPOCH).unwrap();
    Arc::new(transaction)
}

fn checked(script: &str) -> CheckedRule {
    compile(script, &CompileOptions::default()).rule.unwrap()
}

fn of_unknown_making(rule: BoundRule) -> BoundRule {
    let instruction = Arc::new(Instruction { checked: None, ..(*rule.instruction).clone() });
    BoundRule { instruction, ..rule }
}

fn quarantined(rule: BoundRule) -> BoundRule {
    let mut record = (*rule.instruction.record).clone();
    record.quarantine = Some(Quarantine {
        since: chrono::DateTime::UNIX_EPOCH,
        cause: QuarantineCause::Failures,
        reason: "it keeps failing".to_owned(),
    });
    let instruction = Arc::new(Instruction { record: Arc::new(record), ..(*rule.instruction).clone() });
    BoundRule { instruction, ..rule }
}

/// Checks the sizes of the bodies after a change and the number of new ones.
#[track_caller]
fn check(n_rules: usize, change: impl FnOnce(&mut Stage), sizes: &[usize], n_new: usize) {
    let mut stage = Stage::new(0..n_rules);
    change(&mut stage);
    assert_eq!(stage.fuse(), Bodies { sizes: sizes.to_vec(), n_new });
    let (outcomes, n_failed) = stage.judge(20);
    assert_eq!((outcomes.len(), n_failed), (stage.rules.len(), 0));
}

#[test]
fn without_a_change_every_body_stays() {
    check(200, |_| {}, &[64, 64, 64, 8], 0);
}

#[test]
fn a_changed_rule_makes_its_body_again_and_no_other() {
    check(200, |stage| stage.put(70, 7), &[64, 64, 64, 8], 1);
}

#[test]
fn a_new_rule_makes_no_large_body_again() {
    check(200, |stage| stage.put(200, 7), &[64, 64, 64, 8], 0);
    check(196, |stage| stage.put(196, 7), &[64, 64, 64, 5], 1);
    check(128, |stage| (128..131).for_each(|n| stage.put(n, n)), &[64, 64, 3], 1);
}

#[test]
fn new_rules_join_a_large_body_when_they_are_eight() {
    let mut stage = Stage::new(0..200);
    stage.fuse();
    let mut large_and_young = Vec::new();
    for number in 200..216 {
        stage.put(number, number);
        let Bodies { sizes, n_new } = stage.fuse();
        assert!(n_new <= 1, "{sizes:?}, {n_new} new");
        large_and_young.push(sizes[3..].to_vec());
        stage.judge(7);
    }
    let mut expected = Vec::new();
    for large in [8, 16] {
        // The first rule has no body yet.
        expected.push(vec![large]);
        expected.extend((2..8).map(|young| vec![large, young]));
        expected.push(vec![large + 8]);
    }
    assert_eq!(large_and_young, expected);
}

#[test]
fn a_new_rule_joins_the_body_that_a_removed_one_left() {
    let replace = |stage: &mut Stage| {
        stage.rules.remove(&70);
        stage.put(200, 7);
    };
    check(200, replace, &[64, 64, 64, 8], 1);
}

#[test]
fn small_remainders_of_bodies_are_merged() {
    let remove = |stage: &mut Stage| stage.rules.retain(|number, _| number % 64 < 20);
    check(192, remove, &[60], 1);
}

#[test]
fn rules_too_large_for_one_module_are_divided_and_merged_when_few_remain() {
    // Rules with about 2 KB of instructions each.
    let tests = |number: usize| {
        let tests: Vec<String> = (0..150).map(|n| format!("amount == {}", n * 100 + number)).collect();
        tests.join(" or ")
    };
    let mut stage = Stage::new(0..0);
    (0..64).for_each(|number| stage.put_rule(number, &tests(number)));
    let Bodies { sizes, n_new } = stage.fuse();
    assert_eq!((sizes.iter().sum::<usize>(), n_new), (64, sizes.len()));
    assert!(sizes.len() > 2, "{sizes:?}");
    assert_eq!(stage.fuse(), Bodies { sizes: sizes.clone(), n_new: 0 });
    let matched =
        |outcomes: &[RuleOutcome]| outcomes.iter().filter(|one| **one == RuleOutcome::Matched).count();
    assert_eq!(matched(&stage.judge(107).0), 1);
    // One rule of each body remains; then new ones are added.
    let left: Vec<_> = stage.bodies.iter().map(|body| body.members[0].id.0 as usize - 1).collect();
    stage.rules.retain(|number, _| left.contains(number));
    (100..104).for_each(|number| stage.put(number, number));
    let Bodies { sizes: after, .. } = stage.fuse();
    assert_eq!(after.iter().sum::<usize>(), stage.rules.len(), "{sizes:?}, then {after:?}");
    assert!(after.len() < sizes.len(), "{sizes:?}, then {after:?}");
    stage.judge(107);
}

#[test]
fn a_large_rule_stays_alone_and_leaves_the_others_together() {
    let mut stage = Stage::new(0..20);
    let accounts: Vec<String> = (0..1_000).map(|n| format!("\"account-{n}\"")).collect();
    stage.put_rule(5, &format!("source in ({})", accounts.join(", ")));
    assert_eq!(stage.fuse(), Bodies { sizes: vec![19], n_new: 1 });
    stage.judge(7);
    stage.rules.remove(&6);
    assert_eq!(stage.fuse(), Bodies { sizes: vec![18], n_new: 1 });
}

#[test]
fn a_rule_that_runs_out_of_fuel_alone_does_so_in_a_body() {
    const FUEL: RuleOutcome = RuleOutcome::Failed(RuleFailure::Fuel);
    let mut stage = Stage::new(0..3);
    // The rule alone performs the lookup twice and pays for both; a body performs it once.
    stage.put_rule(
        3,
        r#"count(when source == $current.source and (amount > $current.amount or description regex "x"), "P30D") between 3 and 5000"#,
    );
    assert_eq!(stage.fuse().sizes, [4]);
    let mut seen = Vec::new();
    for n_rows in (0..8_000).step_by(200) {
        let (outcomes, n_failed) = stage.judge(7);
        seen.push((outcomes[3].clone(), n_failed));
        (0..200).for_each(|row| drop(stage.accept(n_rows + row)));
    }
    for expected in [(RuleOutcome::Matched, 0), (FUEL, 1)] {
        assert!(seen.contains(&expected), "{expected:?} is not among {seen:?}");
    }
}

#[test]
fn rules_that_need_the_same_are_together_and_spared_together() {
    let mut stage = Stage::new(0..0);
    for number in 0..256 {
        let (currency, limit) = (["EUR", "USD"][number % 2], (number / 2) % 2 * 1_000);
        stage.put_rule(number, &format!("amount > {limit} and currency == \"{currency}\""));
    }
    assert_eq!(stage.fuse().sizes, [64; 4]);
    for (currency, amount, n_spared) in
        [("EUR", 2_000, 2), ("EUR", 500, 3), ("USD", 2_000, 2), ("GBP", 2_000, 4)]
    {
        assert_eq!(stage.spare(currency, amount).1, n_spared, "of {amount} {currency}");
    }
}

/// Short lists are compared, long ones are hashed.
#[test]
fn a_list_of_any_length_spares_nobody_who_is_in_it() {
    let texts = |n: usize| (0..n).map(|number| format!("C{number}")).collect::<Vec<_>>();
    for list in [texts(2), texts(64), texts(65), texts(256), texts(257), vec!["C0".to_owned(); 65]] {
        let mut stage = Stage::new(0..0);
        let condition = format!("currency in (\"{}\")", list.join("\", \""));
        (0..2).for_each(|number| stage.put_rule(number, &condition));
        assert_eq!(stage.fuse().sizes, [2]);
        let said = |currency: &str| stage.spare(currency, 1).0;
        for currency in [&list[0], &list[list.len() / 2], &list[list.len() - 1]] {
            assert_eq!(
                said(currency),
                [RuleOutcome::Matched, RuleOutcome::Matched],
                "{currency} of {}",
                list.len()
            );
        }
        assert_eq!(said("none"), [RuleOutcome::NotMatched, RuleOutcome::NotMatched], "of {}", list.len());
    }
}

#[test]
fn a_rule_alone_has_no_body() {
    check(1, |_| {}, &[], 0);
    check(3, |stage| stage.rules.retain(|number, _| *number == 0), &[], 0);
}

#[test]
fn rules_in_quarantine_and_rules_of_unknown_making_are_left_alone() {
    let change = |stage: &mut Stage| {
        stage.change(3, quarantined);
        stage.change(4, of_unknown_making);
    };
    let mut stage = Stage::new(0..10);
    change(&mut stage);
    assert_eq!(stage.fuse().sizes, [8]);
    let (outcomes, _) = stage.judge(5);
    let expected: Vec<RuleOutcome> = (0..10)
        .map(|number| match number {
            3 => RuleOutcome::Failed(RuleFailure::Quarantined),
            _ if number < 5 => RuleOutcome::Matched,
            _ => RuleOutcome::NotMatched,
        })
        .collect();
    assert_eq!(outcomes, expected);
}

#[test]
fn the_rules_of_a_body_that_fails_judge_by_themselves() {
    let mut stage = Stage::new(0..10);
    let (expected, n_failed) = stage.judge(5);
    assert_eq!((n_failed, stage.bodies.len()), (0, 1));
    let rules = stage.all();
    let scripts: Vec<CheckedRule> =
        rules.iter().map(|rule| (**rule.instruction.checked.as_ref().unwrap()).clone()).collect();
    // Without fuel it fails at once.
    let module = stage.sandbox.admit(&emit(&scripts).unwrap().bytes).unwrap().within(0);
    let parts: Vec<&BoundModule> = rules.iter().map(|rule| &*rule.bound).collect();
    let bound = Arc::new(BoundModule::of_parts(module, &parts).unwrap());
    let members = rules
        .iter()
        .map(|rule| FusedMember { id: rule.instruction.record.id, digest: rule.instruction.digest });
    let selection = Selection::default();
    stage.bodies = vec![Arc::new(FusedBody { members: members.collect(), bound, selection, is_full: false })];
    assert_eq!(stage.judge(5), (expected, 1));
}

#[test]
fn a_body_with_a_member_that_changed_does_not_answer_for_it() {
    let mut stage = Stage::new(0..3);
    // The bodies from before the change.
    stage.put(2, 0);
    let (outcomes, _) = stage.judge(1);
    assert_eq!(outcomes, [RuleOutcome::Matched, RuleOutcome::NotMatched, RuleOutcome::Matched]);
}
