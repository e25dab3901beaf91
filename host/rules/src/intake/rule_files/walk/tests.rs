//! Files found in test directories.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::intake::rule_files::read;
use crate::intake::rule_files::survey::take;

/// Creates a directory of files, each with its path as content; `a -> b` is a link, `a/` an empty folder.
fn laid_out(entries: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for entry in entries {
        let (path, target) = entry.split_once(" -> ").map_or((*entry, None), |(path, to)| (path, Some(to)));
        let full = directory.path().join(path);
        if path.ends_with('/') {
            fs::create_dir_all(full).unwrap();
            continue;
        }
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        match target {
            Some(target) => symlink(target, full).unwrap(),
            None => fs::write(full, path).unwrap(),
        }
    }
    directory
}

/// Checks the files found, each with the file behind it, and the refused paths.
#[track_caller]
fn check(entries: &[&str], files: &[(&str, &str)], refused: &[(&str, &str)]) {
    let directory = laid_out(entries);
    let (found, tree) = take(directory.path()).unwrap();
    let of_rules = tree.rules.iter().filter_map(|file| {
        Some((file.path.clone(), file.content.as_ref().ok()?.script().unwrap_or_default().to_owned()))
    });
    let of_lists =
        tree.lists.iter().filter_map(|file| Some((file.path.clone(), file.text.as_ref().ok()?.clone())));
    let read: Vec<(String, String)> = of_rules.chain(of_lists).collect();
    let expected: Vec<(String, String)> =
        files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect();
    assert_eq!(read, expected, "{entries:?}");
    for (path, why) in refused {
        let known = found.refused.iter().find(|refused| refused.relative == *path);
        assert!(known.is_some_and(|known| known.why.contains(why)), "{path}: {:?}", found.refused);
    }
    assert_eq!(found.refused.len(), refused.len(), "{:?}", found.refused);
}

#[test]
fn files_are_found_in_the_order_of_their_paths() {
    let files =
        ["b.ws", "a/z.ws", "a.ws", "a-b/c.ws", "lists/l.txt", "lists/no.ws.bak", ".hidden/d.ws", "x.txt"];
    let found = ["a/z.ws", "a-b/c.ws", "a.ws", "b.ws", "lists/l.txt"].map(|path| (path, path));
    check(&files, &found, &[]);
}

#[test]
fn a_directory_as_kubernetes_lays_it_out_is_read_through_its_links() {
    check(
        &[
            "..2026_11_25/a.ws",
            "..2026_11_25/lists/l.txt",
            "..2026_11_25/cards/b.ws",
            "..2026_11_25/readme",
            "..data -> ..2026_11_25",
            "a.ws -> ..data/a.ws",
            "cards -> ..data/cards",
            "lists -> ..data/lists",
            "readme -> ..data/readme",
        ],
        &[
            ("a.ws", "..2026_11_25/a.ws"),
            ("cards/b.ws", "..2026_11_25/cards/b.ws"),
            ("lists/l.txt", "..2026_11_25/lists/l.txt"),
        ],
        &[],
    );
}

#[test]
fn links_that_lead_nowhere_or_back_are_refused_by_path() {
    check(
        &[
            "a.ws -> nothing.ws",
            "cards -> nothing",
            "lists/l.txt -> ../nothing.txt",
            "deep/loop -> ..",
            "self -> .",
            "x -> y",
            "y -> x",
            "b.ws",
        ],
        &[("b.ws", "b.ws")],
        &[
            ("a.ws", "leads nowhere"),
            ("cards", "leads nowhere"),
            ("lists/l.txt", "leads nowhere"),
            ("deep/loop", "leads back"),
            ("self", "leads back"),
            ("x", "leads back to itself"),
            ("y", "leads back to itself"),
        ],
    );
}

#[test]
fn a_file_that_is_reached_twice_counts_once_by_the_path_without_a_link() {
    check(
        &["z/a.ws", "b.ws -> z/a.ws", "again -> z", "lists/one.txt", "lists/other.txt -> one.txt"],
        &[("z/a.ws", "z/a.ws"), ("lists/one.txt", "lists/one.txt"), ("lists/other.txt", "lists/one.txt")],
        &[],
    );
    check(
        &[".x/a.ws", "c.ws -> .x/a.ws", "b.ws -> .x/a.ws", "data/l.txt", "lists -> data"],
        &[("b.ws", ".x/a.ws"), ("lists/l.txt", "data/l.txt")],
        &[],
    );
}

#[test]
fn many_ways_to_one_folder_are_walked_once() {
    let mut entries = vec!["d20/a.ws".to_owned()];
    for n in 0..20 {
        entries.push(format!(".d{n}/x -> ../{}d{}", if n == 19 { "" } else { "." }, n + 1));
        entries.push(format!(".d{n}/y -> ../{}d{}", if n == 19 { "" } else { "." }, n + 1));
    }
    entries.push("top -> .d0".to_owned());
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    check(&entries, &[("d20/a.ws", "d20/a.ws")], &[]);
}

#[test]
fn a_file_that_is_not_regular_is_refused_without_blocking() {
    let directory = laid_out(&["pipe.ws/", "zero.ws -> /dev/zero", "status.ws -> /proc/self/status"]);
    fs::remove_dir(directory.path().join("pipe.ws")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(directory.path().join("pipe.ws")).unwrap();
    let found = find(directory.path()).unwrap();
    drop(socket);
    let refused: Vec<&str> = found.refused.iter().map(|refused| refused.relative.as_str()).collect();
    assert_eq!(refused, ["pipe.ws", "zero.ws"]);
    let tree = read(&found, |_| None);
    let status = tree.rules.iter().find(|file| file.path == "status.ws").unwrap();
    let content = status.content.as_ref().unwrap().script().unwrap();
    assert!(content.contains("VmSize") || content.contains("Name:"), "length 0 is not believed: {content}");
}

#[test]
fn a_changed_link_changes_the_files_that_are_found() {
    let directory = laid_out(&["..v1/a.ws", "..v2/a.ws", "..data -> ..v1", "a.ws -> ..data/a.ws"]);
    let before = find(directory.path()).unwrap();
    assert_eq!(find(directory.path()).unwrap(), before);
    symlink("..v2", directory.path().join("..data_tmp")).unwrap();
    fs::rename(directory.path().join("..data_tmp"), directory.path().join("..data")).unwrap();
    let after = find(directory.path()).unwrap();
    assert_ne!(after, before);
    assert_ne!(after.files, before.files);
    assert_eq!(after.links.len(), 2);
}
