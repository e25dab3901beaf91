//! `tollgate demo`: a service with made-up payments, on data of its own.
//!
//! ```text
//!  shipped lists, rules ──API──▶ temporary service ◀──past: 75 days, at full speed── population
//!                                                  ◀──then live, at a chosen pace────┘
//! ```
//!
//! The service has no links to the outside, and its directory is empty or temporary: made-up payments never get into a
//! real store.

mod payer;
mod shipped;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chrono::Utc;
use tollgate_population::{DAYS, Population};

use crate::error::BenchError;
use crate::interrupt;
use crate::temporary_service::TemporaryService;
use payer::Payer;

/// The longest past that can be played.
pub const DAYS_MAX: u32 = DAYS;

/// The population to play, and its pace.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// An empty directory for the data, which stays; `None` for one that is removed at the end.
    pub directory: Option<PathBuf>,
    /// Port of the service; 0 for any.
    pub port: u16,
    /// Seed of the population.
    pub seed: u64,
    /// Number of customers.
    pub customers: usize,
    /// Pace of the payments after the past.
    pub pace: DemoPace,
    /// Days of the past to play first, at most [`DAYS_MAX`].
    pub days: u32,
    /// Settings of the service: name and value.
    pub settings: Vec<(String, String)>,
    /// Whether to open the page in a browser.
    pub opens_browser: bool,
}

/// The pace at which payments are played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DemoPace {
    /// So many times as fast as people pay.
    Speed(f64),
    /// So many payments a second.
    Rate(f64),
}

/// Plays until it is interrupted; progress and errors go to `say`. Returns the exit code: 1 after an error.
pub fn demo(options: &DemoOptions, say: &dyn Fn(&str)) -> u8 {
    interrupt::listen();
    match play(options, say) {
        Ok(()) | Err(BenchError::Interrupted) => 0,
        Err(error) => {
            say(&format!("error: {error}"));
            1
        }
    }
}

fn play(options: &DemoOptions, say: &dyn Fn(&str)) -> Result<(), BenchError> {
    let mut settings = vec![("SERVICE_PORT".to_owned(), options.port.to_string())];
    settings.extend(options.settings.iter().cloned());
    let service = match &options.directory {
        Some(directory) => {
            check_empty(directory)?;
            TemporaryService::start_in(directory, &settings)?
        }
        None => TemporaryService::start(&std::env::temp_dir(), &[], &settings)?,
    };
    let page = format!("http://localhost:{}/", service.target.address.port());
    let mut client = service.client();
    shipped::save(&mut client)?;
    say(&format!("Tollgate runs with {} example rules: {page}", shipped::n_rules()));
    if options.opens_browser {
        open(&page, say);
    }
    let mut payer = Payer::new(|| service.client());
    let ended = play_payments(options, &mut payer, say);
    say(&payer.summary());
    ended
}

/// Plays the past and then pays live until it is interrupted.
fn play_payments(options: &DemoOptions, payer: &mut Payer, say: &dyn Fn(&str)) -> Result<(), BenchError> {
    let now = Utc::now();
    let population = Population::ending_at(now, options.seed, options.customers);
    let days = options.days.min(DAYS_MAX);
    say(&format!("playing the last {days} days of {} customers …", options.customers));
    let before = if days == DAYS_MAX { population.before() } else { Vec::new() };
    let past = before.into_iter().chain((DAYS_MAX - days..=DAYS_MAX).flat_map(|day| population.day(day)));
    payer.pay_past(past.take_while(|payment| payment.created_at <= now))?;
    say(&payer.summary());
    say("now they pay live; stop with Ctrl+C");
    let live = (DAYS..).flat_map(|day| population.day(day));
    payer.pay_live(live.skip_while(|payment| payment.created_at <= now), options.pace)
}

/// Checks that a directory is empty or missing, so that no real store gets made-up payments.
fn check_empty(directory: &Path) -> Result<(), BenchError> {
    fs::create_dir_all(directory).map_err(BenchError::io("create the directory"))?;
    let mut entries = fs::read_dir(directory).map_err(BenchError::io("read the directory"))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(BenchError::NotEmpty(directory.display().to_string())),
    }
}

fn open(page: &str, say: &dyn Fn(&str)) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_err() {
        say(&format!("no browser was opened: there is no `{program}`"));
    }
}
