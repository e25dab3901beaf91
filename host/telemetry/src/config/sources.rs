//! Settings of the sources of rules and lists: when the service is ready with them, and what happens while it is not.

use super::reader::{ConfigError, SettingsReader, Variable, variable};

/// Treatment of new transactions while a check on which verdicts depend is failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenNotReady {
    /// Every verdict is at least `review`.
    #[default]
    Review,
    /// Injects are answered 503. Other new transactions are held as with `Review`.
    Refuse,
    /// Verdicts are those of the rules in force.
    Approve,
}

/// Treatment of a new source some of whose files are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PartialSource {
    /// A rule that fails stands for each refused file.
    #[default]
    Hold,
    /// The same, and the service is not ready.
    NotReady,
    /// The other files are in force alone.
    Accept,
}

/// Handling of a list file that loses more than half of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListsShrink {
    /// The new version comes into force, with a warning.
    #[default]
    Warn,
    /// The previous version stays in force.
    Hold,
}

pub(super) const OPTIONAL: Variable = variable(
    "SERVICE_SOURCES_OPTIONAL",
    "`true` or `false`",
    "false",
    "Whether the service may be ready although the rules directory or the repository was never read.",
)
.explained_in("reliability.md#faulty-configuration-and-input");
pub(super) const REQUIRED: Variable = variable("SERVICE_RULES_REQUIRED", "a whole number from 0 to 10000", "0", "Number of rules that must be in force. With fewer the service is not ready. A change of files that would leave fewer is held back, and such a change over the API is refused.").explained_in("reliability.md#faulty-configuration-and-input");
pub(super) const WHEN_NOT_READY: Variable = variable(
    "SERVICE_WHEN_NOT_READY",
    "`review`, `refuse` or `approve`",
    "review",
    "Treatment of new payments while a check of the rules or lists is failing: held for review (`review`), injects answered 503 (`refuse`), or judged by the rules in force alone (`approve`).",
)
.explained_in("reliability.md#payments-while-the-service-is-not-ready");

pub(super) const STRICT: Variable = variable(
    "SERVICE_SOURCES_STRICT",
    "`true` or `false`",
    "false",
    "Whether the service is not ready while files are refused that were in a rules directory or repository when it was new.",
)
.explained_in("reliability.md#new-sources");
pub(super) const PARTIAL: Variable = variable(
    "SERVICE_SOURCES_PARTIAL",
    "`true` or `false`",
    "false",
    "Whether the accepted files of a new rules directory or repository are in force alone. Otherwise a rule that fails stands for each refused one. Without effect under `SERVICE_SOURCES_STRICT`.",
)
.explained_in("reliability.md#new-sources");

pub(super) const CONFIRM_BROAD: Variable = variable("SERVICE_CONFIRM_BROAD_RULES", "`true` or `false`", "false", "Whether a rule of the API that would have matched most of the latest transactions is refused until it is sent with `?confirm=true`.").explained_in("rules.md");
pub(super) const LISTS_SHRINK: Variable = variable("SERVICE_LISTS_SHRINK", "`warn` or `hold`", "warn", "Treatment of a list file that loses more than half of its entries: accepted with a warning (`warn`) or held back (`hold`).").explained_in("rules.md#named-lists");

pub(super) fn partial_source<E>(read: &SettingsReader<E>) -> Result<PartialSource, ConfigError>
where
    E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
{
    Ok(match (read.parsed(STRICT)?.unwrap_or(false), read.parsed(PARTIAL)?.unwrap_or(false)) {
        (true, _) => PartialSource::NotReady,
        (false, true) => PartialSource::Accept,
        (false, false) => PartialSource::Hold,
    })
}

pub(super) fn when_not_ready<E>(read: &SettingsReader<E>) -> Result<WhenNotReady, ConfigError>
where
    E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
{
    match read.text(WHEN_NOT_READY)?.as_deref() {
        None | Some("review") => Ok(WhenNotReady::Review),
        Some("refuse") => Ok(WhenNotReady::Refuse),
        Some("approve") => Ok(WhenNotReady::Approve),
        Some(other) => Err(WHEN_NOT_READY.refuse(other)),
    }
}

pub(super) fn lists_shrink<E>(read: &SettingsReader<E>) -> Result<ListsShrink, ConfigError>
where
    E: Fn(&'static str) -> Result<Option<String>, ConfigError>,
{
    match read.text(LISTS_SHRINK)?.as_deref() {
        None | Some("warn") => Ok(ListsShrink::Warn),
        Some("hold") => Ok(ListsShrink::Hold),
        Some(other) => Err(LISTS_SHRINK.refuse(other)),
    }
}
