//! Entries by the values of some fields: what all questions with these fields in their equalities share.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use tollgate_guest_abi::FieldPath;

use crate::history::filter::Reading;
use crate::history::held::Held;
use crate::history::key::{Class, Classified, Key, Spelling};
use crate::history::row::Columns;
use crate::history::spill::{Spill, SpillError};
use crate::history::timeline::{Entry, Look, Stretch, Timeline};
use crate::sequence::Sequence;
use crate::transaction::{FieldAccess, Transaction};

/// What a key takes in memory besides its packed entries: about so many bytes.
const BYTES_PER_KEY: usize = 2 * size_of::<(Class, Bucket)>() + 8 * size_of::<Entry>() + 128;
/// With so many spellings of one number, the right one is looked up and not looked for.
const SPELLINGS_TRIED_MAX: usize = 4;

/// Every accepted transaction that has a key over the fields, by key, in order of event time.
#[derive(Debug)]
pub(super) struct Series {
    fields: Vec<FieldPath>,
    spill: Arc<Spill>,
    shelf: RwLock<Shelf>,
}

/// What a series holds. It is filled beside the series, and then takes the place of what was there.
#[derive(Debug)]
pub(super) struct Shelf {
    keys: Vec<FieldAccess>,
    /// What entries keep besides their amounts. Only added to, so that places stay.
    columns: Columns,
    buckets: HashMap<Class, Bucket>,
    spill: Arc<Spill>,
    /// It may hold what was taken back: nothing is told of it any more.
    is_unsure: Option<SpillError>,
}

/// The entries of one class.
#[derive(Debug, Default)]
struct Bucket {
    /// Those without a text that is a number.
    plain: Timeline,
    /// Those with one, by spelling. Few series have any.
    spelled: Option<HashMap<Spelling, Timeline>>,
}

impl Series {
    /// An empty one, without columns. Without fields, all entries have one key.
    pub(super) fn new(fields: Vec<FieldPath>, spill: &Arc<Spill>) -> Self {
        let shelf = RwLock::new(Shelf::new(&fields, Columns::default(), spill));
        Self { fields, spill: Arc::clone(spill), shelf }
    }

    /// The fields of its keys.
    pub(super) fn fields(&self) -> &[FieldPath] {
        &self.fields
    }

    /// What its entries keep besides their amounts.
    pub(super) fn columns(&self) -> Columns {
        self.shelf.read().columns.clone()
    }

    /// A shelf for it, with these columns and nothing on it.
    pub(super) fn empty_shelf(&self, columns: Columns) -> Shelf {
        Shelf::new(&self.fields, columns, &self.spill)
    }

    /// Puts another shelf in place of its own, which it gives back.
    pub(super) fn replace(&self, shelf: Shelf) -> Shelf {
        std::mem::replace(&mut self.shelf.write(), shelf)
    }

    /// Puts a transaction at its place.
    pub(super) fn insert(&self, sequence: Sequence, transaction: &Transaction) {
        self.shelf.write().insert(sequence, transaction);
    }

    /// Takes a transaction back; nothing happens when it is not there.
    pub(super) fn remove(&self, sequence: Sequence, transaction: &Transaction) {
        self.shelf.write().remove(sequence, transaction);
    }

    /// Shows the entries of the key that the stretch shows. The series is locked meanwhile: look at figures here, take
    /// entries along.
    ///
    /// # Errors
    /// When it is not sure what it holds.
    pub(super) fn visit(
        &self,
        key: &Key<'_>,
        stretch: Stretch,
        look: &mut impl Look,
    ) -> Result<(), SpillError> {
        let shelf = self.shelf.read();
        if let Some(error) = &shelf.is_unsure {
            return Err(error.clone());
        }
        if let Some(bucket) = shelf.buckets.get(key as &dyn Classified) {
            bucket.visit(key, |timeline| timeline.visit(stretch, look));
        }
        Ok(())
    }
}

impl Shelf {
    fn new(fields: &[FieldPath], columns: Columns, spill: &Arc<Spill>) -> Self {
        let keys = fields.iter().map(FieldAccess::bind).collect();
        Self { keys, columns, buckets: HashMap::new(), spill: Arc::clone(spill), is_unsure: None }
    }

    /// Puts a transaction at its place. One that has no key is not kept: nothing equals it.
    pub(super) fn insert(&mut self, sequence: Sequence, transaction: &Transaction) {
        let Some(key) = self.key_of(transaction) else { return };
        let held = |field: &FieldAccess| Held::of(field.read(transaction));
        let entry = Entry {
            micros: transaction.timestamp.micros(),
            sequence,
            amount: transaction.amount.value(),
            cells: self.columns.fields().iter().map(held).collect(),
        };
        match self.buckets.get_mut(&key as &dyn Classified) {
            Some(bucket) => bucket.timeline(&key).insert(entry, &self.spill),
            None => {
                self.spill.take(BYTES_PER_KEY);
                let bucket = self.buckets.entry(key.class()).or_default();
                bucket.timeline(&key).insert(entry, &self.spill);
            }
        }
    }

    fn remove(&mut self, sequence: Sequence, transaction: &Transaction) {
        let Some(key) = self.key_of(transaction) else { return };
        let Some(bucket) = self.buckets.get_mut(&key as &dyn Classified) else { return };
        match bucket.remove(&key, transaction.timestamp.micros(), sequence, &self.spill) {
            Ok(()) if bucket.is_empty() => {
                self.buckets.remove(&key as &dyn Classified);
                self.spill.release(BYTES_PER_KEY);
            }
            Ok(()) => {}
            Err(error) => {
                tracing::error!(error = %error, "a transaction cannot be taken back from the history");
                self.is_unsure = Some(error);
            }
        }
    }

    fn key_of<'t>(&self, transaction: &'t Transaction) -> Option<Key<'t>> {
        Key::of(self.keys.iter().map(|field| Reading::Value(field.read(transaction))))
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.spill.release(self.buckets.len() * BYTES_PER_KEY);
    }
}

impl Bucket {
    fn timeline(&mut self, key: &Key<'_>) -> &mut Timeline {
        match key.spelling() {
            None => &mut self.plain,
            Some(spelling) => self.spelled.get_or_insert_default().entry(spelling).or_default(),
        }
    }

    fn remove(
        &mut self,
        key: &Key<'_>,
        micros: i64,
        sequence: Sequence,
        spill: &Arc<Spill>,
    ) -> Result<(), SpillError> {
        let Some(spelling) = key.spelling() else { return self.plain.remove(micros, sequence, spill) };
        let Some(spelled) = &mut self.spelled else { return Ok(()) };
        if let Some(timeline) = spelled.get_mut(&spelling) {
            timeline.remove(micros, sequence, spill)?;
            if timeline.is_empty() {
                spelled.remove(&spelling);
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.spelled.as_ref().is_none_or(HashMap::is_empty)
    }

    /// Shows the timelines whose entries equal a key of this class.
    fn visit(&self, key: &Key<'_>, mut look: impl FnMut(&Timeline)) {
        look(&self.plain);
        let Some(spelled) = &self.spelled else { return };
        if spelled.len() > SPELLINGS_TRIED_MAX
            && key.has_one_field()
            && let Some(spelling) = key.spelling()
        {
            spelled.get(&spelling).into_iter().for_each(look);
        } else {
            let alike = spelled.iter().filter(|(spelling, _)| key.agrees_with(spelling));
            alike.for_each(|(_, timeline)| look(timeline));
        }
    }
}
