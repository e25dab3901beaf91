//! The tree above the chunks.

use super::chunk::Chunk;
use super::figures::{EntrySum, Overlap};
use super::span::EntrySpan;
use super::{EntryBlock, EntryPosition, TimeRange, TimelineVisitor};
use crate::spill::{SeriesAccount, SpillError, heap_bytes};

pub(super) const CHILDREN_MAX: usize = 16;

/// A subtree. All chunks have the same depth, unless entries were removed.
#[derive(Debug)]
pub(super) enum TreeNode {
    // INVARIANT: children are ordered by the places of their last entries, none is empty, and every span covers exactly
    // what is below it. Time ranges may overlap where transactions came late.
    Leaf(Vec<Chunk>),
    Inner(Vec<TreeBranch>),
}

#[derive(Debug)]
pub(super) struct TreeBranch {
    pub(super) span: EntrySpan,
    pub(super) node: TreeNode,
}

impl Default for TreeNode {
    fn default() -> Self {
        TreeNode::Leaf(Vec::new())
    }
}

impl TreeNode {
    pub(super) const fn is_empty(&self) -> bool {
        match self {
            TreeNode::Leaf(chunks) => chunks.is_empty(),
            TreeNode::Inner(branches) => branches.is_empty(),
        }
    }

    fn span(&self) -> Option<EntrySpan> {
        match self {
            TreeNode::Leaf(chunks) => EntrySpan::over_chunks(chunks),
            TreeNode::Inner(branches) => EntrySpan::over(branches.iter().map(|branch| branch.span.clone())),
        }
    }

    /// Returns the place of the last entry; `None` when there is none.
    pub(super) fn last(&self) -> Option<EntryPosition> {
        match self {
            TreeNode::Leaf(chunks) => chunks.last().map(|chunk| chunk.figures.last),
            TreeNode::Inner(branches) => branches.last().map(|branch| branch.span.last),
        }
    }

    /// Returns the place of the last entry of the first chunk; `None` when there is none.
    pub(super) fn first_end(&self) -> Option<EntryPosition> {
        match self {
            TreeNode::Leaf(chunks) => chunks.first().map(|chunk| chunk.figures.last),
            TreeNode::Inner(branches) => branches.first()?.node.first_end(),
        }
    }

    pub(super) fn last_chunk(&self) -> Option<&Chunk> {
        match self {
            TreeNode::Leaf(chunks) => chunks.last(),
            TreeNode::Inner(branches) => branches.last()?.node.last_chunk(),
        }
    }

    /// Inserts a chunk into the tree with this root.
    pub(super) fn put(&mut self, chunk: Chunk, account: &mut SeriesAccount) {
        let Some(rest) = self.put_below(chunk, account) else { return };
        let first = std::mem::take(self);
        let mut branches = Vec::with_capacity(2);
        branches.extend([first, rest].into_iter().filter_map(TreeBranch::of));
        account.take(bytes_of(&branches));
        *self = TreeNode::Inner(branches);
    }

    /// Inserts a chunk. A node that exceeds its limit keeps its first part and returns the rest.
    fn put_below(&mut self, chunk: Chunk, account: &mut SeriesAccount) -> Option<TreeNode> {
        let last = chunk.figures.last;
        match self {
            TreeNode::Leaf(chunks) => {
                let index = chunks.partition_point(|other| other.figures.last < last);
                add_child(chunks, index, chunk, account);
                overflow(chunks, index, account).map(TreeNode::Leaf)
            }
            TreeNode::Inner(branches) => {
                let n_before = branches.partition_point(|branch| branch.span.last < last);
                let index = n_before.min(branches.len().saturating_sub(1));
                let branch = branches.get_mut(index)?;
                branch.span.add(&chunk.figures);
                let rest = branch.node.put_below(chunk, account)?;
                // Never empty: a chunk was just inserted below it.
                branch.span = branch.node.span().unwrap_or_else(|| branch.span.clone());
                add_child(branches, index + 1, TreeBranch::of(rest)?, account);
                overflow(branches, index + 1, account).map(TreeNode::Inner)
            }
        }
    }

    /// Removes the chunk whose last entry has this place.
    pub(super) fn take(&mut self, last: EntryPosition, account: &mut SeriesAccount) -> Option<Chunk> {
        match self {
            TreeNode::Leaf(chunks) => {
                let index = chunks.partition_point(|chunk| chunk.figures.last < last);
                chunks.get(index).filter(|chunk| chunk.figures.last == last)?;
                Some(take_child(chunks, index, account))
            }
            TreeNode::Inner(branches) => {
                let index = branches.partition_point(|branch| branch.span.last < last);
                let branch = branches.get_mut(index)?;
                let chunk = branch.node.take(last, account)?;
                match branch.node.span() {
                    Some(span) => branch.span = span,
                    None => drop(take_child(branches, index, account)),
                }
                Some(chunk)
            }
        }
    }

    /// Returns the place of the last entry of the chunk that an entry should go to; `None` for a new chunk.
    pub(super) fn home_of(&self, place: EntryPosition) -> Option<EntryPosition> {
        match self {
            TreeNode::Leaf(chunks) => {
                let index = chunks.partition_point(|chunk| chunk.figures.last < place);
                // A spilled chunk stays unchanged; late entries go to the chunk before it.
                let around = chunks.get(index).filter(|chunk| chunk.is_here());
                let before = || chunks.get(index.checked_sub(1)?).filter(|chunk| chunk.has_room());
                around.or_else(before).map(|chunk| chunk.figures.last)
            }
            TreeNode::Inner(branches) => {
                let index = branches.partition_point(|branch| branch.span.last < place);
                branches.get(index)?.node.home_of(place)
            }
        }
    }

