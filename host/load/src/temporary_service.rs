//! A temporary service for one measurement: this program as a child process, with its own data and rules.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use uuid::Uuid;

use super::client::Client;
use super::corpus::{Script, WATCHED, watched};
use super::error::BenchError;
use super::interrupt;
use super::target::HttpTarget;

/// Timeout for a start: with ten thousand rules it takes seconds, in a debug build more than a minute.
const PATIENCE: Duration = Duration::from_secs(300);
/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Lines of the log shown when the start fails.
const LINES_SHOWN: usize = 20;

/// A temporary service. Dropping it kills the process and removes its directory.
#[derive(Debug)]
pub(super) struct TemporaryService {
    process: Child,
    pub(super) target: HttpTarget,
    directory: TemporaryDirectory,
}

#[derive(Debug)]
struct TemporaryDirectory {
    path: PathBuf,
    /// Whether it stays when the service ends.
    stays: bool,
}

impl TemporaryService {
    /// Starts a service with these rules below `directory`, and waits until all rules are in force.
    ///
    /// # Errors
    /// When the service does not start, or refuses some of the rules.
    pub(super) fn start(
        directory: &Path,
        rules: &[Script],
        settings: &[(String, String)],
    ) -> Result<Self, BenchError> {
        let path = directory.join(format!("tollgate-bench-{}", Uuid::now_v7()));
        Self::started(TemporaryDirectory { path, stays: false }, rules, settings)
    }

    /// Starts a service without rules in this directory, which stays.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub(super) fn start_in(directory: &Path, settings: &[(String, String)]) -> Result<Self, BenchError> {
        let path = std::path::absolute(directory).map_err(BenchError::io("find the directory"))?;
        Self::started(TemporaryDirectory { path, stays: true }, &[], settings)
    }

    fn started(
        directory: TemporaryDirectory,
        rules: &[Script],
        settings: &[(String, String)],
    ) -> Result<Self, BenchError> {
        directory.fill(rules).map_err(BenchError::io("write the rules"))?;
        let mut process = command(&directory, settings).spawn().map_err(BenchError::io("start a service"))?;
        let address = process.stderr.take().map(listening);
        let failed = |process: &mut Child, why: String| {
            stop(process);
            BenchError::Start(why)
        };
        let address = match address {
            Some(Ok(address)) => address,
            Some(Err(log)) => return Err(failed(&mut process, log)),
            None => return Err(failed(&mut process, "its log cannot be read".to_owned())),
        };
        let target = HttpTarget { address, host: address.to_string(), pid: Some(process.id()) };
        let service = Self { process, target, directory };
        service.wait_until_ready(rules.len())?;
        Ok(service)
    }

    pub(super) fn rules(&self) -> PathBuf {
        self.directory.rules()
    }

    /// A directory next to the rules directory, on the same file system.
    pub(super) fn beside(&self) -> PathBuf {
        self.directory.path.join("beside")
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(super) fn client(&self) -> Client {
        Client::new(self.target.clone())
    }

    fn wait_until_ready(&self, n_rules: usize) -> Result<(), BenchError> {
        let deadline = Instant::now() + PATIENCE;
        let mut client = self.client();
        while !client.send("GET", "/readyz", "").is_ok_and(|said| said.status == 200) {
            interrupt::check()?;
            if Instant::now() > deadline {
                return Err(BenchError::Start("it listens but does not become ready".to_owned()));
            }
            thread::sleep(LOOK_EVERY);
        }
        let metrics = client.expect(200, "GET", "/metrics", "")?;
        let in_force = metrics.lines().find_map(|line| line.strip_prefix("tollgate_rules_in_force "));
        let in_force = in_force.and_then(|number| number.trim().parse().ok()).unwrap_or_default();
        if in_force == n_rules { Ok(()) } else { Err(BenchError::Rules { n_rules, in_force }) }
    }
}

impl Drop for TemporaryService {
    fn drop(&mut self) {
        stop(&mut self.process);
    }
}

impl TemporaryDirectory {
    fn fill(&self, rules: &[Script]) -> std::io::Result<()> {
        for part in ["data", "beside", "spill", "rules/lists"] {
            fs::create_dir_all(self.path.join(part))?;
        }
        if !rules.is_empty() {
            fs::write(self.rules().join(format!("lists/{WATCHED}.txt")), watched())?;
        }
        for Script { path, text } in rules {
            let path = self.rules().join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        Ok(())
    }

    fn rules(&self) -> PathBuf {
        self.path.join("rules")
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if !self.stays {
            // `drop` cannot report an error; leftovers remain in the directory.
            fs::remove_dir_all(&self.path).ok();
        }
    }
}

fn command(directory: &TemporaryDirectory, settings: &[(String, String)]) -> Command {
    // This path refers to the running program even if its file has been replaced.
    let by_number = PathBuf::from("/proc/self/exe");
    let path = if by_number.exists() { Some(by_number) } else { std::env::current_exe().ok() };
    let mut command = Command::new(path.unwrap_or_default());
    // The environment is cleared: a temporary service must not reach a real ledger or dashboard.
    command
        .arg("serve")
        .env_clear()
        .env("SERVICE_PORT", "0")
        .env("SERVICE_DATA_DIR", directory.path.join("data"))
        .env("SERVICE_SPILL_DIR", directory.path.join("spill"))
        .env("WATCH_SCRIPT_DIR", directory.rules())
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .current_dir(&directory.path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // Ctrl+C in a terminal reaches this program alone, which ends the service after its last request.
        .process_group(0);
    command
}

fn stop(process: &mut Child) {
    process.kill().ok();
    process.wait().ok();
}

/// Waits until the log reports the listening address. A thread keeps reading the log afterwards.
fn listening(log: ChildStderr) -> Result<SocketAddr, String> {
    let (tell, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            // Keep reading after the receiver is gone: a full pipe would block the service.
            tell.send(line).ok();
        }
    });
    let deadline = Instant::now() + PATIENCE;
    let mut last = Vec::new();
    while let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        if let Some(address) = address(&line) {
            return Ok(address);
        }
        last.push(line);
    }
    let hidden = last.len().saturating_sub(LINES_SHOWN);
    Err(last.split_off(hidden).join("\n"))
}

fn address(line: &str) -> Option<SocketAddr> {
    let said: Json = serde_json::from_str(line).ok()?;
    let fields = said.get("fields").unwrap_or(&said);
    let is_listening = fields.get("message")?.as_str()? == "listening";
    is_listening.then(|| fields.get("address")?.as_str()?.parse().ok())?
}
