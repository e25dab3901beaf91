//! The work tree is shared with users: their files stay, and files that block a change are reported.

use std::fs;
use std::os::unix::fs::symlink;
use tollgate_tests::needs;

use super::*;

#[track_caller]
fn put_list(service: &Service, name: &str, text: &str) {
    let list = ("content-type", "text/plain");
    let answer = service.send("PUT", &format!("/lists/{name}"), &[list], text.as_bytes()).unwrap();
    assert!([200, 201].contains(&answer.status), "{}", answer.text());
}

/// Returns kind, name and path of each reported file that was not written.
fn not_written(service: &Service) -> Vec<[String; 3]> {
    let status = status(service);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |one: &Value| [text(&one["kind"]), text(&one["name"]), text(&one["path"])];
    status["not_written"].as_array().unwrap().iter().map(of).collect()
}

fn entry(kind: &str, name: &str, path: &str) -> [String; 3] {
    [kind.to_owned(), name.to_owned(), path.to_owned()]
}

#[test]
fn nothing_that_somebody_wrote_is_overwritten() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let at = |path: &str| local_path(&service).join(path);
    let read = |path: &str| fs::read_to_string(at(path)).unwrap();
    fs::create_dir(at("lists")).unwrap();
    for path in ["saved.ws", "lists/stopped.txt"] {
        fs::write(at(path), "half an idea\n").unwrap();
    }
    let script = sample::rule("saved", "amount > 1");
    let _ = service.save(&script).expect(201);
    put_list(&service, "stopped", "EUR\n");
    assert_eq!(not_written(&service), [entry("list", "stopped", "lists/stopped.txt")]);
    assert_eq!(
        (read("saved.ws"), read("lists/stopped.txt")),
        ("half an idea\n".into(), "half an idea\n".into())
    );
    assert_eq!(read("saved/saved.ws"), script, "a rule is written beside");
    let message = status(&service)["not_written"][0]["message"].clone();
    assert!(message.as_str().unwrap().contains("move it away"), "{message}");
    // Once the file is moved away, the list is written, and the file belongs to the service.
    fs::rename(at("lists/stopped.txt"), at("lists/mine.txt")).unwrap();
    wait_until("the next try", || not_written(&service).is_empty());
    assert_eq!(read("lists/stopped.txt"), "EUR\n");
    put_list(&service, "stopped", "USD\n");
    assert_eq!(status(&service)["not_written"], json!([]));
    assert_eq!(read("lists/stopped.txt"), "USD\n");
    // After a manual change it belongs to the user again.
    fs::write(at("lists/stopped.txt"), "USD # for now\n").unwrap();
    put_list(&service, "stopped", "GBP\n");
    assert_eq!(not_written(&service), [entry("list", "stopped", "lists/stopped.txt")]);
    assert_eq!(read("lists/stopped.txt"), "USD # for now\n");
    fs::remove_file(at("lists/stopped.txt")).unwrap();
    wait_until("the next try", || not_written(&service).is_empty());
    assert_eq!(read("lists/stopped.txt"), "GBP\n");
    // Ownership survives a restart.
    service.kill();
    let service = Service::start(&stage.home);
    put_list(&service, "stopped", "CHF\n");
    assert_eq!(not_written(&service), [[""; 3]; 0]);
    assert_eq!(fs::read_to_string(local_path(&service).join("lists/stopped.txt")).unwrap(), "CHF\n");
    remove(&service, "saved");
    assert_eq!(status(&service)["untracked"], json!(["lists/mine.txt", "lists/stopped.txt", "saved.ws"]));
}

#[test]
fn a_removal_waits_for_a_file_that_was_changed_by_hand() {
    needs!(Git);
    let stage = Stage::new(Upstream::with(&[("x/a.ws", sample::rule("a", "amount > 1"))]));
    let service = Service::start(&stage.home);
    let path = local_path(&service).join("x/a.ws");
    fs::write(&path, sample::rule("a", "amount > 77")).unwrap();
    remove(&service, "a");
    let _ = service.save(&sample::rule("a", "amount > 2")).expect(201);
    assert_eq!(not_written(&service), [entry("rule", "a", "x/a.ws")]);
    assert_eq!(fs::read_to_string(&path).unwrap(), sample::rule("a", "amount > 77"));
    // After the change is reverted, the file is removed.
    fs::write(&path, sample::rule("a", "amount > 1")).unwrap();
    wait_until("the next try", || not_written(&service).is_empty());
    let status = status(&service);
    assert_eq!((&status["deleted"], &status["untracked"]), (&json!(["x/a.ws"]), &json!(["a.ws"])));
    let _ = service.post("/git/push", &json!({"message": "Moved"})).expect(200);
    assert_eq!(stage.upstream.file("x/a.ws"), None);
    assert_eq!(stage.upstream.file("a.ws"), Some(sample::rule("a", "amount > 2")));
}

