//! Small runs of `tollgate bench`: it measures, its figures are consistent, it leaves no files, and the service
//! withstands overload.

use std::fs;
use std::process::{Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tollgate_tests::home::bare_command;
use tollgate_tests::log::Log;
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Home, Service, proof, sample};

/// Minimum goodput under overload as a share of the peak, for a debug build beside other tests.
const GOODPUT_SHARE_MIN: f64 = 0.3;
/// The same for a release build on an otherwise idle machine.
const GOODPUT_SHARE_GOAL: f64 = 0.95;
/// Maximum ratio of the memory during overload to that before.
const GROWTH_MAX: f64 = 2.0;
/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Serialises measurements, because shares of a peak are only valid on an undisturbed machine.
static MEASURING: Mutex<()> = Mutex::new(());

#[test]
fn a_small_run_measures_and_its_figures_agree() {
    let _alone = alone();
    let home = Home::new();
    let run = "service swap --rules 10 --aggregates 10 --connections 8 --seconds 1 --loads 40 --swap-rules 10 --swaps 1";
    let (output, written) = bench(&home, run);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "durable a second",
        "closed loop",
        "first verdict",
        "fdatasync",
        "tollgate bench service swap --rules 10",
    ] {
        assert!(table.contains(part), "no `{part}` in:\n{table}");
    }
    let steps = written["service"][0]["steps"].as_array().unwrap();
    assert_eq!((written["service"][0]["rules"].as_u64(), steps.len()), (Some(10), 2), "{table}");
    for step in steps {
        check_outcome(&step["outcome"]);
        assert_eq!(step["outcome"]["answered"].as_object().unwrap().keys().collect::<Vec<_>>(), ["200"]);
        assert!(step["resident_kib"].as_u64().is_some_and(|kib| kib > 1_000), "{step}");
    }
    check_offered(&steps[1]);
    let swap = &written["swap"][0];
    check_outcome(&swap["injects"]);
    let swaps = swap["swaps"].as_array().unwrap();
    let ways: Vec<&str> = swaps.iter().map(|one| one["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["POST", "file"]);
    for one in swaps {
        assert!(one["first_verdict_us"].as_u64().is_some_and(|us| us > 0), "{one}");
    }
    let counts = ["meanwhile", "otherwise"].map(|when| swap[when]["count"].as_u64().unwrap());
    assert_eq!(counts.iter().sum::<u64>(), swap["injects"]["answered"]["200"].as_u64().unwrap());
    assert_eq!(swap["failed_meanwhile"], 0, "{table}");
    let plot = fs::read_to_string(home.at("plot.svg")).unwrap();
    assert!(plot.starts_with("<svg ") && plot.trim_end().ends_with("</svg>") && plot.contains("<polyline"));
    check_nothing_is_left(&home);
}

#[test]
fn more_than_the_service_takes_is_refused_and_what_it_takes_is_answered_in_time() {
    let _alone = alone();
    let home = Home::new();
    let (factor, seconds) = (proof::rounds(2, 10), proof::rounds(4, 60));
    let run = format!(
        "overload --connections 64 --seconds 2 --overload-rules 10 --overload-factor {factor} --overload-seconds {seconds} --overload-connections 256 --set SERVICE_IN_FLIGHT_MAX=64"
    );
    let (output, written) = bench(&home, &run);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    let overload = &written["overload"];
    for load in ["steady", "flood"] {
        check_outcome(&overload[load]);
        assert_eq!(overload[load]["refused_without_retry_after"], 0);
        let statuses: Vec<&String> = overload[load]["answered"].as_object().unwrap().keys().collect();
        assert!(statuses.iter().all(|status| ["200", "503"].contains(&status.as_str())), "{statuses:?}");
    }
    let number = |name: &str| overload[name].as_f64().unwrap();
    let peaks = [0, 1].map(|which| overload["peaks_per_second"][which].as_f64().unwrap());
    let goodput = number("goodput_per_second") / f64::midpoint(peaks[0], peaks[1]);
    let goal =
        if proof::is_full() && !cfg!(debug_assertions) { GOODPUT_SHARE_GOAL } else { GOODPUT_SHARE_MIN };
    assert!(goodput >= goal, "goodput {goodput:.2}: {}", String::from_utf8_lossy(&output.stdout));
    // Beside other tests the last answers may be late.
    assert!(!proof::is_full() || !overload["normal_after_seconds"].is_null(), "it does not recover");
    let memory: Vec<f64> = overload["memory"]
        .as_array()
        .unwrap()
        .iter()
        .map(|look| look["resident_kib"].as_f64().unwrap())
        .collect();
    let most = memory.iter().copied().fold(0.0, f64::max);
    assert!(most <= GROWTH_MAX * memory[0].max(32_768.0), "from {} to {most} KiB", memory[0]);
    let history = [0, 1].map(|which| overload["history_kib"][which].as_u64().unwrap());
    assert!(history[0] > 0 && history[0] <= history[1], "{history:?}");
    check_nothing_is_left(&home);
}

#[test]
fn a_client_that_obeys_retry_after_is_refused_at_most_once_a_second() {
    let _alone = alone();
    let home = Home::new();
    let (connections, at_once, seconds) = (64, 16, 3);
    let run = format!(
        "overload --connections {at_once} --seconds 1 --overload-warm-up 1 --overload-rules 10 --overload-factor 10 --overload-seconds {seconds} --overload-connections {connections} --heed-retry-after --set SERVICE_IN_FLIGHT_MAX={at_once}"
    );
    let (_, written) = bench(&home, &run);
    let flood = &written["overload"]["flood"];
    check_outcome(flood);
    assert_eq!(
        (written["overload"]["heeds_retry_after"].clone(), &flood["refused_without_retry_after"]),
        (true.into(), &0.into())
    );
    let n_refused = flood["answered"]["503"].as_u64().unwrap();
    let each_once_a_second = connections * (seconds + 1);
    assert!((1..=each_once_a_second).contains(&n_refused), "{n_refused} refused");
    assert_eq!(flood["refusal_samples"]["service_us"].as_array().unwrap().len() as u64, n_refused);
    check_nothing_is_left(&home);
}

#[test]
fn another_installation_is_measured_with_the_rules_it_has() {
    let _alone = alone();
    let home = Home::with_rules(&[("any.ws", sample::rule("any", "amount > 0"))]);
    let service = Service::start(&home);
    let run = format!("--url http://{} --connections 4 --seconds 1 --loads 20", service.address());
    let (output, written) = bench(&home, &run);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("warning: this stores transactions"), "{said}");
    assert_eq!(
        (written["service"][0]["rules"].clone(), written["swap"].clone()),
        (Json::Null, Json::Array(vec![]))
    );
    for step in written["service"][0]["steps"].as_array().unwrap() {
        check_outcome(&step["outcome"]);
        assert_eq!(
            step["outcome"]["matched"], step["outcome"]["answered"]["200"],
            "every one matches that rule"
        );
    }
    for (url, words) in [("http://127.0.0.1:1", "connect"), ("nonsense", "http://host:port")] {
        let output = command(&home, &format!("--url {url} --seconds 1")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(words), "{said}");
    }
}

