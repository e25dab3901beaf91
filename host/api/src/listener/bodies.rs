//! Request and response bodies that update the connection timers when they end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::timers::ConnectionTimers;
use crate::request_limits::ArrivalError;

#[derive(Debug)]
pub(super) struct TimedRequestBody {
    incoming: Incoming,
    timers: Arc<ConnectionTimers>,
    is_open: bool,
}

#[derive(Debug)]
pub(super) struct TimedResponseBody {
    body: Body,
    timers: Arc<ConnectionTimers>,
}

impl TimedRequestBody {
    /// Wraps a body that has not ended yet.
    pub(super) fn new(incoming: Incoming, timers: Arc<ConnectionTimers>) -> Self {
        timers.request_with_body();
        Self { incoming, timers, is_open: true }
    }

    /// Wraps a body whose reader limits each wait for it.
    pub(super) fn streamed(incoming: Incoming, timers: Arc<ConnectionTimers>) -> Self {
        timers.request_with_streamed_body();
        Self { incoming, timers, is_open: true }
    }

    fn end(&mut self) {
        if self.is_open {
            self.is_open = false;
            self.timers.body_ended();
        }
    }
}

impl HttpBody for TimedRequestBody {
    type Data = Bytes;
    type Error = ArrivalError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ArrivalError>>> {
        if self.is_open && self.timers.is_body_late() {
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

impl Drop for TimedRequestBody {
    fn drop(&mut self) {
        self.end();
    }
}

impl TimedResponseBody {
    pub(super) fn new(body: Body, timers: Arc<ConnectionTimers>) -> Self {
        Self { body, timers }
    }
}

impl HttpBody for TimedResponseBody {
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

/// Runs once the body has been handed to the connection.
impl Drop for TimedResponseBody {
    fn drop(&mut self) {
        self.timers.answered();
    }
}
