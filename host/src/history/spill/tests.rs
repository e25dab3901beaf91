//! Pages come and go, and are what they were.

use super::*;

fn page(spill: &Arc<Spill>, n: u64) -> Arc<Page> {
    Page::new(spill, (0..100).map(|word| word * n).collect(), 0)
}

fn bounded(limit_bytes: usize) -> (tempfile::TempDir, Arc<Spill>) {
    let directory = tempfile::tempdir().unwrap();
    let spill = Arc::new(Spill::bounded(limit_bytes, directory.path()).unwrap());
    (directory, spill)
}

#[test]
fn pages_over_the_limit_leave_memory_and_come_back_as_they_were() {
    let (directory, spill) = bounded(4_000);
    let pages: Vec<Arc<Page>> = (0..50).map(|n| page(&spill, n)).collect();
    for _ in 0..3 {
        for (n, page) in (0..).zip(&pages) {
            spill.make_room();
            assert!(spill.resident_bytes() <= 4_000 + 800);
            let words = page.words().unwrap();
            assert!(words.iter().copied().eq((0..100).map(|word| word * n)));
        }
    }
    assert!(spill.spilled_bytes() >= 45 * 800, "{}", spill.spilled_bytes());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "the file has no name");
    drop(pages);
    assert_eq!((spill.resident_bytes(), spill.spilled_bytes()), (0, 0));
}

#[test]
fn a_place_that_was_freed_is_used_again() {
    let (_directory, spill) = bounded(0);
    for n in 0..1_000 {
        let page = page(&spill, n);
        spill.make_room();
        assert_eq!(page.resident(), None);
        drop(page);
    }
    let bound = spill.bound.as_ref().unwrap();
    assert!(bound.file.used_bytes() == 0 && bound.clock.lock().is_empty());
    page(&spill, 1);
    spill.make_room();
}

#[test]
fn what_the_disk_changed_is_an_error_and_not_an_answer() {
    let (_directory, spill) = bounded(0);
    let page = page(&spill, 7);
    spill.make_room();
    spill.bound.as_ref().unwrap().file.damage();
    assert!(page.words().is_err());
}

#[test]
fn a_directory_that_is_not_there_is_refused_by_its_name() {
    let error = Spill::bounded(0, Path::new("/nowhere/at/all")).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}
