//! Evaluation continues while compile bombs are uploaded.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_tests::{Client, Home, Service, SetOnDrop, proof, sample};

use super::bombs::{self, Bomb};
use super::{BOMBING, compiler, ended_within};

/// Interval between two transactions.
const PACE: Duration = Duration::from_millis(10);

#[test]
fn injects_go_on_beside_compile_bombs() {
    let _alone = BOMBING.lock().unwrap_or_else(PoisonError::into_inner);
    let sizes: &[usize] = if proof::is_full() { &[50_000, 1 << 20] } else { &[50_000] };
    let service = Service::start(&Home::with_rules(&[("large.ws", sample::rule("large", "amount > 1000"))]));
    let (is_over, n_alone) = (AtomicBool::new(false), proof::rounds(200, 2_000));
    let alone = injects(&service.client(), "alone", n_alone, &is_over);
    let beside = thread::scope(|scope| {
        let injecting = scope.spawn(|| injects(&service.client(), "beside", usize::MAX, &is_over));
        let ending = SetOnDrop(&is_over);
        for bomb in bombs::ALL.iter().filter(|bomb| bomb.in_every_run || proof::is_full()) {
            sizes.iter().for_each(|n_bytes| throw(&service, bomb, *n_bytes));
        }
        drop(ending);
        injecting.join().unwrap()
    });
    for (when, durations) in [("alone", alone), ("beside bombs", beside)] {
        let at = |per_cent: usize| durations[(durations.len() - 1) * per_cent / 100];
        println!("{when}: p50 {:?}, p99 {:?} of {} transactions", at(50), at(99), durations.len());
    }
    assert_eq!(service.stop().0.code(), Some(0));
}

/// Uploads a bomb if its size is allowed, then passes it directly to a compiler on the same machine, bypassing the
/// checks.
fn throw(service: &Service, bomb: &Bomb, n_bytes: usize) {
    let (name, module) = (bomb.name, (bomb.make)(n_bytes));
    let at_the_boundary = (module.len() <= MODULE_BYTES_MAX).then(|| {
        let begun = Instant::now();
        let answer = service.upload("name=bomb&verdict=review&score=0.5&reason=bomb", &module);
        let refused = (answer.status, answer.code());
        assert_eq!(refused, (400, "module_refused".to_owned()), "{name}: {}", answer.text());
        begun.elapsed()
    });
    let begun = Instant::now();
    let compiled = compiler().compile(&module, tollgate_engine::sandbox::Execution::Compiled);
    let behind_it = begun.elapsed();
    println!(
        "{name:32} {:>8} bytes: {}; without the checks {} after {:>5} ms",
        module.len(),
        at_the_boundary.map_or("never sent".to_owned(), |boundary| format!(
            "refused after {:>4} ms",
            boundary.as_millis()
        )),
        if compiled.is_ok() { "compiled" } else { "refused " },
        behind_it.as_millis()
    );
    assert!(at_the_boundary.is_none_or(|boundary| boundary < ended_within()), "{name}: {at_the_boundary:?}");
    assert!(behind_it < ended_within(), "{name}: {behind_it:?}");
}

/// Injects at a fixed pace and checks each verdict. Returns the sorted latencies.
fn injects(client: &Client, when: &str, n_most: usize, is_over: &AtomicBool) -> Vec<Duration> {
    let (mut durations, begun) = (Vec::new(), Instant::now());
    while durations.len() < n_most && !is_over.load(Ordering::Relaxed) {
        // Paced, because the test measures latency rather than throughput.
        let due = begun + PACE * u32::try_from(durations.len()).unwrap();
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let transaction = sample::transaction(&format!("{when}-{}", durations.len()));
        let begun = Instant::now();
        let answer = client.inject(&transaction);
        durations.push(begun.elapsed());
        assert_eq!((answer.status, answer.triggered().len()), (200, 0), "{}", answer.text());
    }
    durations.sort_unstable();
    durations
}
