//! The tree above the chunks.

use std::sync::Arc;

use super::chunk::{Chunk, Rest};
use super::span::{Share, Span};
use super::{Entry, Look, Place, Stretch};
use crate::history::spill::{Spill, SpillError};

/// Most children of a node.
pub(super) const CHILDREN_MAX: usize = 16;

/// A part of the tree. All chunks are equally deep below the root, unless entries were taken back.
#[derive(Debug)]
pub(super) enum Node {
    // INVARIANT: children are in order, none is empty, every place of one is before those of the next, and every
    // span is that of what is below it.
    Leaf(Vec<Chunk>),
    Inner(Vec<Branch>),
}

#[derive(Debug)]
pub(super) struct Branch {
    pub(super) span: Span,
    pub(super) node: Node,
}

impl Default for Node {
    fn default() -> Self {
        Node::Leaf(Vec::new())
    }
}

impl Node {
    /// A node above others; those that are empty are left out.
    pub(super) fn over(nodes: impl IntoIterator<Item = Node>) -> Self {
        Node::Inner(nodes.into_iter().filter_map(Branch::of).collect())
    }

    pub(super) const fn is_empty(&self) -> bool {
        match self {
            Node::Leaf(chunks) => chunks.is_empty(),
            Node::Inner(branches) => branches.is_empty(),
        }
    }

    fn span(&self) -> Option<Span> {
        match self {
            Node::Leaf(chunks) => Span::over(chunks.iter().map(|chunk| &chunk.span)),
            Node::Inner(branches) => Span::over(branches.iter().map(|branch| &branch.span)),
        }
    }

    /// Puts an entry at its place. A node that grows over its limit keeps its first part and gives the rest.
    pub(super) fn insert(&mut self, entry: Entry, spill: &Arc<Spill>) -> Option<Node> {
        let place = entry.place();
        match self {
            Node::Leaf(chunks) => {
                let n_before = chunks.partition_point(|chunk| chunk.span.last < place);
                insert_in_chunk(chunks, n_before, entry, spill);
                overflow(chunks, n_before).map(Node::Leaf)
            }
            Node::Inner(branches) => {
                let n_before = branches.partition_point(|branch| branch.span.last < place);
                insert_below(branches, n_before, entry, spill);
                overflow(branches, n_before).map(Node::Inner)
            }
        }
    }

    /// Takes an entry away, if it is there.
    ///
    /// # Errors
    /// When it may be among entries that cannot be read back.
    pub(super) fn remove(&mut self, place: Place, spill: &Arc<Spill>) -> Result<(), SpillError> {
        match self {
            Node::Leaf(chunks) => {
                let index = chunks.partition_point(|chunk| chunk.span.last < place);
                let Some(chunk) = chunks.get_mut(index) else { return Ok(()) };
                match chunk.without(place, spill)? {
                    None => {}
                    Some(Rest::Chunk(rest)) => *chunk = *rest,
                    Some(Rest::Nothing) => drop(chunks.remove(index)),
                }
            }
            Node::Inner(branches) => {
                let index = branches.partition_point(|branch| branch.span.last < place);
                let Some(branch) = branches.get_mut(index) else { return Ok(()) };
                branch.node.remove(place, spill)?;
                match branch.node.span() {
                    Some(span) => branch.span = span,
                    None => drop(branches.remove(index)),
                }
            }
        }
        Ok(())
    }

    /// Drops levels of which a single child is left.
    pub(super) fn shrink(&mut self) {
        while let Node::Inner(branches) = self
            && branches.len() < 2
        {
            *self = branches.pop().map(|branch| branch.node).unwrap_or_default();
        }
    }

    pub(super) fn visit(&self, stretch: Stretch, look: &mut impl Look) {
        match self {
            Node::Leaf(chunks) => {
                for chunk in chunks {
                    if is_left_to_show(&chunk.span, stretch, look) {
                        look.chunk(chunk);
                    }
                }
            }
            Node::Inner(branches) => {
                for branch in branches {
                    if is_left_to_show(&branch.span, stretch, look) {
                        branch.node.visit(stretch, look);
                    }
                }
            }
        }
    }
}

/// Shows figures where they do; whether what the span is of must be shown itself.
fn is_left_to_show(span: &Span, stretch: Stretch, look: &mut impl Look) -> bool {
    match span.share(stretch) {
        Share::Nothing => false,
        Share::Some => true,
        Share::Everything => !look.run(&span.summary),
    }
}

impl Branch {
    fn of(node: Node) -> Option<Self> {
        Some(Self { span: node.span()?, node })
    }
}

/// The entry goes into the chunk at `n_before`, or behind all.
fn insert_in_chunk(chunks: &mut Vec<Chunk>, n_before: usize, entry: Entry, spill: &Arc<Spill>) {
    if let Some(chunk) = chunks.get_mut(n_before) {
        if let Some(rest) = chunk.insert(entry, spill) {
            chunks.insert(n_before + 1, rest);
        }
        return;
    }
    match chunks.last_mut() {
        Some(last) if !last.is_full() => drop(last.insert(entry, spill)),
        _ => {
            if chunks.is_empty() {
                // Most keys never have a second one.
                chunks.reserve_exact(1);
            }
            chunks.push(Chunk::of(entry, spill));
        }
    }
}

/// The entry goes below the branch at `n_before`, or below the last.
fn insert_below(branches: &mut Vec<Branch>, n_before: usize, entry: Entry, spill: &Arc<Spill>) {
    let index = n_before.min(branches.len().saturating_sub(1));
    let Some(branch) = branches.get_mut(index) else { return };
    branch.span.add(&entry);
    if let Some(rest) = branch.node.insert(entry, spill) {
        // Never empty: something was just inserted below it.
        branch.span = branch.node.span().unwrap_or_else(|| branch.span.clone());
        if let Some(rest) = Branch::of(rest) {
            branches.insert(index + 1, rest);
        }
    }
}

/// What is over the limit: half, or, where children are added at the end, only the last one, so that nodes filled in
/// order are full.
fn overflow<T>(children: &mut Vec<T>, grown_at: usize) -> Option<Vec<T>> {
    if children.len() <= CHILDREN_MAX {
        return None;
    }
    let n_kept = if grown_at + 2 >= children.len() { CHILDREN_MAX } else { children.len() / 2 };
    Some(children.split_off(n_kept))
}
