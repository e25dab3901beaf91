//! Tables: each row becomes a transaction in JSON.
//!
//! A column with the name of a field is that field, and `meta_data.NAME` is a member of `meta_data`, `meta_data.NAME.NAME` one of
//! an object in it. Other columns have to be named; those that are not are left out. An empty cell is a field that is left out.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};

use serde_json::{Map, Value};
use tollgate_model::transaction::{WireKind, kind_of};

use super::row::{ImportFileError, ImportRow, ROW_BYTES_MAX, too_long};
use super::table_reader::TableReader;

pub(super) const METADATA: &str = "meta_data";
/// Most points in the name of a column below `meta_data`; the service takes no deeper objects.
const POINTS_MAX: usize = 30;

/// The columns of a table by field, and the character between them.
#[derive(Debug, Clone)]
pub(super) struct TableColumns {
    /// Fields and the columns that they are in; a column without a name for fields that are left out.
    pub(super) named: Vec<(String, String)>,
    pub(super) delimiter: u8,
}

impl Default for TableColumns {
    fn default() -> Self {
        Self { named: Vec::new(), delimiter: b',' }
    }
}

/// The place of a cell in a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellField {
    /// A field that is a text; a number keeps its digits as one.
    Text(String),
    Boolean(String),
    /// A path of names between points.
    Metadata(String),
}

impl CellField {
    pub(super) fn of(name: &str) -> Option<Self> {
        if let Some(member) = name.strip_prefix("meta_data.").filter(|member| !member.is_empty()) {
            return Some(Self::Metadata(member.to_owned()));
        }
        match kind_of(name)? {
            WireKind::Boolean => Some(Self::Boolean(name.to_owned())),
            WireKind::Object => None,
            WireKind::Id | WireKind::Code | WireKind::Prose | WireKind::Number | WireKind::Time => {
                Some(Self::Text(name.to_owned()))
            }
        }
    }

    /// Returns its name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Text(name) | Self::Boolean(name) => name.clone(),
            Self::Metadata(path) => format!("{METADATA}.{path}"),
        }
    }

    /// Returns the path below the metadata.
    fn metadata(&self) -> Option<&str> {
        match self {
            Self::Metadata(path) => Some(path),
            Self::Text(_) | Self::Boolean(_) => None,
        }
    }
}

/// The rows of a table.
pub(super) struct TableRows<B> {
    records: TableReader<B>,
    /// The field of each column; `None` for one that is left out.
    fields: Vec<Option<CellField>>,
    number: u64,
    has_failed: bool,
}

impl<B: BufRead> TableRows<B> {
    /// Reads the row of names.
    ///
    /// # Errors
    /// If it cannot be read, or does not have the columns that are asked for.
    pub(super) fn new(source: B, columns: &TableColumns) -> Result<Self, ImportFileError> {
        let mut records = TableReader::new(source, columns.delimiter);
        let names = records.next()?.map(|names| names.cells).unwrap_or_else(|| Ok(Vec::new()));
        let names = names.map_err(|why| ImportFileError::Columns(format!("its first row: {why}")))?;
        let names: Vec<&str> = names.iter().map(|name| name.trim()).collect();
        let fields = fields_of(&names, &columns.named).map_err(ImportFileError::Columns)?;
        Ok(Self { records, fields, number: 1, has_failed: false })
    }
}

/// Returns the field of each column.
pub(super) fn fields_of(
    names: &[&str],
    named: &[(String, String)],
) -> Result<Vec<Option<CellField>>, String> {
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !name.is_empty() && !seen.insert(**name)) {
        return Err(format!("it names the column `{twice}` twice"));
    }
    let mut by_column: HashMap<&str, CellField> = HashMap::new();
    let mut taken = HashSet::new();
    for (field, column) in named {
        if field == METADATA && column.is_empty() {
            taken.insert(METADATA);
            continue;
        }
        let cell = CellField::of(field).ok_or_else(|| format!("--columns: there is no field `{field}`"))?;
        if !taken.insert(field.as_str()) {
            return Err(format!("--columns names the field `{field}` twice"));
        }
        if column.is_empty() {
            continue;
        }
        if !names.contains(&column.as_str()) {
            let found = names.join(", ");
            return Err(format!("--columns: it has no column `{column}`; it has: {found}"));
        }
        if by_column.insert(column, cell).is_some() {
            return Err(format!("--columns names the column `{column}` for two fields"));
        }
    }
    let fields: Vec<Option<CellField>> = names
        .iter()
        .map(|name| match by_column.remove(name) {
            Some(cell) => Some(cell),
            None => CellField::of(name).filter(|_| !taken.contains(*name)),
        })
        .collect();
    if names.contains(&METADATA) && !taken.contains(METADATA) {
        return Err(format!(
            "its column `{METADATA}` is no structure; name a column for each member, such as meta_data.device_id, or leave it out with \
             --columns {METADATA}="
        ));
    }
    let metadata: HashSet<&str> = fields.iter().flatten().filter_map(CellField::metadata).collect();
    for name in &metadata {
        if name.matches('.').count() > POINTS_MAX {
            return Err(format!("a column of meta_data leads into more than {POINTS_MAX} objects"));
        }
        let outer = name.match_indices('.').filter_map(|(end, _)| name.get(..end));
        if let Some(outer) = outer.into_iter().find(|outer| metadata.contains(outer)) {
            return Err(format!(
                "`meta_data.{name}` is a member of `meta_data.{outer}`, which is a column too"
            ));
        }
    }
    for required in ["amount", "currency", "reference"] {
        if !fields.contains(&Some(CellField::Text(required.to_owned()))) {
            let found = names.join(", ");
            return Err(format!(
                "no column has the field `{required}`; name one with --columns {required}=COLUMN, of: {found}"
            ));
        }
    }
    Ok(fields)
}

