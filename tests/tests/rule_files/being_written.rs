//! A list that is being written is not in force before it is whole: at a start, and where the directory is polled.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;

/// Time between two writes of a slow writer.
const PACE: Duration = Duration::from_millis(20);
const N_ENTRIES: usize = 200;

/// Writes a list entry by entry until it is told to complete it.
struct SlowWriter {
    is_to_complete: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl SlowWriter {
    /// Starts to write. With `reopens`, each entry is appended by opening the file anew.
    fn start(home: &Home, reopens: bool) -> Self {
        let path = home.rules().join("lists/watched.txt");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(&path).unwrap();
        writeln!(file, "acc-0").unwrap();
        let is_to_complete = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_to_complete);
        let thread = thread::spawn(move || {
            let mut n_written = 1;
            while n_written < N_ENTRIES {
                if !flag.load(Ordering::Relaxed) {
                    thread::sleep(PACE);
                }
                if reopens {
                    file = OpenOptions::new().append(true).open(&path).unwrap();
                }
                // The last entry is written when the writer is told to complete the list.
                if n_written + 1 < N_ENTRIES || flag.load(Ordering::Relaxed) {
                    writeln!(file, "acc-{n_written}").unwrap();
                    n_written += 1;
                } else {
                    writeln!(file, "# more").unwrap();
                }
            }
        });
        Self { is_to_complete, thread }
    }

    fn complete(self) {
        self.is_to_complete.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

fn home() -> Home {
    Home::with_rules(&[("a.ws", sample::rule("a", "source in $watched"))])
}

fn count(service: &Service) -> Option<u64> {
    service.get("/lists/watched").at("/count").as_u64()
}

#[test]
fn a_first_start_in_the_middle_of_a_write_is_ready_when_the_list_is_whole() {
    let home = home();
    let writer = SlowWriter::start(&home, false);
    let service = Service::listen(&home);
    let answer = service.get("/readyz");
    let words = answer.at("/checks/rules_directory").to_string();
    assert_eq!(answer.status, 503, "{words}");
    assert!(words.contains("failing: being written, and never read: `lists/watched.txt`"), "{words}");
    assert_eq!(count(&service), None, "the beginning of a list is no list");
    writer.complete();
    service.until("it is whole", || service.get("/readyz").status == 200);
    assert_eq!(count(&service), Some(N_ENTRIES as u64));
}

#[test]
fn a_start_in_the_middle_of_a_write_keeps_the_last_good_list() {
    let home = home();
    home.write_rule("lists/watched.txt", "acc-1\nacc-2\n");
    let service = Service::start(&home);
    assert_eq!(count(&service), Some(2));
    service.kill();
    let writer = SlowWriter::start(&home, false);
    let service = Service::start(&home);
    assert_eq!(count(&service), Some(2), "the last good list is in force");
    writer.complete();
    service.until("it is whole", || count(&service) == Some(N_ENTRIES as u64));
}

#[test]
fn a_polled_directory_takes_a_list_that_grows_line_by_line_when_it_is_whole() {
    let mut home = home();
    home.set("WATCH_SCRIPT_DIR_NOTICES", "false");
    home.write_rule("lists/watched.txt", "acc-1\nacc-2\n");
    let service = Service::start(&home);
    let writer = SlowWriter::start(&home, true);
    // Several looks fall into the time of writing.
    let mut n_looks = 0;
    service.until("some looks have passed", || {
        assert_eq!(count(&service), Some(2), "a part of the list is in force");
        thread::sleep(PACE);
        n_looks += 1;
        n_looks > 150
    });
    writer.complete();
    service.until("it is whole", || count(&service) != Some(2));
    assert_eq!(count(&service), Some(N_ENTRIES as u64));
}
