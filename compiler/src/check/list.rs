//! Checks `in` and `not_in`.

use tollgate_guest_abi::{Condition, Item, ListSource, Operand};

use crate::ast::{self, NodeId, Path, Spanned};
use crate::check::compare::is_literal;
use crate::check::time::day_number;
use crate::check::value_kind::{self, ValueKind};
use crate::check::{Checker, ConditionPart, Lowered, PartialCondition};
use crate::codes::Code;
use crate::diagnostic::{nearest, quote};
use crate::span::Span;

impl Checker<'_, '_> {
    pub(super) fn in_list(
        &mut self,
        value: NodeId,
        list: &ast::ListExpr,
        negated: bool,
        span: Span,
    ) -> Option<Lowered> {
        let value = self.take_value(value);
        if let (Some(value), ast::ListExpr::Items(items)) = (&value, list) {
            self.check_words_listed(&value.operand, items);
        }
        let list = match list {
            ast::ListExpr::Items(items) => {
                Some(ListSource::Items(items.iter().map(|item| self.item(item)).collect()))
            }
            ast::ListExpr::Current(path) => Some(ListSource::Current(self.path_of_list(path, span))),
            ast::ListExpr::Named(name) => Some(self.named_list(name)),
            ast::ListExpr::Invalid => None,
        };
        let (value, mut list) = (value?, list?);
        if let ListSource::Items(items) = &mut list {
            name_days(&value.operand, items);
            self.check_items(&value.operand, items, negated, span)?;
        }
        let depth = self.above(value.depth.max(2), span)?;
        let condition = Condition::In { value: value.operand, list, negated };
        Some(Lowered::Condition(PartialCondition::One(ConditionPart::test(condition, span, depth))))
    }

    fn path_of_list(&mut self, path: &Path, span: Span) -> tollgate_guest_abi::FieldPath {
        self.field(path, span)
    }

    fn named_list(&mut self, name: &Spanned<String>) -> ListSource {
        if let Some(known) = self.named_lists
            && !known.contains(&name.value)
        {
            self.findings
                .report(Code::UnknownList, name.span, || {
                    format!(
                        "unknown list {}: until it is set, the rule fails on every transaction, which means at least `review`",
                        quote(&format!("${}", name.value))
                    )
                })
                .help_if(|| {
                    let near = nearest(&name.value, known.iter().map(String::as_str))?;
                    Some(format!("did you mean `${near}`?"))
                });
        }
        ListSource::Named(name.value.clone())
    }

    pub(super) fn item(&mut self, item: &Spanned<ast::ListItem>) -> Item {
        match &item.value {
            ast::ListItem::Number(number) => Item::Number(number.clone()),
            ast::ListItem::Text(text) => Item::Text(text.clone()),
            ast::ListItem::Boolean(boolean) => Item::Boolean(*boolean),
            ast::ListItem::Current(path) => Item::Current(self.field(path, item.span)),
        }
    }

    /// Refuses a test that compares only literals. Warns when no item can equal the value.
    fn check_items(&mut self, value: &Operand, items: &[Item], negated: bool, span: Span) -> Option<()> {
        if is_literal(value) && !items.iter().any(|item| matches!(item, Item::Current(_))) {
            self.findings
                .report(Code::LiteralsCompared, span, || "both sides of this test are literals".to_owned())
                .help(|| "one of them should be a field of the transaction".to_owned());
            return None;
        }
        let nature = value_kind::kind_of_operand(value);
        let natures: Vec<ValueKind<'_>> = items.iter().map(value_kind::of_item).collect();
        let is_unknown = nature == ValueKind::Unknown || natures.contains(&ValueKind::Unknown);
        if !is_unknown && !natures.iter().any(|&item| value_kind::possible(nature, item).equal) {
            self.report_foregone(negated && nature != ValueKind::Nothing, span, || {
                format!("the value is {}, so no item of the list can equal it", nature.as_str())
            });
        }
        Some(())
    }
}

fn name_days(value: &Operand, items: &mut [Item]) {
    for item in items {
        if let Item::Text(text) = item
            && let Some(day) = day_number(value, text)
        {
            *item = Item::Number(day);
        }
    }
}
