//! The command line: `serve` and the reasons it refuses to start, `check`, `--version`, `--help`.

mod check_command;
mod dotenv;

use std::fs;
use std::net::TcpListener;
use std::process::{Output, Stdio};

use tollgate_tests::client::Client;
use tollgate_tests::demo::Demo;
use tollgate_tests::home::bare_command;
use tollgate_tests::poll::{self, PATIENCE};
use tollgate_tests::{Home, Service, audit, log, sample};

/// Payments of a demo that are waited for.
const N_LIVE: u64 = 4;

#[test]
fn check_says_of_good_scripts_what_they_cost_at_worst() {
    let home = Home::with_rules(&[
        ("a.ws", sample::rule("a", "amount > 1")),
        ("b.ws", sample::rule("b", r#"amount > 2 and count(when source == $current.source, "PT1H") > 3"#)),
    ]);
    let output = check(&home, &["a.ws", "b.ws"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let said = said(&output);
    assert!(!said.contains("error["), "{said}");
    for part in [
        "a.ws: rule `a`, verdict block\n  worst case: ",
        " 1 host calls, 0 history queries\n",
        "b.ws: rule `b`, verdict block\n  worst case: ",
        " 2 host calls, 1 history queries\n",
    ] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
}

#[test]
fn check_shows_every_error_at_its_position_and_fails() {
    let home = Home::with_rules(&[
        ("good.ws", sample::rule("good", "amount > 1")),
        ("bad.ws", "rule bad {\n  when nonsense(amount) > 1\n  then maybe\n}\n".to_owned()),
        ("torn.ws", "rule torn {".to_owned()),
    ]);
    let output = check(&home, &["good.ws", "bad.ws", "torn.ws"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let said = said(&output);
    for part in [
        "error[E",
        "bad.ws:2:8",
        "bad.ws:3:8",
        "expected verdict (allow, block, review)",
        "when nonsense(amount) > 1",
        "^",
        "torn.ws:1:",
    ] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
    assert!(!said.contains('\u{1b}'), "no colours where there is no terminal");
}

#[test]
fn check_shows_warnings_and_does_not_fail_for_them() {
    let home = Home::with_rules(&[("warned.ws", sample::rule("warned", "currency == EUR"))]);
    let output = check(&home, &["warned.ws"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("warning[W"), "{}", said(&output));
}

#[test]
fn check_warns_of_lists_that_are_not_in_the_directory_named() {
    let rule = sample::rule("a", "source in $known or source in $unknown");
    let home = Home::with_rules(&[("a.ws", rule.as_str()), ("lists/known.txt", "acc-1\n")]);
    let (lists, script) = (home.rules().join("lists"), home.rules().join("a.ws"));
    let arguments = ["check", "--lists", lists.to_str().unwrap(), script.to_str().unwrap()];
    let output = run(&home, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(said(&output).matches("warning[").count(), 1, "{}", said(&output));
    assert!(said(&output).contains("$unknown"), "{}", said(&output));
    assert!(!said(&check(&home, &["a.ws"])).contains("warning"), "without the directory nobody knows");
}

#[test]
fn check_walks_a_directory_as_the_service_does() {
    let home = Home::with_rules(&[
        ("cards/a.ws", sample::rule("a", "source in $known")),
        ("lists/known.txt", "acc-1\n".to_owned()),
        ("notes.txt", "no rule".to_owned()),
        (".hidden/b.ws", "no rule either".to_owned()),
    ]);
    std::os::unix::fs::symlink("../.hidden/c.ws", home.rules().join("cards/c.ws")).unwrap();
    fs::write(home.rules().join(".hidden/c.ws"), sample::rule("c", "amount > 1")).unwrap();
    let output = check(&home, &[""]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for part in [
        "cards/a.ws: rule `a`",
        "cards/c.ws: rule `c`",
        "2 scripts, 0 modules, 1 list, 1 link followed",
        "3 files without errors",
    ] {
        assert!(said(&output).contains(part), "no `{part}` in:\n{}", said(&output));
    }
    assert!(!said(&output).contains("warning"), "its own lists are known: {}", said(&output));

    std::os::unix::fs::symlink("nowhere", home.rules().join("more")).unwrap();
    home.write_rule("z.ws", sample::rule("a", "source in $unknown"));
    home.write_rule("bad.ws", "rule bad {");
    let output = check(&home, &[""]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    for part in [
        "bad.ws:1:",
        "z.ws: the rule `a` is already defined in ",
        "more: the link leads nowhere",
        "$unknown",
        "3 of 6 files with errors",
    ] {
        assert!(said(&output).contains(part), "no `{part}` in:\n{}", said(&output));
    }
}

#[test]
fn check_fails_for_a_file_it_cannot_read() {
    let home = Home::with_rules(&[("good.ws", sample::rule("good", "amount > 1"))]);
    let output = check(&home, &["good.ws", "nowhere.ws"]);
    assert!(output.status.code().is_some_and(|code| code != 0), "{}", said(&output));
    assert!(said(&output).contains("nowhere.ws"), "{}", said(&output));
}

#[test]
fn check_without_a_file_and_unknown_arguments_are_refused() {
    let home = Home::new();
    for arguments in [&["check"][..], &["--no-such-option"], &["no-such-command"]] {
        let output = run(&home, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn a_demo_leaves_a_directory_with_files_alone() {
    let home = Home::new();
    fs::write(home.data().join("kept"), "mine").unwrap();
    let output = run(&home, &["demo", "--port", "0", "--directory", home.data().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("is not empty"), "{}", said(&output));
    let names = fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["kept"]);
}

#[test]
fn a_demo_outlives_idle_connections_and_counts_what_the_service_stored() {
    let home = Home::new();
    let directory = home.data();
    // Between two payments the connection is idle for twice as long as the service allows.
    let pace = ["--days", "0", "--customers", "20", "--rate", "0.5/s", "--set", "SERVICE_IDLE_TIMEOUT=1s"];
    let mut demo = Demo::start(&home, &directory, &pace);
    let address = demo.address().to_owned();
    let n_judged = || {
        // A kept connection could be closed while it is used again.
        let metrics = Client::new(&address).get("/metrics").text();
        let lines = metrics.lines().filter(|line| line.starts_with("tollgate_transactions_judged_total"));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>()
    };
    let wanted = n_judged() + N_LIVE;
    poll::until("payments", PATIENCE, || {
        demo.assert_runs();
        n_judged() >= wanted
    });
    let n_reported = demo.interrupt();
    assert_eq!(n_reported, audit::replay_in(&home, &directory.join("data")).all_follow());
}

#[test]
fn pack_puts_a_manifest_in_and_takes_the_one_before_it_out() {
    let home = Home::new();
    fs::write(home.at("module.wasm"), b"\0asm\x01\0\0\0").unwrap();
    for name in ["first_name", "second_name"] {
        fs::write(home.at("manifest.json"), manifest(name)).unwrap();
        let output = pack(&home, "module.wasm", "module.wasm");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(said(&output).contains(&format!("manifest of `{name}`")), "{}", said(&output));
        assert_eq!(said(&output).contains("which replaces"), name == "second_name", "{}", said(&output));
    }
    let packed = fs::read(home.at("module.wasm")).unwrap();
    let text = String::from_utf8_lossy(&packed);
    assert!(text.contains("second_name") && !text.contains("first_name"), "{text}");
}

#[test]
fn pack_says_what_is_wrong_and_writes_nothing() {
    let home = Home::new();
    fs::write(home.at("module.wasm"), b"\0asm\x01\0\0\0").unwrap();
    fs::write(home.at("script.ws"), sample::rule("a", "amount > 1")).unwrap();
    let newer = manifest("a").replace("\"abi_version\":1", "\"abi_version\":2");
    for (module, manifest, words) in [
        ("nowhere.wasm", manifest("a"), "cannot read"),
        ("script.ws", manifest("a"), "not a WebAssembly module"),
        ("module.wasm", "{".to_owned(), "manifest.json: the manifest cannot be read"),
        ("module.wasm", newer, "ABI version 2"),
    ] {
        fs::write(home.at("manifest.json"), manifest).unwrap();
        let output = pack(&home, module, "packed.wasm");
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).starts_with("error: ") && said(&output).contains(words), "{}", said(&output));
        assert!(!home.at("packed.wasm").exists());
    }
    let output = pack(&home, "module.wasm", "no/such/folder.wasm");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}

#[test]
fn version_and_help_answer_without_starting_anything() {
    let home = Home::new();
    let version = run(&home, &["--version"]);
    assert_eq!(version.status.code(), Some(0));
    assert!(said(&version).starts_with("tollgate 0."), "{}", said(&version));
    let help = run(&home, &["--help"]);
    assert_eq!(help.status.code(), Some(0));
    for part in ["serve", "check", "pack", "bench", "audit", "backup", "restore", "doctor", "--version"] {
        assert!(said(&help).contains(part), "no `{part}` in:\n{}", said(&help));
    }
    assert_eq!(fs::read_dir(home.current()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn completions_and_the_manual_page_are_those_of_the_command_line() {
    let home = Home::new();
    let script = run(&home, &["completions", "bash"]);
    assert_eq!(script.status.code(), Some(0));
    fs::write(home.at("completions"), &script.stdout).unwrap();
    // Bash itself completes `tollgate he` by the script.
    let completed = std::process::Command::new("bash")
        .args(["-c", ". ./completions; COMP_WORDS=(tollgate he) COMP_CWORD=1; _tollgate tollgate he tollgate; echo ${COMPREPLY[@]}"])
        .current_dir(home.at(""))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&completed.stdout).trim(), "healthcheck help");
    let page = run(&home, &["man"]);
    assert_eq!(page.status.code(), Some(0));
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    for part in [".TH tollgate 1", "doctor", "SERVICE_PORT"] {
        assert!(page.contains(part), "no `{part}` in:\n{page}");
    }
    assert!(!page.contains("git\\-worker"), "it shows a command that is not for people");
}

#[test]
fn without_a_command_the_service_is_served() {
    let home = Home::new();
    let mut child = home.command(&[]).spawn().unwrap();
    let log = log::Log::new(child.stderr.take().unwrap());
    let listening = log.wait_for(PATIENCE, |line| (log::message(line) == "listening").then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(listening.is_some(), "{:?}", log.lines());
}

#[test]
fn a_port_in_use_makes_the_start_fail_with_a_clear_message() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut home = Home::new();
    home.set("SERVICE_PORT", &port);
    check_refused_start(&home, &[&port, "in use"]);
}

#[test]
fn a_bad_value_is_refused_with_its_name_and_what_is_allowed() {
    for (name, value, allowed) in [
        ("SERVICE_PORT", "eighty", "65535"),
        ("SERVICE_PORT", "65536", "65535"),
        ("SERVICE_PORT", "-1", "65535"),
        ("SERVICE_HOST", "not a host", ""),
        ("SERVICE_EVALUATION_THREADS", "0", "from 1"),
        ("SERVICE_IN_FLIGHT_MAX", "many", "from 1"),
        ("SERVICE_LOG_FORMAT", "yaml", "json"),
    ] {
        let mut home = Home::new();
        home.set(name, value);
        check_refused_start(&home, &[name, allowed]);
    }
}

#[test]
fn a_second_service_on_the_same_data_directory_is_refused() {
    let home = Home::new();
    let first = Service::start(&home);
    assert_eq!(first.inject(&sample::transaction("t")).status, 200);
    check_refused_start(&home, &["another process uses the data directory"]);
    assert_eq!(first.inject(&sample::transaction("u")).status, 200, "the first one goes on");
    first.kill();
    let next = Service::start(&home);
    assert_eq!(next.transaction("t").status, 200, "a killed service leaves no lock behind");
}

#[test]
fn a_data_directory_that_cannot_be_used_makes_the_start_fail() {
    let home = Home::new();
    fs::remove_dir(home.data()).unwrap();
    fs::write(home.data(), "a file").unwrap();
    check_refused_start(&home, &["data"]);
}

#[test]
fn a_data_directory_is_made_when_there_is_none() {
    let home = Home::new();
    fs::remove_dir(home.data()).unwrap();
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).status, 200);
    assert!(home.data().is_dir());
}

#[test]
fn a_dot_env_file_speaks_where_the_environment_is_silent() {
    let home = Home::new();
    // The environment sets a port, which overrides this one.
    fs::write(home.current().join(".env"), "SERVICE_PORT=eighty\n").unwrap();
    assert_eq!(Service::start(&home).stop().0.code(), Some(0));

    fs::write(home.current().join(".env"), "SERVICE_LOG_FORMAT=yaml\n").unwrap();
    check_refused_start(&home, &["SERVICE_LOG_FORMAT"]);
}

/// Checks that the start fails with a non-zero code and these words.
#[track_caller]
fn check_refused_start(home: &Home, parts: &[&str]) {
    let Err(refusal) = Service::try_start(home) else { panic!("it starts, without a word of {parts:?}") };
    let log = refusal.log.join("\n");
    assert!(refusal.code.is_some_and(|code| code != 0), "{:?}: {log}", refusal.code);
    for part in parts {
        assert!(log.contains(part), "no `{part}` in:\n{log}");
    }
    assert!(!log.contains("panicked"), "{log}");
}

fn check(home: &Home, files: &[&str]) -> Output {
    let paths: Vec<String> = files.iter().map(|file| home.rules().join(file).display().to_string()).collect();
    let arguments: Vec<&str> = ["check"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    run(home, &arguments)
}

fn pack(home: &Home, module: &str, output: &str) -> Output {
    let [module, manifest, output] =
        [module, "manifest.json", output].map(|name| home.at(name).display().to_string());
    run(home, &["pack", &module, "--manifest", &manifest, "--output", &output])
}

/// Returns the manifest of a module with one rule of this name.
fn manifest(name: &str) -> String {
    format!(
        r#"{{"abi_version":1,"rules":[{{"name":"{name}","verdict":"review","score":0.5,"reason":"r"}}]}}"#
    )
}

fn run(home: &Home, arguments: &[&str]) -> Output {
    bare_command(&home.current(), arguments).stdout(Stdio::piped()).output().unwrap()
}

/// Returns standard output followed by standard error.
fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
