//! Clients of five shapes that hold a connection and send little: each is closed at its limit, and other clients are
//! not affected.

use std::thread;
use std::time::{Duration, Instant};

use tollgate_tests::crowd::{Crowd, End, Shape};
use tollgate_tests::{Home, Service, process, proof, sample, wire};

use super::{check_alive, get, number};

/// Number of connections of each shape.
const N_SAMPLE: usize = 10;
const N_FULL: usize = 2_000;
/// Number of responses requested by a client that never reads: more than the socket buffers hold.
const N_UNREAD: usize = 16;
const AT_ONCE: Duration = Duration::ZERO;
/// Period over which thousands connect, and the duration of the other load.
const COMING: Duration = Duration::from_secs(5);
const LOAD: Duration = Duration::from_secs(15);
/// Maximum delay beyond a limit, and maximum slowdown of other clients.
const SLACK: Duration = Duration::from_secs(1);
const WAIT_MAX: f64 = 1.5;

/// The limits in milliseconds: head, body, write, idle.
struct Times([u64; 4]);

/// The default limits of the service, and short ones.
const DEFAULTS: Times = Times([5_000, 10_000, 10_000, 60_000]);
const SHORT: Times = Times([1_000, 1_500, 1_500, 2_000]);

impl Times {
    fn set(&self, home: &mut Home) {
        let names =
            ["SERVICE_HEAD_TIMEOUT", "SERVICE_BODY_TIMEOUT", "SERVICE_WRITE_TIMEOUT", "SERVICE_IDLE_TIMEOUT"];
        for (name, time) in names.into_iter().zip(self.0) {
            home.set(name, &format!("{time}ms"));
        }
    }

    /// Returns the time at which a connection of this shape must end.
    fn limit_of(&self, shape: &str) -> Duration {
        let [head, body, write, idle] = self.0;
        Duration::from_millis(match shape {
            "silent" | "slow head" => head,
            "slow body" => body,
            "reads nothing" => write,
            "idle" => idle,
            other => panic!("{other} is no shape"),
        })
    }
}

fn shapes(service: &Service, pause: Duration) -> [Shape; 5] {
    let address = service.address();
    let quiet = (Vec::new(), pause);
    let body = [super::JSON, ("Content-Length", "60000")];
    let shape = |name, greeting, trickle, reads| Shape { name, greeting, trickle, reads };
    [
        shape("silent", Vec::new(), quiet.clone(), false),
        shape("slow head", b"GET / HTTP/1.1\r\nX-Slow: ".to_vec(), (b"y".to_vec(), pause), false),
        shape("slow body", wire::request(address, "POST /inject", &body, &[]), (b" ".to_vec(), pause), false),
        shape("reads nothing", get(service, "/openapi.json").repeat(N_UNREAD), quiet.clone(), false),
        shape("idle", get(service, "/healthz"), quiet, true),
    ]
}