impl<B: BufRead> Iterator for TableRows<B> {
    type Item = io::Result<ImportRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let record = match self.records.next() {
            Ok(record) => record?,
            Err(error) => {
                self.has_failed = true;
                return Some(Err(error));
            }
        };
        self.number += 1;
        let (n_cells, n_names) = (record.cells.as_ref().map_or(0, Vec::len), self.fields.len());
        let content = match record.cells {
            Ok(_) if n_cells != n_names => {
                Err(format!("it has {n_cells} cells, and the first row {n_names}"))
            }
            Ok(cells) => json_of(&self.fields, cells.into_iter().map(Value::from)),
            Err(why) => Err(why),
        };
        Some(Ok(ImportRow { number: self.number, line: record.line, content }))
    }
}

/// Returns a row as a transaction in JSON. A cell that is null or an empty text is left out.
pub(super) fn json_of(
    fields: &[Option<CellField>],
    cells: impl IntoIterator<Item = Value>,
) -> Result<Vec<u8>, String> {
    let (mut members, mut metadata) = (Map::new(), Map::new());
    for (field, cell) in fields.iter().zip(cells) {
        let Some(field) = field.as_ref().filter(|_| !cell.is_null() && cell != "") else { continue };
        match field {
            CellField::Text(name) => drop(members.insert(name.clone(), Value::from(text_of(cell)))),
            CellField::Boolean(name) => {
                let cell = text_of(cell);
                let value = cell.to_ascii_lowercase().parse::<bool>();
                let value = value.map_err(|_| format!("`{name}` must be true or false, not `{cell}`"))?;
                members.insert(name.clone(), Value::from(value));
            }
            CellField::Metadata(name) => add_member(&mut metadata, name, cell),
        }
    }
    if !metadata.is_empty() {
        members.insert(METADATA.to_owned(), Value::Object(metadata));
    }
    let json = Value::Object(members).to_string().into_bytes();
    if json.len() as u64 > ROW_BYTES_MAX { Err(too_long()) } else { Ok(json) }
}

/// Adds a value at a path of names between points.
fn add_member(members: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(members.insert(path.to_owned(), value)),
        Some((name, rest)) => {
            let inner = members.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                add_member(inner, rest, value);
            }
        }
    }
}

