//! Disks of a certain size.

use serde_json::json;
use tollgate_tests::programs::{Program, require, skip};
use tollgate_tests::{Service, needs, sample};

use super::within::{UNCONFINED, can, home_within};

/// Bytes of metadata of each payment.
const TEXT_BYTES: usize = 60_000;
const N_PAYMENTS: usize = 160;

/// Starts a service whose data directory is a disk of this size; `None` if this machine cannot make one.
fn on_a_disk_of(n_bytes: u64) -> Option<Service> {
    require(Program::Bubblewrap);
    if !can(&format!("bwrap --bind / / --size {n_bytes} --tmpfs /mnt true")) {
        skip("a disk of a certain size");
        return None;
    }
    let disk = format!("{UNCONFINED} --size {n_bytes} --tmpfs \"$HOME_OF_TEST/data\" --");
    Some(Service::start(&home_within(&disk)))
}

fn disk(service: &Service) -> String {
    service.get("/readyz").expect(200)["checks"]["disk"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_disk_that_lasts_less_than_a_day_is_reported_before_it_is_full() {
    needs!(Bubblewrap);
    let Some(service) = on_a_disk_of(1 << 30) else { return };
    service.until("the disk was measured", || !disk(&service).is_empty());
    assert_eq!(disk(&service), "ok");
    for n in 0..N_PAYMENTS {
        let text = json!({"meta_data": {"text": "x".repeat(TEXT_BYTES)}});
        let payment = sample::with(&sample::transaction(&format!("t-{n}")), &text);
        assert_eq!(service.inject(&payment).status, 200);
    }
    service.until("the disk is degraded", || disk(&service).starts_with("degraded: "));
    let words = disk(&service);
    assert!(
        words.contains("MiB are free") && words.contains(" hours at the rate of the last hour"),
        "{words}"
    );
    let outlook = service.get("/system").expect(200)["disk"].clone();
    assert!(outlook["bytes_per_transaction"].as_u64() > Some(1_000), "{outlook}");
    assert!(outlook["bytes_per_day"].as_u64() > Some(1 << 20) && outlook["full_at"].is_string(), "{outlook}");
    let page = service.get("/metrics").text();
    let measured = |name: &str| -> u64 {
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
        line.parse().unwrap()
    };
    let (free, used) = (measured("tollgate_disk_free_bytes"), measured("tollgate_disk_used_bytes"));
    assert!(free > 800 << 20 && free < 1 << 30, "{free}");
    assert!(used > (N_PAYMENTS * TEXT_BYTES) as u64, "{used}");
}

#[test]
fn a_disk_with_little_free_space_is_reported_at_any_rate() {
    needs!(Bubblewrap);
    let Some(service) = on_a_disk_of(200 << 20) else { return };
    service.until("the disk is degraded", || disk(&service).starts_with("degraded: "));
    assert!(!disk(&service).contains("at the rate"), "{}", disk(&service));
}
