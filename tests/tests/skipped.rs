//! Lists the tests that were skipped because programs are missing, after the suites.

#![expect(clippy::print_stdout, reason = "its output is for the terminal")]

use std::collections::{BTreeMap, BTreeSet};
use std::{fs, io};

use tollgate_tests::programs::skipped_file;

fn main() -> io::Result<()> {
    let file = skipped_file();
    let lines = match fs::read_to_string(&file) {
        Ok(lines) => lines,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    fs::remove_file(file)?;
    let mut tests = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (test, wanted) in lines.lines().filter_map(|line| line.split_once('\t')) {
        tests.entry(test).or_default().insert(wanted);
    }
    println!("\nSkipped tests, in whole or in part, with what they need ({}):", tests.len());
    for (test, wanted) in &tests {
        println!("  {test}: {}", wanted.iter().copied().collect::<Vec<_>>().join("; "));
    }
    println!("Debian's packages are installed by: apt-get install PACKAGES. As root, the tests do that.");
    Ok(())
}
