//! Requests to the API change only what came over it, unless the policy grants more. A granted removal of a rule of the
//! repository lasts until it is pushed, released, or overtaken by the remote.

use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::needs;

use super::*;

const NOTHING: &str = r#"{ "grants": [{ "source": "git" }] }"#;
const ALL: &str = r#"{ "grants": [
    { "source": "git" }, { "source": "api", "change": ["git"], "set_lists": ["*"], "push": true }
] }"#;

/// A repository with a blocking rule and a list, and a home whose service follows it.
struct Stage {
    upstream: Upstream,
    server: GitServer,
    home: Home,
}

impl Stage {
    /// Creates a stage with this policy; without one if it is empty.
    fn new(policy: &str) -> Self {
        let rule = sample::rule("stop", "amount > 1");
        let upstream =
            Upstream::with(&[("stop.ws", &*rule), ("lists/stopped.txt", "acc-1\n"), ("other.txt", "")]);
        let server = GitServer::start(upstream.root(), Mood::Fine);
        let mut home = Home::new();
        home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
        home.set("WATCH_SCRIPT_GIT_BRANCH", "main");
        home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
        home.set("SERVICE_GIT_ALLOW_SCHEMES", "http");
        home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
        if !policy.is_empty() {
            set_policy(&mut home, policy);
        }
        Self { upstream, server, home }
    }
}

fn rule_ids(service: &Service) -> Vec<(String, Value)> {
    let instructions = service.get("/instructions").expect(200);
    let of = |one: &Value| (one["name"].as_str().unwrap().to_owned(), one["id"].clone());
    instructions.as_array().unwrap().iter().map(of).collect()
}

fn names(service: &Service) -> Vec<String> {
    rule_ids(service).into_iter().map(|(name, _)| name).collect()
}

/// Removes the rule of the repository. Returns the path of its instruction.
#[track_caller]
fn remove_stop(service: &Service) -> String {
    let ids = rule_ids(service);
    let (_, id) = ids.iter().find(|(name, _)| name == "stop").expect("the rule is in force");
    let path = format!("/instructions/{id}");
    assert_eq!(service.delete(&path).status, 204);
    path
}

fn sync(service: &Service) {
    let _ = service.post("/git/sync", &json!({})).expect(200);
}

fn git_check(service: &Service) -> String {
    service.get("/readyz").expect(200)["checks"]["git"].as_str().unwrap_or_default().to_owned()
}

/// Checks that the rule is removed, and that this shows.
#[track_caller]
fn check_out(service: &Service, when: &str) {
    assert_eq!(names(service), [""; 0], "{when}");
    let shown = git_check(service);
    assert!(
        shown.starts_with("degraded: ")
            && shown.contains("`stop` (instruction ")
            && shown.contains("`stop.ws`"),
        "{when}: {shown}"
    );
}

/// Checks that the rule is in force, and that nothing is shown.
#[track_caller]
fn check_back(service: &Service, when: &str) {
    assert_eq!(names(service), ["stop"], "{when}");
    assert!(git_check(service).starts_with("ok"), "{when}: {}", git_check(service));
}

