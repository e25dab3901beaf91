//! The drill: a backup under load, kill -9, and the same responses on another machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::{Client, Home, Service, SetOnDrop, needs, proof, sample};

use super::{backup, check_done, restore};

const N_THREADS: usize = 4;
/// Time in which the clients get the answers that are waited for.
const ANSWERED_WITHIN: Duration = Duration::from_secs(120);
/// Number of transactions between the backup and the kill.
const N_AFTER: usize = 200;

/// An acknowledged transaction.
struct Answered {
    body: String,
    answer: String,
    id: String,
    at: Instant,
    took: Duration,
}

#[test]
fn a_backup_under_load_is_the_same_service_again_elsewhere() {
    needs!(Git);
    let upstream = Upstream::with(&[("from_git.ws", sample::rule("from_git", "amount > 3"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let home = home();
    let service = Service::start(&home);
    let _ = service.post("/git/clone", &json!({"url": server.url(), "branch": "main"})).expect(200);
    let _ = service.save(&sample::rule("saved", "source in $mules")).expect(201);
    assert_eq!(service.put("/lists/mules", "application/json", br#"["source-1"]"#).status, 201);

    let n_before = proof::rounds(1_200, 20_000);
    let file = home.at("store.backup");
    let (answered, began, ended) = load(&service, n_before, || {
        let began = Instant::now();
        println!("{}", check_done(&backup(&home, &file)).trim());
        (began, Instant::now())
    });
    let in_force = ["/instructions", "/lists", "/lists/mules"].map(|path| service.get(path));
    let followed = followed(&service);
    service.kill();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!home.at("store.backup.new").exists());

    let other = home_of_the_same_rules(&home);
    println!("{}", check_done(&restore(&other, &file)).trim());
    let (first, second) = (Service::start(&home), Service::start(&other));
    let acknowledged: Vec<&Answered> = answered.iter().filter(|one| one.at < began).collect();
    assert!(acknowledged.len() >= n_before);
    for one in &acknowledged {
        let (stored, restored) = (first.transaction(&one.id), second.transaction(&one.id));
        assert_eq!((stored.status, restored.status), (200, 200), "{}", one.id);
        assert_eq!(stored.text(), restored.text());
        let again = second.try_post("/inject", one.body.as_bytes()).unwrap();
        assert_eq!((again.status, again.text().as_str()), (200, one.answer.as_str()), "{}", one.id);
    }
    let later = answered.iter().filter(|one| one.at >= began);
    let mut n_present = acknowledged.len();
    for one in later {
        let restored = second.transaction(&one.id);
        if restored.status == 200 {
            assert_eq!(restored.text(), first.transaction(&one.id).text(), "{}", one.id);
            n_present += 1;
        }
    }
    assert!(n_present < answered.len(), "the backup ended before the load did");
    assert_eq!(["/instructions", "/lists", "/lists/mules"].map(|path| second.get(path)), in_force);
    assert_eq!(self::followed(&second), followed);
    check_history(&second, n_present);
    show_times(&answered, began, ended);
}

/// Checks that the restored history contains exactly this many transactions.
#[track_caller]
fn check_history(service: &Service, n_present: usize) {
    let condition = format!(r#"count(when currency == "EUR", "P1D") == {n_present}"#);
    let _ = service.save(&sample::rule("census", &condition)).expect(201);
    let probe = sample::with(&sample::transaction("probe"), &json!({"currency": "XTS"}));
    assert!(service.inject(&probe).triggered().contains(&"census".to_owned()), "not {n_present} are there");
}

fn home() -> Home {
    let counts = |k| sample::rule(&format!("at_least_{k}"), &condition(k));
    let rules: Vec<(String, String)> = (1..5).map(|k| (format!("{k}.ws"), counts(k))).collect();
    let mut home = Home::with_rules(&rules);
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "http");
    home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
    home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
    home
}

fn condition(k: usize) -> String {
    format!(r#"count(when source == $current.source, "P1D") >= {k}"#)
}

/// Creates a home on another machine with the same rules and settings.
fn home_of_the_same_rules(home: &Home) -> Home {
    let mut other = self::home();
    other.set("WATCH_SCRIPT_DIR", home.rules().to_str().unwrap());
    other
}

/// Returns the repository state that must be restored.
fn followed(service: &Service) -> Vec<Value> {
    let status = service.get("/git/status").expect(200);
    ["url", "branch", "current_commit"].map(|name| status[name].clone()).to_vec()
}

/// Sends from all clients at once. After `n_before` responses, runs `meanwhile` while the load continues.
fn load(
    service: &Service,
    n_before: usize,
    meanwhile: impl FnOnce() -> (Instant, Instant),
) -> (Vec<Answered>, Instant, Instant) {
    let (n_sent, n_answered, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let answered = Mutex::new(Vec::new());
    let keep_up_to = |n: usize| {
        let end = Instant::now() + ANSWERED_WITHIN;
        while n_answered.load(Ordering::SeqCst) < n {
            assert!(Instant::now() < end, "the clients do not go on");
            thread::sleep(Duration::from_millis(1));
        }
    };
    let (began, ended) = thread::scope(|scope| {
        for _ in 0..N_THREADS {
            let client = service.client();
            let (n_sent, n_answered, is_over, answered) = (&n_sent, &n_answered, &is_over, &answered);
            scope.spawn(move || {
                let mut own = Vec::new();
                while !is_over.load(Ordering::SeqCst) {
                    own.push(send(&client, n_sent.fetch_add(1, Ordering::Relaxed)));
                    n_answered.fetch_add(1, Ordering::SeqCst);
                }
                answered.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
            });
        }
        let _ending = SetOnDrop(&is_over);
        keep_up_to(n_before);
        let times = meanwhile();
        keep_up_to(n_answered.load(Ordering::SeqCst) + N_AFTER);
        times
    });
    (answered.into_inner().unwrap(), began, ended)
}

fn send(client: &Client, n: usize) -> Answered {
    let id = format!("t-{n}");
    let fields = json!({"source": format!("source-{}", n / 6), "amount": (n % 7) as f64});
    let body = sample::with(&sample::transaction(&id), &fields).to_string();
    let sent = Instant::now();
    let answer = client.try_post("/inject", body.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    Answered { body, answer: answer.text(), id, at: Instant::now(), took: sent.elapsed() }
}

/// Prints latencies with and without a running backup.
fn show_times(answered: &[Answered], began: Instant, ended: Instant) {
    let p99 = |when: &dyn Fn(&&Answered) -> bool| {
        let mut times: Vec<Duration> = answered.iter().filter(when).map(|one| one.took).collect();
        times.sort_unstable();
        let rank = times.len() * 99 / 100;
        (times.len(), times.get(rank.min(times.len().saturating_sub(1))).copied())
    };
    let (n_before, before) = p99(&|one| one.at < began);
    let (n_during, during) = p99(&|one| one.at >= began && one.at - one.took <= ended);
    println!(
        "the backup took {:?}; p99 of {n_before} injects before {before:?}, of {n_during} meanwhile {during:?}",
        ended - began
    );
}
