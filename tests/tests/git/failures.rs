//! Remotes that do not respond as a Git repository: each failure has its own sentence.

use super::*;
use tollgate_tests::needs;

const ADVERTISEMENT: &str = "Content-Type: application/x-git-upload-pack-advertisement\r\n";

#[test]
fn each_failure_of_a_remote_has_its_own_sentence() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let service = Service::start(&open_home());
    let packet =
        |data: &str| format!("200 OK\r\n{ADVERTISEMENT}Content-Length: {}\r\n\r\n{data}", data.len());
    let said = |words: String| Mood::Saying(words.leak());
    let cases = [
        (
            said("404 Not Found\r\nContent-Length: 0\r\n\r\n".into()),
            "no repository at this path (HTTP status 404)",
        ),
        (
            said("410 Gone\r\nContent-Length: 0\r\n\r\n".into()),
            "no repository at this path (HTTP status 410)",
        ),
        (said("403 Forbidden\r\nContent-Length: 0\r\n\r\n".into()), "forbids access"),
        (said("500 Oops\r\nContent-Length: 0\r\n\r\n".into()), "HTTP status 500"),
        (said("503 Busy\r\nContent-Length: 0\r\n\r\n".into()), "HTTP status 503"),
        (
            said("200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>".into()),
            "other than Git data",
        ),
        (Mood::Babbling, "other than Git data"),
        (Mood::Down, "closed the connection"),
        (said(packet("0014ERR go away now\n")), "reported an error of its own"),
        (said(packet("zzzzthis is no packet line")), "invalid Git data"),
    ];
    let check = |url: &str, expected: &str| {
        let answer = service.post("/git/clone", &json!({ "url": url }));
        assert_eq!(answer.code(), "git_remote_failed", "{expected}: {}", answer.text());
        assert!(answer.text().contains(expected), "{expected}: {}", answer.text());
    };
    for (mood, expected) in cases {
        server.set_mood(mood);
        check(&server.url(), expected);
    }
    check("/nowhere/at/all.git", "no Git repository at this path of this machine");
}
