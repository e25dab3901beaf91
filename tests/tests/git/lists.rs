//! Lists in a repository: a commit with a rejected list is held back as a whole.

use super::*;
use tollgate_tests::needs;

const LFS: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n";

/// Creates a repository with two lists and a rule for each.
fn stage() -> Stage {
    Stage::new(Upstream::with(&[
        ("a.ws", sample::rule("a", "currency in $first")),
        ("b.ws", sample::rule("b", "currency in $second")),
        ("lists/first.txt", "EUR\nUSD\n".to_owned()),
        ("lists/second.txt", "GBP\nCHF\n".to_owned()),
    ]))
}

fn entries(service: &Service, list: &str) -> Value {
    service.get(&format!("/lists/{list}")).at("/entries")
}

#[test]
fn a_commit_in_which_a_list_is_refused_is_held_back_until_force() {
    needs!(Git);
    for content in [LFS, "", "<html></html>\n", "[\"EUR\"]\n", "EUR\rUSD\r"] {
        let stage = stage();
        let first = stage.upstream.head("main").unwrap();
        let service = Service::start(&stage.home);
        // Moves an entry from the second list to the first, which is invalid now.
        let second = stage.upstream.commit(&[
            ("lists/first.txt", content),
            ("lists/second.txt", "GBP\n"),
            ("c.ws", &sample::rule("c", "amount > 1")),
        ]);
        let refused = service.post("/git/sync", &json!({}));
        assert_eq!((refused.status, refused.code()), (409, "lists_refused".to_owned()), "{content:?}");
        assert_eq!(in_force(&service), ["a", "b"]);
        assert_eq!(entries(&service, "first"), json!(["EUR", "USD"]));
        assert_eq!(entries(&service, "second"), json!(["GBP", "CHF"]));
        let shown = status(&service);
        assert_eq!((&shown["current_commit"], &shown["remote_commit"]), (&json!(first), &json!(second)));
        assert_eq!(shown["failed"][0]["path"], "lists/first.txt");
        assert_eq!(shown["last_error"]["code"], "lists_refused");
        let ready = service.get("/readyz");
        let lists = ready.at("/checks/lists");
        assert!(lists.as_str().is_some_and(|word| word.starts_with("degraded: commit ")), "{lists}");
        assert_eq!(ready.status, 200);

        let synced = service.post("/git/sync", &json!({ "force": true })).expect(200);
        assert_eq!(synced["after"], json!(second));
        assert_eq!(in_force(&service), ["a", "b", "c"]);
        let of_first = if content.is_empty() { json!([]) } else { json!(["EUR", "USD"]) };
        assert_eq!(entries(&service, "first"), of_first, "{content:?}");
        assert_eq!(entries(&service, "second"), json!(["GBP"]));
        assert_eq!(service.get("/readyz").at("/checks/lists"), "ok");
    }
}

#[test]
fn the_next_good_commit_ends_it_and_a_restart_does_not() {
    needs!(Git);
    let stage = stage();
    let first = stage.upstream.head("main").unwrap();
    let service = Service::start(&stage.home);
    stage.upstream.commit(&[("lists/first.txt", LFS)]);
    assert_eq!(service.post("/git/sync", &json!({})).code(), "lists_refused");
    assert!(service.stop().0.success());
    let service = Service::start(&stage.home);
    assert_eq!(status(&service)["current_commit"], json!(first));
    assert_eq!(entries(&service, "first"), json!(["EUR", "USD"]));
    let third = stage.upstream.commit(&[("lists/first.txt", "# empty on purpose\n")]);
    assert_eq!(sync(&service)["after"], json!(third));
    assert_eq!(entries(&service, "first"), json!([]));
    assert_eq!(
        (&status(&service)["failed"], service.get("/readyz").at("/checks/lists")),
        (&json!([]), json!("ok"))
    );
}

#[test]
fn an_invalid_list_in_the_first_commit_fails_only_its_rules() {
    needs!(Git);
    let stage = Stage::new(Upstream::with(&[
        ("a.ws", sample::rule("a", "currency in $first")),
        ("lists/first.txt", LFS.to_owned()),
        ("lists/second.csv", "Code,why\nGBP,x\n".to_owned()),
    ]));
    let service = Service::start(&stage.home);
    let judged = service.inject_admitted(&sample::transaction("t")).expect(200);
    // Beside it, payments may still be held because the repository was not read.
    let mut failures = judged["failures"].as_array().unwrap().iter();
    assert!(failures.any(|failed| failed["failure"] == "list"), "{judged}");
    assert_eq!(judged["verdict"], "review");
    assert_eq!(entries(&service, "second"), json!(["GBP"]));
    assert_eq!(status(&service)["failed"][0]["path"], "lists/first.txt");
}
