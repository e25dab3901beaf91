//! Accepts connections and limits how long a client may keep the service waiting.
//!
//! ```text
//!  accept ─▶ slots: a client slot, a health slot, or a refusal ─▶ connection ─▶ router ─▶ handlers
//!                              timed stream, timed bodies ──┘ update the connection timers
//!                                                 timer ──── reads them: 408, or close
//! ```
//!
//! Only HTTP/1.1 is supported. Every wait for a client has a limit; each connection has one timer for all its limits.

mod bodies;
mod connection;
mod refusal;
mod slots;
mod timed_stream;
mod timers;

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tollgate_process::open_files;

use crate::api_service::ApiService;
use crate::request_limits::ShutdownStage;
use tollgate_telemetry::config::{ConnectionLimits, ConnectionSettings};
use tollgate_telemetry::metrics::Metrics;

use connection::ConnectionContext;
use slots::{ConnectionCaps, ConnectionSlots, HEALTH_SLOTS};

/// Default maximum number of open connections: some 100 MiB if all are idle.
const OPEN_MAX: usize = 10_000;

/// Open files other than client connections: store, history, pipes of processes, links, clones.
const OTHER_FILES: usize = 192;

/// Minimum number of open files. Fewer barely suffice for the store and the rules.
const FILES_MIN: usize = 64;

/// Pause in accepting connections after the system ran out of files, so that the CPU can do other work.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Interval at which the same warning is repeated.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// Connections that the system may accept ahead of the service.
const BACKLOG_MAX: u32 = 4096;

/// Response bytes that the system buffers for a client; it allocates twice this size. The default of the system can
/// reach megabytes per client.
const UNTAKEN_BYTES_MAX: u32 = 128 * 1024;

/// Listener configuration and limits.
#[derive(Debug)]
pub struct Listener {
    caps: ConnectionCaps,
    limits: ConnectionLimits,
    stop: Duration,
}

/// The system allows fewer open files than the configured connections need.
#[derive(Debug, thiserror::Error)]
#[error(
    "{open_max} connections need {needed} open files, but the system allows {granted}: raise its limit (`ulimit -n`), or \
     lower SERVICE_CONNECTIONS_MAX"
)]
pub struct ListenerError {
    open_max: usize,
    needed: usize,
    granted: usize,
}

/// Binds and listens on a port.
///
/// # Errors
/// Returns an error if the system refuses the address.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Allows a port to be bound again while old connections are still closing.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(UNTAKEN_BYTES_MAX)?;
    socket.bind(address)?;
    socket.listen(BACKLOG_MAX)
}

impl Listener {
    /// Determines how many connections are possible and raises the limit of open files.
    ///
    /// # Errors
    /// Returns an error if the system allows fewer connections than the settings require.
    pub fn open(settings: &ConnectionSettings) -> Result<Self, ListenerError> {
        let needed = |open_max: usize| open_max + HEALTH_SLOTS + OTHER_FILES;
        let wanted = settings.open_max.map_or(OPEN_MAX, NonZeroUsize::get);
        let granted = usize::try_from(open_files(needed(wanted) as u64)).unwrap_or(usize::MAX);
        let open_max = match settings.open_max {
            Some(_) if granted < needed(wanted) => {
                return Err(ListenerError { open_max: wanted, needed: needed(wanted), granted });
            }
            Some(_) => wanted,
            None if granted < FILES_MIN => {
                return Err(ListenerError { open_max: FILES_MIN / 4, needed: FILES_MIN, granted });
            }
            // With very few files, a small number of connections is better than none.
            None => wanted.min(granted.saturating_sub(needed(0)).max(granted / 4)),
        };
        let per_address_max = settings.open_per_address_max.map_or(open_max.div_ceil(2), Into::into);
        let counts_loopback = settings.open_per_address_max.is_some();
        let caps = ConnectionCaps { open_max, per_address_max, counts_loopback };
        Ok(Self { caps, limits: settings.limits, stop: settings.stop })
    }

