//! The rows of a Parquet file. Only the columns of fields are read; a member of a structure has the name `STRUCTURE.MEMBER`.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, SecondsFormat, TimeDelta, Utc};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Number, Value};
use uuid::Uuid;

use super::row::{ImportFileError, ImportRow};
use super::rows::BytesRead;
use super::table::{CellField, METADATA, TableColumns, fields_of, json_of};

/// Most digits of a decimal.
const PRECISION_MAX: i32 = 76;

/// The rows of a file, in order.
pub(super) struct ParquetRows {
    rows: RowIter<'static>,
    /// The columns that are read, as the schema nests them.
    columns: Vec<Column>,
    /// The field of each of them.
    fields: Vec<Option<CellField>>,
    number: u64,
    n_rows: u64,
    n_bytes: u64,
    read: BytesRead,
    has_failed: bool,
}

/// A column that is read, or a structure of such columns.
#[derive(Debug)]
enum Column {
    Plain(ColumnKind),
    Structure(Vec<Column>),
}

/// How the values of a column are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    /// As the library returns them.
    AsRead,
    /// Nanoseconds since 1970 UTC.
    Nanoseconds,
    Uuid,
}

impl ParquetRows {
    /// Opens a file.
    ///
    /// # Errors
    /// See [`ImportFileError`]. An error within a row is part of that row.
    pub(super) fn open(
        file: File,
        columns: &TableColumns,
        read: &BytesRead,
    ) -> Result<Self, ImportFileError> {
        let n_bytes = file.metadata()?.len();
        let reader = guarded(|| SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr().root_schema_ptr();
        let n_rows = u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or_default();
        let leaves = leaves_of(&schema);
        let names: Vec<&str> = leaves.iter().map(|(name, _)| &**name).collect();
        let fields = fields_of(&names, &columns.named).map_err(ImportFileError::Columns)?;
        for ((name, kind), field) in leaves.iter().zip(&fields) {
            let Some(field) = field else { continue };
            if let Err(why) = kind {
                let field = field.name();
                return Err(ImportFileError::Columns(format!(
                    "its column `{name}` {why}; or leave it out with --columns {field}="
                )));
            }
        }
        for column in schema.get_fields().iter().filter(|column| is_structure(column)) {
            let name = column.name();
            if name != METADATA && CellField::of(name).is_some() {
                return Err(ImportFileError::Columns(format!(
                    "its column `{name}` is a structure, and the field is none"
                )));
            }
        }
        let mut wanted =
            leaves.iter().zip(&fields).map(|((_, kind), field)| kind.ok().filter(|_| field.is_some()));
        let (projected, columns) = project(&schema, &mut wanted)?.unwrap_or_else(|| (schema, Vec::new()));
        let projected = Arc::unwrap_or_clone(projected);
        let rows = guarded(|| RowIter::from_file_into(Box::new(reader)).project(Some(projected)))?;
        let fields = fields.into_iter().filter(Option::is_some).collect();
        Ok(Self { rows, columns, fields, number: 0, n_rows, n_bytes, read: read.clone(), has_failed: false })
    }

    fn content(&self, row: &Row) -> Result<Vec<u8>, String> {
        let mut cells = Vec::with_capacity(self.fields.len());
        add_cells(row, "", &self.columns, &mut cells)?;
        json_of(&self.fields, cells)
    }
}

impl Iterator for ParquetRows {
    type Item = io::Result<ImportRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let row = match guarded(|| self.rows.next().transpose()) {
            Ok(Some(row)) => row,
            Ok(None) if self.number == self.n_rows => return None,
            ended => {
                self.has_failed = true;
                let why = ended.map_or_else(
                    |error| error.to_string(),
                    |_| format!("it has {} rows and says that it has {}", self.number, self.n_rows),
                );
                let message = format!("after row {}: {why}", self.number);
                return Some(Err(io::Error::new(ErrorKind::InvalidData, message)));
            }
        };
        self.number += 1;
        let part = u128::from(self.n_bytes) * u128::from(self.number) / u128::from(self.n_rows.max(1));
        self.read.set(u64::try_from(part).unwrap_or(u64::MAX).min(self.n_bytes));
        Some(Ok(ImportRow { number: self.number, line: self.number, content: self.content(&row) }))
    }
}

/// Calls the library, which panics on some files that are damaged.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> io::Result<T> {
    let damaged = |why: &str| io::Error::new(ErrorKind::InvalidData, why.to_owned());
    match catch_unwind(AssertUnwindSafe(call)) {
        // Some errors end with the content of the cell.
        Ok(result) => {
            result.map_err(|error| damaged(error.to_string().split(". Bytes:").next().unwrap_or_default()))
        }
        Err(_) => Err(damaged("the file is damaged")),
    }
}

