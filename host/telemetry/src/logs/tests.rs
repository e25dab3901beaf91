//! Tests of the lines that reach standard error.

use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::*;

#[derive(Clone, Default)]
struct TestSink(Arc<Mutex<Vec<u8>>>);

impl Write for TestSink {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(buffer);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the lines that `events` produces.
fn lines(format: LogFormat, filter: &str, events: impl FnOnce()) -> Vec<String> {
    let sink = TestSink::default();
    let writer = sink.clone();
    let subscriber = subscriber(format, filter, move || writer.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, events);
    let bytes = sink.0.lock().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

const HOSTILE: &str = "\x1b[31mred\x1b[0m\r\n{\"forged\":true}\n\0\x07\x7f\u{9b}31m\u{2028}\u{202e}end";

#[test]
fn an_event_is_one_json_object_whatever_a_caller_sent() {
    let lines = lines(LogFormat::Json, "info", || {
        tracing::info!(transaction.id = HOSTILE, count = 3, "a transaction came: {HOSTILE}");
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!lines[0].chars().any(char::is_control));
    let event: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(event["transaction.id"], HOSTILE);
    assert_eq!(event["message"], format!("a transaction came: {HOSTILE}"));
    assert_eq!(event["level"], "INFO");
    assert_eq!(event["count"], 3);
}

#[test]
fn a_text_event_is_one_line_without_control_characters() {
    let lines = lines(LogFormat::Text, "info", || tracing::warn!(field = HOSTILE, "{HOSTILE}"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!lines[0].chars().any(|character| character.is_control() || character == '\u{202e}'));
    assert!(lines[0].contains("WARN"));
}

#[test]
fn the_filter_decides_what_is_written() {
    let lines = lines(LogFormat::Json, "warn", || {
        tracing::info!("quiet");
        tracing::warn!("loud");
    });
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("loud"));
}

#[test]
fn a_filter_that_is_none_is_refused_by_name() {
    let refused = subscriber(LogFormat::Json, "tollgate=loudly", io::sink).err().unwrap();
    assert_eq!(refused.to_string(), "the log filter `tollgate=loudly` cannot be read");
}

#[test]
fn an_event_of_megabytes_keeps_the_beginning_of_each_text() {
    let long = format!("{HOSTILE}{}", "ä".repeat(1 << 20));
    let lines = lines(LogFormat::Json, "info", || tracing::info!(field = long, count = 3, "{long}"));
    assert!(lines.len() == 1 && lines[0].len() < 16 * 1024, "{} bytes", lines[0].len());
    assert!(!lines[0].chars().any(char::is_control));
    let event: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&event["count"], &event["level"]), (&3.into(), &"INFO".into()));
    for name in ["field", "message"] {
        let text = event[name].as_str().unwrap();
        assert!(text.starts_with(HOSTILE) && text.ends_with(" bytes left out)"), "{text}");
    }
}

#[test]
fn a_text_event_of_megabytes_is_cut() {
    let lines = lines(LogFormat::Text, "info", || tracing::info!("{HOSTILE}{}", "ä".repeat(1 << 20)));
    assert!(lines.len() == 1 && lines[0].len() < 80 * 1024, "{} bytes", lines[0].len());
    assert!(lines[0].ends_with(" bytes left out)"));
}

#[test]
fn lines_that_were_lost_are_reported_in_both_formats() {
    let line = lost_line(LogFormat::Json)(7);
    let event: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&event["lines"], &event["level"]), (&7.into(), &"WARN".into()));
    let text = lost_line(LogFormat::Text)(7);
    assert!(
        text.contains(" WARN tollgate_telemetry::logs: log lines were lost") && text.ends_with("lines=7\n")
    );
}
