//! Lists in tables: `*.csv` as in RFC 4180, of which one column is used.

use csv::{ReaderBuilder, StringRecord};

use super::format::{NotAList, check_any, numbered, too_many_characters};
use super::oddities::{EntrySource, ListWarning, of_entries};
use super::text;

/// Values that mark the first cell of a header row, in addition to the name of the list.
const HEADERS: [&str; 10] =
    ["account", "account id", "code", "entry", "id", "identifier", "key", "name", "number", "value"];
/// Those of them that name keys rather than accounts or persons.
const KEY_HEADERS: [&str; 5] = ["code", "id", "identifier", "key", "number"];
/// Number of columns of a table from which a column of keys beside one of names is told.
const WIDE_MIN: usize = 4;
/// Number of rows that are compared with the first one.
const SAMPLED_ROWS: usize = 100;

/// A list that was read from a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableList {
    /// The text of the list, with one entry per line.
    pub text: String,
    /// Warnings, with the lines of the table.
    pub warnings: Vec<ListWarning>,
}

/// Reads the list with this name from a table.
///
/// The separator is a comma, or a semicolon or tab if the first row has no comma. A line that begins with `#` is a
/// comment. The first column is the list, unless the first line is `# column=NAME`, with the name of a column or its
/// number from 1. A header row is skipped. A row is a header if its cell in the column is the list name, the last word
/// of that name, or a common word such as `account`, or if `NAME` is one of its cells. Case and plural are ignored.
///
/// # Errors
/// The reason why it is not a list.
pub fn read_table(name: &str, table: &str) -> Result<TableList, NotAList> {
    check_any(table)?;
    let table = table.trim_start_matches('\u{feff}');
    check_quotes(table)?;
    let rows = rows(table);
    let first = rows.first().map(|(_, row)| row);
    let chosen = chosen_column(table);
    let column = match (chosen, first) {
        (Some(chosen), Some(first)) => {
            let line = rows.first().map_or(1, |(line, _)| *line);
            let no_column = || NotAList::NoColumn { line, column: chosen.into() };
            column_of(first, chosen).ok_or_else(no_column)?
        }
        _ => 0,
    };
    let has_header = first.is_some_and(|first| {
        let cell = first.get(column).unwrap_or_default();
        is_header(name, cell) || chosen.is_some_and(|chosen| words(cell) == words(chosen))
    });
    let cells = rows.iter().skip(usize::from(has_header)).filter_map(|(line, row)| {
        let cell = row.get(column).unwrap_or_default().trim();
        (!cell.is_empty()).then_some((*line, cell))
    });
    let mut list: String = comments(table).flat_map(|line| [line, "\n"]).collect();
    for (line, cell) in cells.clone() {
        if let Some(characters) = too_many_characters(cell) {
            return Err(NotAList::LongLine { line, characters });
        }
        list.push_str(&text::line_of(cell));
        list.push('\n');
    }
    let is_wide = first.is_some_and(|first| first.len() > 1);
    let from = match chosen {
        Some(_) => EntrySource::NamedColumn,
        None if is_wide => EntrySource::FirstColumn,
        None => EntrySource::Lines,
    };
    let mut warnings = of_entries(cells, from);
    if chosen.is_none() {
        warnings.extend(header_warning(name, &rows, has_header));
    }
    Ok(TableList { text: list, warnings })
}

/// Returns the rows with their lines.
fn rows(table: &str) -> Vec<(usize, StringRecord)> {
    let reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .delimiter(delimiter(table))
        .from_reader(table.as_bytes());
    let line_of = |row: &StringRecord| row.position().map_or(0, csv::Position::line);
    let rows = reader.into_records().map_while(Result::ok);
    rows.map(|row| (usize::try_from(line_of(&row)).unwrap_or(0), row)).collect()
}

/// Returns the column that the first line asks for: `# column=NAME`.
fn chosen_column(table: &str) -> Option<&str> {
    let comment = table.lines().next()?.strip_prefix('#')?.trim_start();
    let (word, column) = comment.split_once('=')?;
    word.trim_end().eq_ignore_ascii_case("column").then_some(column.trim())
}

/// Returns the index of a column by the name in its header, or by its number.
fn column_of(first: &StringRecord, chosen: &str) -> Option<usize> {
    let by_name = first.iter().position(|cell| words(cell) == words(chosen));
    let by_number = || chosen.parse::<usize>().ok()?.checked_sub(1).filter(|index| *index < first.len());
    by_name.or_else(by_number)
}

