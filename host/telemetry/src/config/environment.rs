//! Access to the process environment; no other module reads it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::OnceLock;

use tollgate_compiler::nearest_within;

use crate::config::{ConfigError, SECTIONS};

/// The file of settings in the working directory.
const FILE: &str = ".env";
/// Byte order mark, which editors on Windows write.
const BYTE_ORDER_MARK: &str = "\u{feff}";
/// Stands for a dollar sign in a copy of the file; a character of the private use area that no setting contains.
const DOLLAR: char = '\u{f1d0}';

/// Sets the variables of `.env` in the working directory that the environment does not set. The file is optional.
///
/// # Errors
/// Returns an error if the file exists but cannot be read. The error has no part of the file: any part may be a secret.
pub fn load_dotenv() -> Result<(), ConfigError> {
    let unset: Vec<&str> = known_settings().filter(|name| env::var_os(name).is_none()).collect();
    let text = match fs::read(FILE) {
        Ok(bytes) => {
            String::from_utf8(bytes).map_err(|_| ConfigError::Dotenv("it is not UTF-8".to_owned()))?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ConfigError::Dotenv(error.to_string())),
    };
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    // Parsed as a whole before any variable is set.
    let entries = entries_of(text)?;
    entries.iter().try_for_each(|(name, value)| check_lines(name, value))?;
    let substituted = substituted_in(text, &entries);
    dotenvy::from_read(text.as_bytes()).map_err(|_| refuse_line(text, text.lines().count()))?;
    let is_of_file = |name: &&str| env::var_os(name).is_some();
    let of_file: Vec<_> = unset.into_iter().filter(is_of_file).collect();
    let substituted = of_file.iter().copied().filter(|name| substituted.contains(*name)).collect();
    // A second reading finds all of them set.
    DOTENV.set(DotenvSettings { of_file, substituted }).ok();
    Ok(())
}

/// The settings that the file `.env` supplied.
struct DotenvSettings {
    of_file: Vec<&'static str>,
    /// Those whose value has a `$` that was replaced.
    substituted: Vec<&'static str>,
}

static DOTENV: OnceLock<DotenvSettings> = OnceLock::new();

/// Returns whether the file `.env` supplied the value of this setting.
pub(super) fn is_of_file(name: &str) -> bool {
    DOTENV.get().is_some_and(|settings| settings.of_file.contains(&name))
}

/// Returns the settings of the file `.env` in whose value a `$` was replaced.
#[must_use]
pub fn substituted_settings() -> &'static [&'static str] {
    DOTENV.get().map_or(&[], |settings| &settings.substituted)
}

/// Reads a text line by line, and counts the lines.
struct LineReader<'a> {
    rest: &'a [u8],
    n_lines: &'a Cell<usize>,
}

impl Read for LineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let line = self.rest.iter().position(|byte| *byte == b'\n').map_or(self.rest.len(), |end| end + 1);
        let n_bytes = line.min(buffer.len());
        let (now, rest) = self.rest.split_at(n_bytes);
        if n_bytes > 0 && n_bytes == line {
            self.n_lines.set(self.n_lines.get() + 1);
        }
        buffer.iter_mut().zip(now).for_each(|(to, from)| *to = *from);
        self.rest = rest;
        Ok(n_bytes)
    }
}

/// Returns the names and values of a file.
fn entries_of(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let n_lines = Cell::new(0);
    let reader = LineReader { rest: text.as_bytes(), n_lines: &n_lines };
    let mut entries = Vec::new();
    for entry in dotenvy::from_read_iter(reader) {
        entries.push(entry.map_err(|error| match error {
            // The entry ends in the last line that was read.
            dotenvy::Error::LineParse(entry, _) => {
                refuse_line(text, n_lines.get() - entry.trim_end().matches('\n').count())
            }
            _ => ConfigError::Dotenv("it cannot be parsed".to_owned()),
        })?);
    }
    Ok(entries)
}

/// Checks that a value has not swallowed the settings of the following lines, as after a forgotten quotation mark.
fn check_lines(name: &str, value: &str) -> Result<(), ConfigError> {
    let Some(swallowed) = value.lines().skip(1).find_map(setting_of) else { return Ok(()) };
    Err(ConfigError::Dotenv(format!(
        "the value of `{name}` goes on over the line of `{swallowed}`; a quotation mark is missing"
    )))
}

/// Returns the known setting that a line sets.
fn setting_of(line: &str) -> Option<&'static str> {
    let (name, _) = line.split_once('=')?;
    let name = name.trim().trim_start_matches("export ").trim();
    known_settings().find(|known| *known == name)
}

/// Names the setting of a line only where it is a known one: a line without a name may be a secret.
fn refuse_line(text: &str, number: usize) -> ConfigError {
    let line = text.lines().nth(number.saturating_sub(1)).unwrap_or_default();
    let subject = setting_of(line).map_or_else(String::new, |name| format!(" (`{name}`)"));
    ConfigError::Dotenv(format!(
        "line {number}{subject} is not `NAME=value`; put a value with blanks, quotes, `#` or a backslash in single quotes, and close \
         them; the line is not shown, because it may hold a secret"
    ))
}

/// Returns the names whose value differs if every `$` stands for itself.
fn substituted_in(text: &str, entries: &[(String, String)]) -> BTreeSet<String> {
    let mut literal = String::with_capacity(text.len());
    let mut is_escaped = false;
    for character in text.chars() {
        literal.push(if character == '$' && !is_escaped { DOLLAR } else { character });
        is_escaped = character == '\\' && !is_escaped;
    }
    let Ok(literal) = entries_of(&literal) else {
        // A `$` that stands for itself would end the entry elsewhere.
        return entries.iter().map(|(name, _)| name.clone()).collect();
    };
    let literal = literal.into_iter().map(|(_, value)| value.replace(DOLLAR, "$"));
    let changed = entries.iter().zip(literal).filter(|((_, value), literal)| value != literal);
    changed.map(|((name, _), _)| name.clone()).collect()
}

