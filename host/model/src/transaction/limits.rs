//! Limits on requests.

/// The limits on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSettings {
    /// Identifiers that a new request may contain.
    pub identifiers: Identifiers,
    /// Maximum number of keys per object of a transaction.
    pub object_keys_max: usize,
    /// How far the time of a transaction may be from the clock; `None`: any time.
    pub time_tolerance: Option<TimeTolerance>,
    /// The time by which windows select.
    pub window_clock: WindowClock,
}

impl RequestSettings {
    /// Returns the setting that restricts the times of transactions, if there is one.
    #[must_use]
    pub const fn restriction_of_times(&self) -> Option<&'static str> {
        match (&self.time_tolerance, self.window_clock) {
            (Some(_), _) => Some("SERVICE_TIME_TOLERANCE"),
            (None, WindowClock::Arrival) => Some("SERVICE_WINDOW_CLOCK=arrival"),
            (None, WindowClock::CreatedAt) => None,
        }
    }
}

/// How far the time of a transaction may be from the clock of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeTolerance {
    /// The distance, in microseconds.
    pub micros: i64,
    /// Treatment of a transaction beyond it.
    pub beyond: BeyondTolerance,
}

/// Treatment of a transaction whose time is too far from the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BeyondTolerance {
    /// It is refused.
    #[default]
    Refuse,
    /// It happens at the nearest time that is allowed.
    Clamp,
}

/// The time by which windows select transactions from callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowClock {
    /// `created_at`.
    #[default]
    CreatedAt,
    /// The time of acceptance.
    Arrival,
}

/// The identifiers that a new request may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identifiers {
    /// Identifiers that a reader can distinguish.
    #[default]
    Clear,
    /// Any identifiers without control characters, including those that reorder text.
    AsSent,
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self {
            identifiers: Identifiers::default(),
            object_keys_max: OBJECT_KEYS_DEFAULT,
            time_tolerance: None,
            window_clock: WindowClock::default(),
        }
    }
}

/// The default maximum number of keys per object.
pub const OBJECT_KEYS_DEFAULT: usize = 1_024;