/// Checks that each connection ended at its limit and not before. Returns the latest end of each shape.
#[track_caller]
fn check_ends(times: &Times, ends: &[End], slack: Duration) -> Vec<(&'static str, Duration)> {
    let mut latest: Vec<(&'static str, Duration)> = Vec::new();
    for end in ends {
        let limit = times.limit_of(end.name);
        assert!(end.lasted >= limit, "a connection ({}) ended after {:?}", end.name, end.lasted);
        let late = end.lasted - limit;
        assert!(late <= slack, "a connection ({}) ended {late:?} after its limit", end.name);
        match latest.iter_mut().find(|(name, _)| *name == end.name) {
            Some((_, most)) => *most = late.max(*most),
            None => latest.push((end.name, late)),
        }
        // A client that never reads has at most part of a response.
        if end.name != "reads nothing" {
            let reported = end.last_words.as_ref().map(|answer| (answer.status, answer.code()));
            let is_reported = end.name.starts_with("slow").then(|| (408, "request_timeout".to_owned()));
            assert_eq!(reported, is_reported, "{}", end.name);
        }
    }
    latest
}

#[test]
fn a_client_that_keeps_the_service_waiting_is_let_go_at_its_limit() {
    let mut home = Home::new();
    SHORT.set(&mut home);
    let service = Service::start(&home);
    let crowd =
        Crowd::new(service.address(), &shapes(&service, Duration::from_millis(100)), N_SAMPLE, AT_ONCE);
    let (ends, n_open) = crowd.watch(Duration::from_secs(20));
    assert_eq!((n_open, ends.len()), (0, 5 * N_SAMPLE));
    check_ends(&SHORT, &ends, Duration::from_secs(10));
    let cut = |limit: &str| number(&service, &format!("tollgate_connections_cut_total{{limit=\"{limit}\"}}"));
    let n = N_SAMPLE as u64;
    assert_eq!([cut("head"), cut("write")], [2 * n, n]);
    // Connections of the harness's own client may be idle too.
    assert!(cut("idle") >= n);
    assert_eq!(number(&service, "tollgate_refusals_total{code=\"request_timeout\"}"), 2 * n);
    check_alive(&service, "after");
}

#[test]
fn a_connection_that_is_old_is_closed_behind_an_answer() {
    let mut home = Home::new();
    home.set("SERVICE_CONNECTION_AGE", "1s");
    let service = Service::start(&home);
    let start = Instant::now();
    let mut wire = wire::Wire::connect(service.address());
    let request = get(&service, "/healthz");
    let mut n_answers = 0;
    // The last response may announce the close. Between two requests there is no response to carry it.
    while wire.send(&request) {
        let Some(answer) = wire.answer() else { break };
        assert_eq!(answer.status, 200);
        n_answers += 1;
        if answer.header("connection") == Some("close") {
            break;
        }
    }
    assert!(n_answers > 1 && start.elapsed() >= Duration::from_secs(1), "{n_answers} answers");
    service.until("an old connection was closed", || {
        number(&service, "tollgate_connections_cut_total{limit=\"age\"}") >= 1
    });
    // An HTTP/1.0 client with keep-alive gets the same header, and only that.
    let lasting =
        String::from_utf8_lossy(&request).replacen("1.1\r\n", "1.0\r\nConnection: keep-alive\r\n", 1);
    let mut wire = wire::Wire::connect(service.address());
    let mut said = Vec::new();
    while said != ["close"] && wire.send(lasting.as_bytes()) {
        let Some(answer) = wire.answer() else { break };
        let headers = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
        said = headers.map(|(_, value)| value.clone()).collect();
    }
    assert_eq!(said, ["close"]);
    // A silent connection is closed at its maximum age too, before the idle limit.
    let mut idle = wire::Wire::connect(service.address());
    assert!(idle.send(&request) && idle.answer().is_some() && idle.poll_closed());
    assert!(start.elapsed() < Duration::from_secs(50));
}

/// Full mode: thousands of each shape at once, with the default limits, under normal load.
#[test]
fn clients_in_a_hurry_do_not_notice_thousands_that_are_not() {
    if !proof::is_full() {
        return;
    }
    let _alone = super::alone();
    process::allow_files(16_000);
    let mut home = Home::new();
    home.set("SERVICE_CONNECTIONS_MAX", "12000");
    let service = Service::start(&home);
    let alone = load(&service, "alone", LOAD);
    let crowd = Crowd::new(service.address(), &shapes(&service, Duration::from_secs(1)), N_FULL, COMING);
    let (beside, ends, n_open) = thread::scope(|scope| {
        let watching = scope.spawn(|| crowd.watch(Duration::from_secs(90)));
        let beside = load(&service, "beside", LOAD);
        let (ends, n_open) = watching.join().unwrap();
        (beside, ends, n_open)
    });
    assert_eq!((n_open, ends.len()), (0, 5 * N_FULL));
    let mut late = check_ends(&DEFAULTS, &ends, SLACK);
    late.sort_unstable();
    for (name, late) in late {
        println!("{N_FULL} × {name}: ended by the service, at most {late:?} after the limit");
    }
    for (what, (n, p50, p99)) in [("alone", alone), ("beside the crowd", beside)] {
        println!("normal requests {what}: {n} in {LOAD:?}, p50 {p50:?}, p99 {p99:?}");
    }
    let ratio = beside.2.as_secs_f64() / alone.2.as_secs_f64();
    println!("p99 beside the crowd is {ratio:.2} of that alone");
    assert!(ratio <= WAIT_MAX, "others wait {ratio:.2} times as long");
    check_alive(&service, "after");
}

/// Four clients send a transaction every 10 ms, regardless of earlier responses. Returns the number of responses, and
/// the median and 99th percentile of the latency.
fn load(service: &Service, name: &str, time: Duration) -> (usize, Duration, Duration) {
    const PERIOD: Duration = Duration::from_millis(10);
    let start = Instant::now();
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                scope.spawn(move || {
                    let sender = service.client();
                    let mut times = Vec::new();
                    for n in 0_u32.. {
                        let due = start + PERIOD * n;
                        if due >= start + time {
                            break;
                        }
                        thread::sleep(due.saturating_duration_since(Instant::now()));
                        let answer = sender.inject(&sample::transaction(&format!("{name}-{client}-{n}")));
                        assert_eq!(answer.status, 200);
                        // Measured from the due time, because a waiting client sends the next one late.
                        times.push(due.elapsed());
                    }
                    times
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    times.sort_unstable();
    (times.len(), times[times.len() / 2], times[times.len() * 99 / 100])
}
