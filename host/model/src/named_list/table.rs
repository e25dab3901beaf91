//! Lists in tables: `*.csv` as in RFC 4180, of which only the first column is used.

use csv::{ReaderBuilder, StringRecord};

use super::format::{NotAList, check_any, numbered, too_many_characters};
use super::text;

/// Values that mark the first cell of a header row, in addition to the name of the list.
const HEADERS: [&str; 10] =
    ["account", "account id", "code", "entry", "id", "identifier", "key", "name", "number", "value"];

/// Converts a table into the text of the list with this name, one entry per line.
///
/// The separator is a comma, or a semicolon or tab if the first line has no comma. A line that begins with `#` is a
/// comment. A header row is skipped. A row is a header if its first cell is the list name, the last word of that name,
/// or a common word such as `account`. Case and plural are ignored.
///
/// # Errors
/// The reason why it is not a list.
pub fn text_of_table(name: &str, table: &str) -> Result<String, NotAList> {
    check_any(table)?;
    let table = table.trim_start_matches('\u{feff}');
    check_quotes(table)?;
    let mut rows = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .delimiter(delimiter(table))
        .from_reader(table.as_bytes());
    let mut list: String = comments(table).flat_map(|line| [line, "\n"]).collect();
    let (mut row, mut is_first) = (StringRecord::new(), true);
    while rows.read_record(&mut row).is_ok_and(|is_there| is_there) {
        let cell = row.get(0).unwrap_or_default().trim();
        if !std::mem::take(&mut is_first) || !is_header(name, cell) {
            if let Some(characters) = too_many_characters(cell) {
                let line = row.position().map_or(0, csv::Position::line);
                return Err(NotAList::LongLine { line: usize::try_from(line).unwrap_or(0), characters });
            }
            if !cell.is_empty() {
                list.push_str(&text::line_of(cell));
                list.push('\n');
            }
        }
    }
    Ok(list)
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
    fn what_is_no_table_is_refused() {
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
