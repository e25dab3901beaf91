//! Another process locks the database: writers get a retry response, readers are not affected.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use tollgate_tests::durability::Pace;
use tollgate_tests::programs::sqlite;
use tollgate_tests::{DurabilityChecker, Home, Service, needs, proof};

/// Callers give up after 5 seconds; the margin is for busy machines.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// An operator's tool in the middle of a change.
struct Operator {
    sqlite: Child,
}

impl Operator {
    fn hold(home: &Home) -> Self {
        let mut sqlite = sqlite(&home.data().join("tollgate.db"));
        let mut sqlite = sqlite.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let questions = ".timeout 10000\nBEGIN EXCLUSIVE;\n.print held\n";
        sqlite.stdin.as_mut().unwrap().write_all(questions.as_bytes()).unwrap();
        let mut said = String::new();
        BufReader::new(sqlite.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        Self { sqlite }
    }

    fn let_go(mut self) {
        self.sqlite.stdin.as_mut().unwrap().write_all(b"ROLLBACK;\n.quit\n").unwrap();
        assert!(self.sqlite.wait().unwrap().success());
    }
}

#[test]
fn a_database_that_another_process_holds_is_waited_for_no_longer_than_callers_wait() {
    needs!(Sqlite);
    let home = DurabilityChecker::home();
    let mut witness = DurabilityChecker::of_seed(proof::seed("a locked database"));
    let service = Service::start(&home);
    let pace = |n| Pace { n_clients: 4, n_answers: n, n_requests_max: n };
    let before = witness.load(&service, pace(60), || {});
    assert_eq!((before.n_unavailable, before.n_open), (0, 0), "{before:?}");
    let operator = Operator::hold(&home);
    let began = Instant::now();
    let mut during = witness.load(&service, pace(4), || {});
    let waited = began.elapsed();
    // Some loads send only known transactions. The checker accepts a gap only after one of its own requests was
    // refused.
    while during.n_unavailable == 0 {
        during = witness.load(&service, pace(4), || {});
    }
    assert!(waited < ANSWERED_WITHIN, "{waited:?}");
    assert_eq!(during.n_open, 0, "{during:?}");
    let refused = service.inject(&tollgate_tests::sample::transaction("while-locked"));
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
    assert_eq!(service.transaction("while-locked").status, 404);
    // Not every transaction that was sent is stored: some were sent as events, which may be refused or ignored.
    let is_stored = |n: u32| service.transaction(&format!("t-{n}")).status == 200;
    assert!((0..10).any(is_stored), "no transaction can be read");
    operator.let_go();
    let after = witness.load(&service, pace(60), || {});
    assert_eq!((after.n_unavailable, after.n_open), (0, 0), "{after:?}");
    assert_eq!(service.stop().0.code(), Some(0));
    witness.check(&home.data(), "another process held the database");
    println!("held: {during:?} within {waited:?}; then {after:?}");
}