#[test]
fn a_removal_gives_way_to_what_the_remote_made_of_the_file_since() {
    needs!(Git);
    let stage = Stage::new(Upstream::with(&[
        ("a.ws", sample::rule("a", "amount > 1")),
        ("b.ws", sample::rule("b", "amount > 1")),
    ]));
    let service = Service::start(&stage.home);
    remove(&service, "a");
    remove(&service, "b");
    assert_eq!(status(&service)["deleted"], json!(["a.ws", "b.ws"]));
    let newer = sample::rule("a", "amount > 5");
    stage.upstream.commit(&[("a.ws", &newer)]);
    sync(&service);
    let after = status(&service);
    assert_eq!(in_force(&service), ["a"], "the file says something else: the rule is back");
    assert_eq!((&after["deleted"], &after["in_the_way"]), (&json!(["b.ws"]), &json!([])));
    assert_eq!((&after["behind"], &after["ahead"]), (&json!(0), &json!(0)));
    assert_eq!(fs::read_to_string(local_path(&service).join("a.ws")).unwrap(), newer);
    let pushed = service.post("/git/push", &json!({"message": "Without b"})).expect(200);
    assert_eq!(pushed["files"], json!(["b.ws"]));
}

#[test]
fn a_saved_rule_gives_way_to_a_file_of_the_remote_and_is_written_beside() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let script = sample::rule("mine", "amount > 1");
    let _ = service.save(&script).expect(201);
    assert_eq!(status(&service)["untracked"], json!(["mine.ws"]));
    let theirs = sample::rule("theirs", "amount > 1");
    stage.upstream.commit(&[("mine.ws", &theirs)]);
    sync(&service);
    let after = status(&service);
    assert_eq!((&after["untracked"], &after["behind"]), (&json!(["saved/mine.ws"]), &json!(0)));
    assert_eq!(fs::read_to_string(local_path(&service).join("mine.ws")).unwrap(), theirs);
    assert_eq!(fs::read_to_string(local_path(&service).join("saved/mine.ws")).unwrap(), script);
    assert_eq!(in_force(&service), ["a", "mine", "theirs"]);
}

#[test]
fn files_of_somebody_keep_the_work_tree_where_it_is_and_are_shown() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let path = local_path(&service).join("a.ws");
    fs::write(&path, "mine").unwrap();
    stage.upstream.commit(&[("a.ws", sample::rule("a", "amount > 5"))]);
    sync(&service);
    let stuck = status(&service);
    assert_eq!((&stuck["in_the_way"], &stuck["behind"]), (&json!(["a.ws"]), &json!(1)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::write(&path, sample::rule("a", "amount > 1")).unwrap();
    sync(&service);
    let after = status(&service);
    assert_eq!((&after["in_the_way"], &after["behind"]), (&json!([]), &json!(0)));
}

#[test]
fn a_change_that_cannot_be_written_is_shown_and_tried_again() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    // A file at the path of the lists folder.
    let lists = local_path(&service).join("lists");
    fs::write(&lists, "").unwrap();
    put_list(&service, "stopped", "EUR\n");
    wait_until("it is shown", || not_written(&service) == [entry("list", "stopped", "")]);
    let message = status(&service)["not_written"][0]["message"].clone();
    assert!(message.as_str().unwrap().contains("where a folder should be"), "{message}");
    fs::remove_file(&lists).unwrap();
    // The service retries without a request.
    wait_until("it is written", || lists.join("stopped.txt").is_file());
    assert_eq!(not_written(&service), [[""; 3]; 0]);
}

#[test]
fn nothing_behind_a_link_instead_of_a_folder_is_touched() {
    needs!(Git);
    let rule = sample::rule("a", "amount > 1");
    let stage = Stage::new(Upstream::with(&[("x/a.ws", rule.as_str()), ("x/b.ws", "# nothing\n")]));
    let service = Service::start(&stage.home);
    let outside = stage.home.at("outside");
    fs::create_dir(&outside).unwrap();
    for path in ["a.ws", "b.ws"] {
        fs::copy(local_path(&service).join("x").join(path), outside.join(path)).unwrap();
    }
    fs::remove_dir_all(local_path(&service).join("x")).unwrap();
    symlink(&outside, local_path(&service).join("x")).unwrap();
    remove(&service, "a");
    assert_eq!(status(&service)["deleted"], json!(["x/a.ws", "x/b.ws"]));
    stage.upstream.remove(&["x/b.ws"]);
    sync(&service);
    stage.upstream.commit(&[("x/c.ws", sample::rule("c", "amount > 1"))]);
    sync(&service);
    assert_eq!(in_force(&service), ["c"]);
    assert_eq!(status(&service)["in_the_way"], json!(["x/c.ws"]));
    let mut left: Vec<_> = fs::read_dir(&outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["a.ws", "b.ws"], "outside nothing changed");
    assert_eq!(fs::read_to_string(outside.join("a.ws")).unwrap(), rule);
}

#[test]
fn a_file_written_by_hand_stays_though_the_rule_in_it_was_saved_and_removed() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let script = sample::rule("same", "amount > 1");
    fs::write(local_path(&service).join("same.ws"), &script).unwrap();
    let _ = service.save(&script).expect(201);
    assert_eq!(status(&service)["untracked"], json!(["same.ws"]), "there is nothing to write");
    remove(&service, "same");
    assert_eq!(status(&service)["untracked"], json!(["same.ws"]));
    assert_eq!(not_written(&service), [[""; 3]; 0]);
}
