//! The clock on the wall jumps: times follow it as they are documented to, and nothing else does.

use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use tollgate_tests::faults::WallClock;
use tollgate_tests::links::metric;
use tollgate_tests::wire::{Wire, request};
use tollgate_tests::witness::{Pace, Tally};
use tollgate_tests::{Home, Service, Witness, process, proof, sample};

/// How far the clock may fall back before arrivals follow it.
const FALL_BACK_MAX: TimeDelta = TimeDelta::minutes(5);
/// Committed between two jumps.
const N_BETWEEN_SAMPLE: u64 = 10;
const N_BETWEEN_FULL: u64 = 200;
/// How long a client may take over the head of a request, as the home says.
const HEAD: Duration = Duration::from_secs(2);
/// A connection at its limit is closed within this; the rest is for a machine that is busy.
const CLOSED_WITHIN: Duration = Duration::from_secs(12);

/// Where to.
#[derive(Debug, Clone, Copy)]
enum Jump {
    /// So far from the system's clock.
    Apart(TimeDelta),
    /// The first seconds of 1970.
    Epoch,
    /// To the end of a day, and over it with a second that comes twice.
    LeapSecond,
}
use Jump::{Apart, Epoch, LeapSecond};

/// How a life ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Kill,
    Stop,
}

const fn seconds(n: i64) -> Jump {
    Apart(TimeDelta::seconds(n))
}

const RIGHT: Jump = Apart(TimeDelta::zero());
const DAY: i64 = 86_400;

/// What happens in one life after the other; the next begins with the clock where the last one left it.
const LIVES: [(&[Jump], End); 5] = [
    (
        &[seconds(1), RIGHT, seconds(-1), RIGHT, seconds(3_600), RIGHT, seconds(-3_600), RIGHT, seconds(DAY)],
        End::Kill,
    ),
    (&[RIGHT, seconds(-DAY), seconds(-240), seconds(-DAY)], End::Stop),
    (&[LeapSecond, RIGHT, Epoch], End::Kill),
    (&[Epoch, RIGHT, seconds(-3_600)], End::Stop),
    (&[], End::Stop),
];

/// A home in which nothing of the past leaves the history, however far the clock goes; written down every second.
fn home() -> Home {
    let mut home = Witness::home();
    home.set("SERVICE_HISTORY_MARGIN", "P400D");
    home.set("SERVICE_SNAPSHOT_INTERVAL", "PT1S");
    home.set("SERVICE_HEAD_TIMEOUT", &format!("{}s", HEAD.as_secs()));
    home
}

fn jump(clock: &mut WallClock, service: &Service, jump: Jump) {
    match jump {
        Apart(apart) => clock.set_apart(apart),
        Epoch => clock.set_apart(DateTime::UNIX_EPOCH + TimeDelta::seconds(1) - Utc::now()),
        LeapSecond => {
            let midnight = (Utc::now() + Days::new(1)).with_time(NaiveTime::MIN).unwrap();
            let apart = midnight - TimeDelta::milliseconds(100) - Utc::now();
            clock.set_apart(apart);
            service.until("the day is over", || clock.now() >= midnight);
            clock.set_apart(apart - TimeDelta::seconds(1));
        }
    }
}

/// Jumps under load, from one to the next when so many more transactions are durable.
fn load(witness: &mut Witness, service: &Service, clock: &mut WallClock, jumps: &[Jump], end: End) -> Tally {
    let n_between = proof::rounds(N_BETWEEN_SAMPLE as usize, N_BETWEEN_FULL as usize) as u64;
    let pace = Pace { n_clients: 4, n_answers: 4 * n_between as usize, n_requests_max: 1_000_000 };
    let n_durable = || metric(service, "tollgate_history_transactions");
    witness.load(service, pace, || {
        for &there in jumps {
            jump(clock, service, there);
            let before = n_durable();
            service.until("more is durable", || n_durable() >= before + n_between);
            assert_eq!(service.get("/readyz").status, 200, "{there:?}");
        }
        match end {
            End::Kill => process::kill(service.pid()),
            End::Stop => service.terminate(),
        }
    })
}