/// Makes each change and compares the status and the code of its answer.
#[track_caller]
fn check_changes(policy: &str, expected: &[(&str, u16, &str)]) {
    let stage = Stage::new(policy);
    let service = Service::start(&stage.home);
    let (_, id) = rule_ids(&service).remove(0);
    let path = format!("/instructions/{id}");
    let text = |path: &str| service.put(path, "text/plain", b"acc-9\n");
    let script = json!({"script": sample::rule("stop", "amount > 1000")}).to_string();
    let answers = [
        ("sync", service.post("/git/sync", &json!({}))),
        ("pull", service.post("/git/pull", &json!({}))),
        ("forced sync", service.post("/git/sync", &json!({"force": true}))),
        ("replace", service.put(&path, "application/json", script.as_bytes())),
        ("set its list", text("/lists/stopped")),
        ("remove its list", service.delete("/lists/stopped")),
        ("set a list", text("/lists/friends")),
        ("remove a list", service.delete("/lists/friends")),
        ("check a list", service.post("/lists/friends/check", &json!({"text": "a"}))),
        ("remove", service.delete(&path)),
        ("push", service.post("/git/push", &json!({"message": "Less"}))),
        ("clone", service.post("/git/clone", &json!({"url": stage.server.url(), "branch": "main"}))),
    ];
    let code =
        |answer: &tollgate_tests::Answer| if answer.status < 400 { String::new() } else { answer.code() };
    let found: Vec<_> = answers.iter().map(|(what, answer)| (*what, answer.status, code(answer))).collect();
    let found: Vec<_> = found.iter().map(|(what, status, code)| (*what, *status, code.as_str())).collect();
    assert_eq!(found, expected, "{policy}");
    let is_out = found.contains(&("remove", 204, ""));
    let is_pushed = found.contains(&("push", 200, ""));
    assert_eq!(names(&service).is_empty(), is_out, "{policy}");
    assert_eq!(stage.upstream.file("stop.ws").is_none(), is_pushed && is_out, "{policy}");
    assert_eq!(service.get("/lists/stopped").expect(200)["entries"], json!(["acc-1"]), "{policy}");
}

const DENIED: (u16, &str) = (403, "policy_denied");

