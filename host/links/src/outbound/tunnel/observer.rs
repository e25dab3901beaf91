//! The observer of the tunnel, which counts what it does.

use std::fmt::Debug;

/// Counts what the tunnel does.
pub trait TunnelObserver: Debug + Send + Sync {
    /// There is a connection.
    fn tunnel_came_up(&self);
    /// There is none.
    fn tunnel_went_down(&self);
    /// A notification was handed to the system for the dashboard.
    fn notice_sent(&self);
    /// A notification was not, for this reason.
    fn notice_not_sent(&self, reason: &'static str);
    /// The dashboard said something.
    fn tunnel_message_ignored(&self);
}
