//! Tests of the steps, of their file, and of what counting costs.

use chrono::TimeDelta;
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_model::assessment::RuleOutcome;
use tollgate_model::clock::SystemClock;
use tollgate_model::sequence::Sequence;

use super::*;
use tollgate_telemetry::latency::LatencyCounts;

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

fn figures(n_approved: u64) -> StepFigures {
    StepFigures { verdicts: [("approve".to_owned(), n_approved)].into(), ..StepFigures::default() }
}

fn counted(steps: &Steps) -> Vec<(i64, u64)> {
    let all = steps.between(at(0), at(1 << 40)).into_iter();
    all.map(|(at, step)| (at.timestamp(), step.verdicts["approve"])).collect()
}

#[test]
fn a_step_holds_what_happened_within_it_and_old_ones_are_forgotten() {
    let mut steps = Steps::new(StepLength::Minute);
    for (seconds, n) in [(0, 1), (59, 2), (60, 4), (30, 8), (600, 16)] {
        steps.add(at(seconds), &figures(n));
    }
    steps.add(at(700), &StepFigures::default());
    assert_eq!(counted(&steps), [(0, 11), (60, 4), (600, 16)]);
    assert_eq!(steps.between(at(60), at(600)).len(), 1);
    steps.add(at(24 * 3_600 + 60), &figures(32));
    assert_eq!(counted(&steps), [(600, 16), (24 * 3_600 + 60, 32)]);
}

#[test]
fn steps_of_many_rules_are_bounded() {
    let mut step = StepFigures::default();
    for id in 0..5_000 {
        step.add_rule(InstructionId(id), RuleFigures { matched: 1, failed: 0 });
        step.add_rule(InstructionId(id), RuleFigures::default());
    }
    step.add_rule(InstructionId(0), RuleFigures { matched: 1, failed: 2 });
    assert_eq!((step.rules.len(), step.rules[&0]), (1_024, RuleFigures { matched: 2, failed: 2 }));
}

#[test]
fn the_file_keeps_every_step() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(file::NAME);
    assert_eq!(counted(&file::read(&path).unwrap().0), []);
    let (mut minutes, mut hours) = (Steps::new(StepLength::Minute), Steps::new(StepLength::Hour));
    for n in 0..10 {
        minutes.add(at(60 * n), &figures(1));
        hours.add(at(60 * n), &figures(1));
    }
    file::write(&path, &file::text(&minutes, &hours).unwrap()).unwrap();
    let (read_minutes, read_hours) = file::read(&path).unwrap();
    assert_eq!((counted(&read_minutes), counted(&read_hours)), (counted(&minutes), vec![(0, 10)]));
    std::fs::write(&path, "[]").unwrap();
    assert!(file::read(&path).is_err());
}

#[test]
fn counting_an_inject_takes_less_than_half_a_microsecond() {
    const N: u64 = 10_000;
    const BLOCKS: u32 = 20;
    let metrics = Arc::new(Metrics::new());
    let (outcomes, times) = (OutcomeCounts::default(), LatencyCounts::default());
    let block = |_| {
        let begun = std::time::Instant::now();
        for number in 0..N {
            times.note(Duration::from_micros(number % 5_000));
            metrics.flagged(Sequence(number));
            outcomes.count(&RuleOutcome::Matched, Sequence(number));
        }
        begun.elapsed()
    };
    // Other tests interrupt most blocks, but not the fastest one.
    let each = (0..BLOCKS).map(block).min().unwrap() / u32::try_from(N).unwrap();
    println!("{each:?} for each inject that is blocked by a rule");
    assert!(each < Duration::from_nanos(500), "{each:?}");
    let registry = Arc::new(Registry::new(RuleSet::new(0, Vec::new(), Lists::default())));
    let directory = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let statistics = Statistics::open(directory.path(), &metrics, &registry, &clock);
    let now = statistics.now();
    // What was counted before belongs to no step.
    assert!(
        statistics.between(StepLength::Minute, now - TimeDelta::days(1), now + TimeDelta::days(1)).is_empty()
    );
}
