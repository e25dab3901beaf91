//! Others who hear of alerts: a dashboard over a WebSocket, webhooks over HTTP.
//!
//! ```text
//!  Tunnel::offer ──bounded queue──▶ one connection, while it is there ──▶ dashboard
//!  Post::send ────────────────────▶ one request, its answer's status ───▶ webhook
//!                 both over: address (credentials taken out) ──▶ connection (TCP, TLS)
//! ```
//!
//! Nothing in here waits without an end, follows a redirect, asks the environment for a proxy or shows an address: of one
//! only scheme, host and port appear in logs and errors, because path and query may hold secrets as well.

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
