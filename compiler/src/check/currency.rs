//! Warns about words beside the field `currency` that are no currency.

use tollgate_guest_abi::{FieldPath, Operand};

use crate::ast::{ListItem, Spanned};
use crate::check::{CheckedValue, Checker};
use crate::codes::Code;
use crate::currencies;
use crate::diagnostic::{nearest, quote};
use crate::span::Span;

impl Checker<'_, '_> {
    /// Checks both sides of a comparison.
    pub(super) fn check_currencies_compared(&mut self, left: &CheckedValue, right: &CheckedValue) {
        for (one, other) in [(left, right), (right, left)] {
            if let (true, Operand::Text(word)) = (is_currency(&one.operand), &other.operand) {
                self.check_currency(word, other.span);
            }
        }
    }

    /// Checks the items of a list in which a value is sought.
    pub(super) fn check_currencies_listed(&mut self, value: &Operand, items: &[Spanned<ListItem>]) {
        if is_currency(value) {
            items.iter().for_each(|item| self.check_currency_item(item));
        }
    }

    /// Checks the value of a match pair.
    pub(super) fn check_currency_matched(&mut self, field: &FieldPath, item: &Spanned<ListItem>) {
        if field.is_currency() {
            self.check_currency_item(item);
        }
    }

    fn check_currency_item(&mut self, item: &Spanned<ListItem>) {
        if let ListItem::Text(word) = &item.value {
            self.check_currency(word, item.span);
        }
    }

    fn check_currency(&mut self, word: &str, span: Span) {
        let is_further = |known: &&str| known.eq_ignore_ascii_case(word);
        let further = || self.currencies.into_iter().flatten().map(String::as_str);
        if currencies::is_code(word) || further().any(|known| is_further(&known)) {
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

fn is_currency(operand: &Operand) -> bool {
    matches!(operand, Operand::Field(path) | Operand::Current(path) if path.is_currency())
}
