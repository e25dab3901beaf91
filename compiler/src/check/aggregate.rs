//! Checks aggregates: one number over past transactions.

use tollgate_guest_abi::{AggregateFunction, AggregateSpec, FieldPath, Operand};

use crate::ast::AggregateExpr;
use crate::check::value_kind::{self, ValueKind};
use crate::check::{CheckedValue, Checker, Lowered};
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::span::Span;

/// The field that is aggregated when none is named.
const DEFAULT_VALUE: &str = "amount";

impl Checker<'_, '_> {
    pub(super) fn aggregate(&mut self, aggregate: &AggregateExpr, span: Span) -> Option<Lowered> {
        let draft = self.take_condition(aggregate.filter);
        let filter = draft.and_then(|draft| self.finish(draft));
        let window = aggregate.window.as_ref().and_then(|window| self.window(window));
        let value = self.value_field(aggregate, span);
        let (filter, window, value) = (filter?, window?, value?);
        let depth = self.above(filter.depth, span)?;
        let spec = AggregateSpec { function: aggregate.function, value, filter: filter.condition, window };
        self.note_aggregate(&spec, span);
        Some(Lowered::Value(CheckedValue { operand: Operand::Aggregate(Box::new(spec)), span, depth }))
    }

    fn value_field(&mut self, aggregate: &AggregateExpr, span: Span) -> Option<FieldPath> {
        let function = aggregate.function;
        let Some(written) = &aggregate.value else {
            if function == AggregateFunction::Distinct {
                self.findings
                    .report(Code::MissingValueField, span, || "`distinct` needs a field to count".to_owned())
                    .help(|| {
                        "name the field before `when`: `distinct(destination when source == $current.source, \"P1D\")`"
                            .to_owned()
                    });
                return None;
            }
            return Some(FieldPath::parse(DEFAULT_VALUE));
        };
        let value = self.field(&written.value, written.span);
        match function {
            // A count does not depend on the value field, so equal counts share one spec.
            AggregateFunction::Count => return Some(FieldPath::parse(DEFAULT_VALUE)),
            AggregateFunction::Distinct => return Some(value),
            AggregateFunction::Sum
            | AggregateFunction::Avg
            | AggregateFunction::Min
            | AggregateFunction::Max
            | AggregateFunction::Stddev => {}
        }
        let nature = value_kind::of_field(&value);
        if !matches!(nature, ValueKind::Number | ValueKind::Dynamic | ValueKind::Unknown) {
            self.findings
                .report(Code::NeverANumber, written.span, || {
                    format!(
                        "{} is {}: its {} is always 0",
                        quote(&value.to_string()),
                        nature.as_str(),
                        function.as_str()
                    )
                })
                .help(|| "only numbers are aggregated; to count different values, use `distinct`".to_owned());
        }
        Some(value)
    }
}