/// Returns the name of each column, and how it is understood, or why it is not.
fn leaves_of(schema: &Type) -> Vec<(String, Result<ColumnKind, &'static str>)> {
    let mut leaves = Vec::new();
    for column in schema.get_fields() {
        if is_structure(column) {
            let members = leaves_of(column).into_iter();
            leaves.extend(members.map(|(name, kind)| (format!("{}.{name}", column.name()), kind)));
        } else {
            leaves.push((column.name().to_owned(), column_kind_of(column)));
        }
    }
    leaves
}

fn is_structure(column: &Type) -> bool {
    let info = column.get_basic_info();
    column.is_group()
        && info.repetition() != Repetition::REPEATED
        && info.converted_type() == ConvertedType::NONE
        && info.logical_type_ref().is_none()
}

fn column_kind_of(column: &Type) -> Result<ColumnKind, &'static str> {
    let info = column.get_basic_info();
    if column.is_group() || info.repetition() == Repetition::REPEATED {
        return Err("is a list or a map, and a field is neither");
    }
    match info.logical_type_ref() {
        Some(LogicalType::Timestamp(time)) if !time.is_adjusted_to_u_t_c => {
            return Err("has times without a time zone; write it with times in UTC");
        }
        Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::NANOS => {
            return Ok(ColumnKind::Nanoseconds);
        }
        Some(LogicalType::Uuid) => return Ok(ColumnKind::Uuid),
        // A column without any value.
        Some(LogicalType::Unknown) => return Ok(ColumnKind::AsRead),
        _ => {}
    }
    let is_known = match (column.get_physical_type(), info.converted_type()) {
        (PhysicalType::INT96, _) => {
            return Err("has times of the old type INT96; write them as TIMESTAMP_MICROS");
        }
        (PhysicalType::INT32 | PhysicalType::INT64 | PhysicalType::BYTE_ARRAY, ConvertedType::DECIMAL)
        | (PhysicalType::FIXED_LEN_BYTE_ARRAY, ConvertedType::DECIMAL) => {
            (0..=PRECISION_MAX).contains(&column.get_precision())
                && (0..=column.get_precision()).contains(&column.get_scale())
        }
        (PhysicalType::BOOLEAN | PhysicalType::FLOAT | PhysicalType::DOUBLE, ConvertedType::NONE) => true,
        (PhysicalType::BYTE_ARRAY, ConvertedType::NONE)
        | (PhysicalType::INT32 | PhysicalType::INT64, ConvertedType::NONE) => {
            matches!(info.logical_type_ref(), None | Some(LogicalType::Integer(_) | LogicalType::String))
        }
        (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON) => true,
        (
            PhysicalType::INT32,
            ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::DATE
            | ConvertedType::TIME_MILLIS,
        ) => true,
        (
            PhysicalType::INT64,
            ConvertedType::INT_64
            | ConvertedType::UINT_64
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS,
        ) => true,
        _ => false,
    };
    if is_known { Ok(ColumnKind::AsRead) } else { Err("has a type that no field takes") }
}

/// Returns the part of the schema that has the wanted columns; `None` without one. `wanted` has an item for each column.
fn project(
    schema: &Type,
    wanted: &mut impl Iterator<Item = Option<ColumnKind>>,
) -> Result<Option<(TypePtr, Vec<Column>)>, ImportFileError> {
    let (mut types, mut columns) = (Vec::new(), Vec::new());
    for column in schema.get_fields() {
        if is_structure(column) {
            if let Some((part, members)) = project(column, wanted)? {
                types.push(part);
                columns.push(Column::Structure(members));
            }
        } else if let Some(kind) = wanted.next().flatten() {
            types.push(Arc::clone(column));
            columns.push(Column::Plain(kind));
        }
    }
    if types.is_empty() {
        return Ok(None);
    }
    let info = schema.get_basic_info();
    let mut builder = Type::group_type_builder(schema.name()).with_fields(types);
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    let part = guarded(|| builder.build())?;
    Ok(Some((Arc::new(part), columns)))
}

/// Adds the cells of a row, or of a structure with this path before the names of its members.
fn add_cells(row: &Row, within: &str, columns: &[Column], cells: &mut Vec<Value>) -> Result<(), String> {
    for ((name, field), column) in row.get_column_iter().zip(columns) {
        match (column, field) {
            (Column::Plain(kind), _) => {
                cells.push(cell_of(field, *kind).map_err(|why| format!("`{within}{name}` {why}"))?);
            }
            (Column::Structure(members), Field::Group(row)) => {
                add_cells(row, &format!("{within}{name}."), members, cells)?;
            }
            (Column::Structure(members), _) => add_missing(members, cells),
        }
    }
    Ok(())
}

