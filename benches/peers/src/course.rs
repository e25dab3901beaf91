//! The selected measurements, parsed from the command line.

use std::path::PathBuf;

/// Batches per variant.
const N_BATCHES: usize = 51;

/// The selected measurements and their output files.
pub(crate) struct Course {
    pub(crate) sizes: Vec<usize>,
    /// Prefix of the only variant to run.
    pub(crate) only: Option<String>,
    pub(crate) n_batches: usize,
    pub(crate) json: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
}

impl Course {
    pub(crate) fn from_words(words: &[String]) -> anyhow::Result<Self> {
        let mut course = Self { sizes: Vec::new(), only: None, n_batches: N_BATCHES, json: None, svg: None };
        for word in words {
            match word.split_once('=') {
                Some(("only", name)) => course.only = Some(name.to_owned()),
                Some(("batches", n)) => course.n_batches = n.parse()?,
                Some(("json", path)) => course.json = Some(path.into()),
                Some(("svg", path)) => course.svg = Some(path.into()),
                Some((name, _)) => anyhow::bail!("`{name}=` means nothing here"),
                None => course.sizes.push(word.parse()?),
            }
        }
        if course.sizes.is_empty() {
            course.sizes.extend([10, 100, 1_000]);
        }
        Ok(course)
    }
}
