//! Bugs on purpose, so that the suites that have to find bugs are put to the test themselves.
//!
//! They are there only where the crate is built with its feature `planted`, which nothing that is released, and no other
//! test, is built with. Otherwise every question below is answered `false` while the service is compiled, so that nothing
//! of a bug is left in it, and no environment is read. With the feature one bug at most is on: the one that
//! [`VARIABLE`] names when the service starts.

use crate::config::ConfigError;

/// The variable that names a bug.
pub const VARIABLE: &str = "TOLLGATE_PLANTED";

/// Written once: what each bug does, its variant and its name.
macro_rules! bugs {
    ($(#[doc = $what:literal] $bug:ident $name:literal,)*) => {
        /// A mistake that somebody could make, at the place where it would be made.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Bug {
            $(#[doc = $what] $bug,)*
        }

        impl Bug {
            /// Every bug there is.
            pub const ALL: &[Bug] = &[$(Bug::$bug,)*];

            /// What the variable calls it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Bug::$bug => $name,)*
                }
            }

            /// What goes wrong.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self {
                    $(Bug::$bug => $what.trim_ascii(),)*
                }
            }
        }
    };
}

bugs! {
    /// A verdict is answered when it is known, and committed afterwards.
    AcknowledgedBeforeCommit "acknowledged_before_commit",
    /// No commit waits for the disk: `synchronous=OFF`.
    SyncDropped "sync_dropped",
    /// Commits wait for the disk at checkpoints only: `synchronous=NORMAL`.
    SyncedAtCheckpointsOnly "synced_at_checkpoints_only",
    /// A sync that failed is taken for a commit that failed, and the service goes on.
    FailedSyncForgiven "failed_sync_forgiven",
    /// Where a group takes several statements, the row behind the first is dropped.
    RowBetweenStatementsDropped "row_between_statements_dropped",
    /// An id that is under way is carried a second time, and what is there already is passed over when it is kept.
    InsertedTwice "inserted_twice",
    /// A retry is judged again in place of being answered from the store.
    RetryJudgedAgain "retry_judged_again",
    /// The same id with another body gets the verdict of the first.
    ConflictAnswered "conflict_answered",
    /// The same id with another body is judged, and takes the place of the first.
    ConflictOverwrites "conflict_overwrites",
    /// What stands in the metadata does not count when two bodies under one id are compared.
    MetadataNotCompared "metadata_not_compared",
    /// Ids are not noted when they are kept, so that they pass for new ones later.
    NewIdsNotNoted "new_ids_not_noted",
    /// Ids of earlier runs are not noted, so that they pass for new ones.
    EarlierIdsForgotten "earlier_ids_forgotten",
    /// What is ready is committed, whether all with lower numbers is or not.
    CommittedOutOfOrder "committed_out_of_order",
    /// Some who are kept are told that they are not.
    RefusedThoughStored "refused_though_stored",
    /// Transactions of a commit that failed stay in the history.
    RollbackLost "rollback_lost",
    /// Status updates of a commit that failed stay in the history.
    UpdateNotRolledBack "update_not_rolled_back",
    /// A verdict is kept under the version of the rules before the one that judged.
    VersionBefore "version_before",
    /// The time of a transaction is kept in whole milliseconds.
    TimeCutToMilliseconds "time_cut_to_milliseconds",
    /// A transaction counts itself.
    SeesItself "sees_itself",
    /// A transaction does not count the one right before it.
    PredecessorMissed "predecessor_missed",
    /// The lock is let go between taking a number and putting the transaction into the history.
    NumberBeforeInsert "number_before_insert",
    /// A transaction is not put into the last of its series.
    SeriesLeftOut "series_left_out",
    /// Windows are a microsecond short.
    WindowTooShort "window_too_short",
    /// Windows are a microsecond long.
    WindowTooLong "window_too_long",
    /// What happened later counts as well, if it was accepted before.
    LaterTimesCounted "later_times_counted",
    /// Amounts are summed up as if all had two digits behind the point.
    AmountsTakenForCents "amounts_taken_for_cents",
    /// A status update is kept and shown, and not counted.
    UpdateNotCounted "update_not_counted",
    /// A status update is acknowledged and counted, and not kept.
    UpdateNotStored "update_not_stored",
    /// A status that is known is kept again.
    KnownStatusStoredAgain "known_status_stored_again",
    /// The status that was heard last stands, and not the furthest.
    LatestStatusStands "latest_status_stands",
    /// A transaction is shown with the status it came with.
    StatusNotShown "status_not_shown",
    /// Status updates do not wait for the evaluations with lower numbers.
    UpdatesDoNotWait "updates_do_not_wait",
    /// A new rule does not know the first transaction of all.
    BackfillSkipsFirst "backfill_skips_first",
    /// A new rule does not know the last transaction before it.
    BackfillMissesLast "backfill_misses_last",
    /// A restart forgets what came after the snapshot.
    TailForgotten "tail_forgotten",
    /// A restart brings transactions back, and not what became of their status.
    RestoredWithoutUpdates "restored_without_updates",
    /// A snapshot is believed when it is of another past.
    StaleSnapshotBelieved "stale_snapshot_believed",
    /// A snapshot is believed when it is damaged.
    DamagedSnapshotBelieved "damaged_snapshot_believed",
    /// Pages that are written out together are taken for one another.
    PagesMixedUp "pages_mixed_up",
    /// A page that was read lately is taken for another.
    CachedPageOfAnother "cached_page_of_another",
    /// Of rules that are called together, one is taken for its neighbour.
    FusedOutOfOrder "fused_out_of_order",
    /// Rules are spared a transaction that is at the edge of what they look for.
    SparedAtTheEdge "spared_at_the_edge",
    /// Rules that changed are not loaded: those before go on.
    OldRulesRun "old_rules_run",
    /// Rules that are called alone are not called.
    LonelyRulesNotRun "lonely_rules_not_run",
    /// What the history answered for one transaction is taken for the next.
    AnswerOfAnother "answer_of_another",
    /// What a pattern or a list found in one transaction is taken for the next.
    FoundInAnother "found_in_another",
    /// Of patterns that are searched together, one is taken for its neighbour.
    NeighbourFound "neighbour_found",
    /// Of questions that are answered together, one gets the answer of its neighbour.
    NeighbourAnswered "neighbour_answered",
    /// A rule that fails does not lift the verdict to `review`.
    FailureAllows "failure_allows",
    /// A rule in quarantine counts as one that does not match.
    QuarantineAllows "quarantine_allows",
    /// The score is that of the severest rule, and not the highest.
    LowerScoreTaken "lower_score_taken",
    /// A change of rules is acknowledged, and not kept.
    RulesNotStored "rules_not_stored",
    /// Of several files that change together, one is left for later.
    TreeTakenInPart "tree_taken_in_part",
    /// An alert is not written where its verdict is alone in a commit.
    AlertOfOneDropped "alert_of_one_dropped",
    /// At a stop nobody waits for what is under way.
    DrainSkipped "drain_skipped",
}

