//! Packs that are small on the wire and enormous when unpacked, endless remotes, and dying workers: their cost to the
//! service, which continues to work.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tollgate_tests::git::Pack;
use tollgate_tests::needs;
use tollgate_tests::process::{self, children, reset_peak, resident_kib};
use tollgate_tests::proof;

use super::*;

/// Time limit of one operation for remotes that use it fully.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit of one operation for attacks that something else ends, on any machine.
const PATIENT: Duration = Duration::from_secs(20);
/// Grace period for a failure response: the worker has one second to report, and machines are slow.
const GRACE: Duration = Duration::from_secs(7);
/// Maximum growth of the service, whatever a remote sends.
const GROWTH_KIB_MAX: u64 = 16 * 1024;
/// Maximum disk usage of a transfer: its packs and their index.
const DISK_BYTES_MAX: u64 = 320 << 20;
/// The largest size that one delta instruction copies.
const BASE_BYTES: u64 = 0xff_0000;

/// A service that follows a repository with a rule `a`.
struct Stage {
    upstream: Upstream,
    server: GitServer,
    home: Home,
    service: Service,
    timeout: Duration,
}

/// The result of one attack.
struct Row {
    what: &'static str,
    n_sent_bytes: usize,
    code: String,
    took: Duration,
    within: Duration,
    growth_kib: u64,
    disk_bytes: u64,
}

impl Stage {
    fn new(timeout: Duration) -> Self {
        let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
        let server = GitServer::start(upstream.root(), Mood::Fine);
        let mut home = open_home();
        home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
        home.set("SERVICE_GIT_TIMEOUT", &format!("{}s", timeout.as_secs()));
        let service = Service::start(&home);
        // One-time allocations happen before any measurement.
        let commit = upstream.commit(&[("a.ws", sample::rule("a", "amount > 2"))]);
        let stage = Self { upstream, server, home, service, timeout };
        stage.sync_to(&commit);
        stage
    }

    /// Syncs until this commit is in force: with a short limit of time, an attempt may take too long on a busy machine.
    fn sync_to(&self, commit: &str) {
        self.service.until("the commit is in force", || {
            let answer = self.sync();
            assert!(answer.status == 200 || answer.code() == "git_timeout", "{}", answer.text());
            self.service.get("/git/status").at("/current_commit") == json!(commit)
        });
    }

    fn sync(&self) -> Answer {
        self.service.post("/git/sync", &json!({}))
    }

    /// Syncs with the server in this mood while `meanwhile` runs.
    fn attacked(&self, what: &'static str, mood: Mood, meanwhile: impl FnOnce()) -> Row {
        let n_sent_bytes = match &mood {
            Mood::Handing(_, pack) => pack.len(),
            _ => 0,
        };
        let git = self.home.data().join("git");
        let before = bytes_below(&git);
        self.server.set_mood(mood);
        let pid = self.service.pid();
        reset_peak(pid);
        let resident = resident_kib(pid).0;
        let begun = Instant::now();
        let client = self.service.client();
        let mut disk_bytes = 0;
        let answer = thread::scope(|scope| {
            let syncing = scope.spawn(move || client.post("/git/sync", &json!({})));
            meanwhile();
            while !syncing.is_finished() {
                disk_bytes = disk_bytes.max(bytes_below(&git).saturating_sub(before));
                thread::sleep(Duration::from_millis(5));
            }
            syncing.join().unwrap()
        });
        let row = Row {
            what,
            n_sent_bytes,
            code: if answer.status == 200 { "ok".to_owned() } else { answer.code() },
            took: begun.elapsed(),
            within: self.timeout + GRACE,
            growth_kib: resident_kib(pid).1.saturating_sub(resident),
            disk_bytes,
        };
        self.check_as_before(what, before);
        row
    }

    /// Checks that nothing is left of the attack and the next good commit is in force.
    fn check_as_before(&self, what: &str, bytes_before: u64) {
        let (git, pid) = (self.home.data().join("git"), self.service.pid());
        assert_eq!(children(pid), [0_u32; 0], "{what}: no process is left behind");
        assert_eq!(bytes_below(&git), bytes_before, "{what}: nothing is left on disk");
        let judged = self.service.inject(&sample::transaction(&format!("after {what}")));
        assert_eq!(judged.triggered(), ["a"], "{what}");
        self.server.set_mood(Mood::Fine);
        let commit =
            self.upstream.commit(&[("a.ws", format!("# {what}\n{}", sample::rule("a", "amount > 1")))]);
        self.sync_to(&commit);
    }
}

