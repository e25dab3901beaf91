//! Settings of the owners of rules.

use std::num::NonZeroU32;
use std::time::Duration;

use tollgate_guest_abi::limits::{FUEL_PER_OWNER, FUEL_PER_RUN};

use super::reader::{ConfigError, SettingsReader, Variable, variable};

/// Most fuel that an owner can be given on one transaction.
const FUEL_MAX: u64 = 100_000_000;
const SAVES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(1_200).unwrap();
const SAVES_PER_MINUTE_MAX: NonZeroU32 = NonZeroU32::new(100_000).unwrap();

pub(super) const FUEL: Variable = variable(
    "SERVICE_FUEL_PER_OWNER",
    "a number from 1000000 to 100000000",
    "5000000",
    "Fuel that all rules of one source may use together on one transaction; the rules beyond it fail. One unit is at most 2 ns.",
)
.explained_in("untrusted-rules.md");
pub(super) const SAVES: Variable = variable(
    "SERVICE_SAVES_PER_MINUTE",
    "a number from 1 to 100000",
    "1200",
    "Rules that scripts over the API, and uploads, may each save in a minute; as many may come at once.",
)
.explained_in("untrusted-rules.md");
pub(super) const QUARANTINE_AFTER: Variable = variable(
    "SERVICE_QUARANTINE_AFTER",
    "a time such as 90s or 5m, from 0s to 1d",
    "5m",
    "Time for which a rule must fail, or the rules of an owner who is not trusted cost too much, before they are quarantined.",
)
.explained_in("untrusted-rules.md#quarantine");

pub(super) fn quarantine_after<E>(read: &SettingsReader<E>) -> Result<Duration, ConfigError>
where
    E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
{
    read.time(QUARANTINE_AFTER, Duration::ZERO..=Duration::from_secs(86_400))
}

pub(super) fn fuel<E>(read: &SettingsReader<E>) -> Result<u64, ConfigError>
where
    E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
{
    let Some(fuel) = read.parsed::<u64>(FUEL)? else { return Ok(FUEL_PER_OWNER) };
    if (FUEL_PER_RUN..=FUEL_MAX).contains(&fuel) { Ok(fuel) } else { Err(FUEL.refuse(&fuel.to_string())) }
}

pub(super) fn saves_per_minute<E>(read: &SettingsReader<E>) -> Result<NonZeroU32, ConfigError>
where
    E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
{
    let Some(n) = read.parsed::<u32>(SAVES)? else { return Ok(SAVES_PER_MINUTE) };
    let within = NonZeroU32::new(n).filter(|n| *n <= SAVES_PER_MINUTE_MAX);
    within.ok_or_else(|| SAVES.refuse(&n.to_string()))
}
