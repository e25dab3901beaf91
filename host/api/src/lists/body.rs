//! The body of a list: entries as JSON, or a text in the format of a list file.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tollgate_model::named_list::LIST_BYTES_MAX;
use tollgate_model::transaction::{Json, JsonLimits};

use crate::body::{self, DeclaredType};
use crate::error::ApiError;
use crate::error_code::ErrorCode;

const LIST_BODY_BYTES_MAX: usize = LIST_BYTES_MAX as usize;

/// Maximum number of list bodies read at once; further requests are answered with 503.
const BODIES_MAX: usize = 4;
/// Maximum time for a body to arrive.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);

static ROOM: Semaphore = Semaphore::const_new(BODIES_MAX);

/// A list as it was sent.
pub(crate) enum ListBody {
    /// A JSON array of texts.
    Entries(Vec<Box<str>>),
    /// Lines of text.
    Text(String),
}

impl<S: Send + Sync> FromRequest<S> for ListBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        // List bodies are large, so only a few are held in memory at once.
        let _room = ROOM.try_acquire().map_err(|_| {
            ApiError::new(ErrorCode::Overloaded, format!("{BODIES_MAX} lists are already being received"))
        })?;
        let takes = &[DeclaredType::Json, DeclaredType::PlainText];
        let read = timeout(ARRIVAL_MAX, body::read_announced(request, takes, LIST_BODY_BYTES_MAX)).await;
        let (announced, bytes) = read.unwrap_or_else(|_| {
            let seconds = ARRIVAL_MAX.as_secs();
            Err(ApiError::new(ErrorCode::IncompleteBody, format!("the body took longer than {seconds} s")))
        })?;
        // Parsing megabytes would block the async executor for too long.
        let parsed = tokio::task::spawn_blocking(move || {
            if announced == DeclaredType::Json {
                entries_of(&bytes).map(Self::Entries)
            } else {
                text_of(bytes).map(Self::Text)
            }
        });
        parsed.await.unwrap_or_else(|error| Err(ApiError::internal(&error.to_string())))
    }
}

fn entries_of(bytes: &[u8]) -> Result<Vec<Box<str>>, ApiError> {
    let no_list = |message: String| Err(ApiError::new(ErrorCode::InvalidList, message));
    let Json::Array(entries) = Json::parse(bytes, JsonLimits::REQUEST)? else {
        return no_list("the body must be an array of texts".to_owned());
    };
    let mut texts = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        match entry {
            Json::Text(text) => texts.push(text),
            _ => return no_list(format!("entry {index} is not a text; write numbers as texts too")),
        }
    }
    Ok(texts)
}

fn text_of(bytes: Vec<u8>) -> Result<String, ApiError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let n_valid = error.utf8_error().valid_up_to();
        ApiError::new(ErrorCode::InvalidUtf8, format!("the body is not UTF-8 after byte {n_valid}"))
    })?;
    if text.contains('\0') {
        return Err(ApiError::new(ErrorCode::NulCharacter, "the body must not hold the character NUL"));
    }
    Ok(text)
}
