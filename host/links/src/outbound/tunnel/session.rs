//! One connection of the tunnel, from handshake to close.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::header::{AUTHORIZATION, HeaderValue};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::state::TunnelShared;
use super::{Notice, SendError, TunnelOptions};
use crate::outbound::TrustStore;
use crate::outbound::connection::PeerStream;

/// Maximum length of a message from the dashboard, in bytes. A frame that announces more ends the connection unread.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Maximum bytes buffered in the library for a slow dashboard; larger than the largest notice.
const WRITE_BYTES_MAX: usize = 8 << 20;
const READ_BUFFER_BYTES: usize = 16 * 1024;
/// Maximum number of messages from the dashboard between two heartbeats.
const MESSAGES_MAX: usize = 1000;

pub(super) struct Session {
    socket: WebSocketStream<PeerStream>,
    heartbeat: Duration,
    received_at: Instant,
    /// Messages since the last heartbeat.
    n_messages: usize,
}

enum SessionEvent {
    Notice(Notice),
    Received(Option<Result<Message, Error>>),
    Heartbeat,
    /// The handle is gone.
    Closed,
}

impl Session {
    /// # Errors
    /// A reason in words, without secrets.
    pub(super) async fn open(options: &TunnelOptions, trust: &TrustStore) -> Result<Self, String> {
        let address = &options.address;
        let mut request = address.uri().clone().into_client_request().map_err(|error| reason(&error))?;
        if let Some(authorization) = address.authorization() {
            let value = HeaderValue::from_str(authorization.expose());
            let mut value = value.map_err(|_| "the token cannot be sent in a header".to_owned())?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let wire = trust.connect(address).await.map_err(|error| error.to_string())?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX))
            .read_buffer_size(READ_BUFFER_BYTES)
            .max_write_buffer_size(WRITE_BYTES_MAX);
        let connected = client_async_with_config(request, wire, Some(config)).await;
        let (socket, _) = connected.map_err(|error| reason(&error))?;
        Ok(Self { socket, heartbeat: options.heartbeat, received_at: Instant::now(), n_messages: 0 })
    }

    /// Sends the notices offered to this connection until it ends, and returns the reason.
    pub(super) async fn run(
        &mut self,
        number: u64,
        notices: &mut mpsc::Receiver<Notice>,
        shared: &Arc<TunnelShared>,
    ) -> String {
        let mut heartbeats = interval(self.heartbeat);
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let next = tokio::select! {
                notice = notices.recv() => notice.map_or(SessionEvent::Closed, SessionEvent::Notice),
                message = self.socket.next() => SessionEvent::Received(message),
                _ = heartbeats.tick() => SessionEvent::Heartbeat,
            };
            let went_on = match next {
                SessionEvent::Notice(notice) if notice.connection == number => {
                    self.tell(notice, shared).await
                }
                SessionEvent::Notice(notice) => {
                    shared.not_sent(&notice.alert, SendError::Lost);
                    Ok(())
                }
                SessionEvent::Received(message) => self.receive(message, shared),
                SessionEvent::Heartbeat => self.beat().await,
                SessionEvent::Closed => Err("closed by this service".to_owned()),
            };
            if let Err(reason) = went_on {
                return reason;
            }
        }
    }

    async fn tell(&mut self, notice: Notice, shared: &TunnelShared) -> Result<(), String> {
        let sent = self.send(Message::text(&*notice.alert.payload)).await;
        match &sent {
            Ok(()) => shared.metrics.notice_sent(),
            Err(_) => shared.not_sent(&notice.alert, SendError::Lost),
        }
        sent
    }

    /// Sends a message. A peer that accepts nothing for two heartbeats counts as gone.
    async fn send(&mut self, message: Message) -> Result<(), String> {
        match timeout(self.patience(), self.socket.send(message)).await {
            Ok(sent) => sent.map_err(|error| reason(&error)),
            Err(_) => Err(format!("the dashboard accepted no data for {} ms", self.patience().as_millis())),
        }
    }

    /// Processes a message from the dashboard. Its content has no effect; its arrival counts as a sign of life.
    fn receive(
        &mut self,
        message: Option<Result<Message, Error>>,
        shared: &TunnelShared,
    ) -> Result<(), String> {
        match message {
            None => Err("the dashboard closed the connection".to_owned()),
            Some(Err(error)) => Err(reason(&error)),
            Some(Ok(message)) => {
                self.received_at = Instant::now();
                self.n_messages += 1;
                if matches!(message, Message::Text(_) | Message::Binary(_)) {
                    shared.metrics.tunnel_message_ignored();
                }
                if self.n_messages > MESSAGES_MAX {
                    return Err(format!("the dashboard sent more than {MESSAGES_MAX} messages at once"));
                }
                Ok(())
            }
        }
    }

    async fn beat(&mut self) -> Result<(), String> {
        self.n_messages = 0;
        if self.received_at.elapsed() > self.patience() {
            return Err(format!("the dashboard did not respond for {} ms", self.patience().as_millis()));
        }
        self.send(Message::Ping(Vec::new().into())).await
    }

    fn patience(&self) -> Duration {
        self.heartbeat * 2
    }
}

/// Describes an error without quoting the peer.
fn reason(error: &Error) -> String {
    match error {
        Error::Http(answer) => format!("the dashboard answered with status {}", answer.status().as_u16()),
        Error::ConnectionClosed | Error::AlreadyClosed => "the dashboard closed the connection".to_owned(),
        Error::Protocol(_) => format!("WebSocket protocol error: {error}"),
        other => other.to_string(),
    }
}
