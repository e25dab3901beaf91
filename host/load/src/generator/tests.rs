//! Tests of the load generator against a fake server.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

use super::*;
use crate::corpus::TransactionKind;

/// The duration of the one stall in the middle of the load.
const STALL: Duration = Duration::from_millis(400);
const LASTED: Duration = Duration::from_millis(1_200);
/// Upper bound for a load of some requests.
const COUNTED_WITHIN: Duration = Duration::from_secs(60);
const PER_SECOND: f64 = 200.0;
/// One in 24 counts as few: two requests are in flight at the stall, and a busy machine delays some more.
const FEW: usize = 24;

/// The request at which the server stalls: due after a third of the load.
const STALLS_AT: usize = 80;

/// A server that answers every request at once, except for one stall that delays all.
struct FakeServer {
    target: HttpTarget,
}

impl FakeServer {
    fn start(answer: &'static str) -> Self {
        Self::stalling_at(usize::MAX, answer)
    }

    fn stalling_at(stalls_at: usize, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let n_served = Arc::new(Mutex::new(0));
        // The threads end with the test process; they hold only sockets.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let n_served = Arc::clone(&n_served);
                thread::spawn(move || serve(stream, &n_served, stalls_at, answer));
            }
        });
        Self { target: HttpTarget { address, host: address.to_string(), pid: None } }
    }

    fn load(&self, pace: ArrivalProcess, n_connections: usize) -> LoadResult {
        self.load_by(pace, n_connections, RefusalPolicy::GoesOn)
    }

    fn load_by(&self, pace: ArrivalProcess, n_connections: usize, refused: RefusalPolicy) -> LoadResult {
        let requests = Requests::to(&self.target.host, TransactionKind::Usual);
        // A number of requests ends the load by itself.
        let is_counted = matches!(pace, ArrivalProcess::ClosedOf { .. });
        let duration = if is_counted { COUNTED_WITHIN } else { LASTED };
        let load = LoadSpec { pace, n_connections, duration, refused };
        run(&self.target, &requests, load, &AtomicBool::new(false)).unwrap()
    }
}

fn serve(mut stream: TcpStream, n_served: &Mutex<usize>, stalls_at: usize, answer: &str) {
    let mut bytes = [0; 4_096];
    // A request of the corpus arrives in one piece.
    while stream.read(&mut bytes).is_ok_and(|n_bytes| n_bytes > 0) {
        let mut n_served = n_served.lock();
        *n_served += 1;
        if *n_served == stalls_at {
            thread::sleep(STALL);
        }
        drop(n_served);
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"triggered\":[]}";
const REFUSED: &str = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
const CURT: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

fn open(overdue: OverduePolicy) -> ArrivalProcess {
    ArrivalProcess::Open { per_second: PER_SECOND, overdue }
}

/// Checks that every due request is counted exactly once.
#[track_caller]
fn check_sums(outcome: &LoadResult) {
    let n_counted = outcome.answered.len() + outcome.n_unsent + outcome.n_unanswered + outcome.n_broken;
    assert_eq!(n_counted, outcome.n_due, "{:?}", outcome.by_status());
    for answered in &outcome.answered {
        assert!(answered.latency_us >= answered.service_us, "{answered:?}");
    }
}

#[test]
fn a_stall_shows_in_the_latencies_though_few_requests_were_under_way() {
    let outcome = FakeServer::stalling_at(STALLS_AT, OK).load(open(OverduePolicy::Waits), 2);
    check_sums(&outcome);
    let n_expected = PER_SECOND * LASTED.as_secs_f64();
    assert!((outcome.n_due as f64 - n_expected).abs() <= 1.0, "{} due", outcome.n_due);
    let (latencies, service) = (outcome.latencies(), outcome.service_times());
    let half_a_stall = micros(STALL / 2);
    // A sixth of all requests is due in the first half of the stall; only two are in flight.
    assert!(latencies.permille(900).unwrap() >= half_a_stall, "{:?}", latencies.json());
    assert!(latencies.n_over(half_a_stall) >= outcome.n_due / 10, "{:?}", latencies.json());
    assert!(service.n_over(half_a_stall) <= outcome.n_due / FEW, "{:?}", service.json());
}

#[test]
fn an_omitted_request_is_counted_and_delays_no_other() {
    let outcome = FakeServer::stalling_at(STALLS_AT, OK).load(open(OverduePolicy::Left), 2);
    check_sums(&outcome);
    assert!(outcome.n_unsent >= outcome.n_due / 10, "{} of {}", outcome.n_unsent, outcome.n_due);
    assert!(
        outcome.latencies().n_over(micros(STALL / 2)) <= outcome.n_due / FEW,
        "{:?}",
        outcome.latencies().json()
    );
    assert!(outcome.in_vain_us.is_empty());
}

#[test]
fn a_closed_loop_asks_again_when_it_is_answered() {
    let outcome = FakeServer::start(OK).load(ArrivalProcess::Closed, 4);
    check_sums(&outcome);
    assert!(outcome.n_ok() > 100 && outcome.n_matched == 0, "{} answers", outcome.n_ok());
    assert_eq!((outcome.n_unsent, outcome.n_connections), (0, 4));
}

#[test]
fn a_closed_loop_of_some_requests_ends_with_the_last_answer() {
    for (n_requests, n_connections) in [(0, 4), (3, 4), (500, 4), (100, 1)] {
        let outcome = FakeServer::start(OK).load(ArrivalProcess::ClosedOf { n_requests }, n_connections);
        check_sums(&outcome);
        assert_eq!((outcome.n_due, outcome.n_ok()), (n_requests, n_requests));
        assert!(outcome.lasted < COUNTED_WITHIN, "{:?}", outcome.lasted);
    }
}

#[test]
fn refusals_are_no_verdicts_and_must_say_when_to_come_back() {
    for (answer, is_curt) in [(REFUSED, false), (CURT, true)] {
        let outcome = FakeServer::start(answer).load(open(OverduePolicy::Waits), 2);
        check_sums(&outcome);
        assert_eq!((outcome.n_ok(), outcome.latencies().count()), (0, outcome.in_vain_us.len()));
        assert_eq!(outcome.refusals().count(), outcome.answered.len());
        assert_eq!(outcome.n_without_retry_after, if is_curt { outcome.answered.len() } else { 0 });
    }
}

#[test]
fn a_client_that_obeys_retry_after_sends_nothing_earlier() {
    let hangs_up = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    for refused in [REFUSED, hangs_up] {
        let outcome =
            FakeServer::start(refused).load_by(open(OverduePolicy::Left), 8, RefusalPolicy::ComesBack);
        check_sums(&outcome);
        let early = outcome.answered.iter().filter(|answered| answered.due_us < 900_000).count();
        assert_eq!(early, 8, "each connection once before the second that they were told is over");
        assert!(outcome.n_unsent > 100, "{} unsent", outcome.n_unsent);
    }
    let outcome = FakeServer::start(OK).load_by(open(OverduePolicy::Left), 8, RefusalPolicy::ComesBack);
    assert!(outcome.n_ok() > 100, "{} answers: who is not refused goes on", outcome.n_ok());
}

#[test]
fn a_connection_closed_after_an_answer_is_opened_again() {
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let outcome = FakeServer::start(closing).load(open(OverduePolicy::Waits), 2);
    check_sums(&outcome);
    assert_eq!((outcome.n_broken, outcome.n_ok()), (0, outcome.answered.len()));
    assert!(outcome.n_ok() > outcome.n_connections, "{} answers", outcome.n_ok());
}