/// Returns the warning about a header that was taken for an entry, or that names keys in a table that also has names.
fn header_warning(name: &str, rows: &[(usize, StringRecord)], has_header: bool) -> Option<ListWarning> {
    let ((line, first), others) = rows.split_first()?;
    let cell = first.get(0).unwrap_or_default().trim();
    let known = first.iter().skip(1).find(|cell| is_header(name, cell) && !is_key(cell)).map(str::trim);
    let hint = known.unwrap_or("NAME");
    if has_header {
        let other = known.filter(|_| first.len() >= WIDE_MIN && is_key(cell))?;
        let message = format!(
            "the column `{cell}` is the list, and there is also a column `{other}`; `# column={other}` or `# column={cell}` in the first line chooses"
        );
        return Some(ListWarning { line: *line, message });
    }
    looks_like_header(first, others, known.is_some()).then(|| ListWarning {
        line: *line,
        message: format!(
            "the row looks like a header, but `{cell}` names no known column, so it is an entry; `# column={hint}` in the first line chooses a column"
        ),
    })
}

/// Returns whether a row without a known name is a header: its first cell is a word, and it differs from the other rows,
/// or is written like a variable.
fn looks_like_header(first: &StringRecord, others: &[(usize, StringRecord)], has_known: bool) -> bool {
    let has_digit = |cell: &str| cell.contains(|character: char| character.is_ascii_digit());
    let cell = first.get(0).unwrap_or_default().trim();
    if others.is_empty() || has_digit(cell) || !cell.starts_with(char::is_alphabetic) {
        return false;
    }
    let is_variable = cell.contains('_')
        || cell
            .chars()
            .zip(cell.chars().skip(1))
            .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    let sample: Vec<&StringRecord> = others.iter().take(SAMPLED_ROWS).map(|(_, row)| row).collect();
    let differs = |column: usize, title: &str| {
        let n_digits = sample.iter().filter(|row| row.get(column).is_some_and(has_digit)).count();
        !title.trim().is_empty() && !has_digit(title) && n_digits * 2 > sample.len()
    };
    let has_other_kind =
        sample.len() > 1 && first.iter().enumerate().any(|(column, title)| differs(column, title));
    has_known || is_variable || has_other_kind
}

fn is_key(cell: &str) -> bool {
    KEY_HEADERS.contains(&&*singular(&words(cell)))
}

/// Returns the comments that apply to the list as a whole.
fn comments(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| line.starts_with('#') && text::is_shorter_on_purpose(line))
}

fn delimiter(table: &str) -> u8 {
    let first = table.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    [b',', b';', b'\t'].into_iter().find(|separator| first.as_bytes().contains(separator)).unwrap_or(b',')
}

/// Checks for an odd number of quotation marks, which leaves one open and hides rows.
fn check_quotes(table: &str) -> Result<(), NotAList> {
    let mut opened_at = None;
    for (number, line) in numbered(table).filter(|(_, line)| !line.starts_with('#')) {
        for _ in line.matches('"') {
            opened_at = if opened_at.is_some() { None } else { Some(number) };
        }
    }
    opened_at.map_or(Ok(()), |line| Err(NotAList::Quotes { line }))
}

fn is_header(name: &str, cell: &str) -> bool {
    let cell = words(cell);
    let name = words(name);
    let last = name.rsplit(' ').next().unwrap_or_default();
    let mut headers = HEADERS.into_iter().chain([name.as_str(), last]);
    !cell.is_empty() && headers.any(|header| singular(header) == singular(&cell))
}

/// Converts to lower case, with spaces between words.
fn words(text: &str) -> String {
    text.trim().to_lowercase().replace(['_', '-', '.'], " ")
}

