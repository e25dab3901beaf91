//! The one connection that writes.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::sync::{Mutex, MutexGuard};

use super::StoreError;

/// Lends its connection to one call at a time. A connection on which anything failed, or whose call was dropped, is not
/// used again: what state it is in cannot be told.
pub(super) struct Writer {
    options: SqliteConnectOptions,
    state: Mutex<WriterState>,
}

enum WriterState {
    Ready(SqliteConnection),
    /// The last connection was given up; the next call opens another.
    GivenUp,
    /// The disk once did not confirm a write. Nothing is written after that: a later success would prove nothing about it.
    SyncFailed,
    Closed,
}

impl Writer {
    pub(super) async fn open(options: SqliteConnectOptions) -> Result<Self, StoreError> {
        let connection = options.connect().await?;
        Ok(Self { options, state: Mutex::new(WriterState::Ready(connection)) })
    }

    /// One that never writes.
    pub(super) fn closed(options: SqliteConnectOptions) -> Self {
        Self { options, state: Mutex::new(WriterState::Closed) }
    }

    /// Waits for its turn. INVARIANT: while a connection is lent, the state is `GivenUp`.
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

    /// The last connection to close moves the log into the database.
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

    /// Ends the turn, and passes the outcome on.
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

/// Closing cannot lose anything: every commit was durable when it was answered.
async fn close(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "a connection to the database did not close cleanly");
    }
}
