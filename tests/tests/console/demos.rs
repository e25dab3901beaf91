//! The demo at its default pace and at the pace of life, and a browser that shows its payments, for two hours in full mode.

use std::fs;
use std::path::Path;

use tollgate_tests::demo::Demo;
use tollgate_tests::{Home, audit, needs, proof};

use crate::console::browser::Browser;

const N_MINUTES: u32 = 120;

#[test]
fn demos_run_for_two_hours_and_a_browser_sees_payments_all_the_time() {
    needs!(Chromium, Node);
    if !proof::is_full() {
        return println!("SKIPPED: demos run for two hours with TOLLGATE_PROOF=full");
    }
    let browser = Browser::take();
    let home = Home::new();
    let mut demos = [("default", &[][..]), ("1x", &["--speed", "1x"])].map(|(name, pace)| {
        let directory = home.data().join(name);
        fs::create_dir(&directory).unwrap();
        let demo = Demo::start(&home, &directory, pace);
        (name, directory, demo)
    });
    let urls = demos.each_ref().map(|(_, _, demo)| format!("http://{}", demo.address()));
    let minutes = N_MINUTES.to_string();
    let variables = [("DEMOS", urls.join(" ")), ("MINUTES", minutes)];
    let variables = variables.each_ref().map(|(name, value)| (*name, Path::new(value)));
    println!("{}", browser.node(&["tests/watch.mjs".to_owned()], &variables));
    demos.iter_mut().for_each(|(_, _, demo)| demo.assert_runs());
    for (name, directory, demo) in demos {
        let n_reported = demo.interrupt();
        assert_eq!(n_reported, audit::replay_in(&home, &directory.join("data")).all_follow(), "{name}");
        println!("{name}: {n_reported} payments, each stored once and derived again");
    }
}
