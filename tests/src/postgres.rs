//! A local PostgreSQL server for tests of the ledger feed: started, queried with `psql`, stopped and killed.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test it serves"
)]

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

use tempfile::TempDir;

use crate::binary::target_directory;
use crate::poll::{PATIENCE, Pauses};
use crate::ports;
use crate::programs::{Program, require};

const SUPERUSER: &str = "postgres";
const IN_MEMORY: &str = "/dev/shm";
/// Free space for many clusters at once, in bytes.
const MEMORY_MIN: u64 = 2 << 30;
const DROP_TEMPLATE0: &str = "UPDATE pg_database SET datistemplate = false WHERE datname = 'template0';
DROP DATABASE template0;
";

/// A cluster in a temporary folder, with a socket there and a free port of the loopback. Stopped and removed when
/// dropped.
#[derive(Debug)]
pub struct Postgres {
    directory: TempDir,
    port: u16,
    server: Option<Child>,
}

/// The way a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Fast shutdown: ends sessions and shuts down cleanly.
    Fast,
    /// SIGKILL to the postmaster.
    Kill,
}

impl Default for Postgres {
    fn default() -> Self {
        Self::start()
    }
}

impl Postgres {
    /// Creates and starts a cluster. Installs PostgreSQL if missing, which requires root and apt.
    ///
    /// # Panics
    /// Panics if it is missing or does not start.
    #[must_use]
    pub fn start() -> Self {
        let cluster = cluster();
        let directory = own_directory();
        let mut postgres = Self { directory, port: ports::unused(), server: None };
        copy(cluster, &postgres.data());
        postgres.begin();
        postgres
    }

    /// Restarts the server with additional settings such as `ssl=on`. Returns when it accepts queries.
    ///
    /// # Panics
    /// Panics if it is running or does not start.
    pub fn begin_with(&mut self, settings: &[&str]) {
        assert!(self.server.is_none(), "it runs");
        let mut server = self.command("postgres");
        server.arg("-D").arg(self.data()).arg("-k").arg(self.directory.path());
        let port = format!("port={}", self.port);
        let own = [
            "listen_addresses=127.0.0.1",
            "max_connections=120",
            "max_prepared_transactions=20",
            "fsync=off",
        ];
        for setting in [&*port].iter().chain(&own).chain(settings) {
            server.args(["-c", setting]);
        }
        let log = File::create(self.directory.path().join("log")).expect("a file can be made");
        server.stdout(Stdio::null()).stderr(log).stdin(Stdio::null());
        self.server = Some(server.spawn().expect("postgres can be run"));
        let (deadline, mut pauses) = (Instant::now() + PATIENCE, Pauses::default());
        while !self.psql("postgres", "SELECT 1").is_ok_and(|answer| answer == "1") {
            assert!(Instant::now() < deadline, "PostgreSQL does not come up:\n{}", self.log());
            pauses.pause();
        }
    }

    /// Restarts the server.
    pub fn begin(&mut self) {
        self.begin_with(&[]);
    }

    /// Ends the server and waits until it is gone.
    ///
    /// # Panics
    /// Panics if it is not running or does not end.
    pub fn end(&mut self, end: End) {
        let mut server = self.server.take().expect("it runs");
        match end {
            End::Kill => server.kill().expect("the process can be killed"),
            End::Fast => signal(&server, "INT"),
        }
        wait(&mut server);
        // The children of a killed postmaster use the folder for a moment.
        let (deadline, mut pauses) = (Instant::now() + PATIENCE, Pauses::default());
        while end == End::Kill && self.psql("postgres", "SELECT 1").is_ok() {
            assert!(Instant::now() < deadline, "PostgreSQL does not end");
            pauses.pause();
        }
    }

