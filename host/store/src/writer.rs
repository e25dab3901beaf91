//! The only connection that writes.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::sync::{Mutex, MutexGuard};

use super::StoreError;

/// Lends its connection to one call at a time. A connection is discarded after an error or a dropped call, because its
/// state is then unknown.
pub(super) struct Writer {
    options: SqliteConnectOptions,
    state: Mutex<WriterState>,
}

enum WriterState {
    Ready(SqliteConnection),
    /// The last connection was discarded; the next call opens a new one.
    GivenUp,
    /// The disk failed to confirm a write. Nothing is written afterwards, because a later success proves nothing about
    /// that write.
    SyncFailed,
    Closed,
}

impl Writer {
    pub(super) async fn open(options: SqliteConnectOptions) -> Result<Self, StoreError> {
        let connection = options.connect().await?;
        Ok(Self { options, state: Mutex::new(WriterState::Ready(connection)) })
    }

    /// Returns a writer that refuses every call.
    pub(super) fn closed(options: SqliteConnectOptions) -> Self {
        Self { options, state: Mutex::new(WriterState::Closed) }
    }

    /// Waits for the connection.
    ///
    /// INVARIANT: while a connection is lent, the state is `GivenUp`.
    pub(super) async fn lease(&self) -> Result<ConnectionLease<'_>, StoreError> {
        let mut state = self.state.lock().await;
        let connection = match std::mem::replace(&mut *state, WriterState::GivenUp) {
            WriterState::Ready(connection) => connection,
            WriterState::GivenUp => self.options.connect().await?,
            WriterState::SyncFailed => {
                *state = WriterState::SyncFailed;
                return Err(StoreError::SyncFailed { source: "an earlier write was not confirmed".into() });
            }
            WriterState::Closed => {
                *state = WriterState::Closed;
                return Err(StoreError::Closed);
            }
        };
        Ok(ConnectionLease { state, connection })
    }

    /// Closes the connection. The last connection to close moves the log into the database.
    pub(super) async fn close(&self) {
        let mut state = self.state.lock().await;
        if let WriterState::Ready(connection) = std::mem::replace(&mut *state, WriterState::Closed) {
            close(connection).await;
        }
    }
}

pub(super) struct ConnectionLease<'a> {
    state: MutexGuard<'a, WriterState>,
    connection: SqliteConnection,
}

impl ConnectionLease<'_> {
    pub(super) const fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Returns the connection to the writer, or discards it after an error. Returns the outcome.
    pub(super) async fn give_back<T>(mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        match &outcome {
            Ok(_) => *self.state = WriterState::Ready(self.connection),
            Err(error) => {
                if matches!(error, StoreError::SyncFailed { .. }) {
                    *self.state = WriterState::SyncFailed;
                }
                close(self.connection).await;
            }
        }
        outcome
    }
}

/// Cannot lose data: every commit was durable before it was confirmed.
async fn close(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "a connection to the database did not close cleanly");
    }
}
