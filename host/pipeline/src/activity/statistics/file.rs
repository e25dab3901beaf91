//! The file that keeps the figures across restarts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::step::{StepFigures, StepLength, Steps};

/// Name of the file in the data directory.
pub(super) const NAME: &str = "statistics.json";
const UNFINISHED: &str = "statistics.json.new";

#[derive(Debug, Serialize, Deserialize)]
struct KeptSteps<F> {
    minutes: BTreeMap<i64, F>,
    hours: BTreeMap<i64, F>,
}

pub(super) fn read(path: &Path) -> io::Result<(Steps, Steps)> {
    let KeptSteps { minutes, hours } = match fs::read(path) {
        Ok(text) => serde_json::from_slice::<KeptSteps<StepFigures>>(&text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            KeptSteps { minutes: BTreeMap::new(), hours: BTreeMap::new() }
        }
        Err(error) => return Err(error),
    };
    Ok((Steps::from_kept(StepLength::Minute, minutes), Steps::from_kept(StepLength::Hour, hours)))
}

pub(super) fn text(minutes: &Steps, hours: &Steps) -> io::Result<Vec<u8>> {
    let kept: KeptSteps<&StepFigures> =
        KeptSteps { minutes: minutes.kept().collect(), hours: hours.kept().collect() };
    Ok(serde_json::to_vec(&kept)?)
}

/// Replaces the file. It is never torn; after a failure of the machine it may be an older one.
pub(super) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let unfinished = path.with_file_name(UNFINISHED);
    fs::write(&unfinished, text)?;
    fs::rename(&unfinished, path)
}
