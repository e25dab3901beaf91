//! The patches of the seeded bugs, which follow the code that they change.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::process::{output, run as run_program};
use crate::root;

const PATCHES: &str = "tests/bugs";
/// The patch that the others build on.
const SWITCH: &str = "switch";
/// The branch with one commit for each patch.
const BRANCH: &str = "bugs";

/// A command about the patches.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Writes the patches again so that they apply to HEAD. Moves and renames since BASE are followed.
    Rebase {
        /// A commit to which the patches apply.
        base: String,
        /// A clone in which a conflict of an earlier call was resolved and the rebase was ended.
        #[arg(long)]
        resolved: Option<PathBuf>,
    },
}

/// Runs the command.
pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    let Command::Rebase { base, resolved } = command;
    let changes = output(root(), "git", &["status", "--porcelain", "--untracked-files=no"])?;
    ensure!(changes.is_empty(), "commit the changes first: the patches are written for HEAD");
    // The clone has commits of its own, to which a name such as HEAD~1 would lead there.
    let (base, head) = (commit_of(&base)?, commit_of("HEAD")?);
    let clone = match resolved {
        Some(clone) => clone,
        None => rebased(&base, &head)?,
    };
    let names = names(&clone, &head)?;
    for (commit, name) in &names {
        write(&clone, commit, name)?;
    }
    println!("{} patches are written for {head}", names.len());
    fs::remove_dir_all(clone).context("the clone cannot be removed")
}

/// Returns the hash of the commit that a name leads to.
fn commit_of(name: &str) -> anyhow::Result<String> {
    Ok(output(root(), "git", &["rev-parse", name])?.trim().to_owned())
}

/// Makes a clone with one commit for each patch on `base`, and moves the commits onto `head`.
fn rebased(base: &str, head: &str) -> anyhow::Result<PathBuf> {
    let clone = tempfile::tempdir()?.keep();
    let git = |arguments: &[&str]| output(&clone, "git", arguments);
    let source = root().display().to_string();
    git(&["clone", "--quiet", "--shared", "--no-checkout", &source, "."])?;
    git(&["config", "user.name", "seeded bugs"])?;
    git(&["config", "user.email", "bugs@localhost"])?;
    git(&["checkout", "--quiet", "-B", BRANCH, base])?;
    let folder = clone.join(PATCHES);
    let mut patches: Vec<String> = fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    patches.sort_by_key(|name| (name != SWITCH, name.clone()));
    for name in patches {
        git(&["apply", "--whitespace=nowarn", &format!("{PATCHES}/{name}.patch")])?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message", &name])?;
    }
    let rebase = ["rebase", "--quiet", "--onto", head, base, BRANCH];
    run_program(&clone, "git", &rebase).with_context(|| {
        let clone = clone.display();
        format!(
            "resolve the conflict in {clone}, run `git rebase --continue` there, and then \
             `cargo xtask bugs rebase {base} --resolved {clone}`"
        )
    })?;
    Ok(clone)
}

/// Returns the commits of the patches, each with the name of its patch.
fn names(clone: &Path, head: &str) -> anyhow::Result<Vec<(String, String)>> {
    let range = format!("{head}..{BRANCH}");
    let log = output(clone, "git", &["log", "--reverse", "--format=%H %s", &range])?;
    Ok(log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(c, n)| (c.to_owned(), n.to_owned()))
        .collect())
}

/// Writes a patch below the lines that say what goes wrong. A patch whose changes are the same stays as it is.
fn write(clone: &Path, commit: &str, name: &str) -> anyhow::Result<()> {
    let file = root().join(PATCHES).join(format!("{name}.patch"));
    let before = fs::read_to_string(&file)?;
    let (what, _) = before.split_once("diff --git").context("the patch has no change")?;
    let diff = output(clone, "git", &["diff", "-U2", &format!("{commit}^"), commit])?;
    let lines = diff.lines().filter(|line| !line.starts_with("index "));
    let after = lines.map(without_function).fold(what.to_owned(), |text, line| text + line + "\n");
    if after != before {
        fs::write(&file, after)?;
        println!("{name} has changed");
    }
    Ok(())
}

/// Returns a line of a patch; the head of a hunk without the function that it lies in.
fn without_function(line: &str) -> &str {
    let end = line.strip_prefix("@@ ").and_then(|rest| rest.find(" @@")).map(|at| at + "@@  @@".len());
    end.and_then(|end| line.get(..end)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::without_function;

    #[test]
    fn the_head_of_a_hunk_loses_its_function_and_other_lines_stay() {
        for (line, expected) in [
            ("@@ -46,5 +46,8 @@ impl Cache {", "@@ -46,5 +46,8 @@"),
            ("@@ -1 +1 @@", "@@ -1 +1 @@"),
            (" @@ text @@ of a file", " @@ text @@ of a file"),
        ] {
            assert_eq!(without_function(line), expected);
        }
    }
}
