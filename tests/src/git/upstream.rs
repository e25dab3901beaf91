//! A bare repository written with `git`, independent of the machine's configuration.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::programs::{Program, require};

/// A remote repository. Removed when dropped.
#[derive(Debug)]
pub struct Upstream {
    directory: TempDir,
}

/// A change to a path in a commit.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sets a file with this mode and content.
    Put(&'static str, Vec<u8>),
    /// Removes the file.
    Drop,
}

impl Default for Upstream {
    fn default() -> Self {
        Self::new()
    }
}

impl Upstream {
    /// Creates an empty repository whose branch is `main`.
    ///
    /// # Panics
    /// Panics if `git` is missing or fails.
    #[must_use]
    pub fn new() -> Self {
        let upstream = Self { directory: TempDir::new().expect("a temporary folder can be made") };
        let path = upstream.path();
        upstream.run(&["init", "-q", "--bare", "-b", "main", &path.to_string_lossy()], &[]);
        upstream.git(&["config", "http.receivepack", "true"]);
        upstream
    }

    /// Creates a repository with these files in its first commit.
    #[must_use]
    pub fn with<P: AsRef<str>, T: AsRef<str>>(files: &[(P, T)]) -> Self {
        let upstream = Self::new();
        upstream.commit(files);
        upstream
    }

    /// Returns the path of the bare repository. Its parent folder is the root of a [`super::GitServer`].
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("rules.git")
    }

    /// Returns the folder that contains the repository.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Commits these files to `main` and returns the commit id.
    pub fn commit<P: AsRef<str>, T: AsRef<str>>(&self, files: &[(P, T)]) -> String {
        let put = |text: &str| Step::Put("100644", text.as_bytes().to_vec());
        let steps: Vec<_> = files.iter().map(|(path, text)| (path.as_ref(), put(text.as_ref()))).collect();
        self.steps("main", &steps)
    }

    /// Commits the removal of these files to `main`.
    pub fn remove(&self, paths: &[&str]) -> String {
        let steps: Vec<_> = paths.iter().map(|path| (*path, Step::Drop)).collect();
        self.steps("main", &steps)
    }

    /// Commits changes on top of a branch.
    ///
    /// # Panics
    /// Panics if `git` rejects them.
    pub fn steps(&self, branch: &str, steps: &[(&str, Step)]) -> String {
        let mut stream = Vec::new();
        let mut say = |text: &str| stream.extend_from_slice(text.as_bytes());
        say(&format!("commit refs/heads/{branch}\ncommitter Analyst <a@bank.example> 1700000000 +0000\n"));
        say("data 6\nchange\n");
        if let Some(head) = self.head(branch) {
            say(&format!("from {head}\n"));
        }
        for (path, step) in steps {
            match step {
                Step::Put(mode, bytes) => {
                    stream.extend_from_slice(
                        format!("M {mode} inline {path}\ndata {}\n", bytes.len()).as_bytes(),
                    );
                    stream.extend_from_slice(bytes);
                    stream.push(b'\n');
                }
                Step::Drop => stream.extend_from_slice(format!("D {path}\n").as_bytes()),
            }
        }
        self.run(&["fast-import", "--quiet", "--force"], &stream);
        self.head(branch).expect("the branch is there now")
    }

    /// Replaces `main` with a new root commit of these files.
    pub fn rewrite<P: AsRef<str>, T: AsRef<str>>(&self, files: &[(P, T)]) -> String {
        self.delete_branch("main");
        self.commit(files)
    }

    /// Deletes a branch.
    pub fn delete_branch(&self, branch: &str) {
        self.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
    }

    /// Returns the commit of a branch.
    #[must_use]
    pub fn head(&self, branch: &str) -> Option<String> {
        let name = format!("refs/heads/{branch}");
        let output = self.command(&["rev-parse", "-q", "--verify", &name]).output().expect("git can be run");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Returns the text of a file on `main`.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<String> {
        let output = self.command(&["show", &format!("main:{path}")]).output().expect("git can be run");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs `git` in the repository and returns its output.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.run(arguments, &[])
    }

    /// Runs `git` with this standard input.
    ///
    /// # Panics
    /// Panics if it fails.
    pub fn run(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git can be run");
        child.stdin.take().expect("the input is piped").write_all(input).expect("git reads its input");
        let output = child.wait_with_output().expect("git ends");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {error}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        command(if self.path().exists() { self.path() } else { self.root().to_owned() }, arguments)
    }
}

/// Returns a `git` command in a folder, without user or system configuration.
///
/// # Panics
/// Panics if it is missing.
#[must_use]
pub fn command(folder: PathBuf, arguments: &[&str]) -> Command {
    require(Program::Git);
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(&folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("HOME", &folder)
        .env("GIT_AUTHOR_NAME", "Analyst")
        .env("GIT_AUTHOR_EMAIL", "a@bank.example")
        .env("GIT_COMMITTER_NAME", "Analyst")
        .env("GIT_COMMITTER_EMAIL", "a@bank.example");
    command
}
