//! The same rules as native code: a closure per rule, and one function with all rules.

use std::hint::black_box;
use std::sync::Arc;

use tollgate_benches::shape::Shape;
use tollgate_benches::twins::{Context, TwinRule};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::contestant::{Contestant, Peer};
use crate::facts::{Facts, Patterns};
use crate::matched::Matched;

/// A closure per rule, as a Rust programmer would write it.
pub(crate) struct Closures<'r> {
    rules: &'r [TwinRule],
    as_of: Sequence,
    matched: Matched,
}

impl<'r> Closures<'r> {
    pub(crate) const NAME: &'static str = "Rust closures";
    pub(crate) const REMARK: &'static str = "compiled with the program: cannot be changed while it runs, stopped, or kept \
        from anything. Each pattern rule searches its pattern again";

    pub(crate) fn new(rules: &'r [TwinRule], as_of: Sequence) -> Self {
        Self { rules, as_of, matched: Matched::none_of(rules.len()) }
    }
}

impl Contestant for Closures<'_> {
    fn judge(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<()> {
        self.matched.clear();
        let context = Context::new(transaction, self.as_of);
        for (rule_index, rule) in self.rules.iter().enumerate() {
            self.matched.note(rule_index, (rule.native)(black_box(&context)));
        }
        black_box(&self.matched);
        Ok(())
    }

    fn matched(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<Matched> {
        self.judge(transaction)?;
        Ok(self.matched.clone())
    }
}

/// A function that writes one bit per rule. `found` holds the pattern results by word.
type Function = fn(facts: &Facts<'_>, found: &[bool; 5], words: &mut [u64]);

/// All rules in one branchless function: a lower bound for the time.
pub(crate) struct Inlined {
    function: Function,
    patterns: Patterns,
}

impl Peer for Inlined {
    const NAME: &'static str = "one inlined function";
    const REMARK: &'static str = "all rules written into one Rust function without a branch: the limit. Each text is \
        compared with each constant once, a list is a bit mask, each pattern is searched once";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let function = generated::FUNCTIONS.iter().find(|(n_rules, _)| *n_rules == rules.len());
        let Some((_, function)) = function else {
            anyhow::bail!("no function holds {} rules: see build.rs", rules.len());
        };
        Ok(Self { function: *function, patterns: Patterns::new(rules)? })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        let found = self.patterns.search(facts.description);
        (self.function)(facts, &found, matched.words_mut());
        Ok(())
    }
}

impl Inlined {
    /// Whether there is a function for this many rules.
    pub(crate) fn holds(n_rules: usize) -> bool {
        generated::FUNCTIONS.iter().any(|(held, _)| *held == n_rules)
    }
}

/// The functions that build.rs generates from the same shapes.
mod generated {
    use super::{Facts, Function};

    include!(concat!(env!("OUT_DIR"), "/inlined.rs"));
}
