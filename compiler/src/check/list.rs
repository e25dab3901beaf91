//! `in` and `not_in`.

use tollgate_guest_abi::{Condition, Item, List, Operand};

use crate::ast::{self, NodeId, Path, Spanned};
use crate::check::compare::is_literal;
use crate::check::nature::{self, Nature};
use crate::check::time::day_number;
use crate::check::{Checker, Draft, Lowered, Part};
use crate::codes::Code;
use crate::diagnostic::{nearest, quote};
use crate::span::Span;

impl Checker<'_, '_> {
    pub(super) fn in_list(
        &mut self,
        value: NodeId,
        list: &ast::List,
        negated: bool,
        span: Span,
    ) -> Option<Lowered> {
        let value = self.take_value(value);
        let list = match list {
            ast::List::Items(items) => Some(List::Items(items.iter().map(|item| self.item(item)).collect())),
            ast::List::Current(path) => Some(List::Current(self.path_of_list(path, span))),
            ast::List::Named(name) => Some(self.named_list(name)),
            ast::List::Invalid => None,
        };
        let (value, mut list) = (value?, list?);
        if let List::Items(items) = &mut list {
            name_days(&value.operand, items);
            self.check_items(&value.operand, items, negated, span)?;
        }
        let depth = self.above(value.depth.max(2), span)?;
        let condition = Condition::In { value: value.operand, list, negated };
        Some(Lowered::Condition(Draft::One(Part::test(condition, span, depth))))
    }

    fn path_of_list(&mut self, path: &Path, span: Span) -> tollgate_guest_abi::FieldPath {
        self.field(path, span)
    }

    fn named_list(&mut self, name: &Spanned<String>) -> List {
        if let Some(known) = self.named_lists
            && !known.contains(&name.value)
        {
            self.findings
                .report(Code::UnknownList, name.span, || {
                    format!(
                        "unknown list {}: the rule fails, which means at least `review`, until the list is set",
                        quote(&format!("${}", name.value))
                    )
                })
                .help_if(|| {
                    let near = nearest(&name.value, known.iter().map(String::as_str))?;
                    Some(format!("did you mean `${near}`?"))
                });
        }
        List::Named(name.value.clone())
    }

    /// An item of a list or of a match pair.
    pub(super) fn item(&mut self, item: &Spanned<ast::Item>) -> Item {
        match &item.value {
            ast::Item::Number(number) => Item::Number(number.clone()),
            ast::Item::Text(text) => Item::Text(text.clone()),
            ast::Item::Boolean(boolean) => Item::Boolean(*boolean),
            ast::Item::Current(path) => Item::Current(self.field(path, item.span)),
        }
    }

    /// Refuses a test among literals, and warns of one that no item, or every item, decides.
    fn check_items(&mut self, value: &Operand, items: &[Item], negated: bool, span: Span) -> Option<()> {
        if is_literal(value) && !items.iter().any(|item| matches!(item, Item::Current(_))) {
            self.findings
                .report(Code::LiteralsCompared, span, || "both sides of this test are literals".to_owned())
                .help(|| "one of them should be a field of the transaction".to_owned());
            return None;
        }
        let nature = nature::of(value);
        let natures: Vec<Nature<'_>> = items.iter().map(nature::of_item).collect();
        let is_unknown = nature == Nature::Unknown || natures.contains(&Nature::Unknown);
        if !is_unknown && !natures.iter().any(|&item| nature::possible(nature, item).equal) {
            self.report_foregone(negated && nature != Nature::Nothing, span, || {
                format!("the value is {}, and no item of the list can be equal to it", nature.as_str())
            });
        }
        Some(())
    }
}

/// Names of days become their numbers.
fn name_days(value: &Operand, items: &mut [Item]) {
    for item in items {
        if let Item::Text(text) = item
            && let Some(day) = day_number(value, text)
        {
            *item = Item::Number(day);
        }
    }
}