#[test]
fn an_interrupted_benchmark_leaves_nothing_behind() {
    let _alone = alone();
    let home = Home::new();
    let mut bench =
        command(&home, "service --rules 0 --aggregates 0 --connections 2 --seconds 600").spawn().unwrap();
    let log = Log::new(bench.stderr.take().unwrap());
    let started = log.wait_for(PATIENCE, |line| line.contains("0 rules").then_some(()));
    assert!(started.is_some(), "{:?}", log.lines());
    let pid = bench.id().to_string();
    let asked =
        std::process::Command::new("sh").args(["-c", "kill -TERM \"$1\"", "sh", &pid]).status().unwrap();
    assert!(asked.success());
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = bench.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            bench.kill().unwrap();
            panic!("it does not end: {:?}", log.lines());
        }
        thread::sleep(LOOK_EVERY);
    };
    assert_eq!(status.code(), Some(1), "{:?}", log.lines());
    check_nothing_is_left(&home);
}

fn alone() -> MutexGuard<'static, ()> {
    MEASURING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the benchmark, which must succeed. Returns its output and its JSON file.
#[track_caller]
fn bench(home: &Home, run: &str) -> (Output, Json) {
    let (json, svg) = (home.at("bench.json"), home.at("plot.svg"));
    let mut command = command(home, run);
    let output = command.arg("--json").arg(&json).arg("--svg").arg(&svg).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let written = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    (output, written)
}

fn command(home: &Home, run: &str) -> std::process::Command {
    let mut command = bare_command(&home.current(), &["bench"]);
    command.args(run.split(' ')).arg("--directory").arg(home.current()).stdout(Stdio::piped());
    command
}

/// Checks that counts add up, percentiles are ordered, and no service time exceeds its latency.
#[track_caller]
fn check_outcome(outcome: &Json) {
    let count = |name: &str| outcome[name].as_u64().unwrap();
    let answered =
        outcome["answered"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
    assert_eq!(answered + count("unsent") + count("unanswered") + count("broken"), count("due"));
    for kind in ["latency", "service_time"] {
        let figures =
            ["p50_us", "p90_us", "p99_us", "p999_us", "longest_us"].map(|name| outcome[kind][name].as_u64());
        assert!(figures.iter().all(Option::is_some) && figures.is_sorted(), "{kind}: {figures:?}");
    }
    let column = |name: &str| -> Vec<u64> {
        outcome["samples"][name].as_array().unwrap().iter().map(|us| us.as_u64().unwrap()).collect()
    };
    let (due, latency, service) = (column("due_us"), column("latency_us"), column("service_us"));
    let n_ok = outcome["answered"]["200"].as_u64().unwrap();
    let every = outcome["samples"]["one_of"].as_u64().unwrap();
    assert_eq!((due.len() as u64, due.len()), (n_ok.div_ceil(every), latency.len()));
    assert!(latency.iter().zip(&service).all(|(latency, service)| latency >= service));
}

/// Checks that the number of due requests matches the rate.
#[track_caller]
fn check_offered(step: &Json) {
    let offered = step["offered_per_second"].as_f64().unwrap();
    let seconds = step["outcome"]["lasted_us"].as_f64().unwrap() / 1e6;
    let due = step["outcome"]["due"].as_f64().unwrap();
    assert!((due - offered * seconds).abs() <= 2.0, "{due} due of {offered} a second in {seconds} s");
}

/// Checks that no files are left.
#[track_caller]
fn check_nothing_is_left(home: &Home) {
    assert_eq!(fs::read_dir(home.current()).unwrap().count(), 0);
}