/// Whether this bug is on.
#[cfg(not(feature = "planted"))]
#[must_use]
pub const fn is(_: Bug) -> bool {
    false
}

/// Whether this bug is on.
#[cfg(feature = "planted")]
#[must_use]
pub fn is(bug: Bug) -> bool {
    named::is(bug)
}

/// Does something if this bug is on.
#[inline]
pub fn when<T>(bug: Bug, act: impl FnOnce() -> T) {
    if is(bug) {
        act();
    }
}

/// Does something unless this bug is on.
#[inline]
pub fn unless<T>(bug: Bug, act: impl FnOnce() -> T) {
    if !is(bug) {
        act();
    }
}

/// 1 if this bug is on, otherwise 0: how much is off by one.
#[inline]
#[must_use]
pub fn one<N: From<bool>>(bug: Bug) -> N {
    is(bug).into()
}

/// Long enough for others to come between.
pub fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

/// Switches the bug on that the environment names; there is none in this build.
///
/// # Errors
/// Never.
#[cfg(not(feature = "planted"))]
pub const fn plant(_: impl Copy) -> Result<(), ConfigError> {
    Ok(())
}

/// Switches the bug on that the environment names, and says so.
///
/// # Errors
/// When there is none of this name.
#[cfg(feature = "planted")]
pub fn plant(
    environment: impl Fn(&'static str) -> Result<Option<String>, ConfigError>,
) -> Result<(), ConfigError> {
    let Some(name) = environment(VARIABLE)? else {
        tracing::error!("this build can have bugs planted, and is for the tests alone; none is on");
        return Ok(());
    };
    let bug = Bug::ALL.iter().find(|bug| bug.name() == name).copied();
    let allowed = "the name of a planted bug";
    named::switch_on(bug.ok_or(ConfigError::Invalid { name: VARIABLE, given: name, allowed })?);
    Ok(())
}

/// The bug that is on.
#[cfg(feature = "planted")]
mod named {
    use std::sync::OnceLock;

    use super::Bug;

    static PLANTED: OnceLock<Bug> = OnceLock::new();

    pub(super) fn is(bug: Bug) -> bool {
        PLANTED.get() == Some(&bug)
    }

    pub(super) fn switch_on(bug: Bug) {
        tracing::error!(bug = bug.name(), "A BUG IS PLANTED: {}", bug.what());
        PLANTED.set(bug).ok();
    }
}