fn add_missing(columns: &[Column], cells: &mut Vec<Value>) {
    for column in columns {
        match column {
            Column::Plain(_) => cells.push(Value::Null),
            Column::Structure(members) => add_missing(members, cells),
        }
    }
}

fn cell_of(field: &Field, kind: ColumnKind) -> Result<Value, &'static str> {
    const NO_TIME: &str = "has a time that is out of range";
    Ok(match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::Bool(*value),
        Field::Byte(value) => Value::from(*value),
        Field::Short(value) => Value::from(*value),
        Field::Int(value) => Value::from(*value),
        Field::Long(value) if kind == ColumnKind::Nanoseconds => {
            time_of(DateTime::from_timestamp_nanos(*value))
        }
        Field::Long(value) => Value::from(*value),
        Field::UByte(value) => Value::from(*value),
        Field::UShort(value) => Value::from(*value),
        Field::UInt(value) => Value::from(*value),
        Field::ULong(value) => Value::from(*value),
        Field::Float16(value) => number_of(&value.to_string())?,
        Field::Float(value) => number_of(&value.to_string())?,
        Field::Double(value) => number_of(&value.to_string())?,
        // The library ends a number without digits behind its point with the point.
        Field::Decimal(_) => Value::from(field.to_string().trim_end_matches('.')),
        Field::Str(text) => Value::from(text.as_str()),
        Field::Bytes(bytes) if kind == ColumnKind::Uuid => {
            let uuid = Uuid::from_slice(bytes.data()).map_err(|_| "is no UUID")?;
            Value::from(uuid.to_string())
        }
        Field::Bytes(bytes) => Value::from(std::str::from_utf8(bytes.data()).map_err(|_| "is not UTF-8")?),
        Field::Date(days) => {
            let date = match u64::try_from(*days) {
                Ok(days) => NaiveDate::default().checked_add_days(Days::new(days)),
                Err(_) => NaiveDate::default().checked_sub_days(Days::new(u64::from(days.unsigned_abs()))),
            };
            Value::from(date.ok_or(NO_TIME)?.to_string())
        }
        Field::TimeMillis(millis) => {
            day_time_of(TimeDelta::milliseconds(i64::from(*millis))).ok_or(NO_TIME)?
        }
        Field::TimeMicros(micros) => day_time_of(TimeDelta::microseconds(*micros)).ok_or(NO_TIME)?,
        Field::TimestampMillis(millis) => time_of(DateTime::from_timestamp_millis(*millis).ok_or(NO_TIME)?),
        Field::TimestampMicros(micros) => time_of(DateTime::from_timestamp_micros(*micros).ok_or(NO_TIME)?),
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => return Err("is a list or a map"),
    })
}

/// Returns a number by its shortest digits.
fn number_of(digits: &str) -> Result<Value, &'static str> {
    let number = digits.parse().ok().and_then(Number::from_f64);
    number.map(Value::Number).ok_or("is no number")
}

