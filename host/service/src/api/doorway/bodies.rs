//! Bodies on their way in and out, which tell the pulse when they are over.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::pulse::Pulse;

/// The body of a request, for as long as it may take.
#[derive(Debug)]
pub(super) struct Arriving {
    incoming: Incoming,
    pulse: Arc<Pulse>,
    is_open: bool,
}

/// Why a body is not whole.
#[derive(Debug, thiserror::Error)]
pub(in crate::api) enum ArrivalError {
    /// It took too long.
    #[error("the body took too long")]
    Late,
    /// The client left, or sent what is no body.
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

/// The body of an answer.
#[derive(Debug)]
pub(super) struct Leaving {
    body: Body,
    pulse: Arc<Pulse>,
}

impl Arriving {
    /// Takes a body that has not ended yet.
    pub(super) fn new(incoming: Incoming, pulse: Arc<Pulse>) -> Self {
        pulse.request_with_body();
        Self { incoming, pulse, is_open: true }
    }

    fn end(&mut self) {
        if self.is_open {
            self.is_open = false;
            self.pulse.body_ended();
        }
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = ArrivalError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ArrivalError>>> {
        if self.is_open && self.pulse.is_body_late() {
            return Poll::Ready(Some(Err(ArrivalError::Late)));
        }
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(context));
        if self.incoming.is_end_stream() || !matches!(frame, Some(Ok(_))) {
            self.end();
        }
        Poll::Ready(frame.map(|frame| Ok(frame?)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.end();
    }
}

impl Leaving {
    pub(super) fn new(body: Body, pulse: Arc<Pulse>) -> Self {
        Self { body, pulse }
    }
}

impl HttpBody for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Dropped when nothing more of it is wanted: it was handed on.
impl Drop for Leaving {
    fn drop(&mut self) {
        self.pulse.answered();
    }
}