    /// Returns the place of the last entry of the chunk that has an entry at this place; `None` when no chunk has one.
    ///
    /// # Errors
    /// When a chunk cannot be read back.
    pub(super) fn holder_of(
        &self,
        place: EntryPosition,
        account: &SeriesAccount,
    ) -> Result<Option<EntryPosition>, SpillError> {
        match self {
            TreeNode::Leaf(chunks) => {
                for chunk in chunks {
                    if chunk.contains(place, account)? {
                        return Ok(Some(chunk.figures.last));
                    }
                }
            }
            TreeNode::Inner(branches) => {
                for branch in branches.iter().filter(|branch| branch.span.may_hold(place)) {
                    if let Some(last) = branch.node.holder_of(place, account)? {
                        return Ok(Some(last));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Removes levels that have a single child left.
    pub(super) fn shrink(&mut self, account: &mut SeriesAccount) {
        while let TreeNode::Inner(branches) = self
            && branches.len() < 2
        {
            account.release(bytes_of(branches));
            *self = branches.pop().map(|branch| branch.node).unwrap_or_default();
        }
    }

    /// Returns whether it is a leaf of at most so many chunks.
    pub(super) const fn has_few_chunks(&self, n_chunks_max: usize) -> bool {
        match self {
            TreeNode::Leaf(chunks) => chunks.len() <= n_chunks_max,
            TreeNode::Inner(_) => false,
        }
    }

    pub(super) fn chunk_mut(&mut self, last: EntryPosition) -> Option<&mut Chunk> {
        match self {
            TreeNode::Leaf(chunks) => {
                let index = chunks.partition_point(|chunk| chunk.figures.last < last);
                chunks.get_mut(index).filter(|chunk| chunk.figures.last == last)
            }
            TreeNode::Inner(branches) => {
                let index = branches.partition_point(|branch| branch.span.last < last);
                branches.get_mut(index)?.node.chunk_mut(last)
            }
        }
    }

    pub(super) fn visit(&self, stretch: &TimeRange, look: &mut impl TimelineVisitor) {
        match self {
            TreeNode::Leaf(chunks) => {
                for chunk in chunks {
                    let figures = &chunk.figures;
                    if is_left_to_show(figures.share(stretch), || look.sum(EntrySum::of_figures(figures))) {
                        look.part(EntryBlock::Chunk(chunk.body()));
                    }
                }
            }
            TreeNode::Inner(branches) => {
                for branch in branches {
                    let span = &branch.span;
                    if is_left_to_show(span.share(stretch), || look.sum(EntrySum::of_summary(&span.summary)))
                    {
                        branch.node.visit(stretch, look);
                    }
                }
            }
        }
    }

    pub(super) fn each_chunk<'n>(&'n self, show: &mut impl FnMut(&'n Chunk)) {
        match self {
            TreeNode::Leaf(chunks) => chunks.iter().for_each(show),
            TreeNode::Inner(branches) => branches.iter().for_each(|branch| branch.node.each_chunk(show)),
        }
    }
}

/// Returns whether entries must be visited because their sum does not suffice.
#[inline]
pub(super) fn is_left_to_show(share: Overlap, sum_suffices: impl FnOnce() -> bool) -> bool {
    match share {
        Overlap::Nothing => false,
        Overlap::Some => true,
        Overlap::Everything => !sum_suffices(),
    }
}

impl TreeBranch {
    fn of(node: TreeNode) -> Option<Self> {
        Some(Self { span: node.span()?, node })
    }
}

fn bytes_of<T>(children: &Vec<T>) -> usize {
    heap_bytes(children.capacity() * size_of::<T>())
}

/// Adds a child. Most keys have few chunks, so short lists grow by little.
fn add_child<T>(children: &mut Vec<T>, index: usize, child: T, account: &mut SeriesAccount) {
    if children.len() == children.capacity() {
        account.release(bytes_of(children));
        children.reserve_exact((children.len() / 2).clamp(1, CHILDREN_MAX / 2));
        account.take(bytes_of(children));
    }
    children.insert(index.min(children.len()), child);
}

fn take_child<T>(children: &mut Vec<T>, index: usize, account: &mut SeriesAccount) -> T {
    let child = children.remove(index);
    if children.is_empty() {
        account.release(bytes_of(children));
        *children = Vec::new();
    }
    child
}

/// Splits off children above the limit: half of them, or only the last one when the node grows at its end. Nodes filled
/// in order are therefore full.
fn overflow<T>(children: &mut Vec<T>, grown_at: usize, account: &mut SeriesAccount) -> Option<Vec<T>> {
    if children.len() <= CHILDREN_MAX {
        return None;
    }
    let n_kept = if grown_at + 2 >= children.len() { CHILDREN_MAX } else { children.len() / 2 };
    account.release(bytes_of(children));
    let rest = children.split_off(n_kept);
    children.shrink_to(CHILDREN_MAX);
    account.take(bytes_of(children) + bytes_of(&rest));
    Some(rest)
}
