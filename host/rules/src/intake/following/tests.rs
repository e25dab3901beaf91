//! Following without notices, and the handling of notices.

use std::fs;
use std::os::unix::fs::symlink;

use notify::event::{
    AccessKind, AccessMode, CreateKind, DataChange, EventKind, Flag, ModifyKind, RemoveKind, RenameMode,
};
use notify::{Error, Event};

use super::*;
use crate::intake::tests::{Fixture, rule};

/// Returns a follower of the fixture's directory, which is empty.
fn follower(fixture: &Fixture, asks_for_notices: bool) -> Follower {
    let directory = fixture.rules_directory();
    fs::create_dir(&directory).unwrap();
    Follower {
        intake: fixture.intake.clone(),
        watcher: None,
        directory,
        may_be_missing: false,
        asks_for_notices,
        notices: Arc::default(),
        taken: None,
        looked_at: Instant::now(),
        touched: TouchedFiles::default(),
        behind_links: None,
        read_all_at: Instant::now(),
        complaint: None,
        heads: Arc::default(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_read_again_once_their_notices_count() {
    let fixture = Fixture::new().await;
    let mut follower = follower(&fixture, true);
    let directory = follower.directory.clone();
    fs::write(directory.join("a.ws"), rule("a", "amount > 1")).unwrap();
    follower.watch().await;
    let plain = follower.read().await.unwrap().unwrap();
    assert!(!follower.watch_behind_links(plain.behind_links).await, "there is no link");
    // A volume of the kubelet has its links in the directory, under a name that begins with a point.
    fs::create_dir(directory.join("..v1")).unwrap();
    fs::write(directory.join("..v1/b.ws"), rule("b", "amount > 1")).unwrap();
    symlink("..v1", directory.join("..data")).unwrap();
    symlink("..data/b.ws", directory.join("b.ws")).unwrap();
    let linked = follower.read().await.unwrap().unwrap().behind_links;
    assert!(follower.watch_behind_links(linked.clone()).await, "it may have been swapped since it was read");
    assert!(!follower.watch_behind_links(linked).await, "its notices have counted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_notices_a_change_is_found_by_looking() {
    let fixture = Fixture::new().await;
    let follower = follower(&fixture, false);
    let directory = follower.directory.clone();
    let notices = Arc::clone(&follower.notices);
    let _following = Following { task: tokio::spawn(follower.run()).abort_handle(), notices };
    fs::write(directory.join("a.ws"), rule("a", "amount > 1")).unwrap();
    let found = async {
        while fixture.names() != ["a"] {
            sleep(QUIET).await;
        }
    };
    timeout(LOOK_EVERY * 10, found).await.expect("the file is found");
}

#[test]
fn a_recheck_reads_every_file_once() {
    let notices = Arc::new(PendingNotices::default());
    Recheck(Arc::clone(&notices)).ask();
    assert!(is_woken(&notices));
    assert!(notices.touched().has(Path::new("/nowhere/rules/a.ws")));
    assert!(!notices.touched().has(Path::new("/nowhere/rules/a.ws")), "once");
}

fn is_woken(notices: &PendingNotices) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_millis(1), notices.wait()).await.is_ok() })
}

#[track_caller]
fn check(events: &[(EventKind, &str)], wakes: bool, unfinished: &[&str]) {
    let directory = Path::new("/nowhere/rules");
    let notices = PendingNotices::default();
    for (kind, path) in events {
        notices.take(directory, Ok(Event::new(*kind).add_path(directory.join(path))));
    }
    assert_eq!(is_woken(&notices), wakes, "{events:?}");
    let mut open: Vec<PathBuf> = notices.unfinished().into_iter().collect();
    open.sort();
    assert_eq!(open, unfinished.iter().map(|path| directory.join(path)).collect::<Vec<_>>(), "{events:?}");
}

#[test]
fn a_file_is_unfinished_from_its_first_write_to_its_closing() {
    let create = EventKind::Create(CreateKind::File);
    let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    let close = EventKind::Access(AccessKind::Close(AccessMode::Write));
    let read = EventKind::Access(AccessKind::Close(AccessMode::Read));
    check(&[(create, "a.ws")], true, &["a.ws"]);
    check(&[(write, "lists/l.txt"), (write, "a.ws")], true, &["a.ws", "lists/l.txt"]);
    check(&[(write, "a.ws"), (close, "a.ws")], true, &[]);
    check(&[(read, "a.ws")], false, &[]);
    check(&[(create, "notes.txt"), (write, ".a.ws.swp"), (write, "a.ws~"), (close, "4913")], false, &[]);
    check(&[(EventKind::Create(CreateKind::Folder), "sub")], true, &[]);
    check(&[(EventKind::Create(CreateKind::Folder), ".git")], false, &[]);
}

#[test]
fn lost_notices_are_a_reason_to_look() {
    for (lost, is_for_good) in [
        (Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)), false),
        (Err(Error::generic("no more watches")), true),
    ] {
        let notices = PendingNotices::default();
        notices.take(Path::new("/nowhere"), lost);
        assert!(is_woken(&notices));
        assert_eq!(notices.were_lost(), is_for_good);
    }
}

/// Lets every file count as whole.
fn mark_whole(directory: &Path, before: &KnownDirectory) {
    let found = rule_files::find(directory).unwrap();
    let mut settling = before.settling.lock();
    settling.observe(&found, std::time::Instant::now(), SystemTime::now());
    found.files.iter().for_each(|file| settling.mark_whole(file));
}

