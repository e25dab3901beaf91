//! The interface of the measured variants: each determines which rules match a transaction.

use std::hint::black_box;
use std::sync::Arc;

use tollgate_benches::shape::Shape;
use tollgate_history::History;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::facts::{Facts, Questions};
use crate::matched::Matched;

/// A variant of the same rules.
pub(crate) trait Contestant {
    /// Performs the measured work, from the transaction to a set of rules.
    fn judge(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<()>;

    /// Returns the result of `judge`, for comparison.
    fn matched(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<Matched>;
}

/// A measured variant.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'static str,
    pub(crate) remark: &'static str,
    pub(crate) contestant: Box<dyn Contestant + 'a>,
}

/// An engine that could be embedded in place of Tollgate's.
pub(crate) trait Peer: Sized {
    /// Name in the package registry, or a name that distinguishes it from a sibling.
    const NAME: &'static str;
    /// How the engine is used, and what the comparison omits.
    const REMARK: &'static str;

    /// Does everything that is done once per rule set.
    fn prepare(rules: &[Shape]) -> anyhow::Result<Self>;

    /// Adds the matching rules to the set, which is empty before.
    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()>;
}

/// A peer together with its inputs.
pub(crate) struct Prepared<P> {
    peer: P,
    questions: Questions,
    as_of: Sequence,
    matched: Matched,
}

impl<P: Peer> Prepared<P> {
    pub(crate) fn new(rules: &[Shape], history: &History, as_of: Sequence) -> anyhow::Result<Self> {
        Ok(Self {
            peer: P::prepare(rules)?,
            questions: Questions::new(rules, history)?,
            as_of,
            matched: Matched::none_of(rules.len()),
        })
    }
}

impl<P: Peer> Contestant for Prepared<P> {
    fn judge(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<()> {
        self.matched.clear();
        let facts = Facts::gather(transaction, self.as_of, &self.questions);
        self.peer.judge(black_box(&facts), &mut self.matched)?;
        black_box(&self.matched);
        Ok(())
    }

    fn matched(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<Matched> {
        self.judge(transaction)?;
        Ok(self.matched.clone())
    }
}