/// The answers, with those of the grants `change`, `set_lists` and `push` either allowed or denied.
fn answers(change: bool, lists: bool, push: bool) -> Vec<(&'static str, u16, &'static str)> {
    let or = |granted: bool, answer: (u16, &'static str)| if granted { answer } else { DENIED };
    let of_list = or(change && lists, (409, "list_taken"));
    [
        ("sync", (200, "")),
        ("pull", (200, "")),
        ("forced sync", or(change, (200, ""))),
        ("replace", or(change, (409, "instruction_taken"))),
        ("set its list", of_list),
        ("remove its list", of_list),
        ("set a list", or(lists, (201, ""))),
        ("remove a list", or(lists, (204, ""))),
        ("check a list", (200, "")),
        ("remove", or(change, (204, ""))),
        ("push", or(push, (200, ""))),
        ("clone", or(change, (200, ""))),
    ]
    .map(|(what, (status, code))| (what, status, code))
    .to_vec()
}

#[test]
fn without_a_policy_the_api_changes_everything() {
    needs!(Git);
    check_changes("", &answers(true, true, true));
}

#[test]
fn a_policy_that_grants_the_api_nothing_lets_it_change_nothing_of_others() {
    needs!(Git);
    check_changes(NOTHING, &answers(false, false, false));
}

#[test]
fn each_grant_allows_its_changes() {
    needs!(Git);
    check_changes(ALL, &answers(true, true, true));
    let granting =
        |member: &str| format!(r#"{{ "grants": [{{ "source": "git" }}, {{ "source": "api", {member} }}] }}"#);
    check_changes(&granting(r#""change": ["git"]"#), &answers(true, false, false));
    check_changes(&granting(r#""set_lists": ["fr*", "stopped"]"#), &answers(false, true, false));
    check_changes(&granting(r#""push": true"#), &answers(false, false, true));
}

#[test]
fn a_denied_change_names_the_member_of_the_policy() {
    needs!(Git);
    let stage = Stage::new(NOTHING);
    let service = Service::start(&stage.home);
    let (_, id) = rule_ids(&service).remove(0);
    let refused = service.delete(&format!("/instructions/{id}"));
    let missing = "a change of what comes from the file `stop.ws` of the Git repository (`\"change\": [\"git\"]` in the grant \
                   for the source `api`)";
    assert_eq!(refused.at("/missing"), json!([missing]), "{}", refused.text());
}

#[test]
fn the_api_changes_what_it_brought() {
    needs!(Git);
    let stage =
        Stage::new(r#"{ "grants": [{ "source": "git" }, { "source": "api" }, { "source": "upload" }] }"#);
    let service = Service::start(&stage.home);
    let script = service.save(&sample::rule("own", "amount > 5")).expect(201)["id"].clone();
    let replaced = json!({"script": sample::rule("own", "amount > 6")}).to_string();
    let path = format!("/instructions/{script}");
    let _ = service.put(&path, "application/json", replaced.as_bytes()).expect(200);
    assert_eq!(service.delete(&path).status, 204);
    let module = service.upload("", &modules::rule("m", 1)).expect(201)["id"].clone();
    assert_eq!(service.delete(&format!("/instructions/{module}")).status, 204);
    assert_eq!(names(&service), ["stop"]);
}

#[test]
fn a_granted_removal_lasts_until_it_is_released() {
    needs!(Git);
    let stage = Stage::new(ALL);
    let service = Service::start(&stage.home);
    let path = remove_stop(&service);
    check_out(&service, "removed");
    sync(&service);
    check_out(&service, "after a sync");
    service.kill();
    let service = Service::start(&stage.home);
    check_out(&service, "after a restart");
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), [""; 0]);
    stage.upstream.commit(&[("other.txt", "later")]);
    sync(&service);
    check_out(&service, "after another commit");
    assert_eq!(service.post("/instructions/999/release", &json!({})).code(), "instruction_not_found");
    let released = service.post(&format!("{path}/release"), &json!({})).expect(200);
    assert_eq!((&released["name"], &released["source"]["kind"]), (&json!("stop"), &json!("git")));
    check_back(&service, "released");
    let status = service.get("/git/status").expect(200);
    assert_eq!((&status["deleted"], &status["untracked"]), (&json!([]), &json!([])));
    let pushed = service.post("/git/push", &json!({"message": "Nothing"})).expect(200);
    assert_eq!(pushed["files"], json!([]));
    service.kill();
    let service = Service::start(&stage.home);
    check_back(&service, "after a restart");
    assert_eq!(service.inject(&sample::transaction("u")).triggered(), ["stop"]);
}

#[test]
fn a_granted_removal_ends_when_it_is_pushed() {
    needs!(Git);
    let stage = Stage::new(ALL);
    let service = Service::start(&stage.home);
    remove_stop(&service);
    service.kill();
    // The clone is lost too: the removal is written into the next one.
    std::fs::remove_dir_all(stage.home.data().join("git/rules")).unwrap();
    let service = Service::start(&stage.home);
    check_out(&service, "in a new clone");
    let pushed = service.post("/git/push", &json!({"message": "Less"})).expect(200);
    assert_eq!(pushed["files"], json!(["stop.ws"]));
    assert_eq!(stage.upstream.file("stop.ws"), None);
    assert!(git_check(&service).starts_with("ok"), "{}", git_check(&service));
    service.kill();
    let service = Service::start(&stage.home);
    assert_eq!(names(&service), [""; 0]);
    assert!(git_check(&service).starts_with("ok"), "{}", git_check(&service));
}

#[test]
fn a_granted_removal_ends_when_its_file_changes_at_the_remote() {
    needs!(Git);
    let stage = Stage::new(ALL);
    let service = Service::start(&stage.home);
    remove_stop(&service);
    check_out(&service, "removed");
    stage.upstream.commit(&[("stop.ws", sample::rule("stop", "amount > 2"))]);
    sync(&service);
    check_back(&service, "changed at the remote");
    service.kill();
    check_back(&Service::start(&stage.home), "after a restart");
}

#[test]
fn a_removal_ends_at_the_start_when_the_policy_grants_it_no_longer() {
    needs!(Git);
    let mut stage = Stage::new(ALL);
    let service = Service::start(&stage.home);
    let path = remove_stop(&service);
    service.kill();
    set_policy(&mut stage.home, NOTHING);
    let service = Service::start(&stage.home);
    check_back(&service, "no longer granted");
    assert_eq!(service.post(&format!("{path}/release"), &json!({})).code(), "instruction_not_found");
}

#[test]
fn without_a_policy_a_removal_lasts_until_the_next_start() {
    needs!(Git);
    let stage = Stage::new("");
    let service = Service::start(&stage.home);
    remove_stop(&service);
    sync(&service);
    assert_eq!(names(&service), [""; 0]);
    assert!(git_check(&service).starts_with("ok"), "{}", git_check(&service));
    service.kill();
    check_back(&Service::start(&stage.home), "after a restart");
}
