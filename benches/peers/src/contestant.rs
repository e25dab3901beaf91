//! Who is measured: anybody who says which rules match a transaction.

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
    /// The work that is measured, from the transaction to a set of rules.
    fn judge(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<()>;

    /// What `judge` found, to compare.
    fn matched(&mut self, transaction: &Arc<Transaction>) -> anyhow::Result<Matched>;
}

/// One of those who are measured.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'static str,
    pub(crate) remark: &'static str,
    pub(crate) contestant: Box<dyn Contestant + 'a>,
}

/// An engine that could be embedded in Tollgate's place.
pub(crate) trait Peer: Sized {
    /// As its registry names it, or with what tells it from a sibling.
    const NAME: &'static str;
    /// How it is used, and what the comparison leaves out.
    const REMARK: &'static str;

    /// Everything that is done once for a rule set.
    fn prepare(rules: &[Shape]) -> anyhow::Result<Self>;

    /// Notes the rules that match. The set is empty before.
    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()>;
}

/// A peer with what it needs to stand beside the others.
pub(crate) struct Prepared<P> {
    peer: P,
    questions: Questions,
    as_of: Sequence,
    matched: Matched,
}

impl<P: Peer> Prepared<P> {
    pub(crate) fn of(rules: &[Shape], history: &History, as_of: Sequence) -> anyhow::Result<Self> {
        Ok(Self {
            peer: P::prepare(rules)?,
            questions: Questions::of(rules, history)?,
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
