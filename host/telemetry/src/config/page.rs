//! `docs/configuration.md`, generated from the settings. `UPDATE_GOLDEN=1` rewrites it.

use std::fmt::Write as _;
use std::path::Path;

use super::{SECTIONS, Variable};

const HEAD: &str = "\
# Configuration

Settings come from the environment, or from a file `.env` in the working directory. A value that cannot be used stops the
start with a message that names the setting. `tollgate --help` prints the same table, and `tollgate doctor` checks the settings. A
variable that begins like a setting but is none has no effect; the log and `tollgate doctor` warn of it.

In `.env`, a value with blanks, quotes, `#` or a backslash stands in single quotes. A `$NAME` outside of single quotes is replaced by
that variable, and a `$` before anything else disappears; a warning at the start names such settings. A line that cannot be read stops the
start with its number. No value of the file is shown, because any line may hold a secret.

This page is generated from the settings of the program.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (title, variables) in SECTIONS {
        write!(page, "\n## {title}\n\n| Setting | Default | Values | Purpose |\n|---|---|---|---|\n")
            .unwrap();
        for Variable { name, allowed, default, meaning, page: more, .. } in variables {
            let more = more.map(|more| format!(" See [{}]({more}).", more.split('#').next().unwrap_or(more)));
            let more = more.unwrap_or_default();
            writeln!(page, "| `{name}` | {default} | {allowed} | {meaning}{more} |").unwrap();
        }
    }
    page
}

#[test]
fn the_page_lists_every_setting_as_the_program_has_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/configuration.md differs: UPDATE_GOLDEN=1 rewrites it");
}
