//! Programs beside the service that tests need. A test declares them by [`needs!`](crate::needs).
//!
//! ```text
//!  first test that needs one ──▶ which are missing? ──as root with apt──▶ one installation of all of them
//!                                                   └─otherwise─────────▶ each test that needs one is skipped by name
//! ```
//!
//! With `TOLLGATE_PROGRAMS=required` a missing program fails the test. The program `skipped`, which is run after the suites,
//! lists the skipped tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{env, thread};

use crate::binary::target_directory;
use crate::{postgres, toolchain};

/// A program or library of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is named as its makers do")]
pub enum Program {
    Bubblewrap,
    Caddy,
    Chromium,
    Clang,
    Git,
    LibFaketime,
    Nginx,
    Node,
    PostgreSql,
    Python,
    RustForWebAssembly,
    Sqlite,
    SshServer,
    SystemdAnalyze,
}
use Program::{
    Bubblewrap, Caddy, Chromium, Clang, Git, LibFaketime, Nginx, Node, PostgreSql, Python,
    RustForWebAssembly, Sqlite, SshServer, SystemdAnalyze,
};

/// The program, a command that succeeds where it is, its Debian packages, and its use.
type Row = (Program, &'static str, &'static [&'static str], &'static str);

const ROWS: [Row; 14] = [
    (Bubblewrap, "bwrap --version", &["bubblewrap"], "containers"),
    (Caddy, "caddy version", &["caddy"], "a proxy in front of the service"),
    (Chromium, "test -x /usr/bin/chromium", &["chromium"], "the console"),
    (Clang, "clang --version && wasm-ld --version", &["clang", "lld"], "rules in C"),
    (Git, "git --version", &["git"], "rules from Git"),
    (LibFaketime, "ls /usr/lib/*/faketime/libfaketime.so.1", &["libfaketime"], "clocks that are set wrong"),
    (Nginx, "nginx -v", &["nginx-light"], "a proxy in front of the service"),
    (Node, "node --version && npm --version", &["nodejs", "npm"], "the console, rules in AssemblyScript"),
    (PostgreSql, "", &["postgresql"], "the database of a ledger"),
    (Python, "python3 -c 'import ensurepip, venv'", &["python3", "python3-venv"], "tests of the API"),
    (RustForWebAssembly, "", &["rustc", "libstd-rust-dev-wasm32"], "rules in Rust"),
    (Sqlite, "sqlite3 --version", &["sqlite3"], "files of a service that was killed"),
    (SshServer, "test -x /usr/sbin/sshd", &["openssh-server"], "repositories over SSH"),
    (SystemdAnalyze, "systemd-analyze --version", &["systemd"], "the unit's sandbox"),
];

/// Lets a test return unless these programs are there.
///
/// ```ignore
/// needs!(Git, SshServer);
/// ```
#[macro_export]
macro_rules! needs {
    ($($program:ident),+) => {
        if !$crate::programs::declare(&[$($crate::programs::Program::$program),+]) {
            return;
        }
    };
}

/// The programs that are missing after the installation.
static MISSING: LazyLock<BTreeSet<Program>> = LazyLock::new(prepare);
/// The programs that each test has declared.
static DECLARED: Mutex<BTreeMap<String, BTreeSet<Program>>> = Mutex::new(BTreeMap::new());

/// Declares what the running test needs. Returns whether all is there; if not, the test is noted as skipped.
///
/// # Panics
/// Panics if something is missing and `TOLLGATE_PROGRAMS` is `required`.
#[must_use]
pub fn declare(programs: &[Program]) -> bool {
    let test = thread::current().name().unwrap_or_default().to_owned();
    let mut declared = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
    declared.entry(test.clone()).or_default().extend(programs);
    drop(declared);
    let missing: BTreeSet<Program> = programs.iter().copied().filter(|one| MISSING.contains(one)).collect();
    if missing.is_empty() {
        return true;
    }
    let packages: Vec<&str> = rows(&missing).flat_map(|(_, _, packages, _)| *packages).copied().collect();
    let packages = packages.join(" ");
    let is_required = env::var_os("TOLLGATE_PROGRAMS").is_some_and(|value| value == "required");
    assert!(!is_required, "missing: {packages}");
    skip(&packages);
    false
}

/// Notes that the running test is skipped, in whole or in part, for want of this.
pub fn skip(wanted: &str) {
    let current = thread::current();
    let test = current.name().unwrap_or_default();
    tell(&format!("SKIPPED {test}, which needs {wanted}\n"));
    let file = OpenOptions::new().append(true).create(true).open(skipped_file());
    // The test is named on the terminal already.
    let _ = file.and_then(|mut file| writeln!(file, "{test}\t{wanted}"));
}

/// Checks that a program is there which a helper is about to use.
///
/// # Panics
/// Panics if it is missing, or if the running test has not declared it.
#[track_caller]
pub fn require(program: Program) {
    let current = thread::current();
    let test = current.name().unwrap_or_default();
    let declared = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_declared = declared.get(test).is_some_and(|declared| declared.contains(&program));
    drop(declared);
    // Threads of a test have no name.
    assert!(
        is_declared || !test.contains("::"),
        "{test} uses {program:?}: begin it with needs!({program:?})"
    );
    assert!(!MISSING.contains(&program), "{program:?} is missing");
}

/// Returns a command that runs `sqlite3` on a database; queries are its arguments or its input.
///
/// # Panics
/// Panics if it is missing, or if the running test has not declared it.
#[must_use]
#[track_caller]
pub fn sqlite(database: &Path) -> Command {
    require(Sqlite);
    let mut command = Command::new("sqlite3");
    command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(database);
    command
}

/// Returns the file with the tests that were skipped: a test and its packages per line, separated by a tab.
#[must_use]
pub fn skipped_file() -> PathBuf {
    target_directory().unwrap_or_else(env::temp_dir).join("skipped-tests")
}

/// Installs what is missing. Returns what is missing after that.
fn prepare() -> BTreeSet<Program> {
    fs::remove_file(skipped_file()).ok();
    let missing = missing();
    if missing.is_empty() || !rustix::process::geteuid().is_root() || !runs("apt-get --version") {
        return missing;
    }
    tell("tests: apt installs what some of them need:\n");
    for (_, _, packages, what_for) in rows(&missing) {
        tell(&format!("  {}: {what_for}\n", packages.join(" ")));
    }
    let packages: Vec<&str> = rows(&missing).flat_map(|(_, _, packages, _)| *packages).copied().collect();
    // Debian's package of PostgreSQL would start a server. At this run level no package starts one.
    let script = "mkdir -p /etc/postgresql-common/createcluster.d
        [ -e /etc/postgresql-common/createcluster.d/none.conf ] ||
            echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.d/none.conf
        apt-get update -qq
        export RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive
        install() { apt-get install -y -qq --no-install-recommends \"$@\"; }
        # A package that cannot be had keeps no other one out.
        install \"$@\" || for package in \"$@\"; do install \"$package\" || true; done";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).args(&packages).stdin(Stdio::null()).stdout(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => tell(&format!("tests: apt-get failed: {status}\n")),
        Err(error) => tell(&format!("tests: apt-get cannot be run: {error}\n")),
    }
    self::missing()
}

fn missing() -> BTreeSet<Program> {
    let is_there = |program: Program, command: &str| match program {
        PostgreSql => postgres::programs().is_some(),
        RustForWebAssembly => toolchain::knows_webassembly(),
        _ => runs(command),
    };
    ROWS.iter().filter(|(program, command, ..)| !is_there(*program, command)).map(|(one, ..)| *one).collect()
}

fn rows(programs: &BTreeSet<Program>) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|(program, ..)| programs.contains(program))
}

/// Returns whether a shell command succeeds.
fn runs(command: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().is_ok_and(|status| status.success())
}

/// Writes to the terminal, also where the output of tests is captured.
fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