    /// Serves until `stopped` completes, then finishes open requests within the configured time.
    pub(super) async fn serve(
        self,
        listener: TcpListener,
        api_service: ApiService,
        metrics: Arc<Metrics>,
        stopped: impl Future<Output = ()>,
    ) {
        let (stage, watching) = watch::channel(ShutdownStage::Open);
        let connection_context =
            ConnectionContext { api_service, limits: self.limits, metrics, stage: watching };
        let mut acceptor = Acceptor {
            slots: ConnectionSlots::new(self.caps),
            connection_context,
            full: ThrottledLog::default(),
            files: ThrottledLog::default(),
        };
        let mut stopped = pin!(stopped);
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                accepted = listener.accept() => acceptor.take(accepted).await,
            }
        }
        acceptor.take_those_who_wait(&listener).await;
        drop((listener, acceptor));
        stage.send_replace(ShutdownStage::Draining);
        if timeout(self.stop, stage.closed()).await.is_err() {
            tracing::warn!(n_connections = stage.receiver_count(), "closing unfinished connections");
            stage.send_replace(ShutdownStage::Over);
            stage.closed().await;
        }
    }
}

struct Acceptor {
    slots: Arc<ConnectionSlots>,
    connection_context: ConnectionContext,
    full: ThrottledLog,
    files: ThrottledLog,
}

impl Acceptor {
    async fn take(&mut self, accepted: io::Result<(TcpStream, SocketAddr)>) {
        match accepted {
            Ok((stream, address)) => match self.slots.take(address.ip()) {
                Ok(slot) => {
                    tokio::spawn(connection::serve(stream, slot, self.connection_context.clone()));
                }
                Err(refusal) => {
                    self.connection_context.metrics.connection_refused(refusal.as_str());
                    if self.full.take_due() {
                        tracing::warn!(
                            reason = refusal.as_str(),
                            "clients are refused: too many connections"
                        );
                    }
                    refusal::turn_away(stream);
                }
            },
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                self.connection_context.metrics.connection_refused("files");
                if self.files.take_due() {
                    tracing::error!(%error, "cannot accept client connections");
                }
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }

    /// Accepts the connections that the system has already accepted: those clients expect a response.
    async fn take_those_who_wait(&mut self, listener: &TcpListener) {
        for _ in 0..BACKLOG_MAX {
            let waiting = poll_fn(|context| match listener.poll_accept(context) {
                Poll::Ready(Ok(accepted)) => Poll::Ready(Some(accepted)),
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Ready(None),
            });
            let Some(accepted) = waiting.await else { return };
            self.take(Ok(accepted)).await;
        }
    }
}

/// Returns whether the client disconnected before its connection was accepted.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    [ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted].contains(&error.kind())
}

/// A log message that is repeated only after an interval.
#[derive(Debug, Default)]
struct ThrottledLog {
    said: Option<Instant>,
}

impl ThrottledLog {
    fn take_due(&mut self) -> bool {
        let is_due = self.said.is_none_or(|said| said.elapsed() >= SAID_EVERY);
        if is_due {
            self.said = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_telemetry::config::Settings;

    fn http_listener(name: &'static str, value: &'static str) -> Result<Listener, ListenerError> {
        let settings = Settings::read(|asked| Ok((asked == name).then(|| value.to_owned()))).unwrap();
        Listener::open(&settings.connections)
    }

    #[test]
    fn without_a_setting_there_is_room_for_what_the_system_grants() {
        let caps = http_listener("NOTHING", "").unwrap().caps;
        assert!((1..=OPEN_MAX).contains(&caps.open_max), "{caps:?}");
        assert_eq!(caps.per_address_max, caps.open_max.div_ceil(2));
        assert!(!caps.counts_loopback);
    }

    #[test]
    fn a_configured_limit_for_each_address_applies_to_loopback_too() {
        let caps = http_listener("SERVICE_CONNECTIONS_PER_ADDRESS", "3").unwrap().caps;
        assert_eq!((caps.per_address_max, caps.counts_loopback), (3, true));
    }

    #[test]
    fn more_connections_than_files_are_no_setting() {
        if let Err(error) = http_listener("SERVICE_CONNECTIONS_MAX", "1000000") {
            assert!(error.to_string().contains("1000224 open files"), "{error}");
        }
    }
}
