//! The name of each bug, the gauntlet that finds it, and a word of the failure message.

use crate::seeded_bugs::Gauntlet;
use crate::seeded_bugs::{conversations, faults, lives, races, units};

pub(crate) const GAUNTLETS: [Gauntlet; 15] = [
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
    HISTORY,
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
const HISTORY: Gauntlet = Gauntlet { name: "the tests of the history", run: units::history };

pub(crate) const BUGS: [(&str, Gauntlet, &str); 82] = [
    ("acknowledged_before_commit", KILLS, "answered"),
    ("sync_dropped", POWER_CUTS, "lost"),
    ("synced_at_checkpoints_only", POWER_CUTS, "lost"),
    ("failed_sync_forgiven", FAILED_SYNC, "goes on"),
    ("row_between_statements_dropped", KILLS, "follows"),
    ("inserted_twice", PARALLEL, "differ"),
    ("retry_judged_again", KILLS, "follows"),
    ("conflict_answered", KILLS, "something else is stored"),
    ("conflict_overwrites", KILLS, "had to be"),
    ("metadata_not_compared", ANSWERS, "meta_data"),
    ("new_ids_not_noted", KILLS, "was answered before"),
    ("earlier_ids_forgotten", KILLS, "was answered before"),
    ("committed_out_of_order", KILLS, "sent away"),
    ("refused_though_stored", KILLS, "refused, and stored"),
    ("rollback_lost", FAILED_COMMITS, "had to be"),
    ("update_not_rolled_back", FAILED_COMMITS, "had to be"),
    ("version_before", KILLS, "version"),
    ("time_cut_to_milliseconds", KILLS, "stored as of"),
    ("sees_itself", KILLS, "had to be"),
    ("predecessor_missed", KILLS, "had to be"),
    ("number_before_insert", PARALLEL, "saw"),
    ("series_left_out", KILLS, "had to be"),
    ("window_too_short", KILLS, "had to be"),
    ("window_too_long", KILLS, "had to be"),
    ("later_times_counted", KILLS, "had to be"),
    ("amounts_taken_for_cents", KILLS, "had to be"),
    ("update_not_counted", KILLS, "had to be"),
    ("update_not_stored", KILLS, "follows"),
    ("known_status_stored_again", KILLS, "which it says was"),
    ("latest_status_stands", KILLS, "which it says was"),
    ("status_not_shown", KILLS, "the status fell back"),
    ("updates_do_not_wait", UPDATES, "differ"),
    ("backfill_skips_first", NEW_RULES, "what a new rule knows"),
    ("backfill_misses_last", NEW_RULES, "what a new rule knows"),
    ("tail_forgotten", TAILS, "triggered"),
    ("restored_without_updates", TAILS, "triggered"),
    ("stale_snapshot_believed", SNAPSHOTS, "another past"),
    ("damaged_snapshot_believed", SNAPSHOTS, "damaged"),
    ("pages_mixed_up", LITTLE_MEMORY, "little memory"),
    ("cached_page_of_another", LITTLE_MEMORY, "little memory"),
    ("fused_out_of_order", KILLS, "had to be"),
    ("spared_at_the_edge", ANSWERS, "edge"),
    ("old_rules_run", NEW_RULES, "what a new rule knows"),
    ("lonely_rules_not_run", ANSWERS, "alone"),
    ("answer_of_another", KILLS, "had to be"),
    ("found_in_another", ANSWERS, "found"),
    ("neighbour_found", ANSWERS, "found"),
    ("neighbour_answered", ANSWERS, "asked"),
    ("failure_allows", FAILING_RULES, "fails"),
    ("quarantine_allows", FAILING_RULES, "quarantine"),
    ("lower_score_taken", ANSWERS, "score"),
    ("rules_not_stored", KILLS, "there is no version"),
    ("tree_taken_in_part", KILLS, "had to be"),
    ("alert_of_one_dropped", ALERTS, "alert"),
    ("drain_skipped", STOPS, "under way"),
    ("changed_record_kept", HISTORY, "histories_of_which_keys_are_on_the_disk"),
    ("change_misses_the_disk", HISTORY, "a_retraction_reaches_what_is_on_the_disk"),
    ("hidden_record_not_joined", HISTORY, "parallel_payments_of_an_account_on_the_disk"),
    ("filled_series_left_out", HISTORY, "accounts_that_do_not_fit_into_memory"),
    ("emptied_key_kept", HISTORY, "keys_that_lost_all_their_rows"),
    ("filled_rows_not_written", HISTORY, "a_series_of_more_keys_than_memory"),
    ("sorted_rows_reversed", HISTORY, "changes_of_an_anchor_keep_their_order"),
    ("moved_key_lost", HISTORY, "memory_of_a_series_whose_keys_left"),
    ("moved_key_counted_twice", HISTORY, "key_that_moved_while_it_was_exported"),
    ("moved_key_missed", HISTORY, "walk_over_a_series_meets_keys"),
    ("left_anchor_read_back", HISTORY, "an_account_that_left_is_not_read_back"),
    ("table_number_used_again", HISTORY, "keys_of_a_series_that_is_gone"),
    ("use_forgotten", HISTORY, "queries_of_accounts_that_keep_leaving"),
    ("key_class_too_fine", HISTORY, "histories_of_which_keys_are_on_the_disk"),
    ("undurable_row_recorded", HISTORY, "restarted_histories_answer"),
    ("recovery_number_too_high", HISTORY, "a_snapshot_leaves_out_unsettled"),
    ("long_key_in_no_file", HISTORY, "a_key_that_is_too_long_for_a_record"),
    ("swapped_without_check", HISTORY, "histories_of_which_keys_are_on_the_disk"),
    ("record_of_another_key_read", HISTORY, "a_store_holds_the_last_record_of_each_key"),
    ("damaged_record_taken_for_none", HISTORY, "a_changed_bit_is_an_error"),
    ("cleaned_record_lost", HISTORY, "a_store_holds_the_last_record_of_each_key"),
    ("replaced_record_revived", HISTORY, "a_power_cut_loses_nothing"),
    ("removal_not_in_foot", HISTORY, "a_power_cut_loses_nothing"),
    ("cleaned_file_removed_at_once", HISTORY, "a_power_cut_loses_nothing"),
    ("checkpoint_not_synced", HISTORY, "a_power_cut_loses_nothing"),
    ("end_of_segment_left_out", HISTORY, "a_power_cut_loses_nothing"),
    ("index_of_another_checkpoint_read", HISTORY, "a_power_cut_loses_nothing"),
];