fn time_of(time: DateTime<Utc>) -> Value {
    Value::from(time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

fn day_time_of(since_midnight: TimeDelta) -> Option<Value> {
    let (time, other_days) = NaiveTime::MIN.overflowing_add_signed(since_midnight);
    (other_days == 0).then(|| Value::from(time.to_string()))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    /// Returns a file that another program wrote.
    fn recorded(name: &str) -> PathBuf {
        let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings/parquet");
        recordings.join(format!("{name}.parquet"))
    }

    fn rows_of(path: &Path, named: &[(&str, &str)]) -> Result<Vec<io::Result<ImportRow>>, ImportFileError> {
        let named = named.iter().map(|(field, column)| ((*field).to_owned(), (*column).to_owned())).collect();
        let columns = TableColumns { named, ..TableColumns::default() };
        Ok(ParquetRows::open(File::open(path)?, &columns, &BytesRead::default())?.collect())
    }

    #[track_caller]
    fn check(name: &str, named: &[(&str, &str)], expected: &[&str]) {
        let rows = rows_of(&recorded(name), named).unwrap();
        let texts = rows.into_iter().zip(1..).map(|(row, number)| {
            let row = row.unwrap();
            assert_eq!((row.number, row.line), (number, number));
            row.content.map(|json| String::from_utf8(json).unwrap()).unwrap_or_else(|error| error)
        });
        assert_eq!(texts.collect::<Vec<String>>(), expected);
    }

    #[test]
    fn files_of_pyarrow_have_exact_decimals_and_objects_in_objects() {
        check(
            "pyarrow",
            &[],
            &[
                r#"{"amount":"12345678901234567890.01","created_at":"2026-03-02T10:00:00.123456Z","currency":"EUR","inflight":true,"meta_data":{"attempts":3,"device_id":"d-1","place":{"country":"DE","score":0.1}},"reference":"a, \"b\"","transaction_id":"pa-1"}"#,
                r#"{"amount":"7.00","created_at":"2026-03-02T10:00:01Z","currency":"EUR","reference":"naïve","transaction_id":"pa-2"}"#,
                r#"{"amount":"-0.50","currency":"USD","inflight":false,"reference":"r","transaction_id":"pa-3"}"#,
            ],
        );
    }

    #[test]
    fn files_of_pandas_have_columns_of_any_name_and_numbers_as_texts() {
        check(
            "pandas",
            &[
                ("transaction_id", "Id"),
                ("amount", "Value"),
                ("currency", "Currency"),
                ("meta_data.age", "Age"),
                ("meta_data.customer.is_new", "is_new"),
            ],
            &[
                r#"{"amount":"10.5","created_at":"2026-03-02T10:00:00.123456Z","currency":"EUR","meta_data":{"age":41.0,"customer":{"is_new":true}},"reference":"1001","transaction_id":"pd-1"}"#,
                r#"{"amount":"10000000000000000","created_at":"2026-03-02T10:00:01Z","currency":"JPY","meta_data":{"customer":{"is_new":false}},"reference":"1002","transaction_id":"pd-2"}"#,
            ],
        );
    }

    #[test]
    fn files_of_duckdb_have_uuids_dates_and_times_of_day() {
        check(
            "duckdb",
            &[],
            &[
                r#"{"amount":"1.250","created_at":"2026-03-02T10:00:01Z","currency":"EUR","meta_data":{"born":"1970-01-01","hour":"23:59:58.500","n":1,"ratio":0.3333333333333333},"reference":"r1","transaction_id":"00000000-0000-4000-8000-000000000001"}"#,
                r#"{"amount":"2.500","created_at":"2026-03-02T10:00:02Z","currency":"EUR","meta_data":{"born":"1970-01-02","hour":"23:59:58.500","n":2,"ratio":0.6666666666666666},"reference":"r2","transaction_id":"00000000-0000-4000-8000-000000000002"}"#,
            ],
        );
    }

    #[test]
    fn files_of_polars_are_read() {
        check(
            "polars",
            &[],
            &[
                r#"{"amount":"3.10","created_at":"2026-03-02T10:00:00.123456Z","currency":"EUR","meta_data":{"a":-1},"reference":"r","transaction_id":"pl-1"}"#,
            ],
        );
    }

    #[test]
    fn a_value_that_no_field_takes_is_named_and_the_others_are_read() {
        check("values", &[], &["`amount` is no number", "`currency` is not UTF-8"]);
    }

    #[test]
    fn a_column_whose_type_no_field_takes_is_refused_unless_it_is_left_out() {
        for (name, field, expected) in [
            ("local_times", "created_at", "its column `created_at` has times without a time zone"),
            ("int96", "created_at", "its column `created_at` has times of the old type INT96"),
            ("list", "source", "its column `source` is a list or a map"),
        ] {
            let error = rows_of(&recorded(name), &[]).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
            check(
                name,
                &[(field, "")],
                &[r#"{"amount":"1","currency":"EUR","reference":"r","transaction_id":"x"}"#],
            );
        }
    }

    #[test]
    fn a_damaged_file_has_its_rows_or_an_error_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("damaged.parquet");
        for name in ["pyarrow", "duckdb", "polars"] {
            let whole = std::fs::read(recorded(name)).unwrap();
            let n_rows = rows_of(&recorded(name), &[]).unwrap().len();
            // One bit of every seventh byte.
            for place in (0..whole.len()).step_by(7) {
                let mut bytes = whole.clone();
                bytes[place] ^= 1 << (place % 8);
                let cut = &whole[..place];
                for damaged in [&bytes[..], cut] {
                    std::fs::write(&path, damaged).unwrap();
                    if let Ok(rows) = rows_of(&path, &[]) {
                        let is_whole = rows.len() == n_rows && rows.iter().all(Result::is_ok);
                        let is_error = rows.last().is_some_and(Result::is_err);
                        assert!(is_whole || is_error, "{name}: {} rows, {place}", rows.len());
                    }
                }
            }
        }
    }
}
