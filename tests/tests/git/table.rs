//! The life of a repository: each event at the remote or the service, the response, and the rules in force afterwards.
//! One service goes through all rows.

use super::*;
use tollgate_tests::needs;

/// Number of rules in the commit with one broken file.
const BULK: usize = 100;

struct Life {
    stage: Stage,
    /// `None` between two runs.
    service: Option<Service>,
    rows: Vec<Row>,
}

struct Row {
    what: &'static str,
    answered: String,
    rules: String,
}

impl Life {
    fn service(&self) -> &Service {
        self.service.as_ref().expect("the service runs")
    }

    fn up(&self) -> &Upstream {
        &self.stage.upstream
    }

    fn start(&mut self) {
        self.service = Some(Service::start(&self.stage.home));
    }

    fn end(&mut self) -> Service {
        self.service.take().expect("the service runs")
    }

    /// Records the rules in force.
    fn note(&mut self, what: &'static str, answered: &str) {
        let rules = rules_of(self.service());
        self.rows.push(Row { what, answered: answered.to_owned(), rules });
    }

    fn ask(&mut self, what: &'static str, path: &str, body: &Value) {
        let answer = self.service().post(path, body);
        let answered = if answer.status == 200 { "ok".to_owned() } else { answer.code() };
        self.note(what, &answered);
    }

    fn sync(&mut self, what: &'static str) {
        self.ask(what, "/git/sync", &json!({}));
    }

    fn push(&mut self, what: &'static str) {
        self.ask(what, "/git/push", &json!({"message": "From here"}));
    }

    fn add(&self, name: &str) {
        self.up().commit(&[(format!("{name}.ws"), sample::rule(name, "amount > 1"))]);
    }

    fn poll_every(&mut self, interval: &str) {
        self.stage.home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", interval);
    }
}

/// Returns rule names. For the bulk rules it returns the number in force, and how many are of a different commit than
/// most.
fn rules_of(service: &Service) -> String {
    let (bulk, mut shown): (Vec<String>, Vec<String>) =
        in_force(service).into_iter().partition(|name| name.starts_with("bulk"));
    if !bulk.is_empty() {
        let instructions = service.get("/instructions").expect(200);
        let current = status(service)["current_commit"].clone();
        let is_new = |one: &&Value| {
            one["name"].as_str().unwrap().starts_with("bulk") && one["source"]["commit"] == current
        };
        let n_new = instructions.as_array().unwrap().iter().filter(is_new).count();
        shown.push(format!("({} of {BULK}, {n_new} of this commit)", bulk.len()));
    }
    shown.join(" ")
}

#[test]
fn in_the_life_of_a_repository_the_last_good_commit_is_in_force() {
    needs!(Git);
    let mut life = Life { stage: Stage::with_a_rule(), service: None, rows: Vec::new() };
    commits(&mut life);
    pulls_and_pushes(&mut life);
    failures(&mut life);
    rewritten_history(&mut life);
    many_files_and_another_repository(&mut life);
    println!("{:<54} {:<24} rules in force", "what happened", "answer");
    for Row { what, answered, rules } in &life.rows {
        println!("{what:<54} {answered:<24} {rules}");
    }
    let found: Vec<_> = life.rows.iter().map(|row| (row.what, &*row.answered, &*row.rules)).collect();
    assert_eq!(found, EXPECTED);
}

fn commits(life: &mut Life) {
    life.start();
    life.note("started: cloned", "ok");
    life.end().kill();
    life.poll_every("200ms");
    life.start();
    life.add("polled");
    wait_until("the poll", || in_force(life.service()) == ["a", "polled"]);
    life.note("edited remotely, and polled", "ok");
    assert!(life.end().stop().0.success());
    life.poll_every("1h");
    life.start();
    let rule = |name| sample::rule(name, "amount > 1");
    life.up().commit(&[("b/b.ws", rule("b")), ("c.ws", rule("c"))]);
    life.sync("two files added in one commit, and synced");
    life.up().commit(&[("c.ws", "rule c { when amount >")]);
    life.sync("one of them broken: its last good version");
    life.add("d");
    life.sync("another added beside the broken one");
    life.up().remove(&["b/b.ws", "polled.ws"]);
    life.sync("two files removed");
}

fn pulls_and_pushes(life: &mut Life) {
    life.add("pulled");
    life.ask("another added, and pulled", "/git/pull", &json!({}));
    let _ = life.service().save(&sample::rule("mine", "amount > 1")).expect(201);
    life.ask("saved here: a pull would mix them", "/git/pull", &json!({}));
    life.push("pushed");
    assert_eq!(life.up().file("mine.ws"), Some(sample::rule("mine", "amount > 1")));
    let _ = life.service().save(&sample::rule("more", "amount > 1")).expect(201);
    life.add("theirs");
    life.push("saved here and added there: the push is refused");
    life.sync("synced");
    life.push("and pushed again");
    life.up().remove(&["more.ws", "mine.ws", "pulled.ws", "theirs.ws"]);
    life.sync("all of that removed at the remote");
}