/// Returns a cell as a text; a number with all its digits.
fn text_of(cell: Value) -> String {
    match cell {
        Value::String(text) => text,
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(double) => double.to_string(),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(named: &[(&str, &str)]) -> TableColumns {
        let named = named.iter().map(|(field, column)| ((*field).to_owned(), (*column).to_owned())).collect();
        TableColumns { named, ..TableColumns::default() }
    }

    fn rows_of(table: &str, named: &[(&str, &str)]) -> Result<Vec<ImportRow>, ImportFileError> {
        Ok(TableRows::new(table.as_bytes(), &columns(named))?.collect::<io::Result<_>>()?)
    }

    #[track_caller]
    fn check(table: &str, named: &[(&str, &str)], expected: &[(u64, u64, &str)]) {
        let rows = rows_of(table, named).unwrap();
        let texts: Vec<(u64, u64, String)> = rows
            .into_iter()
            .map(|row| {
                let text =
                    row.content.map(|json| String::from_utf8(json).unwrap()).unwrap_or_else(|error| error);
                (row.number, row.line, text)
            })
            .collect();
        let texts: Vec<(u64, u64, &str)> =
            texts.iter().map(|(number, line, text)| (*number, *line, &**text)).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn columns_with_the_names_of_fields_are_fields_and_others_are_left_out() {
        check(
            "\u{feff}transaction_id, amount ,currency,reference,inflight,meta_data.device.id,note\n\
             t-1,10.50,EUR,\"a, \"\"b\"\"\nc\",TRUE,d-1,x\n\
             t-2,7,EUR,r,,,\n",
            &[],
            &[
                (
                    2,
                    2,
                    r#"{"amount":"10.50","currency":"EUR","inflight":true,"meta_data":{"device":{"id":"d-1"}},"reference":"a, \"b\"\nc","transaction_id":"t-1"}"#,
                ),
                (3, 4, r#"{"amount":"7","currency":"EUR","reference":"r","transaction_id":"t-2"}"#),
            ],
        );
    }

    #[test]
    fn columns_may_be_named_and_fields_left_out() {
        check(
            "id,value,currency,reference,description\n7,1,EUR,r,secret\n",
            &[
                ("transaction_id", "id"),
                ("amount", "value"),
                ("meta_data.origin", "reference"),
                ("reference", "currency"),
                ("currency", "description"),
                ("description", ""),
            ],
            &[(
                2,
                2,
                r#"{"amount":"1","currency":"secret","meta_data":{"origin":"r"},"reference":"EUR","transaction_id":"7"}"#,
            )],
        );
    }

    #[test]
    fn a_row_that_cannot_be_read_is_named_and_the_others_are_read() {
        let long = "x".repeat(70_000);
        check(
            &format!(
                "amount,currency,reference,atomic\n1,EUR,r\n2,EUR,r,yes\n3,EUR,{long},\n4,EUR,r,false\n"
            ),
            &[],
            &[
                (2, 2, "it has 3 cells, and the first row 4"),
                (3, 3, "`atomic` must be true or false, not `yes`"),
                (4, 4, "it has more than 65536 bytes"),
                (5, 5, r#"{"amount":"4","atomic":false,"currency":"EUR","reference":"r"}"#),
            ],
        );
    }

    #[test]
    fn a_row_is_named_by_the_line_on_which_it_begins() {
        for end in ["\n", "\r\n"] {
            let table =
                ["amount,currency,reference", "", "1,EUR,\"a\nb\"", "", "", "2,EUR", "3,EUR,r"].join(end);
            let rows = rows_of(&table, &[]).unwrap();
            let lines: Vec<(u64, u64, bool)> =
                rows.iter().map(|row| (row.number, row.line, row.content.is_ok())).collect();
            assert_eq!(lines, [(2, 3, true), (3, 7, false), (4, 8, true)], "{end:?}");
        }
    }

    #[test]
    fn a_quotation_mark_that_is_not_closed_ends_the_table_with_an_error() {
        let rest = "2,EUR,r\n".repeat(200_000);
        for (open, rest) in [("\"r", ""), ("\"r", "\n"), ("\"", &*rest), ("\"r\n2,EUR,s", "\n")] {
            let table = format!("amount,currency,reference\n0,EUR,q\n1,EUR,{open}{rest}");
            let mut rows = TableRows::new(table.as_bytes(), &TableColumns::default()).unwrap();
            assert!(rows.next().unwrap().unwrap().content.is_ok());
            let error = rows.next().unwrap().unwrap_err().to_string();
            assert!(error.contains("line 3") && error.contains("quotation mark"), "{error}");
            assert!(rows.next().is_none());
        }
    }

    #[test]
    fn a_table_whose_columns_are_not_those_asked_for_is_refused() {
        for (table, named, expected) in [
            ("amount,currency\n", &[][..], "no column has the field `reference`"),
            ("amount,amount\n", &[], "names the column `amount` twice"),
            (
                "a,currency,reference\n",
                &[("amount", "b")],
                "has no column `b`; it has: a, currency, reference",
            ),
            ("a,currency,reference\n", &[("total", "a")], "there is no field `total`"),
            ("a,currency,reference\n", &[("amount", "a"), ("source", "a")], "for two fields"),
            ("a,b,currency,reference\n", &[("amount", "a"), ("amount", "b")], "the field `amount` twice"),
            ("amount,currency,reference\n", &[("amount", "")], "no column has the field `amount`"),
            (
                "amount,currency,reference,meta_data.a,meta_data.a.b\n",
                &[],
                "`meta_data.a.b` is a member of `meta_data.a`, which is a column too",
            ),
            ("amount,currency,reference,meta_data\n", &[], "its column `meta_data` is no structure"),
            (
                &format!("amount,currency,reference,meta_data{}\n", ".a".repeat(200_000)),
                &[],
                "leads into more than 30 objects",
            ),
            ("", &[], "no column has the field `amount`"),
        ] {
            let error = rows_of(table, named).unwrap_err().to_string();
            assert!(error.contains(expected), "{table}: {error}");
        }
    }
}
