//! An HTTP response of the service.

#![expect(clippy::panic, reason = "a harness that cannot go on fails the test it serves")]

use serde_json::Value;

/// A complete HTTP response. Equality compares status and body only, because headers contain the time of day.
#[derive(Debug, Clone, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// All headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as received.
    pub body: Vec<u8>,
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        (self.status, &self.body) == (other.status, &other.body)
    }
}

impl Answer {
    /// Returns the body as text, with invalid UTF-8 replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Parses the body as JSON.
    ///
    /// # Panics
    /// Panics if the body is not JSON.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("status {}, no JSON ({error}): {}", self.status, self.text()))
    }

    /// Checks the status and parses the body as JSON.
    ///
    /// # Panics
    /// Panics if the status differs or the body is not JSON.
    #[must_use]
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "unexpected status: {}", self.text());
        self.json()
    }

    /// Returns the value at a JSON pointer in the body, or null.
    ///
    /// # Panics
    /// Panics if the body is not JSON.
    #[must_use]
    #[track_caller]
    pub fn at(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or_default()
    }

    /// Returns the stable error code.
    ///
    /// # Panics
    /// Panics if the body is not an Error object: `error` and `code`, both strings and not empty.
    #[must_use]
    #[track_caller]
    pub fn code(&self) -> String {
        let body = self.json();
        let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        match (text("error"), text("code")) {
            (Some(_), Some(code)) => code.to_owned(),
            _ => panic!("status {}, no Error object: {}", self.status, self.text()),
        }
    }

    /// Returns the first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Returns the names of the rules that matched, in response order. Beyond the first 16, the response has none, and an
    /// id stands for it: `rule 17`.
    ///
    /// # Panics
    /// Panics if the response is not an evaluation.
    #[must_use]
    #[track_caller]
    pub fn triggered(&self) -> Vec<String> {
        let body = self.expect(200);
        let Some(list) = body.get("triggered").and_then(Value::as_array) else {
            panic!("no evaluation: {}", self.text());
        };
        let id = |rule: &Value| format!("rule {}", rule.get("instruction_id").unwrap_or(&Value::Null));
        let name = |rule: &Value| rule.get("name").and_then(Value::as_str).map(str::to_owned);
        list.iter().map(|rule| name(rule).unwrap_or_else(|| id(rule))).collect()
    }
}
