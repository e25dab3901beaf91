//! Nanoseconds per rule: Tollgate's fused modules, embeddable engines and native code, on the same rules and
//! transactions, in one process and run.
//!
//! `benches/peers/run [json=FILE] [svg=FILE] [only=VARIANT] [batches=N] [RULES…]`
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::hint::black_box;
use std::sync::Arc;

use tollgate_benches::report::{Variant, interleave, machine};
use tollgate_benches::shape::Shape;
use tollgate_benches::twins::{self, Traffic};
use tollgate_history::History;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::contestant::{Entry, Peer, Prepared};
use crate::course::Course;
use crate::native::{Closures, Inlined};
use crate::ours::Fused;
use crate::peers::{
    cedar::Cedar, cel::Cel, datalogic::Datalogic, evalexpr::Evalexpr, quickjs::QuickJs, regorus::Regorus,
    rhai::Rhai, zen::Zen,
};
use crate::table::Row;

mod contestant;
mod course;
mod facts;
mod matched;
mod native;
mod ours;
mod peers;
mod plot;
mod table;

/// Number of transactions in the history.
const N_HISTORY: usize = 20_000;
/// Number of transactions each batch evaluates again. Even the fastest variant needs milliseconds for them, which
/// outweighs refilling the caches after the slow variants.
const N_JUDGED: usize = 1_024;

fn main() -> anyhow::Result<()> {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let course = Course::from_words(&command)?;
    let history = History::new();
    let transactions = twins::transactions(N_HISTORY, Traffic::Suspicious)?;
    for transaction in &transactions {
        history.admit(Arc::clone(transaction), |_| ());
    }
    let judged: Vec<_> = transactions.into_iter().rev().take(N_JUDGED).collect();
    let machine = machine();
    println!("machine: {machine}; {} batches of each, interleaved; history of {N_HISTORY}", course.n_batches);
    println!("command: benches/peers/run {}", command.join(" "));
    table::print_head();
    let mut rows = Vec::new();
    for &n_rules in &course.sizes {
        let of_size = measure(n_rules, &course, &history, &judged)?;
        table::print(&of_size);
        rows.extend(of_size);
    }
    table::print_remarks(&rows);
    if let Some(path) = &course.json {
        std::fs::write(path, table::json(&machine, &command, &rows))?;
    }
    if let Some(path) = &course.svg {
        std::fs::write(path, plot::svg(&machine, &rows))?;
    }
    Ok(())
}

fn measure(
    n_rules: usize,
    course: &Course,
    history: &History,
    judged: &[Arc<Transaction>],
) -> anyhow::Result<Vec<Row>> {
    let twins = twins::rules(n_rules, history)?;
    let rules: Vec<Shape> = twins.iter().map(|twin| twin.shape).collect();
    let as_of = history.last_sequence().next();
    let mut entries = peers(&rules, history, as_of)?;
    let fused = Box::new(Fused::new(&twins, history, as_of)?);
    entries.insert(0, Entry { name: Fused::NAME, remark: Fused::REMARK, contestant: fused });
    let closures = Box::new(Closures::new(&twins, as_of));
    entries.push(Entry { name: Closures::NAME, remark: Closures::REMARK, contestant: closures });
    agree(&mut entries, judged, |rule_index| twins.get(rule_index).map_or("", |twin| twin.script.as_str()))?;
    entries.retain(|entry| course.only.as_ref().is_none_or(|only| entry.name.starts_with(only)));
    let remarks: Vec<&'static str> = entries.iter().map(|entry| entry.remark).collect();
    let variants = entries.iter_mut().map(|Entry { name, contestant, .. }| -> Variant<'_> {
        let judge_all = move || {
            for transaction in judged {
                // No variant failed during the agreement check.
                _ = black_box(contestant.judge(black_box(transaction)));
            }
        };
        (*name, Box::new(judge_all))
    });
    let samples = interleave(course.n_batches, variants.collect());
    Ok(Row::all(n_rules, judged.len(), samples, &remarks))
}

/// Returns all variants measured from the same facts.
fn peers<'a>(rules: &[Shape], history: &History, as_of: Sequence) -> anyhow::Result<Vec<Entry<'a>>> {
    fn entry<'a, P: Peer + 'a>(
        rules: &[Shape],
        history: &History,
        as_of: Sequence,
    ) -> anyhow::Result<Entry<'a>> {
        let contestant = Box::new(Prepared::<P>::new(rules, history, as_of)?);
        Ok(Entry { name: P::NAME, remark: P::REMARK, contestant })
    }
    let mut entries = vec![
        entry::<Datalogic>(rules, history, as_of)?,
        entry::<QuickJs>(rules, history, as_of)?,
        entry::<Zen>(rules, history, as_of)?,
        entry::<Cel>(rules, history, as_of)?,
        entry::<Rhai>(rules, history, as_of)?,
        entry::<Evalexpr>(rules, history, as_of)?,
        entry::<Regorus>(rules, history, as_of)?,
        entry::<Cedar>(rules, history, as_of)?,
    ];
    if Inlined::holds(rules.len()) {
        entries.push(entry::<Inlined>(rules, history, as_of)?);
    }
    Ok(entries)
}

/// Checks that all variants match the same rules; otherwise the figures are not comparable.
fn agree<'r>(
    entries: &mut [Entry<'_>],
    judged: &[Arc<Transaction>],
    script: impl Fn(usize) -> &'r str,
) -> anyhow::Result<()> {
    for transaction in judged {
        let mut first = None;
        for Entry { name, contestant, .. } in &mut *entries {
            let matched = contestant.matched(transaction)?;
            let (first_name, first) = first.get_or_insert_with(|| (*name, matched.clone()));
            if let Some(rule_index) = first.first_difference(&matched) {
                anyhow::bail!(
                    "{}: {first_name} says {}, {name} says {}, of `{}`",
                    transaction.transaction_id,
                    first.contains(rule_index),
                    matched.contains(rule_index),
                    script(rule_index)
                );
            }
        }
    }
    Ok(())
}
