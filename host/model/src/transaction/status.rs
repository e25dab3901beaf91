//! The stages of a transaction, as its status indicates them.
//!
//! Reports arrive late, twice and in any order, and the final status must not depend on that. A status is therefore
//! never overwritten: among reports without a change time, the *furthest* status stands. For words of the table that is
//! commutative, associative and idempotent, because it is the maximum of a total order: by stage, by position in the
//! stage, then by the word itself. A word that is not in the table has no stage of its own, so the order of reports
//! decides:
//!
//! ```text
//!  created < queued < scheduled < held   <   settled < failed < expired < void < returned
//!  └─ a word that is not in the table ranks just above the furthest of these that was known when it was first reported
//! ```

mod table;
mod words;

use std::sync::Arc;

use crate::transaction::Transaction;
pub use table::{StatusWords, StatusWordsError};

/// The stages of the life cycle, from start to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StatusStage {
    Created,
    /// A word that is not in the table.
    Other,
    Queued,
    Scheduled,
    Held,
    Settled,
    Failed,
    Expired,
    Void,
    Returned,
}

/// The place of a status among those reported for a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StatusRank<'s> {
    /// The stage of a word of the table, or the stage just above which another word ranks; `None`: below all.
    stage: Option<StatusStage>,
    /// When a word that is not in the table was first reported, among all reports.
    first_report: Option<usize>,
    position: u8,
    /// Empty for a word that is not in the table.
    word: &'s str,
}

/// The statuses that a transaction had, in the order in which they were first reported. Needed only to rank words that
/// are not in the table: each of them had its turn, unless the transaction was settled, failed or void before.
#[derive(Debug, Clone)]
pub struct EarlierStatuses {
    words: Arc<StatusWords>,
    statuses: Vec<Arc<str>>,
}

const STAGES: [StatusStage; 10] = [
    StatusStage::Created,
    StatusStage::Other,
    StatusStage::Queued,
    StatusStage::Scheduled,
    StatusStage::Held,
    StatusStage::Settled,
    StatusStage::Failed,
    StatusStage::Expired,
    StatusStage::Void,
    StatusStage::Returned,
];

impl StatusStage {
    /// Returns the name that rules use.
    const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Other => "other",
            Self::Queued => "queued",
            Self::Scheduled => "scheduled",
            Self::Held => "held",
            Self::Settled => "settled",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Void => "void",
            Self::Returned => "returned",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        STAGES.into_iter().find(|stage| stage.name() == name)
    }

    fn of_status(status: &str, words: &StatusWords) -> Self {
        words.entry_of(status).map_or(StatusStage::Other, |(stage, _)| stage)
    }
}

impl EarlierStatuses {
    /// Collects statuses in the order in which they were reported. The table says which words are known.
    #[must_use]
    pub fn new(words: &Arc<StatusWords>, statuses: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self { words: Arc::clone(words), statuses: statuses.into_iter().collect() }
    }

    /// Returns the place of a status. One that is not among them is reported now.
    pub(super) fn rank<'s>(&self, word: &'s str) -> StatusRank<'s> {
        if let Some((stage, position)) = self.words.entry_of(word) {
            return StatusRank { stage: Some(stage), first_report: None, position, word };
        }
        let known = self.statuses.iter().position(|earlier| earlier.eq_ignore_ascii_case(word));
        let first_report = known.unwrap_or(self.statuses.len());
        let before = self.statuses.iter().take(first_report);
        let before = before.filter_map(|earlier| self.words.entry_of(earlier));
        let stage = before.map(|(stage, _)| stage).filter(|stage| *stage < StatusStage::Settled).max();
        StatusRank { stage, first_report: Some(first_report), position: 0, word: "" }
    }

    /// Returns the further of two statuses, the first one if none is. No status is less than any status.
    pub(super) fn further<'s>(&self, one: Option<&'s str>, other: Option<&'s str>) -> Option<&'s str> {
        let rank = |status: Option<&'s str>| status.map(|word| self.rank(word));
        if rank(other) > rank(one) { other } else { one }
    }
}