/// A setting as it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingInForce {
    /// Name of the variable.
    pub name: &'static str,
    /// Its value, or the words that describe the default; `None` if it is a secret.
    pub value: Option<String>,
    /// The source of the value.
    pub origin: SettingOrigin,
}

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The environment of the process.
    Environment,
    /// The file `.env`.
    File,
    /// The program.
    Default,
}

/// Returns all settings of this process.
#[must_use]
pub fn settings_in_force() -> Vec<SettingInForce> {
    let variables = SECTIONS.iter().flat_map(|(_, section)| *section);
    let in_force = variables.map(|variable| {
        let set = env::var_os(variable.name).filter(|value| !value.is_empty());
        let origin = match &set {
            None => SettingOrigin::Default,
            Some(_) if is_of_file(variable.name) => SettingOrigin::File,
            Some(_) => SettingOrigin::Environment,
        };
        let value = set.map_or_else(
            || Some(variable.default.to_owned()),
            |value| (!variable.is_secret).then(|| value.to_string_lossy().into_owned()),
        );
        SettingInForce { name: variable.name, value, origin }
    });
    in_force.collect()
}

fn known_settings() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().flat_map(|(_, section)| *section).map(|known| known.name)
}

/// Returns a variable of this process; an empty one counts as unset.
///
/// # Errors
/// Returns an error if the value is not UTF-8.
pub fn process_environment(name: &'static str) -> Result<Option<String>, ConfigError> {
    let text = |value: OsString| {
        value.into_string().map_err(|_| ConfigError::Invalid {
            name,
            given: Some("bytes that are not UTF-8".to_owned()),
            allowed: "text",
        })
    };
    Ok(env::var_os(name).map(text).transpose()?.filter(|value| !value.is_empty()))
}

/// Prefixes of the settings of this program.
const PREFIXES: [&str; 5] = ["ALERT_", "LEDGER_", "SERVICE_", "TUNNEL_", "WATCH_"];

/// Different letters up to which a name is taken for a misspelt setting.
const TYPING_ERRORS_MAX: usize = 2;

/// Parts of the variables by which Kubernetes tells a container of each Service, such as `LEDGER_SERVICE_HOST`.
const KUBERNETES: [&str; 3] = ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"];

/// Returns the variables that are set and begin as a setting does, but are none; each in backquotes, with the setting
/// that it resembles.
#[must_use]
pub fn unknown_settings() -> Vec<String> {
    let known: Vec<&str> = known_settings().collect();
    let set = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let unknown = set.filter(|(name, value)| is_like_a_setting(name, value) && !known.contains(&&**name));
    let described = |name: &str| match nearest_within(name, TYPING_ERRORS_MAX, known.iter().copied()) {
        Some(setting) => format!("`{name}` (did you mean `{setting}`?)"),
        None => format!("`{name}`"),
    };
    unknown.map(|(name, _)| described(&name)).collect()
}

fn is_like_a_setting(name: &str, value: &OsStr) -> bool {
    let is_of_kubernetes = KUBERNETES.iter().any(|part| name.contains(part))
        || ["tcp://", "udp://"].iter().any(|scheme| value.as_encoded_bytes().starts_with(scheme.as_bytes()));
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !is_of_kubernetes
}

/// Returns the proxy variables of other programs that are set. The service ignores all of them.
#[must_use]
pub fn proxies_set() -> Vec<&'static str> {
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .filter(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
        .collect()
}

/// Returns the file of certificate authorities that `SSL_CERT_FILE` names.
#[must_use]
pub fn authorities_named() -> Option<PathBuf> {
    env::var_os("SSL_CERT_FILE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns whether systemd, or a compatible supervisor, expects notifications of start and stop.
#[must_use]
pub fn is_supervised() -> bool {
    env::var_os("NOTIFY_SOCKET").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(text: &str, line: usize, name: Option<&str>) {
        let Err(ConfigError::Dotenv(words)) = entries_of(text) else { panic!("it is read: {text}") };
        let subject = name.map_or_else(String::new, |name| format!(" (`{name}`)"));
        assert!(words.starts_with(&format!("line {line}{subject} is not")), "{words}");
        assert!(!words.contains("hunter2"), "{words}");
    }

    #[test]
    fn an_error_names_line_and_setting_and_shows_no_value() {
        check_refused("WEBHOOK_SECRET=hunter2 more", 1, None);
        check_refused("\n# a\nSERVICE_PORT=1\nTUNNEL_TOKEN=hunter2\\d\n", 4, Some("TUNNEL_TOKEN"));
        check_refused("SERVICE_PORT=1\nhunter2\n", 2, None);
        check_refused("SERVICE_PORT=1\nSERVICE_HOST: hunter2\nA=b\n", 2, None);
        check_refused("SERVICE_PORT='hunter2\nA=b\nC=d\n", 1, Some("SERVICE_PORT"));
        check_refused("A=b\nexport SERVICE_PORT=hunter2 x\nC=d", 2, Some("SERVICE_PORT"));
    }

    #[test]
    fn a_dollar_sign_that_is_replaced_is_known_by_the_name_of_its_setting() {
        let text = "A=s$x\nB='s$x'\nC=\"s${x}\"\nD=s\\$x\nE=s\nF=a\\\\$x\nG=a$\nH='a\\$b'\n";
        let substituted = substituted_in(text, &entries_of(text).unwrap());
        assert_eq!(substituted.into_iter().collect::<Vec<_>>(), ["A", "C", "F", "G"]);
    }
}
