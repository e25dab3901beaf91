//! Tests with compilers that misbehave.

mod kept;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use tollgate_model::instruction::Grant;

use tempfile::TempDir;
use tollgate_process::{Confinement, ConfinementLevel, ProcessLauncher, ProcessNeeds, raise};

use super::reply::{CompilerOutcome, CompilerReply};
use super::*;
use crate::sandbox::Execution;

const GOOD: &[u8] = include_bytes!("../../../../guest-abi/fixtures/abi-1.wasm");
/// The longest any compilation may take.
const LONG: Duration = Duration::from_secs(20);
/// The timeout for compilers that never end.
const SHORT: Duration = Duration::from_millis(300);

/// The valid module with an empty custom section: a different module.
fn another(n: u8) -> Vec<u8> {
    [GOOD, &[0, 2, 1, n]].concat()
}

/// A folder with the reply of a correct compiler.
struct Fixture {
    folder: TempDir,
    sandbox: Sandbox,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap(), sandbox: Sandbox::new().unwrap() };
        fixture.write("reply", &reply(&Sandbox::compile(GOOD, Execution::Compiled).unwrap()));
        fixture
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    /// Artifacts whose compiler is this shell command, run in the folder, without a cache.
    fn by(&self, line: &str, time_max: Duration) -> Artifacts {
        let line = format!("ulimit -c 0; cd {}; {line}", self.folder.path().display());
        let program = ProcessLauncher::at("/bin/sh".into(), vec!["-c".into(), line.into()]);
        let compiler = Compiler::started_as(program, time_max);
        Artifacts { sandbox: self.sandbox.clone(), compiler, cache: None, refused: Mutex::default() }
    }

    /// Artifacts with a correct compiler and a cache.
    fn keeping(&self) -> Artifacts {
        Artifacts::open(self.folder.path(), &self.sandbox, Compiler::in_this_process())
    }

    /// As [`Self::keeping`], with a compiler that cannot be started.
    fn only_keeping(&self) -> Artifacts {
        let compiler = Compiler::new(PathBuf::from("/nowhere/tollgate"));
        Artifacts { compiler, ..self.keeping() }
    }

    /// Checks that this compiler leads to a refusal of the module.
    #[track_caller]
    fn check(&self, line: &str, expected: &str) {
        let error = self.check_error(line, expected);
        assert!(matches!(&error, AdmitError::Refused(_)), "{line}: {error:?}");
    }

    /// Checks that this compiler does not lead to a refusal of the module.
    #[track_caller]
    fn check_passing(&self, line: &str, expected: &str) {
        let error = self.check_error(line, expected);
        assert!(matches!(&error, AdmitError::Unavailable(_)), "{line}: {error:?}");
    }

    #[track_caller]
    fn check_error(&self, line: &str, expected: &str) -> AdmitError {
        let begun = Instant::now();
        let artifacts = self.by(line, if line.contains("sleep") { SHORT } else { LONG });
        let error = artifacts.admit(GOOD, Grant::default()).expect_err(line);
        assert!(error.to_string().contains(expected), "{line}: {error}");
        assert!(begun.elapsed() < LONG, "{line}: {:?}", begun.elapsed());
        // The next module gets a new compiler process.
        self.by("cat reply", LONG).admit(GOOD, Grant::default()).unwrap();
        error
    }
}

fn reply(artifact: &[u8]) -> Vec<u8> {
    let walls = Confinement { landlock: ConfinementLevel::Whole, seccomp: ConfinementLevel::Whole };
    let outcome = CompilerOutcome::Compiled { artifact_bytes: artifact.len() as u64 };
    [&serde_json::to_vec(&CompilerReply { walls, outcome }).unwrap(), b"\n".as_slice(), artifact].concat()
}

#[test]
fn a_compiler_that_dies_by_its_limits_or_of_itself_is_a_refusal() {
    let fixture = Fixture::new();
    check_all(&fixture, &["exit 101", "exit 1"], "failed on the module (exit status: ");
    fixture.check("kill -XCPU $$", "takes longer than 5 s of processor time");
    fixture.check("kill -XFSZ $$", "tried to write to a file");
    for words in ["memory allocation of 1048576 bytes failed", "thread 'main' has overflowed its stack"] {
        fixture.check(&format!("echo \"{words}\" >&2; kill -ABRT $$"), "needs more memory than 512 MiB");
    }
    for signal in ["SEGV", "ABRT", "BUS", "ILL", "FPE", "TRAP"] {
        fixture.check(
            &format!("echo compiling the module >&2; kill -{signal} $$"),
            &format!("crashed the compiler with SIG{signal}"),
        );
    }
    // A reply before the crash is ignored.
    check_all(&fixture, &["cat reply; exit 101"], "failed on the module");
}