fn failures(life: &mut Life) {
    life.stage.server.set_mood(Mood::Down);
    life.sync("the remote goes down");
    life.stage.server.set_mood(Mood::Babbling);
    life.sync("the remote is no Git server");
    life.stage.server.set_mood(Mood::Refusing);
    life.sync("the remote asks for credentials");
    life.stage.server.set_mood(Mood::Fine);
    life.sync("the remote is back");
    life.add("fetched");
    life.stage.server.set_mood(Mood::Stuck);
    let n_asked = life.stage.server.asked().len();
    let client = life.service().client();
    let syncing = thread::spawn(move || drop(client.try_post("/git/sync", b"{}")));
    wait_until("the pack", || {
        life.stage.server.asked().iter().skip(n_asked).any(|asked| asked.line.starts_with("POST"))
    });
    life.note("one more added; in the middle of the fetch", "");
    life.end().kill();
    syncing.join().unwrap();
    life.stage.server.set_mood(Mood::Down);
    life.start();
    life.note("killed there, and started while the remote is down", "git_remote_failed");
    assert_eq!(status(life.service())["last_error"]["code"], "git_remote_failed");
    life.stage.server.set_mood(Mood::Fine);
    life.sync("the remote is back");
}

fn rewritten_history(life: &mut Life) {
    let before = life.up().head("main").unwrap();
    let rule = sample::rule("z", "amount > 1");
    life.up().rewrite(&[("z.ws", &rule)]);
    life.sync("force-pushed: another history");
    assert_eq!(status(life.service())["history_rewritten"], true);
    life.up().git(&["update-ref", "refs/heads/main", &before]);
    life.sync("and put back");
    assert_eq!(status(life.service())["history_rewritten"], false);
    life.up().delete_branch("main");
    life.sync("the branch deleted");
    life.up().rewrite(&[("z.ws", &rule)]);
    life.sync("and made anew, with another history");
    life.end().kill();
    life.start();
    life.note("killed and started", "git_history_rewritten");
    assert_eq!(status(life.service())["last_error"]["code"], "git_history_rewritten");
    life.ask("taken by force", "/git/sync", &json!({ "force": true }));
}

fn many_files_and_another_repository(life: &mut Life) {
    let file = |number: usize, limit: usize| {
        let name = format!("bulk_{number:02}");
        (format!("{name}.ws"), sample::rule(&name, &format!("amount > {limit}")))
    };
    let files = |limit| (0..BULK).map(|number| file(number, limit)).collect::<Vec<_>>();
    life.up().commit(&files(1));
    life.sync("a hundred files added");
    let mut files = files(2);
    files[42].1 = "rule bulk_42 {\n  when amount >\n}".to_owned();
    life.up().commit(&files);
    life.sync("all changed, one of them broken");
    let other = Upstream::with(&[("other.ws", sample::rule("other", "amount > 1"))]);
    let url = other.path().to_string_lossy().into_owned();
    life.ask("another repository cloned, which is not allowed", "/git/clone", &json!({ "url": url }));
    life.end().kill();
    life.stage.home.set("SERVICE_GIT_ALLOW_SCHEMES", "file");
    life.start();
    life.ask("allowed, and cloned", "/git/clone", &json!({ "url": url }));
    other.remove(&["other.ws"]);
    life.sync("its last rule removed");
}

const EXPECTED: &[(&str, &str, &str)] = &[
    ("started: cloned", "ok", "a"),
    ("edited remotely, and polled", "ok", "a polled"),
    ("two files added in one commit, and synced", "ok", "a b c polled"),
    ("one of them broken: its last good version", "ok", "a b c polled"),
    ("another added beside the broken one", "ok", "a b c d polled"),
    ("two files removed", "ok", "a c d"),
    ("another added, and pulled", "ok", "a c d pulled"),
    ("saved here: a pull would mix them", "git_dirty", "a c d mine pulled"),
    ("pushed", "ok", "a c d mine pulled"),
    ("saved here and added there: the push is refused", "git_push_refused", "a c d mine more pulled"),
    ("synced", "ok", "a c d mine more pulled theirs"),
    ("and pushed again", "ok", "a c d mine more pulled theirs"),
    ("all of that removed at the remote", "ok", "a c d"),
    ("the remote goes down", "git_remote_failed", "a c d"),
    ("the remote is no Git server", "git_remote_failed", "a c d"),
    ("the remote asks for credentials", "git_credentials_refused", "a c d"),
    ("the remote is back", "ok", "a c d"),
    ("one more added; in the middle of the fetch", "", "a c d"),
    ("killed there, and started while the remote is down", "git_remote_failed", "a c d"),
    ("the remote is back", "ok", "a c d fetched"),
    ("force-pushed: another history", "git_history_rewritten", "a c d fetched"),
    ("and put back", "ok", "a c d fetched"),
    ("the branch deleted", "git_branch_not_found", "a c d fetched"),
    ("and made anew, with another history", "git_history_rewritten", "a c d fetched"),
    ("killed and started", "git_history_rewritten", "a c d fetched"),
    ("taken by force", "ok", "z"),
    ("a hundred files added", "ok", "z (100 of 100, 100 of this commit)"),
    ("all changed, one of them broken", "ok", "z (100 of 100, 99 of this commit)"),
    (
        "another repository cloned, which is not allowed",
        "git_remote_not_allowed",
        "z (100 of 100, 99 of this commit)",
    ),
    ("allowed, and cloned", "ok", "other"),
    ("its last rule removed", "ok", ""),
];
