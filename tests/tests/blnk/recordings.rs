//! Recorded requests and rows of Blnk: `tests/recordings/blnk`.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// A recorded request.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) kind: String,
    /// Body, byte for byte.
    pub(crate) body: String,
    /// The entry in it, if it was posted.
    pub(crate) entry: Option<Value>,
}

/// A recorded row.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// Columns in table order; `None` for null.
    pub(crate) columns: Vec<(String, Option<String>)>,
    /// The entry in it.
    pub(crate) entry: Value,
}

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/blnk").join(name)).unwrap()
}

/// Returns every request.
pub(crate) fn sent() -> Vec<Sent> {
    let requests = read("events.jsonl");
    let requests = requests.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    requests
        .map(|request| {
            let body = request["body"].as_str().unwrap().to_owned();
            let read: Value = serde_json::from_str(&body).unwrap();
            let event = read["event"].as_str().unwrap_or_default();
            let is_reported = event.starts_with("transaction.") || read["hook_type"] == "POST_TRANSACTION";
            // No amount of these has at most 38 digits.
            let is_huge = read["data"]["precise_amount"].as_f64().is_some_and(|units| units >= 1e38);
            let entry = (is_reported && !is_huge).then(|| read["data"].clone());
            Sent { kind: request["kind"].as_str().unwrap().to_owned(), body, entry }
        })
        .collect()
}

/// Returns every row.
pub(crate) fn stored() -> Vec<Stored> {
    let text = read("rows.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let columns: Vec<(String, Option<String>)> =
                names.iter().map(|name| (*name).to_owned()).zip(fields(line)).collect();
            let text = |name: &str| {
                columns.iter().find(|(column, _)| column == name).and_then(|(_, value)| value.clone())
            };
            let mut entry = Map::new();
            for name in [
                "transaction_id",
                "parent_transaction",
                "reference",
                "status",
                "source",
                "destination",
                "currency",
            ] {
                entry.insert(name.to_owned(), json!(text(name)));
            }
            let number = |name: &str| text(name).unwrap().parse::<f64>().unwrap();
            entry.insert("amount".to_owned(), json!(number("precise_amount") / number("precision")));
            entry.insert("meta_data".to_owned(), serde_json::from_str(&text("meta_data").unwrap()).unwrap());
            Stored { columns: columns.clone(), entry: Value::Object(entry) }
        })
        .collect()
}

/// Parses a CSV line as PostgreSQL writes it: an empty field is null, `""` is an empty text.
fn fields(line: &str) -> Vec<Option<String>> {
    let (mut fields, mut rest) = (Vec::new(), Some(line));
    while let Some(text) = rest {
        let Some(quoted) = text.strip_prefix('"') else {
            let (field, behind) =
                text.split_once(',').map_or((text, None), |(field, behind)| (field, Some(behind)));
            fields.push((!field.is_empty()).then(|| field.to_owned()));
            rest = behind;
            continue;
        };
        let (mut field, mut behind) = (String::new(), quoted);
        while let Some((part, more)) = behind.split_once('"') {
            field.push_str(part);
            behind = more;
            match more.strip_prefix('"') {
                // Two quotes stand for one.
                Some(more) => {
                    field.push('"');
                    behind = more;
                }
                None => break,
            }
        }
        fields.push(Some(field));
        rest = behind.strip_prefix(',');
    }
    fields
}

#[test]
fn the_recordings_are_read_whole() {
    assert_eq!((sent().len(), stored().len()), (85, 52));
    let row = stored().into_iter().next().unwrap();
    assert_eq!(row.columns.len(), 20);
    assert_eq!(row.entry["meta_data"]["queue_lane"], "normal");
    assert!(sent().iter().any(|sent| sent.kind == "hook post" && sent.entry.is_some()));
}
