//! Objects of many members in the metadata of a transaction. Their keys are hashed once, however many fields are read.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

use crate::transaction::{Json, Transaction, is_same_text};

/// Members from which an object is wide; in a smaller one a key is found as fast by looking at all of them.
const MEMBERS_MIN: usize = 64;

type Members = [(Box<str>, Json)];

/// The wide objects of one transaction, found when the first is read.
///
/// They are known by their addresses, as long texts are. A clone has objects of its own and begins anew.
#[derive(Debug, Default)]
pub struct WideObjects(OnceLock<Box<[WideObject]>>);

#[derive(Debug)]
struct WideObject {
    address: usize,
    hasher: RandomState,
    /// Hash of each key, and the place of its member, sorted.
    hashed_indices: Box<[(u64, u32)]>,
}

impl Transaction {
    /// Returns the metadata value at these keys, and the number of keys of the objects on the path.
    #[inline]
    pub(super) fn metadata_at(&self, keys: &[String]) -> (Option<&Json>, usize) {
        let mut n_keys = 0;
        let found = keys.iter().try_fold(self.metadata.as_ref(), |json, key| match json {
            Some(Json::Object(members)) => {
                n_keys += members.len();
                Some(self.member(members, key))
            }
            _ => None,
        });
        (found.flatten(), n_keys)
    }

    /// Finds all wide objects now, so that nobody has to later.
    pub(super) fn find_wide_objects(&self) {
        self.known_wide_objects();
    }

    fn known_wide_objects(&self) -> &[WideObject] {
        self.wide_objects.0.get_or_init(|| {
            let mut found = Vec::new();
            if let Some(metadata) = &self.metadata {
                each_wide_in(metadata, &mut |members| found.push(WideObject::new(members)));
            }
            found.sort_unstable_by_key(|wide| wide.address);
            found.into()
        })
    }

    #[inline]
    fn member<'t>(&'t self, members: &'t Members, key: &str) -> Option<&'t Json> {
        if members.len() >= MEMBERS_MIN {
            return self.member_of_wide(members, key);
        }
        find(members, key)
    }

    #[cold]
    fn member_of_wide<'t>(&'t self, members: &'t Members, key: &str) -> Option<&'t Json> {
        let known = self.known_wide_objects();
        let address = members.as_ptr().addr();
        match known.binary_search_by_key(&address, |wide| wide.address) {
            Ok(index) => known.get(index)?.find(members, key),
            Err(_) => find(members, key),
        }
    }
}

impl WideObject {
    fn new(members: &Members) -> Self {
        let hasher = RandomState::new();
        let hashed = members.iter().zip(0..).map(|((key, _), index)| (hasher.hash_one(&**key), index));
        let mut hashed_indices: Box<[(u64, u32)]> = hashed.collect();
        hashed_indices.sort_unstable();
        Self { address: members.as_ptr().addr(), hasher, hashed_indices }
    }

    fn find<'t>(&self, members: &'t Members, key: &str) -> Option<&'t Json> {
        let hash = self.hasher.hash_one(key);
        let first = self.hashed_indices.partition_point(|(other, _)| *other < hash);
        let alike = self.hashed_indices.get(first..)?.iter().take_while(|(other, _)| *other == hash);
        let mut members = alike.filter_map(|(_, index)| members.get(*index as usize));
        members.find(|(name, _)| is_same_text(name, key)).map(|(_, value)| value)
    }
}

#[inline]
fn find<'t>(members: &'t Members, key: &str) -> Option<&'t Json> {
    // A loop: the compiler makes a call of `find` here.
    for (name, value) in members {
        if is_same_text(name, key) {
            return Some(value);
        }
    }
    None
}

fn each_wide_in(json: &Json, show: &mut dyn FnMut(&Members)) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| each_wide_in(item, show)),
        Json::Object(members) => {
            if members.len() >= MEMBERS_MIN {
                show(members);
            }
            members.iter().for_each(|(_, value)| each_wide_in(value, show));
        }
        Json::Null | Json::Boolean(_) | Json::Number(_) | Json::WideNumber(_) | Json::Text(_) => {}
    }
}

impl Clone for WideObjects {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Derived from the transaction, so transactions are compared without it.
impl PartialEq for WideObjects {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::{Map, json};
    use tollgate_guest_abi::FieldPath;

    use super::*;
    use crate::transaction::{FieldAccess, StatusWords, Value};

    #[test]
    fn every_member_of_an_object_of_any_width_is_found() {
        for n_members in [1, MEMBERS_MIN - 1, MEMBERS_MIN, 400] {
            let members: Map<String, serde_json::Value> =
                (0..n_members).map(|n| (format!("key{n}"), json!(n))).collect();
            let body = json!({
                "transaction_id": "t", "amount": 1, "currency": "EUR", "reference": "r",
                "meta_data": {"nested": members},
            });
            let (transaction, _) =
                Transaction::parse(body.to_string().as_bytes(), DateTime::UNIX_EPOCH).unwrap();
            for n in 0..=n_members {
                let path = FieldPath::parse(&format!("metadata.nested.key{n}"));
                let value = FieldAccess::bind(
                    &path,
                    tollgate_guest_abi::Semantics::CURRENT,
                    &StatusWords::built_in(),
                )
                .read(&transaction);
                match value {
                    Value::Number(number) => assert_eq!(number.to_string(), n.to_string()),
                    value => assert!(n == n_members && value.is_missing(), "{n} of {n_members}: {value:?}"),
                }
            }
            let n_wide = transaction.wide_objects.0.get().map_or(0, |wide| wide.len());
            assert_eq!(n_wide, usize::from(n_members >= MEMBERS_MIN));
        }
    }
}
