//! The process that compiles untrusted modules: its restrictions hold even for modules that no check admits.

mod beside;
mod bombs;

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_engine::artifacts::{ArtifactError, COMPILER_ARGUMENT, Compiler};
use tollgate_engine::sandbox::Execution;
use tollgate_engine::sandbox::Sandbox;
use tollgate_process::{Process, ProcessLauncher};
use tollgate_tests::binary::binary;
use tollgate_tests::home::bare_command;
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::process::{children, field};
use tollgate_tests::{Home, SetOnDrop, proof};

const GOOD: &[u8] = include_bytes!("../../guest-abi/fixtures/abi-1.wasm");
/// Time limit for any module.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Serialises the tests that count compiler processes.
static BOMBING: Mutex<()> = Mutex::new(());
/// Maximum memory of one compiler, in KiB.
const MEMORY_KIB_MAX: u64 = 512 * 1024;

/// Returns the time in which the compiler must have ended: in CI, other tests run beside it.
fn ended_within() -> Duration {
    TIME_MAX + Duration::from_secs(if proof::is_full() { 1 } else { 10 })
}

fn compiler() -> Compiler {
    Compiler::new(binary().to_owned())
}

/// Returns a confined compiler process that waits for a module.
fn waiting() -> Process {
    let process = ProcessLauncher::at(binary().to_owned(), vec![COMPILER_ARGUMENT.into()]).start().unwrap();
    until("it has raised its walls", || field(process.id(), "Seccomp:") == 2);
    process
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_compiler_gives_what_the_engine_makes_of_a_module() {
    for execution in [Execution::Compiled, Execution::Interpreted] {
        let artifact = compiler().compile(GOOD, execution).unwrap();
        assert_eq!(artifact, Sandbox::compile(GOOD, execution).unwrap());
        println!("{execution:?}: a module of {} bytes makes an artifact of {}", GOOD.len(), artifact.len());
    }
}

#[test]
fn a_refused_module_gets_the_reason_of_the_engine() {
    for (module, words) in [
        (b"nonsense".as_slice(), "magic header not detected"),
        (b"", "unexpected end"),
        // A function that declares a result and returns none.
        (b"\0asm\x01\0\0\0\x01\x05\x01\x60\0\x01\x7f\x03\x02\x01\0\x0a\x04\x01\x02\0\x0b", "type mismatch"),
    ] {
        let refused = compiler().compile(module, Execution::Compiled).unwrap_err();
        assert!(matches!(&refused, ArtifactError::Refused(why) if why.contains(words)), "{refused:?}");
    }
}

#[test]
fn a_compiler_has_few_rights_and_holds_nothing_but_its_pipes() {
    let compiler = waiting();
    let of_compiler = |name: &str| fs::read(format!("/proc/{}/{name}", compiler.id())).unwrap();
    assert_eq!(of_compiler("cmdline"), b"tollgate\0module-compiler\0");
    assert_eq!(of_compiler("environ"), b"");
    assert_eq!(of_compiler("oom_score_adj"), b"1000\n", "it is ended before the service");
    assert_eq!(field(compiler.id(), "NoNewPrivs:"), 1);
    assert_eq!(field(compiler.id(), "Threads:"), 1);
    let limits = String::from_utf8(of_compiler("limits")).unwrap();
    for (name, soft, hard) in [
        ("Max core file size", "0", "0"),
        ("Max cpu time", "5", "6"),
        ("Max file size", "0", "0"),
        ("Max data size", "536870912", "536870912"),
        ("Max address space", "536870912", "536870912"),
        ("Max open files", "8", "8"),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        assert_eq!(line.split_whitespace().take(2).collect::<Vec<_>>(), [soft, hard], "{name}");
    }
    // Three pipes; any other descriptor was inherited from this test process under the same number.
    let held = |process: &str, number: &str| fs::read_link(format!("/proc/{process}/fd/{number}"));
    let of_compiler = compiler.id().to_string();
    for file in fs::read_dir(format!("/proc/{of_compiler}/fd")).unwrap().flatten() {
        let number = file.file_name().into_string().unwrap();
        let target = held(&of_compiler, &number).unwrap();
        match number.as_str() {
            "0" | "1" | "2" => assert!(target.to_string_lossy().starts_with("pipe:"), "{number}: {target:?}"),
            _ => assert_eq!(held("self", &number).ok(), Some(target), "{number}"),
        }
    }
    println!("walls in front of a compiler of {} KiB", field(compiler.id(), "VmPeak:"));
}

#[test]
fn a_compiler_does_not_outlive_who_started_it() {
    let number = thread::spawn(|| {
        let compiler = waiting();
        let number = compiler.id();
        // Simulates a kill of the service, after which no destructor ends the process.
        std::mem::forget(compiler);
        number
    });
    let number = number.join().unwrap();
    let state = || fs::read_to_string(format!("/proc/{number}/status")).unwrap();
    until("it is dead", || state().lines().any(|line| line.starts_with("State:\tZ")));
}

#[test]
fn a_compiler_that_is_asked_for_nothing_ends() {
    let home = Home::new();
    // Empty input, half a length, an incomplete module, and one above the size limit.
    for question in [b"".as_slice(), b"\x04\0", b"\x04\0\0\0\0as", b"\xff\xff\xff\xff\0asm"] {
        let mut compiler =
            bare_command(&home.current(), &[COMPILER_ARGUMENT]).stdin(Stdio::piped()).spawn().unwrap();
        compiler.stdin.take().unwrap().write_all(question).unwrap();
        assert_eq!(compiler.wait().unwrap().code(), Some(3), "{question:?}");
    }
    let help = bare_command(&home.current(), &["--help"]).stdout(Stdio::piped()).output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains(COMPILER_ARGUMENT), "it is not for people");
}

