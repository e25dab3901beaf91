//! Delivery of alerts: a dashboard over a WebSocket, webhooks over HTTP.
//!
//! ```text
//!  Tunnel::offer ──bounded queue──▶ one connection, while it is up ────▶ dashboard
//!  Post::send ────────────────────▶ one request, status of the answer ─▶ webhook
//!                 both use: address (credentials removed) ──▶ connection (TCP, TLS)
//! ```
//!
//! Every wait is limited, except in [`get()`], whose caller sets the limit. Redirects are not followed, and no proxy is
//! read from the environment. Logs and errors show only scheme, host and port of an address, because its path and query
//! may contain secrets.

mod address;
mod connection;
mod get;
mod post;
mod tunnel;

pub use address::{PeerAddress, PeerAddressError, Protocol};
pub use connection::{TrustError, TrustStore};
pub use get::{GetError, GetResponse, get};
pub use post::{Post, PostError};
pub use tunnel::{SendError, Tunnel, TunnelObserver, TunnelOptions};
