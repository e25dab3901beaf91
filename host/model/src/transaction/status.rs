//! The stages of a transaction, as its status indicates them.
//!
//! Reports arrive late, twice and in any order, and the final status must not depend on that. A status is therefore
//! never overwritten: among reports without a change time, the *furthest* status wins. That is commutative, associative
//! and idempotent, because it is the maximum of a total order: by stage, then by the word itself.

use std::sync::Arc;

use crate::transaction::Transaction;

/// The stages of the life cycle, from start to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StatusStage {
    Pending,
    /// A word that is not in the table. It ranks just above pending.
    Unlisted,
    Queued,
    Scheduled,
    Inflight,
    Applied,
    Rejected,
    Expired,
    Void,
    Refunded,
}

/// The known words with their stages, in lower case. Their case is ignored.
const WORDS: [(&str, StatusStage); 32] = [
    ("created", StatusStage::Pending),
    ("initiated", StatusStage::Pending),
    ("new", StatusStage::Pending),
    ("pending", StatusStage::Pending),
    ("queued", StatusStage::Queued),
    ("scheduled", StatusStage::Scheduled),
    ("authorised", StatusStage::Inflight),
    ("authorized", StatusStage::Inflight),
    ("held", StatusStage::Inflight),
    ("in_flight", StatusStage::Inflight),
    ("inflight", StatusStage::Inflight),
    ("processing", StatusStage::Inflight),
    ("applied", StatusStage::Applied),
    ("commit", StatusStage::Applied),
    ("committed", StatusStage::Applied),
    ("completed", StatusStage::Applied),
    ("posted", StatusStage::Applied),
    ("settled", StatusStage::Applied),
    ("succeeded", StatusStage::Applied),
    ("success", StatusStage::Applied),
    ("canceled", StatusStage::Rejected),
    ("cancelled", StatusStage::Rejected),
    ("declined", StatusStage::Rejected),
    ("failed", StatusStage::Rejected),
    ("rejected", StatusStage::Rejected),
    ("expired", StatusStage::Expired),
    ("lapsed", StatusStage::Expired),
    ("void", StatusStage::Void),
    ("voided", StatusStage::Void),
    ("charged_back", StatusStage::Refunded),
    ("refunded", StatusStage::Refunded),
    ("reversed", StatusStage::Refunded),
];

impl StatusStage {
    pub(super) fn of(status: &str) -> Self {
        let known = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(status));
        known.map_or(StatusStage::Unlisted, |(_, stage)| *stage)
    }
}

pub(super) fn is_listed(status: &str) -> bool {
    StatusStage::of(status) != StatusStage::Unlisted
}

/// Returns the further of two statuses: the later stage, then the greater word by bytes. No status is less than any
/// status.
#[must_use]
pub(super) fn further<'s>(one: Option<&'s str>, other: Option<&'s str>) -> Option<&'s str> {
    std::cmp::max_by_key(one, other, |status: &Option<&'s str>| {
        status.map(|word| (StatusStage::of(word), word))
    })
}

/// Returns the status that a report implies, from the status in its data and its event word. The word applies if there
/// is no status, or if the word is listed and a later stage. Otherwise the status in the data applies.
pub(super) fn meant<'s>(brought: Option<&'s str>, word: Option<&'s str>) -> Option<&'s str> {
    match (brought.map(StatusStage::of), word.map(StatusStage::of)) {
        (Some(_), Some(StatusStage::Unlisted)) => brought,
        (brought_stage, word_stage) if word_stage > brought_stage => word,
        _ => brought,
    }
}

impl Transaction {
    /// Returns the same transaction with another status.
    #[must_use]
    pub fn with_status(&self, status: Option<&str>) -> Transaction {
        let changed = Transaction { status: status.map(Arc::from), ..self.clone() };
        Transaction { longest_reads: changed.measured(), ..changed }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_order(statuses: &[Option<&str>]) {
        for (place, earlier) in statuses.iter().enumerate() {
            for later in statuses.iter().skip(place) {
                assert_eq!(further(*earlier, *later), *later);
                assert_eq!(further(*later, *earlier), *later);
            }
        }
    }

    #[test]
    fn a_later_stage_stands_whatever_comes_after_it() {
        let words = [
            "pending",
            "on the desk",
            "under review",
            "queued",
            "scheduled",
            "inflight",
            "applied",
            "rejected",
            "expired",
            "void",
            "refunded",
        ];
        let statuses: Vec<_> = std::iter::once(None).chain(words.map(Some)).collect();
        check_order(&statuses);
    }

    #[test]
    fn words_of_one_stage_stand_by_their_bytes_and_their_case_is_no_stage() {
        check_order(&[Some("APPLIED"), Some("Applied"), Some("applied"), Some("committed"), Some("posted")]);
        check_order(&[Some("applied"), Some("VOID"), Some("Voided")]);
    }

    #[test]
    fn every_word_stands_in_the_table_once_in_small_letters() {
        for (place, (word, _)) in WORDS.iter().enumerate() {
            assert_eq!(*word, word.to_ascii_lowercase());
            assert!(WORDS.iter().skip(place + 1).all(|(other, _)| other != word), "{word}");
        }
        assert!(WORDS.is_sorted_by_key(|(_, stage)| stage));
    }

    fn listed(text: &str) -> BTreeSet<&str> {
        let list = text.split_once(')').unwrap().0;
        list.split('"').skip(1).step_by(2).collect()
    }

    fn words_of(stages: &[StatusStage]) -> BTreeSet<&'static str> {
        WORDS.iter().filter(|(_, stage)| stages.contains(stage)).map(|(word, _)| *word).collect()
    }

