//! Files of the rules directory that are neither rules nor lists, and may have been meant as such.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;
use tollgate_model::background::yielding;
use tollgate_model::instruction::ignored::{HEAD_BYTES, IgnoredFiles, holds_rule, is_misnamed};

use super::Stamp;

/// Maximum number of files that are searched for a rule.
const SEARCHED_MAX: usize = 4096;

/// The other files of one walk.
#[derive(Debug, Default)]
pub(in crate::intake) struct OtherFiles {
    /// Files whose names resemble those of rules or lists.
    misnamed: IgnoredFiles,
    /// Files to be searched for a rule: the path without links, and the path below the rules directory.
    to_search: Vec<(PathBuf, String)>,
}

/// Results of earlier searches, by path, with the stamp of the file.
#[derive(Debug, Default)]
pub(in crate::intake) struct HeadCache(HashMap<PathBuf, (Stamp, bool)>);

impl OtherFiles {
    pub(super) fn add(&mut self, path: PathBuf, relative: String) {
        if is_misnamed(&relative) {
            self.misnamed.add(&relative);
        } else if self.to_search.len() < SEARCHED_MAX {
            self.to_search.push((path, relative));
        } else {
            self.misnamed.add_unexamined();
        }
    }

    /// Returns the files that look like rules or lists. Only files that changed since the last call are read.
    pub(in crate::intake) fn examine(self, heads: &mut HeadCache, now: SystemTime) -> IgnoredFiles {
        let Self { misnamed: mut ignored, to_search } = self;
        let mut searched = HashMap::new();
        for (path, relative) in yielding(to_search) {
            // A file that is gone or cannot be read was not meant for the service.
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let stamp = Stamp::from_metadata(&metadata);
            let is_rule = match heads.0.get(&path) {
                Some((known, is_rule)) if *known == stamp => *is_rule,
                _ => head(&path).is_ok_and(|head| holds_rule(&relative, &head)),
            };
            if is_rule {
                ignored.add(&relative);
            }
            if stamp.is_settled(now) {
                searched.insert(path, (stamp, is_rule));
            }
        }
        heads.0 = searched;
        ignored
    }
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(Vec::new());
    }
    let mut head = Vec::new();
    file.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}
