//! The wall clock jumps: recorded times follow it as documented, and nothing else is affected.

use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use serde_json::json;
use tollgate_tests::durability::{Pace, Tally};
use tollgate_tests::faults::WallClock;
use tollgate_tests::links::{BLOCK_ALL, Receiver, Reception, metric};
use tollgate_tests::wire::{Wire, request};
use tollgate_tests::{DurabilityChecker, Home, Service, needs, process, proof, sample};

/// Maximum backward jump that acceptance times do not follow.
const FALL_BACK_MAX: TimeDelta = TimeDelta::hours(26);
/// Maximum time between two transactions under load.
const PAUSE_MAX: TimeDelta = TimeDelta::minutes(1);
/// Number of commits between two jumps.
const N_BETWEEN_SAMPLE: u64 = 10;
const N_BETWEEN_FULL: u64 = 200;
/// Log line of a fall of the clock whose hold took long to be stored.
const LATE_HOLD: &str = "the version that holds payments could not be stored";
/// Limit for the head of a request, as configured in the home.
const HEAD: Duration = Duration::from_secs(2);
/// A connection at its limit is closed within this time; the margin is for busy machines.
const CLOSED_WITHIN: Duration = Duration::from_secs(12);

/// The target of a jump.
#[derive(Debug, Clone, Copy)]
enum Jump {
    /// Offset from the system clock.
    Apart(TimeDelta),
    /// The first seconds of 1970.
    Epoch,
    /// The end of a day, followed by a repeated second.
    LeapSecond,
}
use Jump::{Apart, Epoch, LeapSecond};

/// The way a process ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Kill,
    Stop,
}

const fn seconds(n: i64) -> Jump {
    Apart(TimeDelta::seconds(n))
}

/// A rule that matches if the source has an earlier transaction.
const SECOND: &str = r#"rule second {
  when count(when source == $current.source, "PT1H") >= 1
  then block score 0.9 reason "came before"
}"#;

const RIGHT: Jump = Apart(TimeDelta::zero());
const DAY: i64 = 86_400;

/// Jumps and end of each process life; each life begins with the clock of the previous one.
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

/// A home whose history keeps all past transactions regardless of the clock, with a snapshot every second.
fn home() -> Home {
    let mut home = DurabilityChecker::home();
    home.set("SERVICE_HISTORY_MARGIN", "P400D");
    home.set("SERVICE_SNAPSHOT_INTERVAL", "PT1S");
    home.set("SERVICE_HEAD_TIMEOUT", &format!("{}s", HEAD.as_secs()));
    home
}

fn jump(clock: &mut WallClock, service: &Service, jump: Jump) {
    match jump {
        Apart(apart) => clock.set_apart(apart),
        Epoch => jump_to_1970(clock),
        LeapSecond => {
            let midnight = (Utc::now() + Days::new(1)).with_time(NaiveTime::MIN).unwrap();
            let apart = midnight - TimeDelta::milliseconds(100) - Utc::now();
            clock.set_apart(apart);
            service.until("the day is over", || clock.now() >= midnight);
            clock.set_apart(apart - TimeDelta::seconds(1));
        }
    }
}

fn jump_to_1970(clock: &mut WallClock) {
    clock.set_apart(DateTime::UNIX_EPOCH + TimeDelta::seconds(1) - Utc::now());
}