    #[test]
    fn shipped_rules_name_all_words_of_the_stages_they_mean() {
        let unmoved = words_of(&[
            StatusStage::Rejected,
            StatusStage::Expired,
            StatusStage::Void,
            StatusStage::Refunded,
        ]);
        let known = [unmoved.clone(), words_of(&[StatusStage::Rejected]), words_of(&[StatusStage::Refunded])];
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
        let (mut n_lists, mut n_unmoved) = (0, 0);
        for typology in fs::read_dir(rules).unwrap().map(|entry| entry.unwrap().path()) {
            for rule in fs::read_dir(&typology).into_iter().flatten().map(|entry| entry.unwrap().path()) {
                if rule.extension().is_none_or(|extension| extension != "ws") {
                    continue;
                }
                let script = fs::read_to_string(&rule).unwrap();
                for after in script.split("status in (").skip(1) {
                    let listed = listed(after);
                    assert!(known.contains(&listed), "{}: {listed:?}", rule.display());
                    n_unmoved += usize::from(listed == unmoved);
                    n_lists += 1;
                }
            }
        }
        assert!(n_unmoved > 20 && n_lists > n_unmoved, "{n_unmoved} of {n_lists}");
    }

    #[test]
    fn news_that_disagrees_with_itself_means_the_later_stage() {
        for (brought, word, expected) in [
            (None, None, None),
            (None, Some("void"), Some("void")),
            (Some("pending"), None, Some("pending")),
            (Some("pending"), Some("applied"), Some("applied")),
            (Some("VOID"), Some("applied"), Some("VOID")),
            (Some("COMMIT"), Some("applied"), Some("COMMIT")),
            (None, Some("seen"), Some("seen")),
            (Some("pending"), Some("seen"), Some("pending")),
            (Some("on the desk"), Some("seen"), Some("on the desk")),
            (Some("on the desk"), Some("applied"), Some("applied")),
        ] {
            assert_eq!(meant(brought, word), expected, "{brought:?} {word:?}");
        }
    }

    #[test]
    fn the_documentation_lists_the_words_by_stage() {
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events.md"));
        let (_, table) = page.split_once("| stage | words").unwrap();
        let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| "));
        let mut listed = Vec::new();
        for (number, row) in (1..).zip(rows) {
            let (stage, words) = row.split_once(" | ").unwrap();
            assert_eq!(stage, number.to_string());
            listed.extend(words.split('`').skip(1).step_by(2).map(|word| (word, number)));
        }
        listed.sort_unstable();
        let mut known = WORDS.map(|(word, stage)| (word, stage as i32 + 1));
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    fn status() -> impl Strategy<Value = Option<String>> {
        let listed = prop::sample::select(WORDS.map(|(word, _)| word).to_vec());
        let spelled = (listed, any::<bool>())
            .prop_map(|(word, loud)| if loud { word.to_uppercase() } else { word.to_owned() });
        prop::option::of(prop_oneof![spelled, "[a-dA-D]{0,3}"])
    }

    proptest! {
        #[test]
        fn what_stands_depends_on_neither_order_nor_repetition(
            (heard, shuffled) in prop::collection::vec(status(), 1..8).prop_flat_map(|heard| {
                let twice = [heard.clone(), heard.clone()].concat();
                (Just(heard), Just(twice).prop_shuffle())
            })
        ) {
            let stands = |heard: &[Option<String>]| {
                heard.iter().fold(None, |so_far: Option<String>, next| {
                    further(so_far.as_deref(), next.as_deref()).map(str::to_owned)
                })
            };
            prop_assert_eq!(stands(&heard), stands(&shuffled));
            prop_assert!(heard.contains(&stands(&heard)));
        }

        #[test]
        fn pairs_and_triples_join_alike_in_every_grouping(a in status(), b in status(), c in status()) {
            let (a, b, c) = (a.as_deref(), b.as_deref(), c.as_deref());
            prop_assert_eq!(further(a, b), further(b, a));
            prop_assert_eq!(further(a, a), a);
            prop_assert_eq!(further(further(a, b), c), further(a, further(b, c)));
        }
    }
}
