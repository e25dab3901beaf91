//! Answers of megabytes: whole, in pages, compressed, and read by nobody.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use tollgate_tests::{Home, Service, process, proof, sample, wire};

use super::{check_alive, get};

/// Readers at the same time.
const READERS: u64 = 58;
/// What the service may hold for one of them, in KiB.
const READER_KIB_MAX: u64 = 256;
/// What it may hold besides, in KiB: memory that was in use before and is not given back yet.
const OTHER_KIB_MAX: u64 = 24 * 1024;

/// Starts a service with a long list, long rules, and dead letters; each answer about them has megabytes.
fn service() -> Service {
    let mut home = Home::new();
    home.set("LEDGER_KIND", "blnk");
    for number in 0..100 {
        let condition = format!("meta_data.note == \"{}\"", format!("{number} ").repeat(4_000));
        let path = format!("r{number}.ws");
        home.write_rule(&path, sample::rule(&format!("r{number}"), &condition));
        home.age_rule(&path);
    }
    let service = Service::start(&home);
    // 200,000 entries are 2.8 MB for each reader. A debug build on a slow machine needs longer for a million than the client waits.
    let n_entries = proof::rounds(200_000, 1_000_000);
    let entries = (0..n_entries).map(|number| format!("acct-{number:08}")).collect::<Vec<_>>().join("\n");
    assert_eq!(service.put("/lists/long", "text/plain", entries.as_bytes()).status, 201);
    for number in 0..60 {
        let note = "x".repeat(200_000);
        let data = json!({
            "transaction_id": format!("txn_{number}"), "reference": format!("order-{number}"), "currency": "EUR",
            "amount": 1, "precise_amount": 100, "precision": -100, "source": "bln_1", "destination": "bln_2",
            "status": "APPLIED", "created_at": "2026-11-25T10:00:00Z", "meta_data": {"note": note},
        });
        let reported = service.post("/blnkwebhook", &json!({"event": "transaction.applied", "data": data}));
        assert_eq!(reported.status, 200, "{}", reported.text());
    }
    assert_eq!(service.get("/ledger/dead-letters").at("/count"), 60);
    service
}

const LONG: [&str; 4] = ["/lists/long", "/instructions", "/instructions/summaries", "/ledger/dead-letters"];

#[test]
fn readers_that_do_not_read_hold_little_memory() {
    let service = service();
    let text = |path: &str| {
        wire::request(service.address(), &format!("GET {path}"), &[("Accept", "text/plain")], b"")
    };
    let mut requests: Vec<(String, Vec<u8>)> =
        LONG.iter().map(|path| ((*path).to_owned(), get(&service, path))).collect();
    requests.push(("the text of the list".to_owned(), text("/lists/long")));
    for (what, request) in requests {
        let before = process::resident_kib(service.pid()).0;
        process::reset_peak(service.pid());
        let readers = (0..READERS).map(|_| {
            let mut reader = TcpStream::connect(service.address()).unwrap();
            reader.write_all(&request).unwrap();
            let mut begin = [0; 12];
            reader.read_exact(&mut begin).unwrap();
            assert_eq!(&begin, b"HTTP/1.1 200");
            reader
        });
        let readers: Vec<TcpStream> = readers.collect();
        check_alive(&service, &what);
        let grown = process::resident_kib(service.pid()).1.saturating_sub(before);
        println!("{what}: {READERS} readers take {grown} KiB");
        assert!(grown <= READERS * READER_KIB_MAX + OTHER_KIB_MAX, "{what}: {grown} KiB");
        drop(readers);
    }
}

/// Returns the elements of an answer, which is an array or has them under this name.
fn elements(answer: &Value, name: &str) -> Vec<Value> {
    if name.is_empty() {
        answer.as_array().unwrap().clone()
    } else {
        answer[name].as_array().unwrap().clone()
    }
}

/// Checks that the pages of this size are together the whole, and that the whole is the same when it is compressed.
#[track_caller]
fn check_pages(service: &Service, path: &str, name: &str, limit: usize) {
    let whole = service.get(path);
    assert!(whole.header("link").is_none());
    let expected = elements(&whole.json(), name);
    let mut next = Some(format!("{path}?limit={limit}"));
    let mut read = Vec::new();
    while let Some(path) = next {
        let page = service.get(&path);
        let of_page = elements(&page.expect(200), name);
        assert!(of_page.len() == limit || page.header("link").is_none(), "{path}");
        read.extend(of_page);
        next = page.header("link").map(|link| {
            link.strip_prefix('<').and_then(|link| link.strip_suffix(">; rel=\"next\"")).unwrap().to_owned()
        });
    }
    assert!(read == expected, "{path}: {} of {} elements", read.len(), expected.len());
    let compressed = service.send("GET", path, &[("Accept-Encoding", "gzip")], b"").unwrap();
    assert_eq!(compressed.header("content-encoding"), Some("gzip"), "{path}");
    let mut text = Vec::new();
    GzDecoder::new(&*compressed.body).read_to_end(&mut text).unwrap();
    assert!(text == whole.body, "{path}: {} bytes, compressed {}", text.len(), compressed.body.len());
    assert!(compressed.body.len() < text.len() / 2);
}

#[test]
fn a_long_answer_can_be_read_in_pages_and_compressed() {
    let service = service();
    check_pages(&service, "/instructions", "", 7);
    check_pages(&service, "/instructions", "", 300);
    check_pages(&service, "/ledger/dead-letters", "dead_letters", 13);
    check_pages(&service, "/lists/long", "entries", 10_000);
    for (path, code) in [
        ("/instructions?limit=0", 400),
        ("/instructions?cursor=x", 400),
        ("/lists/long?cursor=5", 400),
        ("/ledger/dead-letters?limit=10001", 400),
        ("/instructions?cursor=999999", 200),
        ("/instructions?other=1", 200),
    ] {
        assert_eq!(service.get(path).status, code, "{path}");
    }
}

#[test]
fn a_cursor_is_of_one_version_of_a_list() {
    let service = Service::start(&Home::new());
    assert_eq!(service.put("/lists/l", "text/plain", b"a\nb\nc\n").status, 201);
    let page = service.get("/lists/l?limit=2");
    assert_eq!(page.at("/entries"), json!(["a", "b"]));
    let link = page.header("link").unwrap();
    let next = link.trim_start_matches('<').split('>').next().unwrap().to_owned();
    assert_eq!(service.get(&next).at("/entries"), json!(["c"]));
    assert_eq!(service.put("/lists/l", "text/plain", b"a\nb\nd\n").status, 200);
    let refused = service.get(&next);
    assert_eq!((refused.status, refused.code().as_str()), (412, "precondition_failed"));
}
