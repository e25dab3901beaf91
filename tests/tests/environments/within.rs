//! A service within an environment.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use tollgate_tests::binary::binary;
use tollgate_tests::{Home, Service, process, sample};

/// A user id without an entry on this machine, as in images without their own users.
pub(crate) const NOBODY: u32 = 65_532;

/// Returns a home with one rule, whose service is started by this shell prefix.
pub(crate) fn home_within(before: &str) -> Home {
    let mut home = Home::with_rules(&[("large.ws", sample::rule("large", "amount > 100"))]);
    let script = home.at("serve");
    let text = format!(
        "#!/bin/sh\nHOME_OF_TEST='{}'\n{before} {} \"$@\"\n",
        home.at("").display(),
        binary().display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    home.serve_by(&script);
    home
}

/// Returns the process of the service itself, below any wrappers.
pub(crate) fn innermost(service: &Service) -> u32 {
    let mut pid = service.pid();
    let program = binary().file_name().unwrap().to_str().unwrap();
    loop {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if !comm.is_empty() && program.starts_with(comm.trim()) {
            return pid;
        }
        match process::children(pid).as_slice() {
            [child, ..] => pid = *child,
            [] => panic!("no service is behind {comm}"),
        }
    }
}

/// Whether a command works here.
pub(crate) fn can(command: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().is_ok_and(|status| status.success())
}

/// Gives everything in a home to [`NOBODY`], so that a service of that user can use it.
pub(crate) fn give_to_nobody(home: &Home) {
    let given = Command::new("chown").args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(home.at("")).status();
    assert!(given.unwrap().success());
}

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const REFUSE: u32 = 0x0005_0000;
const EPERM: u32 = 1;
/// Offset of a call's arguments in the filter's input. The lower half of each comes first on this machine.
const ARGUMENTS: u32 = 16;

/// Encodes one filter instruction. It continues with the next one, or skips `if_not` instructions if its test fails.
fn instruction(code: u16, if_not: u8, value: u32) -> Vec<u8> {
    [&code.to_ne_bytes()[..], &[0, if_not], &value.to_ne_bytes()].concat()
}

/// Effect of a system-call filter on calls that it does not name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Otherwise {
    Kill,
    Refuse,
}

/// Compiles a filter that allows these calls, for `bwrap --seccomp`. Names unknown on this machine are skipped, as in
/// systemd.
pub(crate) fn filter(names: impl IntoIterator<Item = String>, otherwise: Otherwise) -> Vec<u8> {
    let numbers = names
        .into_iter()
        .filter_map(|name| Some(u32::try_from(name.parse::<syscalls::Sysno>().ok()?.id()).unwrap()));
    // The call number is at offset 0.
    let mut program = instruction(LOAD, 0, 0);
    for number in numbers {
        program.extend(instruction(JUMP_IF_EQUAL, 1, number));
        program.extend(instruction(RETURN, 0, ALLOW));
    }
    let last = match otherwise {
        Otherwise::Kill => KILL_PROCESS,
        Otherwise::Refuse => REFUSE | EPERM,
    };
    program.extend(instruction(RETURN, 0, last));
    program
}

/// A call that is refused for certain values of an argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused {
    pub(crate) call: syscalls::Sysno,
    /// Index of the argument.
    pub(crate) argument: u32,
    pub(crate) kind: Kind,
    /// Error number to return.
    pub(crate) error: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Is(u32),
    HasBit(u32),
}

/// Compiles a filter that refuses these calls and allows all others.
fn filter_of_refused(refused: &[Refused]) -> Vec<u8> {
    let of_one = |one: &Refused| {
        let (jump, value) = match one.kind {
            Kind::Is(value) => (JUMP_IF_EQUAL, value),
            Kind::HasBit(value) => (JUMP_IF_BIT, value),
        };
        [
            instruction(LOAD, 0, 0),
            instruction(JUMP_IF_EQUAL, 3, u32::try_from(one.call.id()).unwrap()),
            instruction(LOAD, 0, ARGUMENTS + 8 * one.argument),
            instruction(jump, 1, value),
            instruction(RETURN, 0, REFUSE | one.error),
        ]
        .concat()
    };
    let mut program: Vec<u8> = refused.iter().flat_map(of_one).collect();
    program.extend(instruction(RETURN, 0, ALLOW));
    program
}

/// Returns a home whose service is refused these calls.
pub(crate) fn home_that_is_refused(refused: &[Refused]) -> Home {
    home_behind(&filter_of_refused(refused))
}

/// Expands a `SystemCallFilter=` as systemd does.
pub(crate) fn calls_of(setting: &str) -> Vec<String> {
    setting
        .split_whitespace()
        .flat_map(|word| if word.starts_with('@') { members(word) } else { vec![word.to_owned()] })
        .collect()
}

fn members(set: &str) -> Vec<String> {
    let said = Command::new("systemd-analyze").args(["syscall-filter", set]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let words = said.lines().skip(1).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    words.flat_map(calls_of).collect()
}

/// Returns a home whose service runs under a system-call filter.
pub(crate) fn home_behind_filter(names: Vec<String>, otherwise: Otherwise) -> Home {
    home_behind(&filter(names, otherwise))
}

fn home_behind(filter: &[u8]) -> Home {
    let home = home_within(&format!("exec 9<\"$HOME_OF_TEST/filter\"; {UNCONFINED} --seccomp 9 --"));
    fs::write(home.at("filter"), filter).unwrap();
    home
}

/// Starts a program without confinement.
pub(crate) const UNCONFINED: &str = "exec bwrap --die-with-parent --bind / / --dev-bind /dev /dev";
