//! Settings of the HTTP listener: number of connections and time limits.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::reader::{ConfigError, SettingsReader, Variable, variable};

/// Limits on HTTP connections and on the time that clients may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// Maximum number of connections; `None`: as many as the limit of open files allows, up to a built-in limit.
    pub open_max: Option<NonZeroUsize>,
    /// Maximum per address; `None`: half of all connections, and no limit for loopback.
    pub open_per_address_max: Option<NonZeroUsize>,
    /// Time limits of a connection.
    pub limits: ConnectionLimits,
    /// Time that requests in progress have to complete at shutdown.
    pub stop: Duration,
}

/// Time limits of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// From the connection, or the first byte of a later request, to the end of the request head.
    pub head: Duration,
    /// From the end of the head to the end of the body.
    pub body: Duration,
    /// Maximum wait for the client to read more of a response.
    pub write: Duration,
    /// Maximum time between two requests.
    pub idle: Duration,
    /// Maximum age of a connection; then it is closed after the next response, or when it is quiet.
    pub age: Duration,
}

pub(super) const OPEN_MAX: Variable = variable(
    "SERVICE_CONNECTIONS_MAX",
    "a whole number from 1 to 1000000",
    "10000, or as many as the limit of open files allows",
    "Maximum number of connections. More are answered 503, except for `/healthz`, `/readyz` and `/metrics`.",
)
.explained_in("operations.md#connections");
pub(super) const PER_ADDRESS_MAX: Variable = variable(
    "SERVICE_CONNECTIONS_PER_ADDRESS",
    "a whole number from 1 to 1000000",
    "half of SERVICE_CONNECTIONS_MAX; no limit for this machine",
    "Maximum number of connections of one address, or of one IPv6 network of 64 bits.",
)
.explained_in("operations.md#connections");
pub(super) const HEAD: Variable = variable(
    "SERVICE_HEAD_TIMEOUT",
    "a time such as 500ms or 5s, from 100ms to 10m",
    "5s",
    "Time in which a client must send the head of a request, counted from the connection.",
);
pub(super) const BODY: Variable = variable(
    "SERVICE_BODY_TIMEOUT",
    "a time such as 500ms or 10s, from 100ms to 10m",
    "10s",
    "Time in which a client must send the body of a request.",
);
pub(super) const WRITE: Variable = variable(
    "SERVICE_WRITE_TIMEOUT",
    "a time such as 500ms or 10s, from 100ms to 10m",
    "10s",
    "Time in which a client must read each 64 KiB of a response.",
);
pub(super) const IDLE: Variable = variable(
    "SERVICE_IDLE_TIMEOUT",
    "a time such as 500ms or 60s, from 100ms to 1h",
    "60s",
    "Time that a connection stays open between two requests.",
);
pub(super) const AGE: Variable = variable(
    "SERVICE_CONNECTION_AGE",
    "a time such as 500ms or 10m, from 100ms to 1d",
    "10m",
    "Time after which a connection is closed, after its next response.",
);
pub(super) const STOP: Variable = variable(
    "SERVICE_STOP_TIMEOUT",
    "a time such as 500ms or 10s, from 100ms to 10m",
    "10s",
    "Time that requests in flight may take when the service stops.",
);

/// Upper bound of the setting, beyond the capacity of any machine.
const CONNECTIONS_MAX: usize = 1_000_000;

/// Lower bound of time limits; shorter pauses occur on slow networks.
const TIME_MIN: Duration = Duration::from_millis(100);
const TEN_MINUTES: Duration = Duration::from_secs(10 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl ConnectionSettings {
    pub(super) fn read<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
        read: &SettingsReader<E>,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            open_max: read.count(OPEN_MAX, CONNECTIONS_MAX)?,
            open_per_address_max: read.count(PER_ADDRESS_MAX, CONNECTIONS_MAX)?,
            limits: ConnectionLimits {
                head: read.time(HEAD, TIME_MIN..=TEN_MINUTES)?,
                body: read.time(BODY, TIME_MIN..=TEN_MINUTES)?,
                write: read.time(WRITE, TIME_MIN..=TEN_MINUTES)?,
                idle: read.time(IDLE, TIME_MIN..=HOUR)?,
                age: read.time(AGE, TIME_MIN..=DAY)?,
            },
            stop: read.time(STOP, TIME_MIN..=TEN_MINUTES)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn settings(name: &'static str, value: &'static str) -> Result<ConnectionSettings, ConfigError> {
        Settings::read(|asked| Ok((asked == name).then(|| value.to_owned())))
            .map(|settings| settings.connections)
    }

    #[test]
    fn without_any_variable_nobody_may_be_slow() {
        let settings = settings("NOTHING", "").unwrap();
        assert_eq!((settings.open_max, settings.open_per_address_max), (None, None));
        let ConnectionLimits { head, body, write, idle, age } = settings.limits;
        let seconds = [head, body, write, idle, age, settings.stop].map(|time| time.as_secs());
        assert_eq!(seconds, [5, 10, 10, 60, 600, 10]);
    }

    #[test]
    fn a_value_that_does_not_do_is_refused() {
        for (name, value) in [
            ("SERVICE_CONNECTIONS_MAX", "0"),
            ("SERVICE_CONNECTIONS_MAX", "1000001"),
            ("SERVICE_CONNECTIONS_PER_ADDRESS", "many"),
            ("SERVICE_HEAD_TIMEOUT", "0"),
            ("SERVICE_BODY_TIMEOUT", "99ms"),
            ("SERVICE_WRITE_TIMEOUT", "11m"),
            ("SERVICE_IDLE_TIMEOUT", "never"),
            ("SERVICE_CONNECTION_AGE", "2d"),
            ("SERVICE_STOP_TIMEOUT", "-1s"),
        ] {
            let error = settings(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("it takes "), "{error}");
        }
    }
}