    /// Returns its loopback port, the same after every start.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the data folder.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Writes a file beside the data that only the server may read.
    ///
    /// # Panics
    /// Panics if it cannot be written.
    #[must_use]
    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, bytes).expect("a file can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode can be set");
        if let Some((user, group)) = unprivileged() {
            chown(&path, Some(user), Some(group)).expect("root may give a file away");
        }
        path
    }

    /// Runs a script with `psql` and returns its unformatted output.
    ///
    /// # Errors
    /// Returns the error message if a statement fails.
    ///
    /// # Panics
    /// Panics if `psql` cannot be run.
    pub fn psql(&self, database: &str, script: &str) -> Result<String, String> {
        let mut child = self.session(database);
        let mut input = child.stdin.take().expect("the input is piped");
        // A `psql` that ends early does not read all input.
        input.write_all(script.as_bytes()).ok();
        drop(input);
        let output = child.wait_with_output().expect("psql ends");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Runs a script that must succeed.
    ///
    /// # Panics
    /// Panics if a statement fails.
    #[track_caller]
    pub fn run(&self, database: &str, script: &str) -> String {
        self.psql(database, script).unwrap_or_else(|error| panic!("psql: {error}"))
    }

    /// Opens a session that executes its standard input.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    #[must_use]
    pub fn session(&self, database: &str) -> Child {
        Command::new(program("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", SUPERUSER, "-d", database, "-h"])
            .arg(self.directory.path())
            .args(["-p", &self.port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("psql can be run")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Returns a command of PostgreSQL that runs as a user other than root.
    fn command(&self, name: &str) -> Command {
        command(name, self.directory.path())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            signal(&server, "QUIT");
            wait(&mut server);
        }
    }
}

fn signal(server: &Child, name: &str) {
    let pid = server.id().to_string();
    // The shell's builtin `kill`; minimal systems have no other.
    let kill = ["-c", &format!("kill -{name} \"$1\""), "sh", &pid];
    let status = Command::new("sh").args(kill).status().expect("a shell can be run");
    assert!(status.success(), "SIG{name} could not be sent");
}

fn wait(server: &mut Child) {
    let (deadline, mut pauses) = (Instant::now() + PATIENCE, Pauses::default());
    while server.try_wait().expect("the process can be waited for").is_none() {
        if Instant::now() >= deadline {
            let _ = server.kill();
        }
        pauses.pause();
    }
}

/// Returns an empty cluster to copy. It is made once and kept below the target directory, because making one takes seconds.
fn cluster() -> &'static Path {
    static CLUSTER: OnceLock<PathBuf> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let folder = program("initdb");
        let version = folder.parent().map_or(0, version_of);
        let cluster =
            target_directory().unwrap_or_else(env::temp_dir).join(format!("postgresql-{version}-small"));
        if !cluster.exists() {
            let directory = own_directory();
            let data = directory.path().join("data");
            let mut initdb = command("initdb", directory.path());
            initdb.args([
                "--auth-local=trust",
                "--auth-host=scram-sha-256",
                "--no-sync",
                "-E",
                "UTF8",
                "--locale=C",
            ]);
            expect_success(initdb.args(["--wal-segsize=1", "-U", SUPERUSER, "-D"]).arg(&data), "");
            // A third of the files, and needed only for databases in other encodings.
            let mut single = command("postgres", directory.path());
            single.args(["--single", "-c", "fsync=off", "-D"]).arg(&data).arg("postgres");
            expect_success(&mut single, DROP_TEMPLATE0);
            // Another process may do the same: the folder appears complete, once.
            let copied = cluster.with_extension(process::id().to_string());
            copy(&data, &copied);
            if fs::rename(&copied, &cluster).is_err() {
                fs::remove_dir_all(copied).expect("a folder can be removed");
            }
        }
        cluster
    })
}

/// Runs a program with this input.
fn expect_success(command: &mut Command, input: &str) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("a program of PostgreSQL can be run");
    child.stdin.take().expect("the input is piped").write_all(input.as_bytes()).expect("input is read");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Copies a folder with its owners and modes.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().expect("cp can be run");
    assert!(copied.success(), "{} cannot be copied", from.display());
}

/// Makes a folder of the user who runs the programs, in memory where it has room: most files of a cluster are never read.
fn own_directory() -> TempDir {
    let has_room =
        rustix::fs::statvfs(IN_MEMORY).is_ok_and(|disk| disk.f_bavail * disk.f_frsize >= MEMORY_MIN);
    let in_memory = has_room.then(|| TempDir::new_in(IN_MEMORY).ok()).flatten();
    let directory = in_memory.unwrap_or_else(|| TempDir::new().expect("a temporary folder can be made"));
    if let Some((user, group)) = unprivileged() {
        chown(directory.path(), Some(user), Some(group)).expect("root may give a folder away");
    }
    directory
}

fn command(name: &str, directory: &Path) -> Command {
    let mut command = Command::new(program(name));
    command.current_dir(directory).env("LC_ALL", "C");
    if let Some((user, group)) = unprivileged() {
        command.uid(user).gid(group);
    }
    command
}

/// Returns the user and group for the cluster if root runs the tests, because PostgreSQL refuses root.
fn unprivileged() -> Option<(u32, u32)> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    if !is_root {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("users can be read");
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    Some(["postgres", "nobody"].into_iter().find_map(ids).expect("there is somebody besides root"))
}

fn program(name: &str) -> PathBuf {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    require(Program::PostgreSql);
    let folder = PROGRAMS.get_or_init(|| programs().expect("PostgreSQL is there"));
    folder.join(name)
}

/// Returns the folder of the newest PostgreSQL programs.
pub(crate) fn programs() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = debian.map(|version| version.path().join("bin")).collect();
    folders.sort_by_key(|folder| version_of(folder));
    folders.extend(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
    let has_all =
        |folder: &PathBuf| ["initdb", "postgres", "psql"].iter().all(|name| folder.join(name).exists());
    folders.into_iter().rev().find(has_all)
}

fn version_of(folder: &Path) -> u32 {
    let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}