/// Every time that is stored was shown by the clock, in the order of acceptance, and given to whoever brought none.
#[track_caller]
fn check_honest(witness: &Witness, clock: &WallClock, data: &Path) -> usize {
    let stamps = witness.stamps(data);
    let (mut last, mut n_far) = (DateTime::<Utc>::MIN_UTC, 0);
    for stamp in &stamps {
        let is_held = stamp.accepted == last;
        assert!(is_held || clock.has_shown(stamp.accepted), "a time of no clock: {stamp:?}");
        assert!(clock.has_shown(stamp.evaluated), "a time of no clock: {stamp:?}");
        if stamp.accepted < last {
            assert!(last - stamp.accepted > FALL_BACK_MAX, "{stamp:?} goes back to before {last}");
            n_far += 1;
        }
        assert!(stamp.is_given || stamp.event == stamp.accepted, "not the time of its arrival: {stamp:?}");
        last = stamp.accepted;
    }
    n_far
}

#[test]
fn a_clock_that_jumps_changes_times_and_nothing_else() {
    let home = home();
    let mut clock = WallClock::at(&home);
    let there = clock.on(&home);
    let mut witness = Witness::of_seed(proof::seed("a clock that jumps"));
    let (mut tally, mut n_far) = (Tally::default(), 0);
    for (life, (jumps, end)) in LIVES.into_iter().enumerate() {
        let service = Service::start(&there);
        tally = tally.and(witness.read_back(&service, 40));
        tally = tally.and(load(&mut witness, &service, &mut clock, jumps, end));
        let (status, log) = service.wait();
        assert_eq!(status.code(), matches!(end, End::Stop).then_some(0), "life {life}");
        let is_wrong = |line: &&String| line.contains("panicked") || line.contains("\"ERROR\"");
        assert_eq!(log.iter().find(is_wrong), None, "life {life}");
        witness.check(&home.data(), &format!("life {life}"));
        n_far = check_honest(&witness, &clock, &home.data());
    }
    assert_eq!(tally.n_unavailable, 0, "{tally:?}");
    // Back over five minutes: a day, an hour, days, 1970, an hour again.
    assert!(n_far >= 5, "arrivals followed the clock back {n_far} times");
    println!(
        "{} jumps in {} lives: {tally:?}, {} stored, arrivals followed {n_far} times, 0 faults",
        LIVES.iter().map(|(jumps, _)| jumps.len()).sum::<usize>(),
        LIVES.len(),
        witness.n_stored()
    );
}

#[test]
fn who_is_slow_is_waited_for_by_no_clock_that_jumps() {
    let home = home();
    let mut clock = WallClock::at(&home);
    let service = Service::start(&clock.on(&home));
    let body = sample::transaction("slow").to_string();
    let headers = [("content-type", "application/json")];
    let whole = request(service.address(), "POST /inject", &headers, body.as_bytes());
    let (begin, rest) = whole.split_at(20);
    for (number, apart) in [DAY, -DAY].into_iter().enumerate() {
        clock.set_apart(TimeDelta::zero());
        let [mut slow, mut stuck] = [(); 2].map(|()| Wire::connect(service.address()));
        let began = Instant::now();
        assert!(slow.send(begin) && stuck.send(begin));
        clock.set_apart(TimeDelta::seconds(apart));
        assert!(slow.send(rest));
        assert_eq!(slow.answer().map(|answer| answer.status), Some(200), "{apart} s, number {number}");
        // The same time by any clock that counts.
        assert_eq!(stuck.answer().map(|answer| answer.status), Some(408), "{apart} s");
        let took = began.elapsed();
        assert!((HEAD..CLOSED_WITHIN).contains(&took), "{apart} s: {took:?}");
        println!("the clock jumped {apart} s: who was stuck was told after {took:?}");
    }
    assert_eq!(service.stop().0.code(), Some(0));
}
