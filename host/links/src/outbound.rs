//! Delivery of alerts, by a WebSocket to a dashboard and over HTTP to webhooks, and requests of commands to a service.
//!
//! ```text
//!  Tunnel::offer ──bounded queue──▶ one connection, while it is up ────▶ dashboard
//!  Post::send ────────────────────▶ one request, status of the answer ─▶ webhook
//!                 both use: address (credentials removed) ──▶ connection (TCP, TLS)
//! ```
//!
//! Every wait is limited, except in [`get()`] and [`post_streamed()`], whose caller sets the limit. Redirects are not followed, and
//! no proxy is read from the environment. Logs and errors show only scheme, host and port of an address, because its path and query
//! may contain secrets.

mod address;
mod connection;
mod get;
mod post;
mod streamed;
mod tunnel;

pub use address::{PeerAddress, PeerAddressError, Protocol};
pub use connection::{TrustError, TrustStore};
pub use get::{GetError, GetResponse, get};
pub use hyper::header::{HeaderName, HeaderValue};
pub use post::{Post, PostError};
pub use streamed::{StreamedBody, StreamedError, StreamedResponse, post_streamed};
pub use tunnel::{SendError, Tunnel, TunnelObserver, TunnelOptions};
