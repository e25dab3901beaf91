//! The latest matches of each rule in earlier runs of the service, read from stored verdicts.
//!
//! Matches are counted in memory. After a restart, the rules in force would seem to have matched nothing, so the last
//! numbers are read once the history is complete, the latest first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::task::spawn_blocking;
use tollgate_engine::registry::{MATCHES_KEPT, Registry};
use tollgate_model::instruction::InstructionId;
use tollgate_model::sequence::Sequence;
use tollgate_store::{Store, StoreError};

use tollgate_telemetry::logs::ErrorChain;

/// Numbers that are read.
const NUMBERS_MAX: u64 = 100_000;
/// Numbers of one query.
const BATCH: u64 = 1_000;
/// Pause between two queries, so that payments do not wait for them.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Deserialize)]
struct AnswerMatches {
    triggered: Vec<MatchedInstruction>,
}

#[derive(Deserialize)]
struct MatchedInstruction {
    instruction_id: i64,
}

/// Matches of the rules in force, at most [`MATCHES_KEPT`] for each, the highest number first.
type Matches = HashMap<InstructionId, Vec<Sequence>>;

/// Waits until the history is complete up to a number, and notes for each rule in force what it matched up to there. Rules
/// that come into force meanwhile have no earlier matches.
pub(super) async fn read_earlier_matches(
    store: Store,
    registry: Arc<Registry>,
    complete: impl Future<Output = Sequence>,
) {
    let last = complete.await;
    let in_force = registry.current();
    let ids = in_force.rules.iter().map(|in_force| in_force.rule.instruction.record.id);
    let matches: Matches = ids.map(|id| (id, Vec::new())).collect();
    match read(&store, matches, last).await {
        Ok(matches) => {
            for in_force in &in_force.rules {
                if let Some(numbers) = matches.get(&in_force.rule.instruction.record.id) {
                    in_force.rule.outcomes.note_earlier_matches(numbers);
                }
            }
        }
        Err(StoreError::Closed) => {}
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "the matches of rules before the start cannot be read");
        }
    }
}

async fn read(store: &Store, mut matches: Matches, last: Sequence) -> Result<Matches, StoreError> {
    let first = last.0.saturating_sub(NUMBERS_MAX);
    let mut through = last.0;
    while through > first && matches.values().any(|numbers| numbers.len() < MATCHES_KEPT) {
        let after = through.saturating_sub(BATCH).max(first);
        let rows = store.matches_between(Sequence(after), Sequence(through)).await?;
        through = after;
        if rows.is_empty() {
            continue;
        }
        let noted = spawn_blocking(move || note(matches, rows)).await;
        matches = noted.map_err(|error| StoreError::Unavailable { source: error.into() })?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(matches)
}

fn note(mut matches: Matches, rows: Vec<(Sequence, String)>) -> Matches {
    for (number, answer) in rows {
        // A text that is not ours would have failed when it was written.
        let Ok(AnswerMatches { triggered }) = serde_json::from_str(&answer) else { continue };
        for MatchedInstruction { instruction_id } in triggered {
            if let Some(numbers) = matches.get_mut(&InstructionId(instruction_id))
                && numbers.len() < MATCHES_KEPT
            {
                numbers.push(number);
            }
        }
    }
    matches
}