fn singular(word: &str) -> String {
    match (word.strip_suffix("ies"), word.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => stem.to_owned(),
        (None, None) => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of_table(name: &str, table: &str) -> Result<String, NotAList> {
        read_table(name, table).map(|list| list.text)
    }

    /// Checks the line and a part of the only warning.
    #[track_caller]
    fn check_warning(table: &str, line: usize, words: &str) {
        let warnings = read_table("blocked", table).unwrap().warnings;
        let is_reported =
            warnings.iter().any(|warning| warning.line == line && warning.message.contains(words));
        assert!(is_reported, "{table:?}: {warnings:?}");
    }

    #[track_caller]
    fn check(name: &str, table: &str, list: &str) {
        assert_eq!(text_of_table(name, table).as_deref(), Ok(list), "{table:?}");
    }

    #[test]
    fn the_first_column_of_a_table_is_a_list() {
        check("l", "acc-1,why\nacc-2,\"a, b\"\n\nacc-3\n", "acc-1\nacc-2\nacc-3\n");
        check("l", "\u{feff}\"Smith, John\",x\r\n\" a \"\"b\"\" \",y\r\n", "Smith, John\na \"b\"\n");
        check("l", "\"#1\",x\n# a comment\n\"two\nlines\",y\n", "\"#1\"\n\"two\\nlines\"\n");
        check("l", "a;1\nb;2\n", "a\nb\n");
        check("l", "a\t1\nb\t2\n", "a\nb\n");
        check("l", ",x\na,y\n", "a\n");
        check("l", "# empty on purpose\nid\n", "# empty on purpose\n");
        check("l", "WALMART #1234,x\n", "WALMART #1234\n");
    }

    #[test]
    fn a_header_row_is_skipped_when_it_names_the_list() {
        for (name, header) in [
            ("blocked_accounts", "Blocked_Account"),
            ("blocked_accounts", "blocked accounts"),
            ("blocked_accounts", "account"),
            ("countries", "Country"),
            ("mules", "mule"),
            ("mules", "ID"),
            ("mules", "account_id"),
            ("mules", "Value"),
        ] {
            check(name, &format!("{header},note\nx,y\n"), "x\n");
        }
        check("mules", "acc-1,note\nmule,y\n", "acc-1\nmule\n");
    }

    #[test]
    fn the_first_line_chooses_a_column() {
        check("l", "# column=name\nid,name\n1,\"Smith, John\"\n2,\n", "Smith, John\n");
        check("l", "\u{feff}#Column = Last_Name\nid;last name\n1;Smith\n", "Smith\n");
        check(
            "l",
            "# column=2\n36,\"AEROCARIBBEAN AIRLINES\",-0-\n173,X,-0-\n",
            "AEROCARIBBEAN AIRLINES\nX\n",
        );
        check("l", "# column=2\nid,name\n1,Smith\n", "Smith\n");
        check("l", "# columns of the bank\nacc-1,x\n", "acc-1\n");
        check("l", "# since May\n# column=2\nacc-1,x\n", "acc-1\n");
        let refused = text_of_table("l", "# column=nme\nid,name\n1,Smith\n").unwrap_err();
        assert_eq!((refused.code(), refused.line()), ("no_column", Some(1)));
        assert_eq!(text_of_table("l", "# column=3\nid,name\n").unwrap_err().code(), "no_column");
        assert_eq!(text_of_table("l", "# column=0\nid,name\n").unwrap_err().code(), "no_column");
    }

    #[test]
    fn a_list_of_the_wrong_column_is_reported() {
        let ofac = "36,\"AEROCARIBBEAN AIRLINES\",-0- ,\"CUBA\"\n173,\"ANGLO-CARIBBEAN\",-0- ,\"CUBA\"\n306,X,-0- ,\"CUBA\"\n";
        check_warning(ofac, 1, "count up");
        let eu = "fileGenerationDate;Entity_LogicalId;NameAlias_WholeName\n28/10/2022;13;Saddam\n28/10/2022;20;X\n";
        check_warning(eu, 1, "`fileGenerationDate` names no known column");
        check_warning(eu, 2, "dates");
        let open_sanctions = "id,schema,name,aliases\nNK-1,Person,Smith,\n";
        check_warning(open_sanctions, 1, "`# column=name` or `# column=id`");
        check_warning("Kontonummer,Grund\n123456789,x\n987654321,y\n", 1, "names no known column");
        check_warning("schema,name\nPerson,Smith\n", 1, "`# column=name` in the first line");
        check_warning("id,name\n6.21E+18,x\n", 2, "spreadsheet");
        for good in [
            "acc-1,why\nacc-2,because\n",
            "id,name\nacc-1,Smith\n",
            "Smith,1970-01-01\nMiller,1980-01-01\nJones,1990-01-01\n",
            "mcc,what\n",
            "# column=id\nid,schema,name,aliases\n1,Person,Smith,\n2,Person,X,\n3,Person,Y,\n",
        ] {
            assert_eq!(read_table("blocked", good).unwrap().warnings, [], "{good:?}");
        }
    }

    #[test]
    fn content_that_is_no_table_is_refused() {
        let code = |table: &str| text_of_table("l", table).unwrap_err().code();
        assert_eq!(code("a,1\n\"b,2\nc,3\n"), "quotes");
        assert_eq!(text_of_table("l", "a,1\n\"b,2\nc,3\n").unwrap_err().line(), Some(2));
        assert_eq!(code("<html>\n"), "markup");
        assert_eq!(code("[{\"id\": 1}]"), "json");
        assert_eq!(code(&format!("{},1\n", "x".repeat(1025))), "long_line");
        assert_eq!(code("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), "git_lfs_pointer");
        assert_eq!(text_of_table("l", &format!("a,{}\n", "x".repeat(2000))).as_deref(), Ok("a\n"));
    }
}
