//! Lookups of keys that equal others: numbers, and texts that are numbers.

use tollgate_guest_abi::prices::EQUAL_KEY;

use super::{KeyTable, NOWHERE};
use crate::key::{Key, hash_of};
use crate::lookup_budget::LookupBudget;
use crate::timeline::{TimeRange, TimelineVisitor};

/// Keys that equal the one sought whose visit the price of a lookup covers.
const EQUAL_KEYS_INCLUDED: u32 = 4;

impl KeyTable {
    /// Visits the entries of all keys that equal this one. Returns whether there is one.
    pub(super) fn visit_class(
        &self,
        key: &Key,
        stretch: &TimeRange,
        budget: &LookupBudget<'_>,
        look: &mut impl TimelineVisitor,
    ) -> bool {
        let mut is_found = false;
        let mut n_visited = 0_u32;
        let mut pays = || {
            n_visited += 1;
            n_visited <= EQUAL_KEYS_INCLUDED || budget.spend(EQUAL_KEY)
        };
        if !key.has_number() {
            // Each text equals itself and its number alone, however many other spellings there are.
            let mut visit = |bytes: &[u8]| {
                let pays = pays() && budget.spend_on_text(bytes.len());
                if pays {
                    is_found |= self.visit_slot(self.find_bytes(bytes, hash_of(bytes)), stretch, look);
                }
                pays
            };
            key.each_equal(self.layout.semantics(), &mut visit);
            return is_found;
        }
        let mut slot = self.head_of(&key.class(self.layout.semantics())).unwrap_or(NOWHERE);
        while let Some(bucket) = self.buckets.get(slot)
            && pays()
        {
            if key.agrees_with(bucket.key.bytes()) {
                is_found |= self.visit_slot(Some(slot), stretch, look);
            }
            slot = bucket.next;
        }
        is_found
    }
}
