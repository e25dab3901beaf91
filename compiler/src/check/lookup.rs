//! Checks history lookups: their number per rule, and their windows.

use tollgate_guest_abi::limits::{HISTORY_LOOKUPS_MAX, WINDOW_SECONDS_MAX};
use tollgate_guest_abi::{AggregateSpec, PreviousSpec, Window};

use crate::ast::Spanned;
use crate::check::Checker;
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::span::Span;

impl Checker<'_, '_> {
    /// Parses a window. Returns `None` after reporting a malformed one.
    pub(super) fn window(&mut self, text: &Spanned<String>) -> Option<Window> {
        let window = Window::parse(&text.value);
        if window.is_none() {
            self.findings
                .report(Code::MalformedWindow, text.span, || {
                    format!("{} is not a valid window", quote(&text.value))
                })
                .help(|| cure(&text.value));
        }
        window
    }

    /// Records an aggregate unless the rule already has an equal one.
    pub(super) fn note_aggregate(&mut self, spec: &AggregateSpec, span: Span) {
        if !self.aggregates.contains(spec) && self.may_look_up(span) {
            self.aggregates.push(spec.clone());
        }
    }

    /// Records a previous-transaction lookup unless the rule already has an equal one.
    pub(super) fn note_previous(&mut self, spec: &PreviousSpec, span: Span) {
        if !self.previous.contains(spec) && self.may_look_up(span) {
            self.previous.push(spec.clone());
        }
    }

    fn may_look_up(&mut self, span: Span) -> bool {
        let may = self.aggregates.len() + self.previous.len() < HISTORY_LOOKUPS_MAX;
        if !may {
            self.findings
                .report(Code::TooManyLookups, span, || {
                    format!("a rule has at most {HISTORY_LOOKUPS_MAX} different history look-ups")
                })
                .help(|| "split the rule; equal look-ups count once".to_owned());
        }
        may
    }
}

fn cure(text: &str) -> String {
    let upper = text.trim().to_ascii_uppercase();
    if Window::parse(&upper).is_some() {
        return format!("write `\"{upper}\"`");
    }
    let go_style = format!("PT{upper}");
    if Window::parse(&go_style).is_some() {
        return format!("write `\"{go_style}\"`");
    }
    if let Some(weeks) = upper.strip_prefix('P').and_then(|rest| rest.strip_suffix('W'))
        && let Ok(weeks) = weeks.parse::<u32>()
        && let Some(days) = weeks.checked_mul(7)
        && Window::parse(&format!("P{days}D")).is_some()
    {
        return format!("weeks are written as days: `\"P{days}D\"`");
    }
    let days = WINDOW_SECONDS_MAX / 86_400;
    format!(
        "a window is whole days, hours, minutes and seconds, such as \"PT15M\", \"P1D\" or \"P1DT12H\"; it is at least \
         one second and at most {days} days"
    )
}
