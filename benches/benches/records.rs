//! The store of records alone: payments a second while every record is on the disk.
//!
//! `cargo bench -p tollgate-benches --bench records [-- [accounts=N,…] [threads=N,…] [seconds=N] [folder=DIR]]`
//!
//! Nothing is kept in memory between payments but the index. Files are read around the page cache, so that more memory
//! would not help.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use tollgate_benches::record_stores::OwnRecords;
use tollgate_benches::records::{Draw, load, pay};
use tollgate_benches::report::{machine, numbers};

fn main() -> anyhow::Result<()> {
    let accounts = numbers("accounts=", &[1_000_000])?;
    let threads = numbers("threads=", &[1, 2])?;
    let seconds = numbers("seconds=", &[15])?.first().copied().unwrap_or(15) as u64;
    let folder = std::env::args().find_map(|argument| Some(PathBuf::from(argument.strip_prefix("folder=")?)));
    println!("machine: {}; {seconds} s a line", machine());
    for n_accounts in accounts {
        let own = match &folder {
            Some(folder) => tempfile::tempdir_in(folder)?,
            None => tempfile::tempdir()?,
        };
        measure(own.path(), n_accounts, &threads, seconds)?;
    }
    Ok(())
}

fn measure(folder: &Path, n_accounts: usize, threads: &[usize], seconds: u64) -> anyhow::Result<()> {
    let records = OwnRecords::create(folder, n_accounts)?;
    let started = Instant::now();
    let n_records = load(&records, n_accounts)?;
    println!(
        "{n_accounts} accounts: {n_records} records written in {:.1} s, {:.1} bytes of memory each, {} MB in files",
        started.elapsed().as_secs_f64(),
        records.store().size().n_index_bytes as f64 / n_records as f64,
        records.store().size().n_file_bytes >> 20,
    );
    println!(
        "{:<22} {:>10} {:>8} {:>26}",
        "threads, draw", "payments/s", "CPU µs", "reads p50 / p99 / p99.9 ms"
    );
    for (round, n_threads) in threads.iter().enumerate() {
        for (draw, name) in [(Draw::Uniform, "uniform"), (Draw::Zipf, "Zipf")] {
            let round = (round * 2 + usize::from(draw == Draw::Zipf)) as u64;
            let measured = pay(&records, n_accounts, (*n_threads, seconds, draw, round))?;
            let [p50, p99, p999] = measured.reads.map(|time| time.as_secs_f64() * 1e3);
            println!(
                "{:<22} {:>10.0} {:>8} {p50:>10.2} / {p99:.2} / {p999:.2}",
                format!("{n_threads}, {name}"),
                measured.per_second,
                measured.cpu.as_micros(),
            );
        }
    }
    let size = records.store().size();
    println!(
        "afterwards: {} records, {} MB in files, of them {} MB replaced",
        size.n_records,
        size.n_file_bytes >> 20,
        size.n_replaced_bytes >> 20
    );
    let started = Instant::now();
    records.store().checkpoint(1, "")?;
    println!("checkpoint: {:.2} s", started.elapsed().as_secs_f64());
    let records = records.reopened(folder).context("after a kill")?;
    println!("open from the feet of the segments: {:.2} s", records.1.as_secs_f64());
    records.0.store().checkpoint(2, "")?;
    records.0.store().write_index()?;
    let records = records.0.reopened(folder).context("after a stop")?;
    println!("open after a clean stop: {:.2} s", records.1.as_secs_f64());
    Ok(())
}
