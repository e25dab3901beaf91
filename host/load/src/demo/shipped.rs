//! The shipped rules and lists.

use serde_json::{Value as Json, json};

use crate::client::Client;
use crate::error::BenchError;

mod files {
    include!(concat!(env!("OUT_DIR"), "/shipped.rs"));
}

pub(super) const fn n_rules() -> usize {
    files::SCRIPTS.len()
}

/// Saves the lists and the rules over the API, so that both can be changed there.
///
/// # Errors
/// When the service refuses one.
pub(super) fn save(client: &mut Client) -> Result<(), BenchError> {
    for (name, text) in files::LISTS {
        let entries: Vec<Json> = entries(text).map(Json::from).collect();
        client.expect(201, "PUT", &format!("/lists/{name}"), &Json::from(entries).to_string())?;
    }
    for (_, script) in files::SCRIPTS {
        client.expect(
            201,
            "POST",
            "/compile-and-save-instruction",
            &json!({"script": script}).to_string(),
        )?;
    }
    Ok(())
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}