/// Returns a mood that serves this pack.
fn handing(pack: Pack) -> Mood {
    let head = pack.head();
    Mood::Handing(head, Arc::new(pack.finished()))
}

/// Returns the size of all files below a folder; files that disappear meanwhile are skipped.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Prints the rows and compares each with its expectation.
#[track_caller]
fn check(rows: &[(Row, &str)]) {
    println!(
        "{:<52} {:>10} {:<24} {:>7} {:>10} {:>9}",
        "attack", "sent", "answer", "s", "grown KiB", "disk KiB"
    );
    for (row, _) in rows {
        println!(
            "{:<52} {:>10} {:<24} {:>7.2} {:>10} {:>9}",
            row.what,
            row.n_sent_bytes,
            row.code,
            row.took.as_secs_f64(),
            row.growth_kib,
            row.disk_bytes / 1024
        );
    }
    for (row, code) in rows {
        assert_eq!(row.code, *code, "{}", row.what);
        assert!(row.took < row.within, "{}: {:?}", row.what, row.took);
        assert!(row.growth_kib < GROWTH_KIB_MAX, "{}: {} KiB", row.what, row.growth_kib);
        assert!(row.disk_bytes < DISK_BYTES_MAX, "{}: {} bytes", row.what, row.disk_bytes);
    }
}

fn good_pack() -> Pack {
    Pack::with_commit("a.ws", &sample::rule("a", "amount > 1"))
}

#[test]
fn a_pack_that_unpacks_to_gigabytes_does_not_harm_the_service() {
    needs!(Git);
    let stage = Stage::new(PATIENT);
    let mut rows = Vec::new();
    let mut pack = good_pack();
    pack.zeros(48 << 20);
    rows.push((stage.attacked("a blob of 48 MiB", handing(pack), || {}), "git_transfer_too_large"));
    let mut pack = good_pack();
    let base = pack.zeros(BASE_BYTES);
    pack.copies(base, BASE_BYTES, 1 << 30);
    let what = "a delta that makes 1 GiB: more than its memory";
    rows.push((stage.attacked(what, handing(pack), || {}), "git_transfer_too_large"));
    let pack = good_pack();
    let mood = Mood::Handing(pack.head(), Arc::new(pack.announcing(10_000_000)));
    rows.push((stage.attacked("a pack of 10,000,000 objects", mood, || {}), "git_transfer_too_large"));
    let stage = Stage::new(TIMEOUT);
    let mut pack = good_pack();
    pack.zeros(64 << 30);
    rows.push((stage.attacked("a blob of 64 GiB", handing(pack), || {}), "git_timeout"));
    let mut pack = good_pack();
    let base = pack.zeros(BASE_BYTES);
    for number in 0..20_000 {
        pack.copies(base, BASE_BYTES, (30 << 20) + number);
    }
    rows.push((stage.attacked("20,000 deltas that make 30 MiB each", handing(pack), || {}), "git_timeout"));
    check(&rows);
}

#[test]
fn remotes_without_an_end_are_ended_and_dead_workers_are_mourned_by_nobody() {
    needs!(Git);
    let stage = Stage::new(TIMEOUT);
    let pack = good_pack();
    let mut rows = Vec::new();
    let mood = Mood::Dripping(pack.head(), Arc::new(pack.finished()));
    rows.push((stage.attacked("a byte a second", mood, || {}), "git_timeout"));
    rows.push((stage.attacked("no answer at all", Mood::Silent, || {}), "git_timeout"));
    let stage = Stage::new(PATIENT);
    let pid = stage.service.pid();
    let n_packs = || stage.server.asked().iter().filter(|asked| asked.line.starts_with("POST")).count();
    let before = n_packs();
    stage.upstream.commit(&[("a.ws", sample::rule("a", "amount > 3"))]);
    let killed = stage.attacked("the worker is killed in mid-fetch", Mood::Stuck, || {
        stage.service.until("it has asked for the pack", || n_packs() > before);
        children(pid).into_iter().for_each(process::kill);
    });
    rows.push((killed, "git_worker_failed"));
    check(&rows);
}

#[test]
fn more_bytes_than_a_transfer_may_have_are_not_kept() {
    if !proof::is_full() {
        return;
    }
    needs!(Git);
    // Enough time for all bytes.
    let stage = Stage::new(Duration::from_secs(20));
    let pack = good_pack();
    let mood = Mood::Endless(pack.head(), Arc::new(pack.finished()));
    check(&[(stage.attacked("bytes for ever", mood, || {}), "git_transfer_too_large")]);
}
