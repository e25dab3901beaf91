//! Generates transactions that rules distinguish.

use chrono::{DateTime, Duration, FixedOffset, SecondsFormat};
use serde_json::{Map, Value as Json, json};

use super::dice::Dice;
use super::words;

/// Generates the transaction with this number in a batch.
pub(super) fn transaction(dice: &mut Dice, n: usize) -> Json {
    let mut fields = Map::new();
    fields.insert("transaction_id".to_owned(), json!(format!("t{n}")));
    fields.insert("amount".to_owned(), number(dice));
    fields.insert("currency".to_owned(), json!(dice.pick(["EUR", "eur", "USD", "42"])));
    fields.insert("reference".to_owned(), text(dice));
    fields.insert("created_at".to_owned(), json!(created_at(dice)));
    for (field, per_cent) in
        [("source", 85), ("destination", 70), ("status", 70), ("description", 30), ("hash", 20)]
    {
        if dice.chance(per_cent) {
            let value = match dice.below(20) {
                0 => Json::Null,
                1..8 => text(dice),
                8..14 if field == "status" => {
                    json!(dice.pick(["applied", "Applied", "APPLIED", "captured", "declined", "A", "True"]))
                }
                // Few distinct values, so that windows hold several.
                _ => json!(dice.pick(["a", "a", "b", "42", "0042"])),
            };
            fields.insert(field.to_owned(), value);
        }
    }
    for field in words::FLAGS {
        if dice.chance(40) {
            fields.insert(field.to_owned(), dice.pick([Some(true), Some(false), None]).into());
        }
    }
    for field in ["effective_date", "scheduled_for", "inflight_expiry_date"] {
        if dice.chance(30) {
            let time = if dice.chance(50) { dice.pick(words::INSTANTS).to_owned() } else { created_at(dice) };
            fields.insert(field.to_owned(), json!(time));
        }
    }
    if dice.chance(5) {
        // Not a field of the API; rules do not see it.
        fields.insert("colour".to_owned(), json!("EUR"));
    }
    if dice.chance(88) {
        fields.insert("meta_data".to_owned(), metadata(dice));
    }
    Json::Object(fields)
}

fn metadata(dice: &mut Dice) -> Json {
    let mut entries = Map::new();
    if dice.chance(75) {
        entries.insert("a".to_owned(), anything(dice));
    }
    if dice.chance(60) {
        entries.insert("b".to_owned(), anything(dice));
    }
    if dice.chance(60) {
        entries.insert("n".to_owned(), json!({"x": anything(dice), "y": {"z": anything(dice)}}));
    }
    if dice.chance(60) {
        let when = if dice.chance(80) { json!(dice.pick(words::TIME_TEXTS)) } else { anything(dice) };
        entries.insert("when".to_owned(), when);
    }
    if dice.chance(60) {
        let n_items = dice.below(4);
        let items: Vec<Json> = (0..n_items).map(|_| anything(dice)).collect();
        entries.insert("list".to_owned(), json!(items));
    }
    for key in ["a-b", "n.x"] {
        if dice.chance(40) {
            entries.insert(key.to_owned(), anything(dice));
        }
    }
    if dice.chance(60) {
        entries.insert("score".to_owned(), number(dice));
    }
    Json::Object(entries)
}

/// Generates a value of any kind.
fn anything(dice: &mut Dice) -> Json {
    match dice.below(28) {
        0..8 => text(dice),
        8..14 => number(dice),
        14 => json!(true),
        15 => json!(false),
        16 => Json::Null,
        17 => json!(dice.pick(words::TIME_TEXTS)),
        18 => json!([number(dice), text(dice)]),
        19 => json!({"b": text(dice)}),
        // Similar but distinct values, which equality and `distinct` tell apart.
        20 | 21 => json!(42),
        22 => json!(42.0),
        23 | 24 => json!("42"),
        25 => json!("0042"),
        26 => json!(true),
        _ => json!("true"),
    }
}

fn text(dice: &mut Dice) -> Json {
    json!(words::text(dice))
}

/// Generates a number that keeps its JSON digits.
fn number(dice: &mut Dice) -> Json {
    serde_json::from_str(words::json_number(dice)).unwrap_or(Json::Null)
}

/// Generates an event time whose distance to others is a window, or one microsecond more or less.
fn created_at(dice: &mut Dice) -> String {
    let start = DateTime::UNIX_EPOCH + Duration::seconds(1_772_323_200);
    let micros = dice.pick([0, 0, 0, 0, 1, -1]);
    let time = start + Duration::seconds(dice.pick(words::DISTANCES)) + Duration::microseconds(micros);
    match dice.below(4) {
        0 => {
            let offset =
                FixedOffset::east_opt(dice.pick([7_200, -16_200])).map(|zone| time.with_timezone(&zone));
            offset.map_or_else(|| time.to_rfc3339(), |time| time.to_rfc3339())
        }
        1 => time.to_rfc3339_opts(SecondsFormat::Nanos, true),
        _ => time.to_rfc3339_opts(SecondsFormat::AutoSi, true),
    }
}