/// Result for each file of a look at the directory one minute from now, given this known state.
fn reads(directory: &Path, before: &KnownDirectory) -> (Vec<String>, DirectoryLook) {
    let now = SystemTime::now() + Duration::from_secs(60);
    mark_whole(directory, before);
    let steady = read_steadily(directory, before, &PendingNotices::default(), now).unwrap().unwrap();
    let word = |is_read, error: Option<&UnreadableFile>| match (is_read, error) {
        (true, _) => "read".to_owned(),
        (false, error) => error.map(ToString::to_string).unwrap_or_default(),
    };
    let rules =
        steady.tree.rules.iter().map(|file| {
            format!("{}: {}", file.path, word(file.content.is_ok(), file.content.as_ref().err()))
        });
    let lists = steady
        .tree
        .lists
        .iter()
        .map(|file| format!("{}: {}", file.path, word(file.text.is_ok(), file.text.as_ref().err())));
    (rules.chain(lists).collect(), steady.whole)
}

#[test]
fn only_what_changed_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| fs::write(directory.path().join(path), text).unwrap();
    fs::create_dir(directory.path().join("lists")).unwrap();
    ["a.ws", "b.ws", "c.ws", "lists/l.txt"].into_iter().for_each(|path| write(path, "1"));
    let (read, taken) = reads(directory.path(), &KnownDirectory::default());
    assert_eq!(read, ["a.ws: read", "b.ws: read", "c.ws: read", "lists/l.txt: read"]);

    let mut before =
        KnownDirectory { is_believed: true, taken: Arc::new(taken), ..KnownDirectory::default() };
    write("b.ws", "2");
    before.refused.insert("c.ws".to_owned());
    let (read, _) = reads(directory.path(), &before);
    let as_taken = "the file is as it was taken";
    let expected = [format!("a.ws: {as_taken}"), "b.ws: read".to_owned(), "c.ws: read".to_owned()];
    assert_eq!(read, [expected.as_slice(), &[format!("lists/l.txt: {as_taken}")]].concat());

    write("lists/m.txt", "1");
    let (read, _) = reads(directory.path(), &before);
    assert_eq!(
        read.get(3..),
        Some([format!("lists/l.txt: {as_taken}"), "lists/m.txt: read".to_owned()].as_slice())
    );
}

#[test]
fn a_file_that_changed_just_before_it_was_read_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.ws"), "1").unwrap();
    let notices = PendingNotices::default();
    let before = KnownDirectory::default();
    mark_whole(directory.path(), &before);
    let steady = read_steadily(directory.path(), &before, &notices, SystemTime::now());
    let young = steady.unwrap().unwrap().whole;
    let before =
        KnownDirectory { is_believed: true, taken: Arc::new(young.clone()), ..KnownDirectory::default() };
    let (read, old) = reads(directory.path(), &before);
    assert_eq!(read, ["a.ws: read"], "a change within the same step of the clock would not show");
    assert_ne!(young, old, "so it is known that there is something to read");
}

#[test]
fn a_rename_into_the_directory_waits_less_than_other_changes() {
    let directory = Path::new("/nowhere/rules");
    let to = EventKind::Modify(ModifyKind::Name(RenameMode::To));
    let from = EventKind::Modify(ModifyKind::Name(RenameMode::From));
    let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    let close = EventKind::Access(AccessKind::Close(AccessMode::Write));
    let gone = EventKind::Remove(RemoveKind::File);
    let check = |events: &[(EventKind, &str)], is_in_steps: bool| {
        let notices = PendingNotices::default();
        for (kind, path) in events {
            notices.take(directory, Ok(Event::new(*kind).add_path(directory.join(path))));
        }
        assert_eq!(notices.quiet() == QUIET, is_in_steps || !cfg!(target_os = "linux"), "{events:?}");
        let touched = notices.touched();
        assert!(events.iter().all(|(_, path)| path.starts_with('.') || touched.has(&directory.join(path))));
        assert!(notices.quiet() < QUIET || !cfg!(target_os = "linux"), "from here on it is another story");
        assert!(!notices.touched().has(&directory.join("a.ws")));
    };
    check(&[(to, "a.ws"), (to, "b.ws")], false);
    check(&[(from, ".a.ws.new"), (to, "a.ws")], false);
    check(&[(from, "a.ws"), (to, "b.ws")], true);
    check(&[(write, "a.ws"), (close, "a.ws")], true);
    check(&[(to, "a.ws"), (close, "b.ws")], true);
    check(&[(gone, "a.ws")], true);
}

#[test]
fn a_file_with_a_notification_is_read_whatever_it_looks_like() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ws");
    fs::write(&path, "1").unwrap();
    let (_, taken) = reads(directory.path(), &KnownDirectory::default());
    let mut before =
        KnownDirectory { is_believed: true, taken: Arc::new(taken), ..KnownDirectory::default() };
    assert_eq!(reads(directory.path(), &before).0, ["a.ws: the file is as it was taken"]);
    let notices = PendingNotices::default();
    let close = EventKind::Access(AccessKind::Close(AccessMode::Write));
    notices.take(directory.path(), Ok(Event::new(close).add_path(path)));
    before.touched = notices.touched();
    assert_eq!(reads(directory.path(), &before).0, ["a.ws: read"]);
    before = KnownDirectory { is_believed: false, touched: TouchedFiles::default(), ..before };
    assert_eq!(reads(directory.path(), &before).0, ["a.ws: read"], "now and then all are");
}
