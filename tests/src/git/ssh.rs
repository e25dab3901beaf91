//! The system's `sshd` on loopback, with its own keys and configuration.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test it serves"
)]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::upstream::command;
use crate::log::Log;
use crate::programs::{Program, require};

const PROGRAM: &str = "/usr/sbin/sshd";
/// Upper bound for a start.
const PATIENCE: Duration = Duration::from_secs(20);
/// Number of attempts, because another process may take the chosen port first.
const TRIES: usize = 5;

/// An SSH server that accepts one key, for the user who runs the tests. Stopped when dropped.
#[derive(Debug)]
pub struct SshServer {
    directory: TempDir,
    port: u16,
    child: Child,
    log: Log,
}

impl SshServer {
    /// Starts a server with a new host key and a new authorized key of this type.
    ///
    /// # Panics
    /// Panics if it is missing or does not start.
    #[must_use]
    pub fn start(key_type: &str) -> Self {
        require(Program::SshServer);
        let directory = TempDir::new().expect("a temporary folder can be made");
        for (name, key_type) in [("host", "ed25519"), ("known", key_type), ("stranger", "ed25519")] {
            make_key(&directory.path().join(name), key_type);
        }
        fs::copy(directory.path().join("known.pub"), directory.path().join("authorized"))
            .expect("a file can be copied");
        let (port, child, log) =
            (0..TRIES).find_map(|_| listen(directory.path())).expect("sshd does not listen");
        Self { directory, port, child, log }
    }

    /// Returns the URL of a repository.
    #[must_use]
    pub fn url(&self, path: &Path) -> String {
        format!("ssh://{}@127.0.0.1:{}{}", user(), self.port, path.display())
    }

    /// Returns the file of the authorized private key.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.directory.path().join("known")
    }

    /// Returns the file of a private key that is not authorized.
    #[must_use]
    pub fn key_of_another(&self) -> PathBuf {
        self.directory.path().join("stranger")
    }

    /// Returns the fingerprint of the host key, as `ssh-keygen -l` prints it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.directory.path().join("host.pub"))
    }

    /// Returns the fingerprint of a different key.
    #[must_use]
    pub fn fingerprint_of_another(&self) -> String {
        fingerprint(&self.directory.path().join("stranger.pub"))
    }

    /// Returns the number of log lines that contain this text.
    #[must_use]
    pub fn n_logged(&self, words: &str) -> usize {
        self.log.lines().iter().filter(|line| line.contains(words)).count()
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `sshd` on a free port; `None` if another process took the port.
fn listen(directory: &Path) -> Option<(u16, Child, Log)> {
    let free = TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
    let port = free.local_addr().expect("a socket has an address").port();
    drop(free);
    let file = |name: &str| directory.join(name).display().to_string();
    // Sessions use the same `git` as the tests.
    let exec_path = command(directory.to_owned(), &["--exec-path"]).output().expect("git can be run").stdout;
    let exec_path = String::from_utf8_lossy(&exec_path).trim().to_owned();
    let config = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
         LogLevel VERBOSE\nSetEnv PATH={exec_path}:/usr/local/bin:/usr/bin:/bin\n",
        file("host"),
        file("authorized"),
    );
    fs::write(directory.join("config"), config).expect("a file can be written");
    // `sshd` requires this empty folder when it runs as root.
    let _ = fs::create_dir_all("/run/sshd");
    let mut child = Command::new(PROGRAM)
        .args(["-D", "-e", "-f", &file("config")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sshd can be started");
    let log = Log::new(child.stderr.take().expect("the log is piped"));
    let is_listening = log.wait_for(PATIENCE, |line| line.contains("Server listening").then_some(()));
    if is_listening.is_some() {
        return Some((port, child, log));
    }
    let _ = child.kill();
    let _ = child.wait();
    let lines = log.lines();
    assert!(lines.iter().any(|line| line.contains("Address already in use")), "{lines:?}");
    None
}

fn make_key(path: &Path, key_type: &str) {
    let status = Command::new("ssh-keygen")
        .args(["-q", "-t", key_type, "-N", "", "-C", "", "-f"])
        .arg(path)
        .status()
        .expect("ssh-keygen can be run");
    assert!(status.success(), "no key is made");
}

fn fingerprint(path: &Path) -> String {
    let output = Command::new("ssh-keygen").arg("-lf").arg(path).output().expect("ssh-keygen can be run");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    shown.split_whitespace().nth(1).unwrap_or_else(|| panic!("no fingerprint: {shown}")).to_owned()
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().expect("id can be run");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
