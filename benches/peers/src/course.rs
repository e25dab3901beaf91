//! What is measured, as the words of the command say it.

use std::path::PathBuf;

/// Batches of each variant.
const N_BATCHES: usize = 51;

/// What is measured, and where it is written.
pub(crate) struct Course {
    pub(crate) sizes: Vec<usize>,
    /// How the name of the only variant begins.
    pub(crate) only: Option<String>,
    pub(crate) n_batches: usize,
    pub(crate) json: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
}

impl Course {
    pub(crate) fn of(words: &[String]) -> anyhow::Result<Self> {
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
