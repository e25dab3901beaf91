//! Settings that limit the content of requests.

use tollgate_guest_abi::Window;
use tollgate_model::transaction::{
    BeyondTolerance, Identifiers, OBJECT_KEYS_DEFAULT, RequestSettings, TimeTolerance, WindowClock,
};

use super::reader::{ConfigError, SettingsReader, Variable, variable};

pub(super) const IDENTIFIERS: Variable = variable("SERVICE_IDENTIFIERS", "`clear` or `as_sent`", "clear", "Whether new requests may contain identifiers with invisible characters or surrounding blanks: refused (`clear`) or accepted (`as_sent`).").explained_in("api.md");
pub(super) const OBJECT_KEYS: Variable = variable(
    "SERVICE_OBJECT_KEYS_MAX",
    "a whole number from 64 to 65536",
    "1024",
    "Maximum number of keys of one object of a transaction, such as its `meta_data`.",
);

pub(super) const TIME_TOLERANCE: Variable = variable(
    "SERVICE_TIME_TOLERANCE",
    "a duration from PT1S to P400D, such as PT5M",
    "none: any time",
    "How far the `created_at` of an injected transaction may be from the clock of the service.",
)
.explained_in("api.md#times");
pub(super) const TIME_BEYOND: Variable = variable(
    "SERVICE_TIME_BEYOND",
    "`refuse` or `clamp`",
    "refuse",
    "What happens to a transaction beyond SERVICE_TIME_TOLERANCE: 400, or it counts at the nearest time allowed.",
)
.explained_in("api.md#times");
pub(super) const WINDOW_CLOCK: Variable = variable(
    "SERVICE_WINDOW_CLOCK",
    "`created_at` or `arrival`",
    "created_at",
    "The time at which an injected transaction counts: its `created_at`, or the time at which it is accepted.",
)
.explained_in("api.md#times");

pub(super) const DEDUPLICATE: Variable = variable(
    "SERVICE_DEDUPLICATE_BY_HASH",
    "a duration from PT1S to P400D, such as P1D",
    "none: hashes are only stored",
    "For how long a further transaction with the same `hash` is refused with 409.",
)
.explained_in("api.md#duplicates");

const OBJECT_KEYS_RANGE: std::ops::RangeInclusive<usize> = 64..=65_536;

pub(super) fn read<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
    read: &SettingsReader<E>,
) -> Result<RequestSettings, ConfigError> {
    let identifiers = read.parsed_by(IDENTIFIERS, |text| match text {
        "clear" => Some(Identifiers::Clear),
        "as_sent" => Some(Identifiers::AsSent),
        _ => None,
    })?;
    let tolerance = read.parsed_by(TIME_TOLERANCE, |text| Window::parse(text.trim()))?;
    let beyond = read.parsed_by(TIME_BEYOND, |text| match text {
        "refuse" => Some(BeyondTolerance::Refuse),
        "clamp" => Some(BeyondTolerance::Clamp),
        _ => None,
    })?;
    let beyond = beyond.unwrap_or_default();
    let window_clock = read.parsed_by(WINDOW_CLOCK, |text| match text {
        "created_at" => Some(WindowClock::CreatedAt),
        "arrival" => Some(WindowClock::Arrival),
        _ => None,
    })?;
    let n_keys = |text: &str| text.parse().ok().filter(|n| OBJECT_KEYS_RANGE.contains(n));
    Ok(RequestSettings {
        identifiers: identifiers.unwrap_or_default(),
        object_keys_max: read.parsed_by(OBJECT_KEYS, n_keys)?.unwrap_or(OBJECT_KEYS_DEFAULT),
        time_tolerance: tolerance.map(|window| TimeTolerance { micros: window.micros(), beyond }),
        window_clock: window_clock.unwrap_or_default(),
    })
}

/// Returns for how long a hash is remembered; `None` if it is only stored.
pub(super) fn hash_window<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
    read: &SettingsReader<E>,
) -> Result<Option<Window>, ConfigError> {
    read.parsed_by(DEDUPLICATE, |text| Window::parse(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn settings(name: &'static str, value: &'static str) -> Result<RequestSettings, ConfigError> {
        Settings::read(|asked| Ok((asked == name).then(|| value.to_owned())))
            .map(|settings| settings.requests)
    }

    #[test]
    fn identifiers_are_clear_and_objects_have_1024_keys_unless_somebody_says_otherwise() {
        assert_eq!(settings("NOTHING", "").unwrap(), RequestSettings::default());
        assert_eq!(settings("SERVICE_IDENTIFIERS", "clear").unwrap().identifiers, Identifiers::Clear);
        assert_eq!(settings("SERVICE_IDENTIFIERS", "as_sent").unwrap().identifiers, Identifiers::AsSent);
        assert_eq!(settings("SERVICE_OBJECT_KEYS_MAX", "2000").unwrap().object_keys_max, 2_000);
        for (name, value) in [
            ("SERVICE_IDENTIFIERS", ""),
            ("SERVICE_IDENTIFIERS", "AsSent"),
            ("SERVICE_OBJECT_KEYS_MAX", "63"),
            ("SERVICE_OBJECT_KEYS_MAX", "65537"),
            ("SERVICE_OBJECT_KEYS_MAX", "many"),
            ("SERVICE_TIME_TOLERANCE", "5 minutes"),
            ("SERVICE_TIME_BEYOND", "ignore"),
            ("SERVICE_WINDOW_CLOCK", "clock"),
            ("SERVICE_DEDUPLICATE_BY_HASH", "true"),
        ] {
            let error = settings(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("it takes "), "{error}");
        }
    }
}
