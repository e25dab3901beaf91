//! What the service answered.

#![expect(clippy::panic, reason = "a harness that cannot go on fails the test it serves")]

use serde_json::Value;

/// One HTTP answer, read to its end. Equality is that of status and body: headers carry the time of day.
#[derive(Debug, Clone, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// As received.
    pub body: Vec<u8>,
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        (self.status, &self.body) == (other.status, &other.body)
    }
}

impl Answer {
    /// The body as text; bytes that are none show as the replacement character.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("status {}, no JSON ({error}): {}", self.status, self.text()))
    }

    /// The body as JSON of an answer that must have this status.
    ///
    /// # Panics
    /// When it has another, or is no JSON.
    #[must_use]
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "unexpected status: {}", self.text());
        self.json()
    }

    /// A field of the body at this JSON pointer; null when it is absent.
    ///
    /// # Panics
    /// When the body is no JSON.
    #[must_use]
    #[track_caller]
    pub fn at(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or_default()
    }

    /// The stable code of an error.
    ///
    /// # Panics
    /// When the body is no Error object: `error` and `code`, both texts, the first not empty.
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

    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The names of the rules that matched, in the order of the answer.
    ///
    /// # Panics
    /// When the answer is no evaluation.
    #[must_use]
    #[track_caller]
    pub fn triggered(&self) -> Vec<String> {
        let body = self.expect(200);
        let Some(list) = body.get("triggered").and_then(Value::as_array) else {
            panic!("no evaluation: {}", self.text());
        };
        list.iter().filter_map(|rule| rule.get("name")?.as_str()).map(str::to_owned).collect()
    }
}
