//! Following without notices, and what notices say.

use std::fs;

use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, EventKind, Flag, ModifyKind};
use notify::{Error, Event};

use super::*;
use crate::intake::tests::{House, rule};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_notices_a_change_is_found_by_looking() {
    let house = House::new().await;
    let directory = house.rules_directory();
    fs::create_dir(&directory).unwrap();
    let follower = Follower {
        intake: house.intake.clone(),
        watcher: Some(Watcher { root: Root::of(&directory).unwrap(), notices: None }),
        directory: directory.clone(),
        may_be_missing: false,
        asks_for_notices: false,
        notices: Arc::default(),
        taken: None,
        seen: None,
        looked_at: Instant::now(),
        complaint: None,
    };
    let _following = Following { task: tokio::spawn(follower.run()).abort_handle() };
    fs::write(directory.join("a.ws"), rule("a", "amount > 1")).unwrap();
    let found = async {
        while house.names() != ["a"] {
            sleep(QUIET).await;
        }
    };
    timeout(LOOK_EVERY * 10, found).await.expect("the file is found");
}

fn is_woken(notices: &Notices) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_millis(1), notices.wait()).await.is_ok() })
}

#[track_caller]
fn check(events: &[(EventKind, &str)], wakes: bool, unfinished: &[&str]) {
    let directory = Path::new("/nowhere/rules");
    let notices = Notices::default();
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
        let notices = Notices::default();
        notices.take(Path::new("/nowhere"), lost);
        assert!(is_woken(&notices));
        assert_eq!(notices.were_lost(), is_for_good);
    }
}
