//! Ids of the request that a task serves, for its log lines and its answer.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::traces::RequestSpan;

/// Maximum length of an id that a client sends, in bytes.
const BYTES_MAX: usize = 128;

tokio::task_local! {
    static CURRENT: RequestIds;
}

/// The id of a request and of its trace. Both consist of characters that need no escapes.
#[derive(Debug, Clone)]
pub struct RequestIds {
    request: Arc<str>,
    trace: Option<Box<str>>,
    /// Its span, if traces are exported.
    span: Option<RequestSpan>,
}

impl RequestIds {
    /// Returns the ids of a request that sent this id and this `traceparent` (W3C Trace Context). A request without a
    /// usable id gets a new one.
    pub fn new(sent: Option<&str>, parent: Option<&str>) -> Self {
        let request = sent.filter(|id| is_usable(id)).map_or_else(new_id, Into::into);
        Self { request, trace: parent.and_then(trace_of).map(Into::into), span: None }
    }

    /// Returns these ids with a span, whose trace replaces the one that was sent.
    pub fn with_span(self, span: Option<&RequestSpan>) -> Self {
        let Some(span) = span else { return self };
        Self { trace: Some(span.trace_id().into()), span: Some(span.clone()), ..self }
    }

    /// Returns the span of the request that the current task serves, if it has one.
    pub fn current_span() -> Option<RequestSpan> {
        CURRENT.try_with(|ids| ids.span.clone()).ok().flatten()
    }

    /// Returns the id of the request.
    pub fn request(&self) -> Arc<str> {
        Arc::clone(&self.request)
    }

    /// Runs work whose log lines carry these ids.
    pub async fn within<T>(self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// Returns work for another task, whose log lines carry the ids of this one.
    pub fn propagate<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
        let ids = CURRENT.try_with(Clone::clone).ok();
        async move {
            match ids {
                Some(ids) => ids.within(work).await,
                None => work.await,
            }
        }
    }

    /// Same as [`RequestIds::propagate`], for work on another thread.
    pub fn propagate_blocking<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
        let ids = CURRENT.try_with(Clone::clone).ok();
        move || match ids {
            Some(ids) => CURRENT.sync_scope(ids, work),
            None => work(),
        }
    }

    /// Adds the ids of the current task to a formatted log line, which is a JSON object or text.
    pub(super) fn add_to(line: &mut String) {
        // Without a current request there is nothing to add.
        let _ = CURRENT.try_with(|ids| {
            let is_json = line.starts_with('{') && line.ends_with('}');
            if is_json {
                line.pop();
            }
            for (name, id) in [("request_id", Some(&*ids.request)), ("trace_id", ids.trace.as_deref())] {
                // Writing to a string cannot fail.
                let _ = match id {
                    Some(id) if is_json => write!(line, r#","{name}":"{id}""#),
                    Some(id) => write!(line, " {name}={id}"),
                    None => Ok(()),
                };
            }
            if is_json {
                line.push('}');
            }
        });
    }

    /// Returns whether the current task serves a request.
    pub(super) fn are_known() -> bool {
        CURRENT.try_with(|_| ()).is_ok()
    }
}

fn is_usable(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@~".contains(&byte);
    (1..=BYTES_MAX).contains(&id.len()) && id.bytes().all(is_plain)
}

/// Returns the id of the trace in a `traceparent` of any version.
fn trace_of(parent: &str) -> Option<&str> {
    let mut parts = parent.split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_sound = is_hex(version, 2) && version != "ff" && is_hex(trace, 32) && is_hex(span, 16);
    (is_sound && trace.bytes().any(|byte| byte != b'0')).then_some(trace)
}

/// Returns an id that no other request of this or another process has.
fn new_id() -> Arc<str> {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let (process, number) =
        (PROCESS.get_or_init(|| fastrand::u64(..)), NUMBER.fetch_add(1, Ordering::Relaxed));
    format!("{process:016x}-{number:x}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usable_id_is_kept_and_any_other_is_replaced() {
        let id = |sent| RequestIds::new(sent, None).request();
        for usable in ["a", "req_01J9Z.4:7/+=@~-", "0af7651916cd43dd8448eb211c80319c"] {
            assert_eq!(&*id(Some(usable)), usable);
        }
        for other in ["", "a b", "a\"b", "a\\b", "a,b", "<a>", "ä"] {
            assert_ne!(&*id(Some(other)), other);
        }
        assert_ne!(id(None), id(None));
    }

    #[test]
    fn only_a_sound_trace_counts() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(trace_of(&format!("00-{trace}-b7ad6b7169203331-01")), Some(trace));
        assert_eq!(trace_of(&format!("cc-{trace}-b7ad6b7169203331-01-later")), Some(trace));
        for parent in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(trace_of(parent), None, "{parent}");
        }
    }

    #[tokio::test]
    async fn lines_of_a_request_have_its_ids() {
        let added = |line: &str| {
            let mut line = line.to_owned();
            RequestIds::add_to(&mut line);
            line
        };
        assert_eq!(added(r#"{"a":1}"#), r#"{"a":1}"#);
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let ids = RequestIds::new(Some("r1"), Some(parent));
        let (json, text) = ids.within(async { (added(r#"{"a":1}"#), added("a=1")) }).await;
        let trace = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(json, format!(r#"{{"a":1,"request_id":"r1","trace_id":"{trace}"}}"#));
        assert_eq!(text, format!("a=1 request_id=r1 trace_id={trace}"));
    }
}
