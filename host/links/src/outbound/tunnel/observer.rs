//! The observer of the tunnel, for metrics.

use std::fmt::Debug;

/// Receives the events of the tunnel.
pub trait TunnelObserver: Debug + Send + Sync {
    /// Called when the tunnel connects.
    fn tunnel_came_up(&self);
    /// Called when the tunnel is down.
    fn tunnel_went_down(&self);
    /// Called when a notice was written to the connection.
    fn notice_sent(&self);
    /// Called when a notice was not sent, with the reason.
    fn notice_not_sent(&self, reason: &'static str);
    /// Called when the dashboard sent a message, which is ignored.
    fn tunnel_message_ignored(&self);
}