/// Jumps under load, with this many durable transactions between two jumps.
fn load(
    witness: &mut DurabilityChecker,
    service: &Service,
    clock: &mut WallClock,
    jumps: &[Jump],
    end: End,
) -> Tally {
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

/// Checks that the clock showed every stored time, or that it goes on from the last one, and that a missing event time
/// equals the acceptance time. Acceptance times may go back by more than [`FALL_BACK_MAX`] only. Returns the number of times they went back.
#[track_caller]
fn check_honest(witness: &DurabilityChecker, clock: &WallClock, data: &Path) -> usize {
    let stamps = witness.stamps(data);
    let (mut last, mut n_far) = (DateTime::<Utc>::MIN_UTC, 0);
    for stamp in &stamps {
        let goes_on = stamp.accepted >= last && stamp.accepted - last < PAUSE_MAX;
        assert!(goes_on || clock.has_shown(stamp.accepted), "a time of no clock: {stamp:?}");
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
    needs!(Sqlite);
    let home = home();
    let mut clock = WallClock::at(&home);
    let there = clock.on(&home);
    let mut witness = DurabilityChecker::of_seed(proof::seed("a clock that jumps"));
    let (mut tally, mut n_far) = (Tally::default(), 0);
    for (life, (jumps, end)) in LIVES.into_iter().enumerate() {
        let service = Service::start(&there);
        tally = tally.and(witness.read_back(&service, 40));
        tally = tally.and(load(&mut witness, &service, &mut clock, jumps, end));
        let (status, log) = service.wait();
        assert_eq!(status.code(), matches!(end, End::Stop).then_some(0), "life {life}");
        // After a great fall, payments are refused until the version that holds them is stored: beside other tests that may take
        // longer than they wait.
        let is_late = |line: &str| !proof::is_full() && line.contains(LATE_HOLD);
        let is_wrong =
            |line: &&String| line.contains("panicked") || line.contains("\"ERROR\"") && !is_late(line);
        assert_eq!(log.iter().find(is_wrong), None, "life {life}");
        witness.check(&home.data(), &format!("life {life}"));
        n_far = check_honest(&witness, &clock, &home.data());
    }
    assert!(!proof::is_full() || tally.n_unavailable == 0, "{tally:?}");
    // Backward by more than 26 hours: two days, and to 1970.
    assert!(n_far >= 2, "arrivals followed the clock back {n_far} times");
    println!(
        "{} jumps in {} lives: {tally:?}, {} stored, arrivals followed {n_far} times, 0 faults",
        LIVES.iter().map(|(jumps, _)| jumps.len()).sum::<usize>(),
        LIVES.len(),
        witness.n_stored()
    );
}

#[test]
fn the_timeout_of_a_slow_client_ignores_clock_jumps() {
    let home = home();
    let mut clock = WallClock::at(&home);
    let service = Service::start(&clock.on(&home));
    let body = sample::transaction("slow").to_string();
    let headers = [("content-type", "application/json")];
    let whole = request(service.address(), "POST /inject", &headers, body.as_bytes());
    let (begin, rest) = whole.split_at(20);
    for (number, apart) in [DAY, -DAY].into_iter().enumerate() {
        clock.set_apart(TimeDelta::zero());
        let began = Instant::now();
        let [mut slow, mut stuck] = [(); 2].map(|()| Wire::connect(service.address()));
        assert!(slow.send(begin) && stuck.send(begin));
        clock.set_apart(TimeDelta::seconds(apart));
        assert!(slow.send(rest));
        assert_eq!(slow.answer().map(|answer| answer.status), Some(200), "{apart} s, number {number}");
        // The timeout depends on monotonic time only.
        assert_eq!(stuck.answer().map(|answer| answer.status), Some(408), "{apart} s");
        let took = began.elapsed();
        assert!((HEAD..CLOSED_WITHIN).contains(&took), "{apart} s: {took:?}");
        println!("the clock jumped {apart} s: who was stuck was told after {took:?}");
    }
    assert_eq!(service.stop().0.code(), Some(0));
}

/// A service that sends all verdicts to a webhook, with one second between attempts.
fn home_with_receiver(receiver: &Receiver) -> Home {
    let mut home = Home::with_rules(&[("all.ws", BLOCK_ALL)]);
    home.set("ALERT_WEBHOOK_URL", &receiver.url());
    home.set("ALERT_WEBHOOK_RETRIES", &["1s"; 32].join(","));
    home
}

/// Injects, and waits until the webhook has refused the alert and the next attempt is scheduled.
#[track_caller]
fn tell_in_vain(service: &Service, receiver: &Receiver, id: &str) {
    let n_failed = || metric(service, "tollgate_alert_attempts_total{result=\"failed\"}");
    let before = n_failed();
    receiver.set(Reception::Status(500));
    assert_eq!(service.inject(&sample::transaction(id)).status, 200);
    service.until("an attempt failed", || n_failed() > before);
}

#[test]
fn an_alert_waits_no_longer_for_a_clock_that_falls_back() {
    let receiver = Receiver::start(Reception::Status(200));
    let home = home_with_receiver(&receiver);
    let mut clock = WallClock::at(&home);
    let service = Service::start(&clock.on(&home));
    let taken = |id: &str| {
        receiver.set(Reception::Status(200));
        let began = Instant::now();
        assert!(receiver.wait_for_taken(id).is_some(), "{id} is not told");
        println!("{id}: told {:?} after that", began.elapsed());
    };
    tell_in_vain(&service, &receiver, "a day back");
    clock.set_apart(TimeDelta::days(-1));
    taken("a day back");
    assert_eq!(service.inject(&sample::transaction("meanwhile")).status, 200);
    // Acceptance times are now ahead of the clock and do not follow such a small jump back.
    clock.set_apart(TimeDelta::days(-1) - TimeDelta::minutes(4));
    assert_eq!(service.inject(&sample::transaction("four minutes back")).status, 200);
    taken("four minutes back");
    tell_in_vain(&service, &receiver, "two days on");
    clock.set_apart(TimeDelta::days(1));
    taken("two days on");
    tell_in_vain(&service, &receiver, "to 1970");
    assert_eq!(service.stop().0.code(), Some(0));
    jump_to_1970(&mut clock);
    let service = Service::start(&clock.on(&home));
    taken("to 1970");
    service.until("none is on its way", || service.get("/alerts/dead-letters").at("/pending") == 0);
    assert_eq!(service.get("/alerts/dead-letters").at("/count"), 0);
    // An idle service uses no CPU time.
    let (before, began) = (process::processor_ms(service.pid()), Instant::now());
    service.until("a moment is over", || began.elapsed() > Duration::from_secs(1));
    let busy_ms = process::processor_ms(service.pid()) - before;
    assert!(u128::from(busy_ms) < began.elapsed().as_millis() / 2, "busy for {busy_ms} ms of a second");
    assert_eq!(service.stop().0.code(), Some(0));
}

#[test]
fn a_history_discarded_by_a_clock_far_ahead_is_read_again() {
    const N_SOURCES: usize = 50;
    let mut home = Home::with_rules(&[("second.ws", SECOND)]);
    home.set("SERVICE_HISTORY_MARGIN", "P1D");
    let mut clock = WallClock::at(&home);
    let service = Service::start(&clock.on(&home));
    let ask = |id: &str, source: &str| {
        let transaction = sample::with(&sample::transaction(id), &json!({"source": source}));
        service.inject_admitted(&transaction).expect(200)
    };
    for number in 0..N_SOURCES {
        assert_eq!(ask(&format!("first-{number}"), &format!("s-{number}"))["verdict"], "approve");
    }
    let bytes = || metric(&service, "tollgate_history_resident_bytes");
    let before = bytes();
    clock.set_apart(TimeDelta::days(10));
    ask("ahead", "another");
    service.until("the history has let go", || bytes() < before);
    clock.set_apart(TimeDelta::zero());
    let (mut n_failed, mut number) = (0, 0);
    let is_reported = |line: &String| line.contains("had discarded transactions");
    loop {
        let is_filled = service.log().lines().iter().any(is_reported);
        let verdict = ask(&format!("second-{number}"), &format!("s-{number}"));
        // The clock fell by more than 26 hours, so each has that failure as well.
        let failures = verdict["failures"].as_array().unwrap();
        let has_failed = failures.iter().any(|failed| failed["failure"] == "lookup");
        // A transaction that cannot be compared with the past is not approved.
        assert!(verdict["verdict"] == "block" || has_failed && verdict["verdict"] == "review", "{verdict}");
        (n_failed, number) = (n_failed + usize::from(has_failed), number + 1);
        if is_filled {
            break;
        }
        assert!(number < N_SOURCES, "what is gone is not read again");
        let began = Instant::now();
        service.until("a moment is over", || began.elapsed() > Duration::from_millis(400));
    }
    service.until("the past is whole", || {
        number += 1;
        ask(&format!("second-{number}"), &format!("s-{}", number % N_SOURCES))["verdict"] == "block"
    });
    println!("{n_failed} of {number} asked in vain until the past was read again");
    assert!(n_failed > 0, "nothing was gone");
}