#[test]
fn a_compiler_that_cannot_begin_or_is_ended_by_a_signal_says_nothing_about_the_module() {
    let fixture = Fixture::new();
    for signal in ["ABRT", "SEGV", "KILL", "BUS", "SYS"] {
        fixture.check_passing(
            &format!("kill -{signal} $$"),
            &format!("was ended by SIG{signal} while starting"),
        );
    }
    fixture.check_passing(
        "echo setting up confinement >&2; kill -SYS $$",
        "SIGSYS while setting up confinement; a system call filter",
    );
    // A compromised process may note anything.
    fixture.check_passing("printf 'a\\033[31mb' >&2; kill -SEGV $$", "while a [31mb");
    for signal in ["SYS", "KILL", "TERM"] {
        let line = format!("echo compiling the module >&2; kill -{signal} $$");
        fixture.check_passing(&line, &format!("was ended by SIG{signal} while compiling the module"));
    }
    fixture.check_passing("cat reply; kill -SEGV $$", "was ended by SIGSEGV");
    fixture.check_passing(
        "echo the system refuses setrlimit >&2; exit 3",
        "cannot run: the system refuses setrlimit",
    );
}

#[test]
fn a_compiler_that_does_not_end_is_a_refusal_in_time() {
    let fixture = Fixture::new();
    for line in
        ["exec sleep 100", "cat reply; exec sleep 100", "exec <&-; exec sleep 100", "sleep 100 & wait"]
    {
        fixture.check(line, "takes longer than");
    }
    // The process closes its output and continues to run.
    fixture.check_passing("cat reply; exec >&-; exec sleep 100", "SIGKILL");
}

#[test]
fn a_compiler_that_says_too_much_or_too_little_is_a_refusal() {
    let fixture = Fixture::new();
    let n_bytes = fs::metadata(fixture.folder.path().join("reply")).unwrap().len();
    fixture.check("exec yes", "larger than");
    fixture.check("exec cat /dev/zero", "larger than");
    let unfinished = "did not return a complete result";
    check_all(
        &fixture,
        &["exit 0", "echo", "echo nonsense", "head -c 5000 /dev/urandom", "echo '{}'"],
        unfinished,
    );
    for bytes in [1, 60, n_bytes / 2, n_bytes - 1] {
        fixture.check(&format!("head -c {bytes} reply"), unfinished);
    }
    check_all(&fixture, &["cat reply; echo", "cat reply reply"], unfinished);
}

#[test]
fn an_invalid_artifact_from_the_compiler_is_refused() {
    let fixture = Fixture::new();
    let artifact = Sandbox::compile(GOOD, Execution::Compiled).unwrap();
    // The artifact contains the name of its target architecture.
    let machine = std::env::consts::ARCH.as_bytes();
    let offset = artifact.windows(machine.len()).position(|window| window == machine).unwrap();
    let mut of_another = artifact.clone();
    of_another[offset + machine.len() - 1] ^= 1;
    fixture.write("other", &reply(&of_another));
    fixture.check("cat other", "cannot be loaded");
    fixture.write("garbage", &reply(&[b'g'; 5000]));
    fixture.check("cat garbage", "cannot be loaded");
    fixture.write("nothing", &reply(&[]));
    fixture.check("cat nothing", "cannot be loaded");
    fixture.write("large", &reply(&vec![0; GOOD.len() * 16 + 256 * 1024 + 1]));
    fixture.check("cat large", "larger than");
}

#[test]
fn a_refusal_of_the_engine_is_shown_without_control_characters() {
    let fixture = Fixture::new();
    let line = r#"{"walls":{"landlock":"Whole","seccomp":{"Missing":"why"}},"outcome":{"Refused":"\u001b[31mwhy\nnot"}}"#;
    fixture.write("refused", format!("{line}\n").as_bytes());
    fixture.check("cat refused", " [31mwhy not");
}

#[test]
fn a_compiler_that_cannot_be_started_is_no_refusal() {
    let fixture = Fixture::new();
    let error = fixture.only_keeping().admit(GOOD, Grant::default()).unwrap_err();
    assert!(matches!(&error, AdmitError::Unavailable(why) if why.contains("be started")), "{error}");
}

#[test]
fn a_module_that_fails_a_check_reaches_no_compiler() {
    let fixture = Fixture::new();
    let refused = fixture.only_keeping().admit(b"\0asm\x01\0\0\0", Grant::default()).unwrap_err();
    assert!(matches!(refused, AdmitError::Refused(_)), "{refused}");
}

#[test]
fn a_compiler_compiles_within_walls_and_nothing_can_be_run_there() {
    let expected = Sandbox::compile(GOOD, Execution::Compiled).unwrap();
    let sandbox = Sandbox::new().unwrap();
    let within = std::thread::spawn(move || {
        let walls = raise(&ProcessNeeds::Nothing);
        let artifact = Sandbox::compile(GOOD, Execution::Compiled);
        let upload = CheckedModule::check(GOOD, Grant::default()).unwrap();
        let loaded = sandbox.load(upload, &Artifact::vouched_for(artifact.clone().unwrap()));
        (walls, artifact, loaded.map(drop))
    });
    let (walls, artifact, loaded) = within.join().unwrap();
    assert_eq!(artifact.unwrap(), expected, "the same module gives the same artifact");
    assert_eq!(
        loaded.is_err(),
        walls.seccomp == ConfinementLevel::Whole,
        "memory cannot be made executable: {loaded:?}"
    );
}

#[track_caller]
fn check_all(fixture: &Fixture, lines: &[&str], expected: &str) {
    for line in lines {
        fixture.check(line, expected);
    }
}