#[test]
fn compile_bombs_end_within_limits_and_take_nobody_with_them() {
    let _alone = BOMBING.lock().unwrap_or_else(PoisonError::into_inner);
    let compiler = compiler();
    let sizes: &[usize] = if proof::is_full() { &[64 << 10, 1 << 20] } else { &[64 << 10] };
    for bomb in bombs::ALL.iter().filter(|bomb| bomb.in_every_run || proof::is_full()) {
        for n_bytes in sizes {
            let module = (bomb.make)(*n_bytes);
            let begun = Instant::now();
            let (compiled, peak_kib) = with_peak(|| compiler.compile(&module, Execution::Compiled));
            let (elapsed, said) = (begun.elapsed(), summary(&compiled));
            let name = bomb.name;
            println!(
                "{name:32} {:>8} bytes {:>6} ms {peak_kib:>7} KiB  {said}",
                module.len(),
                elapsed.as_millis()
            );
            assert!(elapsed < ended_within(), "{name}: {elapsed:?}");
            assert!(peak_kib <= MEMORY_KIB_MAX, "{name}: {peak_kib} KiB");
            assert!(!bomb.in_every_run || compiled.is_err(), "{name}: {said}");
            assert!(!matches!(compiled, Err(ArtifactError::Unavailable(_))), "{name}: {said}");
        }
        compiler.compile(GOOD, Execution::Compiled).unwrap();
    }
    assert_eq!(compilers(), [0_u32; 0], "none is left behind");
}

/// Runs `act`. Returns its result and the peak memory of any compiler meanwhile, in KiB.
fn with_peak<T>(act: impl FnOnce() -> T) -> (T, u64) {
    let (is_done, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                for number in compilers() {
                    peak.fetch_max(peak_of(number), Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let _ending = SetOnDrop(&is_done);
        let done = act();
        (done, peak.load(Ordering::Relaxed))
    })
}

/// Returns the peak memory of a process in KiB; zero if it is gone.
fn peak_of(number: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the busy compilers of this test; those of other tests wait for a module.
fn compilers() -> Vec<u32> {
    let is_busy = |number: &u32| {
        let command = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        command.ends_with(b"module-compiler\0") && peak_of(*number) > 0
    };
    children(std::process::id()).into_iter().filter(is_busy).collect()
}

fn summary(compiled: &Result<Vec<u8>, ArtifactError>) -> String {
    match compiled {
        Ok(artifact) => format!("compiled: {} bytes", artifact.len()),
        Err(ArtifactError::Refused(why) | ArtifactError::Unavailable(why)) => why.chars().take(100).collect(),
    }
}
