//! Warns about words beside the fields `currency` and `stage` that these never have.

use tollgate_guest_abi::{FieldPath, Operand, STAGES};

use crate::ast::{ListItem, Spanned};
use crate::check::{CheckedValue, Checker};
use crate::codes::Code;
use crate::currencies;
use crate::diagnostic::{is_forbidden, nearest, quote};
use crate::span::Span;

impl Checker<'_, '_> {
    /// Checks both sides of a comparison.
    pub(super) fn check_words_compared(&mut self, left: &CheckedValue, right: &CheckedValue) {
        for (one, other) in [(left, right), (right, left)] {
            if let (Some(path), Operand::Text(word)) = (field_of(&one.operand), &other.operand) {
                self.check_word(path, word, other.span);
            }
        }
    }

    /// Checks the items of a list in which a value is sought.
    pub(super) fn check_words_listed(&mut self, value: &Operand, items: &[Spanned<ListItem>]) {
        if let Some(path) = field_of(value) {
            items.iter().for_each(|item| self.check_word_matched(path, item));
        }
    }

    /// Checks the value of a match pair.
    pub(super) fn check_word_matched(&mut self, field: &FieldPath, item: &Spanned<ListItem>) {
        if let ListItem::Text(word) = &item.value {
            self.check_word(field, word, item.span);
        }
    }

    fn check_word(&mut self, field: &FieldPath, word: &str, span: Span) {
        // A forbidden character is an error of its own.
        if word.contains(is_forbidden) {
            return;
        }
        if field.is_currency() {
            self.check_currency(word, span);
        } else if field.is_stage() && !STAGES.iter().any(|stage| stage.eq_ignore_ascii_case(word)) {
            self.findings
                .report(Code::UnknownStage, span, || format!("{} is no stage of a payment", quote(word)))
                .help(|| {
                    format!(
                        "the stages are {}; a word of the ledger is compared with `status`",
                        STAGES.join(", ")
                    )
                });
        }
    }

    fn check_currency(&mut self, word: &str, span: Span) {
        let mut further = self.currencies.into_iter().flatten();
        if currencies::is_code(word) || further.any(|known| known.eq_ignore_ascii_case(word)) {
            return;
        }
        let near = nearest(&word.to_ascii_uppercase(), currencies::letters()).map(str::to_owned);
        self.findings
            .report(Code::UnknownCurrency, span, || {
                format!("{} is no currency code of ISO 4217", quote(word))
            })
            .help(|| match near {
                Some(near) => {
                    format!("did you mean `{near}`? Words of your own belong in SERVICE_CURRENCIES")
                }
                None => "if payments have this word, add it to SERVICE_CURRENCIES".to_owned(),
            });
    }
}

fn field_of(operand: &Operand) -> Option<&FieldPath> {
    match operand {
        Operand::Field(path) | Operand::Current(path) => Some(path),
        _ => None,
    }
}
