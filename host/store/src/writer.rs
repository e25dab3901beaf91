//! The one connection that writes.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::sync::{Mutex, MutexGuard};

use super::StoreError;

/// Lends its connection to one call at a time. A connection on which anything failed, or whose call was dropped, is not
/// used again: what state it is in cannot be told.
pub(super) struct Writer {
    options: SqliteConnectOptions,
    state: Mutex<State>,
}

enum State {
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
        Ok(Self { options, state: Mutex::new(State::Ready(connection)) })
    }

    /// One that never writes.
    pub(super) fn closed(options: SqliteConnectOptions) -> Self {
        Self { options, state: Mutex::new(State::Closed) }
    }

    /// Waits for its turn. INVARIANT: while a connection is lent, the state is `GivenUp`.
    pub(super) async fn lease(&self) -> Result<Lease<'_>, StoreError> {
        let mut state = self.state.lock().await;
        let connection = match std::mem::replace(&mut *state, State::GivenUp) {
            State::Ready(connection) => connection,
            State::GivenUp => self.options.connect().await?,
            State::SyncFailed => {
                *state = State::SyncFailed;
                return Err(StoreError::SyncFailed { source: "an earlier write was not confirmed".into() });
            }
            State::Closed => {
                *state = State::Closed;
                return Err(StoreError::Closed);
            }
        };
        Ok(Lease { state, connection })
    }

    /// The last connection to close moves the log into the database.
    pub(super) async fn close(&self) {
        let mut state = self.state.lock().await;
        if let State::Ready(connection) = std::mem::replace(&mut *state, State::Closed) {
            close(connection).await;
        }
    }
}

pub(super) struct Lease<'a> {
    state: MutexGuard<'a, State>,
    connection: SqliteConnection,
}

impl Lease<'_> {
    pub(super) const fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Ends the turn, and passes the outcome on.
    pub(super) async fn give_back<T>(mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        match &outcome {
            Ok(_) => *self.state = State::Ready(self.connection),
            Err(error) => {
                if matches!(error, StoreError::SyncFailed { .. }) {
                    *self.state = State::SyncFailed;
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
