//! Every bug, the gauntlet that finds it, and a word of what is said then.

use tollgate::planted::Bug;

use crate::Gauntlet;
use crate::{conversations, faults, lives, races};

pub(crate) const GAUNTLETS: [Gauntlet; 14] = [
    KILLS,
    POWER_CUTS,
    FAILED_COMMITS,
    FAILED_SYNC,
    PARALLEL,
    UPDATES,
    NEW_RULES,
    TAILS,
    SNAPSHOTS,
    LITTLE_MEMORY,
    FAILING_RULES,
    ANSWERS,
    ALERTS,
    STOPS,
];

const KILLS: Gauntlet = Gauntlet { name: "the witness, kill -9 and a stop", run: faults::kills };
const POWER_CUTS: Gauntlet = Gauntlet { name: "the witness, power cuts", run: faults::power_cuts };
const FAILED_COMMITS: Gauntlet =
    Gauntlet { name: "the witness, commits that fail", run: faults::failed_commits };
const FAILED_SYNC: Gauntlet = Gauntlet { name: "a sync that fails", run: faults::failed_sync };
const PARALLEL: Gauntlet = Gauntlet { name: "transactions in parallel", run: races::parallel };
const UPDATES: Gauntlet = Gauntlet { name: "status updates in parallel, and the audit", run: races::updates };
const NEW_RULES: Gauntlet = Gauntlet { name: "a new rule", run: lives::new_rules };
const TAILS: Gauntlet = Gauntlet { name: "a restart behind a snapshot", run: lives::tails };
const SNAPSHOTS: Gauntlet = Gauntlet { name: "snapshots that are wrong", run: lives::snapshots };
const LITTLE_MEMORY: Gauntlet = Gauntlet { name: "little memory", run: lives::little_memory };
const FAILING_RULES: Gauntlet = Gauntlet { name: "a rule that fails", run: conversations::failing_rules };
const ANSWERS: Gauntlet = Gauntlet { name: "answers", run: conversations::answers };
const ALERTS: Gauntlet = Gauntlet { name: "alerts", run: conversations::alerts };
const STOPS: Gauntlet = Gauntlet { name: "a stop", run: conversations::stops };

pub(crate) const BUGS: [(Bug, Gauntlet, &str); 55] = [
    (Bug::AcknowledgedBeforeCommit, KILLS, "answered"),
    (Bug::SyncDropped, POWER_CUTS, "lost"),
    (Bug::SyncedAtCheckpointsOnly, POWER_CUTS, "lost"),
    (Bug::FailedSyncForgiven, FAILED_SYNC, "goes on"),
    (Bug::RowBetweenStatementsDropped, KILLS, "follows"),
    (Bug::InsertedTwice, PARALLEL, "differ"),
    (Bug::RetryJudgedAgain, KILLS, "follows"),
    (Bug::ConflictAnswered, KILLS, "something else is stored"),
    (Bug::ConflictOverwrites, KILLS, "had to be"),
    (Bug::MetadataNotCompared, ANSWERS, "meta_data"),
    (Bug::NewIdsNotNoted, KILLS, "was answered before"),
    (Bug::EarlierIdsForgotten, KILLS, "was answered before"),
    (Bug::CommittedOutOfOrder, KILLS, "sent away"),
    (Bug::RefusedThoughStored, KILLS, "refused, and stored"),
    (Bug::RollbackLost, FAILED_COMMITS, "had to be"),
    (Bug::UpdateNotRolledBack, FAILED_COMMITS, "had to be"),
    (Bug::VersionBefore, KILLS, "version"),
    (Bug::TimeCutToMilliseconds, KILLS, "stored as of"),
    (Bug::SeesItself, KILLS, "had to be"),
    (Bug::PredecessorMissed, KILLS, "had to be"),
    (Bug::NumberBeforeInsert, PARALLEL, "saw"),
    (Bug::SeriesLeftOut, KILLS, "had to be"),
    (Bug::WindowTooShort, KILLS, "had to be"),
    (Bug::WindowTooLong, KILLS, "had to be"),
    (Bug::LaterTimesCounted, KILLS, "had to be"),
    (Bug::AmountsTakenForCents, KILLS, "had to be"),
    (Bug::UpdateNotCounted, KILLS, "had to be"),
    (Bug::UpdateNotStored, KILLS, "follows"),
    (Bug::KnownStatusStoredAgain, KILLS, "which it says was"),
    (Bug::LatestStatusStands, KILLS, "which it says was"),
    (Bug::StatusNotShown, KILLS, "the status fell back"),
    (Bug::UpdatesDoNotWait, UPDATES, "differ"),
    (Bug::BackfillSkipsFirst, NEW_RULES, "what a new rule knows"),
    (Bug::BackfillMissesLast, NEW_RULES, "what a new rule knows"),
    (Bug::TailForgotten, TAILS, "triggered"),
    (Bug::RestoredWithoutUpdates, TAILS, "triggered"),
    (Bug::StaleSnapshotBelieved, SNAPSHOTS, "another past"),
    (Bug::DamagedSnapshotBelieved, SNAPSHOTS, "damaged"),
    (Bug::PagesMixedUp, LITTLE_MEMORY, "little memory"),
    (Bug::CachedPageOfAnother, LITTLE_MEMORY, "little memory"),
    (Bug::FusedOutOfOrder, KILLS, "had to be"),
    (Bug::SparedAtTheEdge, ANSWERS, "edge"),
    (Bug::OldRulesRun, NEW_RULES, "what a new rule knows"),
    (Bug::LonelyRulesNotRun, ANSWERS, "alone"),
    (Bug::AnswerOfAnother, KILLS, "had to be"),
    (Bug::FoundInAnother, ANSWERS, "found"),
    (Bug::NeighbourFound, ANSWERS, "found"),
    (Bug::NeighbourAnswered, ANSWERS, "asked"),
    (Bug::FailureAllows, FAILING_RULES, "fails"),
    (Bug::QuarantineAllows, FAILING_RULES, "quarantine"),
    (Bug::LowerScoreTaken, ANSWERS, "score"),
    (Bug::RulesNotStored, KILLS, "there is no version"),
    (Bug::TreeTakenInPart, KILLS, "had to be"),
    (Bug::AlertOfOneDropped, ALERTS, "alert"),
    (Bug::DrainSkipped, STOPS, "under way"),
];
