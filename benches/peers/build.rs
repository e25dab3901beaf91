//! Generates the twin rules as Rust functions, one per size, for `native.rs` to include.

use std::fmt::Write as _;
use std::path::PathBuf;

use shape::{COUNTRIES, CURRENCIES, STATUSES, Shape};

#[expect(unreachable_pub, reason = "public in the crate it belongs to")]
#[path = "../src/random.rs"]
mod random;
#[expect(unreachable_pub, reason = "public in the crate it belongs to")]
#[path = "../src/shape.rs"]
mod shape;

/// Number of rules per function.
const SIZES: [usize; 3] = [10, 100, 1_000];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../src/random.rs");
    println!("cargo::rerun-if-changed=../src/shape.rs");
    let mut source = format!("pub(super) const FUNCTIONS: [(usize, Function); {}] = [", SIZES.len());
    for size in SIZES {
        write!(source, "({size}, inlined_{size}), ")?;
    }
    writeln!(source, "];")?;
    for size in SIZES {
        write_function(&mut source, size)?;
    }
    let out = std::env::var_os("OUT_DIR").ok_or("no folder to write to")?;
    std::fs::write(PathBuf::from(out).join("inlined.rs"), source)?;
    Ok(())
}

/// Texts are converted to masks once: bit `n` means that the text is the `n`th one that rules name.
fn write_function(source: &mut String, size: usize) -> std::fmt::Result {
    writeln!(
        source,
        "\nfn inlined_{size}(facts: &Facts<'_>, found: &[bool; 5], words: &mut [u64]) {{
    let (amount, risk, [count0, count1, count2, count3]) = (facts.amount, facts.risk, facts.counts);
    let [found0, found1, found2, found3, found4] = *found;
    let _ = (count0, count1, count2, count3, found0, found1, found2, found3, found4);"
    )?;
    for (field, texts) in [("currency", &CURRENCIES[..]), ("status", &STATUSES), ("country", &COUNTRIES)] {
        write!(source, "    let {field} = match facts.{field} {{ ")?;
        for (bit, text) in texts.iter().enumerate() {
            write!(source, "{text:?} => {}_u32, ", 1 << bit)?;
        }
        writeln!(source, "_ => 0 }};")?;
    }
    writeln!(source, "    let said = [")?;
    for word in shape::shapes(size).chunks(64) {
        let bits = word.iter().enumerate().map(|(bit, rule)| match bit {
            0 => format!("        u64::from({})", condition(*rule)),
            _ => format!("(u64::from({}) << {bit})", condition(*rule)),
        });
        writeln!(source, "{},", bits.collect::<Vec<_>>().join("\n        | "))?;
    }
    writeln!(source, "    ];\n    for (word, said) in words.iter_mut().zip(said) {{ *word = said; }}\n}}")
}

fn condition(rule: Shape) -> String {
    match rule {
        Shape::Comparison { limit, risk, currency } => {
            let currency = mask(&CURRENCIES, &[currency]);
            format!("(amount > {limit}.0) & (risk >= {risk}.0) & (currency & {currency} != 0)")
        }
        Shape::List { status, countries } => {
            let (status, countries) = (mask(&STATUSES, &[status]), mask(&COUNTRIES, &countries));
            format!("(status & {status} == 0) & (country & {countries} != 0)")
        }
        Shape::Pattern { word } => format!("found{word}"),
        Shape::Aggregate { window, limit } => format!("count{window} > {limit}.0"),
    }
}

/// Returns a mask with a bit for each of these texts.
fn mask(texts: &[&str], named: &[&str]) -> u32 {
    let bits = texts.iter().enumerate().map(|(bit, text)| u32::from(named.contains(text)) << bit);
    bits.fold(0, |mask, bit| mask | bit)
}
