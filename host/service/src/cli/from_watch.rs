//! `tollgate check --from-watch`: shows the meaning of a Watch rule in this service, and an equivalent rule.

use std::io::{self, IsTerminal as _, Write as _};

use tollgate_compiler::CompileOptions;
use tollgate_compiler::from_watch::{RewrittenScript, render_remarks, rewrite_script};

use crate::cli::say;

/// Reports constructs with a different meaning here, and prints the rewritten rule.
pub(super) fn tell(script: &str, shown: &str, options: &CompileOptions<'_>) {
    let Some(RewrittenScript { remarks, script: rewritten }) = rewrite_script(script, options) else {
        return;
    };
    if !remarks.is_empty() {
        say(&render_remarks(script, shown, &remarks, io::stderr().is_terminal()));
    }
    let n_questions = remarks.iter().filter(|remark| remark.needs_a_person).count();
    if n_questions > 0 {
        say(&format!("{shown}: {n_questions} to be decided by its author, marked as warnings"));
    }
    match rewritten {
        Some(rewritten) => {
            say(&format!("{shown}: rewritten to keep its Watch meaning:"));
            print(&rewritten);
        }
        None => say(&format!("{shown}: unchanged")),
    }
}

/// Prints a rule to standard output, so that it can be redirected. Write errors are ignored: the reader is gone.
fn print(rule: &str) {
    let mut output = io::stdout().lock();
    drop(output.write_all(rule.as_bytes()));
    if !rule.ends_with('\n') {
        drop(output.write_all(b"\n"));
    }
    drop(output.flush());
}