/// Returns the status that a report implies, from the status in its data and its event word. The word applies if there
/// is no status, or if the word is listed and a later stage. Otherwise the status in the data applies.
pub(super) fn meant<'s>(
    brought: Option<&'s str>,
    word: Option<&'s str>,
    words: &StatusWords,
) -> Option<&'s str> {
    let stage = |status| StatusStage::of_status(status, words);
    match (brought.map(stage), word.map(stage)) {
        (Some(_), Some(StatusStage::Other)) => brought,
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
    use proptest::prelude::*;

    use super::words::WORDS;
    use super::*;

    fn further<'s>(one: Option<&'s str>, other: Option<&'s str>) -> Option<&'s str> {
        EarlierStatuses::new(&StatusWords::built_in(), []).further(one, other)
    }

    #[track_caller]
    fn check_order(statuses: &[Option<&str>]) {
        for (index, earlier) in statuses.iter().enumerate() {
            for later in statuses.iter().skip(index) {
                assert_eq!(further(*earlier, *later), *later);
                assert_eq!(further(*later, *earlier), *later);
            }
        }
    }

    /// Reports the words one after the other, as the service does, and checks which of them stands after each.
    #[track_caller]
    fn check_reports(words: &[&str], expected: &[&str]) {
        let (mut earlier_statuses, mut current): (Vec<Arc<str>>, Option<String>) = (Vec::new(), None);
        for (word, expected) in words.iter().zip(expected) {
            let earlier = EarlierStatuses::new(&StatusWords::built_in(), earlier_statuses.iter().cloned());
            let now = earlier.further(current.as_deref(), Some(word)).map(str::to_owned);
            if now != current {
                earlier_statuses.extend(now.as_deref().map(Arc::from));
            }
            assert_eq!(now.as_deref(), Some(*expected), "{word} of {words:?}");
            current = now;
        }
    }

    #[test]
    fn a_word_that_is_not_listed_stands_above_what_was_known_when_it_was_first_reported() {
        check_reports(&["foo", "pending"], &["foo", "pending"]);
        check_reports(&["pending", "foo", "pending"], &["pending", "foo", "foo"]);
        check_reports(
            &["held", "foo", "queued", "applied", "bar"],
            &["held", "foo", "foo", "applied", "applied"],
        );
        check_reports(&["queued", "foo", "held", "foo"], &["queued", "foo", "held", "held"]);
        check_reports(&["zoo", "foo", "bar", "foo", "FOO"], &["zoo", "foo", "bar", "bar", "bar"]);
        check_reports(&["foo", "Foo"], &["foo", "foo"]);
        check_reports(&["pending", "foo", "held", "bar", "foo"], &["pending", "foo", "held", "bar", "bar"]);
    }

    #[test]
    fn stages_have_the_names_that_rules_use() {
        assert_eq!(STAGES.map(StatusStage::name), tollgate_guest_abi::STAGES);
        assert!(STAGES.is_sorted());
    }

    #[test]
    fn honest_sequences_end_at_their_last_status() {
        for sequence in [
            "authorized captured settled",
            "settled returned",
            "Authorised SentForSettle Settled Chargeback",
            "RCVD PDNG ACSP ACSC",
            "RCVD ACTC ACCP PDNG ACSP ACWP ACCC",
            "RCVD PDNG RJCT",
            "PDNG CANC",
            "AwaitingAuthorisation AcceptedTechnicalValidation AcceptedSettlementInProcess AcceptedSettlementCompleted",
            "RECEIVED RESERVED COMMITTED SETTLED",
            "RECEIVED RESERVED ABORTED",
            "requires_payment_method requires_confirmation requires_action processing requires_capture succeeded",
            "authorizing authorized submitted_for_settlement settling settled",
            "pending_submission submitted confirmed paid_out charged_back",
            "created authorized captured refunded",
            "Requested Pending Authorized|Partially Captured|Captured|Refunded",
            "pending posted returned",
            "SENT_FOR_AUTHORISATION AUTHORISED CAPTURED SETTLED CHARGED_BACK",
            "settled disputed dispute_lost",
            "captured partially_refunded refunded",
        ] {
            let words: Vec<&str> = sequence.split(if sequence.contains('|') { '|' } else { ' ' }).collect();
            check_reports(&words, &words);
        }
    }

    #[test]
    fn a_later_stage_stands_whatever_comes_after_it() {
        let words = [
            "pending",
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
        check_order(&[Some("on the desk"), Some("pending")]);
    }

    #[test]
    fn every_word_stands_in_the_table_once_in_small_letters() {
        let letters = |word: &str| word.replace('_', "");
        for (index, (word, stage, position)) in WORDS.iter().enumerate() {
            assert_eq!(*word, word.to_ascii_lowercase());
            assert!(
                WORDS.iter().skip(index + 1).all(|(other, ..)| letters(other) != letters(word)),
                "{word}"
            );
            let entry = StatusWords::built_in().entry_of(&letters(word).to_uppercase());
            assert_eq!(entry, Some((*stage, *position)));
        }
        assert!(WORDS.is_sorted_by_key(|(_, stage, position)| (stage, position)));
    }

    #[test]
    fn a_report_that_disagrees_with_itself_means_the_later_stage() {
        for (brought, word, expected) in [
            (None, None, None),
            (None, Some("void"), Some("void")),
            (Some("pending"), None, Some("pending")),
            (Some("pending"), Some("applied"), Some("applied")),
            (Some("Authorised"), Some("captured"), Some("captured")),
            (Some("VOID"), Some("applied"), Some("VOID")),
            (Some("COMMIT"), Some("applied"), Some("COMMIT")),
            (None, Some("seen"), Some("seen")),
            (Some("pending"), Some("seen"), Some("pending")),
            (Some("on the desk"), Some("seen"), Some("on the desk")),
            (Some("on the desk"), Some("applied"), Some("applied")),
        ] {
            assert_eq!(meant(brought, word, &StatusWords::built_in()), expected, "{brought:?} {word:?}");
        }
    }

    #[test]
    fn the_documentation_lists_the_words_by_stage() {
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ledger.md"));
        let (_, table) = page.split_once("| stage | name | words").unwrap();
        let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| "));
        let mut listed = Vec::new();
        for (number, row) in (1..).zip(rows) {
            let (stage, words) = row.split_once(" | ").unwrap();
            assert_eq!(stage, number.to_string());
            listed.extend(words.split('`').skip(1).step_by(2).map(|word| (word, number)));
        }
        let known: Vec<_> = WORDS.iter().map(|(word, stage, _)| (*word, *stage as i32 + 1)).collect();
        assert_eq!(listed, known);
    }

    fn status() -> impl Strategy<Value = Option<String>> {
        let listed = prop::sample::select(WORDS.iter().map(|(word, ..)| *word).collect::<Vec<_>>());
        let spelled = (listed, any::<bool>())
            .prop_map(|(word, loud)| if loud { word.to_uppercase() } else { word.to_owned() });
        prop::option::of(spelled)
    }

    proptest! {
        #[test]
        fn the_furthest_status_depends_on_neither_order_nor_repetition(
            (reports, shuffled) in prop::collection::vec(status(), 1..8).prop_flat_map(|reports| {
                let twice = [reports.clone(), reports.clone()].concat();
                (Just(reports), Just(twice).prop_shuffle())
            })
        ) {
            let result_of = |reports: &[Option<String>]| {
                reports.iter().fold(None, |so_far: Option<String>, next| {
                    further(so_far.as_deref(), next.as_deref()).map(str::to_owned)
                })
            };
            prop_assert_eq!(result_of(&reports), result_of(&shuffled));
            prop_assert!(reports.contains(&result_of(&reports)));
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
