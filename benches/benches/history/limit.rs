//! The same work with all the memory it needs, and with less. Each row runs in a separate process, so that its resident
//! size is accurate.

use std::collections::HashMap;
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;
use tollgate_benches::report::resident_bytes;
use tollgate_benches::traffic::Traffic;
use tollgate_history::History;
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;

use super::{count, two_questions};

/// Argument that marks a child process; the number of rows and the limit follow.
const CHILD: &str = "measure-one-limit";
/// Number of rows between two checks of the resident size.
const ROWS_PER_LOOK: usize = 50_000;
const MEBIBYTE: f64 = 1_048_576.0;

/// The result of one row.
struct Run {
    counted_bytes: usize,
    grown_bytes: usize,
    spilled_bytes: usize,
    per_second: f64,
    answers: f64,
}

pub(super) fn is_child() -> bool {
    std::env::args().any(|argument| argument == CHILD)
}

/// Measures one row in a child process and prints it for the parent.
pub(super) fn measure_as_child() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip_while(|argument| argument != CHILD).skip(1);
    let mut number =
        || arguments.next().context("a number is missing")?.parse::<usize>().context("no number");
    let (n_rows, limit) = (number()?, number()?);
    let directory = tempfile::tempdir()?;
    let mut history = History::new();
    if limit > 0 {
        history = history.bounded(limit, directory.path())?;
    }
    let questions = two_questions(&history)?;
    let lists: HashMap<String, NamedList> = HashMap::new();
    let traffic = Traffic::new(n_rows);
    history.watch_process(|| Some(resident_bytes()));
    let before = resident_bytes();
    let (started, mut answers, mut grown_bytes) = (Instant::now(), 0.0, 0);
    for (number, transaction) in (1..).zip(traffic) {
        history.restore(Sequence(number), &transaction);
        for question in &questions {
            answers += question.answer(&transaction, Sequence(number), &lists)?;
        }
        if usize::try_from(number)?.is_multiple_of(ROWS_PER_LOOK) {
            grown_bytes = grown_bytes.max(resident_bytes().saturating_sub(before));
        }
    }
    let per_second = count(n_rows) / started.elapsed().as_secs_f64();
    let (counted, spilled) = (history.resident_bytes(), history.spilled_bytes());
    println!("{counted} {grown_bytes} {spilled} {per_second} {answers:e}");
    Ok(())
}

fn run(n_rows: usize, limit: usize) -> anyhow::Result<Run> {
    let arguments = [CHILD.to_owned(), n_rows.to_string(), limit.to_string()];
    let output = Command::new(std::env::current_exe()?).args(arguments).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let mut words = text.split_whitespace();
    let mut word = || words.next().context("a figure is missing");
    Ok(Run {
        counted_bytes: word()?.parse()?,
        grown_bytes: word()?.parse()?,
        spilled_bytes: word()?.parse()?,
        per_second: word()?.parse()?,
        answers: word()?.parse()?,
    })
}

/// Measures with unlimited memory, and with a half, a quarter and a tenth of it.
pub(super) fn measure(n_rows: usize) -> anyhow::Result<()> {
    println!("\n{n_rows} transactions, 2 series, each put in and asked about twice; a process per row");
    println!(
        "{:>14} {:>14} {:>14} {:>14} {:>14} {:>18}",
        "limit MiB", "counted MiB", "grown MiB", "in the file", "a second", "answers"
    );
    let unlimited = run(n_rows, 0)?;
    let show = |limit: f64, run: &Run| {
        println!(
            "{limit:>14.1} {:>14.1} {:>14.1} {:>14.1} {:>14.0} {:>18.9e}",
            count(run.counted_bytes) / MEBIBYTE,
            count(run.grown_bytes) / MEBIBYTE,
            count(run.spilled_bytes) / MEBIBYTE,
            run.per_second,
            run.answers
        );
    };
    show(f64::INFINITY, &unlimited);
    for share in [2, 4, 10] {
        let limit = unlimited.counted_bytes / share;
        let limited = run(n_rows, limit)?;
        show(count(limit) / MEBIBYTE, &limited);
        let is_same = limited.answers.to_bits() == unlimited.answers.to_bits();
        anyhow::ensure!(is_same, "{} with a limit, {} without", limited.answers, unlimited.answers);
    }
    Ok(())
}
