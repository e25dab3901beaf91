//! Rewrites aggregates of Watch, which include the payment under evaluation, to aggregates that exclude it.
//!
//! Including the payment increases `count` by 1, `sum` by its amount, and so on, so an aggregate becomes an expression
//! over the same lookup. If the payment may not satisfy the filter, both cases are written, and a condition on the
//! payment selects one:
//!
//! ```text
//!  count(F) >= 3         payment satisfies F always      count(F) >= 2
//!                        only when C                     ((C and count(F) >= 2) or (not (C) and count(F) >= 3))
//!                        only when C, else no row does   a shorter equivalent
//! ```

use tollgate_guest_abi::{AggregateFunction, Comparison};

use crate::ast::{AggregateExpr, Node, NodeId, NodeKind};
use crate::from_watch::edit::Edits;
use crate::from_watch::membership::FilterMembership;
use crate::from_watch::{DifferenceCollector, ParsedScript};
use crate::span::Span;

/// Most conditions per rewritten test; each doubles the output.
const CASES_MAX: usize = 2;
/// Largest literal beside a count that is decremented. Beside a larger one, the count is incremented instead.
const LITERAL_MAX: f64 = 1e15;

pub(super) fn rewrite(tree: ParsedScript<'_>, work: &mut DifferenceCollector) {
    for (id, node) in tree.rule.nodes.iter().enumerate().map(|(number, node)| (NodeId(number), node)) {
        if node.kind.is_test() && !node.in_filter {
            AggregateTest { tree, id, node }.rewrite(work);
        }
    }
}

#[derive(Clone, Copy)]
struct AggregateTest<'a> {
    tree: ParsedScript<'a>,
    id: NodeId,
    node: &'a Node,
}

struct AggregateSite<'a> {
    id: NodeId,
    span: Span,
    aggregate: &'a AggregateExpr,
    /// The condition under which the payment is included; `None` means always.
    condition: Option<String>,
    /// Whether the aggregate is 0 when the condition does not hold.
    otherwise_zero: bool,
    /// The expression that includes the payment.
    with_payment: String,
}

impl<'a> AggregateTest<'a> {
    fn rewrite(self, work: &mut DifferenceCollector) {
        let mut sites = Vec::new();
        for (id, node) in self.tree.below(self.id) {
            if let NodeKind::Aggregate(aggregate) = &node.kind {
                sites.extend(self.site(id, node.span, aggregate, work));
            }
        }
        if sites.is_empty() {
            return;
        }
        let Some(text) = self.with_payment(&sites) else {
            work.ask(
                self.node.span,
                "Watch included the payment itself in these aggregates, each under a different condition",
                "split the test into several rules, then check them again",
            );
            return;
        };
        for site in &sites {
            work.note(site.span, counted(site.aggregate.function), explanation(site));
        }
        work.edits.replace(self.node.span, text);
    }

    /// Returns how to rewrite an aggregate; `None` after a remark when it is unchanged.
    fn site(
        self,
        id: NodeId,
        span: Span,
        aggregate: &'a AggregateExpr,
        work: &mut DifferenceCollector,
    ) -> Option<AggregateSite<'a>> {
        let question = FilterAndWindow::new(self.tree, aggregate)?;
        if is_unknown(aggregate.function) {
            let name = aggregate.function.as_str();
            work.note(
                span,
                format!("Watch has no `{name}`, so a rule with it never fired there"),
                "it is unchanged; here it excludes the payment itself",
            );
            return None;
        }
        let reads_value = aggregate.function != AggregateFunction::Count;
        if reads_value && aggregate.value.as_ref().is_some_and(|value| value.value.keys != ["amount"]) {
            work.ask(
                span,
                "Watch used `amount` here, whatever field the rule names, and included the payment itself",
                "it is unchanged; write the field that you mean, then check the rule again",
            );
            return None;
        }
        let membership = FilterMembership::of_filter(self.tree, aggregate.filter);
        let (condition, otherwise_empty) = match membership {
            FilterMembership::Always => (None, false),
            FilterMembership::When { condition, otherwise_empty } => (Some(condition), otherwise_empty),
            FilterMembership::Never => {
                work.note(span, "the payment itself never satisfies this filter", "so the test is unchanged");
                return None;
            }
        };
        let (condition, with_payment) = match question.extreme_condition(aggregate.function) {
            Some(is_it) => {
                let all: Vec<String> = condition.into_iter().chain([is_it]).collect();
                (Some(all.join(" and ")), "amount".to_owned())
            }
            None => (condition, question.with_payment(aggregate.function, span.text(self.tree.script))),
        };
        let otherwise_zero = otherwise_empty && with_payment != "amount";
        Some(AggregateSite { id, span, aggregate, condition, otherwise_zero, with_payment })
    }

    /// Returns the test with the payment included in its aggregates; `None` when that takes too many cases.
    fn with_payment(self, sites: &[AggregateSite<'_>]) -> Option<String> {
        let mut conditions: Vec<&str> = sites.iter().filter_map(|site| site.condition.as_deref()).collect();
        conditions.sort_unstable();
        conditions.dedup();
        let always: Vec<&AggregateSite<'_>> = sites.iter().filter(|site| site.condition.is_none()).collect();
        if let ([site], [condition]) = (sites, conditions.as_slice())
            && let Some(text) = self.where_it_is_zero(site, condition)
        {
            return Some(text);
        }
        (conditions.len() <= CASES_MAX).then(|| self.cases(sites, &conditions, always))
    }

    /// Writes both cases of each condition. [`CASES_MAX`] bounds the recursion.
    fn cases<'s>(
        self,
        sites: &'s [AggregateSite<'s>],
        conditions: &[&str],
        chosen: Vec<&'s AggregateSite<'s>>,
    ) -> String {
        let Some((condition, others)) = conditions.split_first() else { return self.written(&chosen) };
        let theirs = sites.iter().filter(|site| site.condition.as_deref() == Some(condition));
        let with = self.cases(sites, others, chosen.iter().copied().chain(theirs).collect());
        let without = self.cases(sites, others, chosen);
        format!("(({condition} and {with}) or (not ({condition}) and {without}))")
    }

    /// Returns the shorter form of a comparison with a literal when the aggregate is 0 without the payment.
    fn where_it_is_zero(self, site: &AggregateSite<'_>, condition: &str) -> Option<String> {
        let literal = self.literal_beside(site)?;
        if !site.otherwise_zero {
            return None;
        }
        let holds = |value: f64| literal.holds_of(value);
        let with = self.written(&[site]);
        let is_count = site.aggregate.function == AggregateFunction::Count;
        Some(match holds(0.0) {
            otherwise if is_count && otherwise == holds(1.0) => with,
            false => format!("({condition} and {with})"),
            true => format!("(not ({condition}) or {with})"),
        })
    }

    /// Returns the text of the test with the rewritten aggregates.
    fn written(self, sites: &[&AggregateSite<'_>]) -> String {
        let mut edits = Edits::default();
        for site in sites {
            match self.literals_moved(site) {
                Some(literals) => literals.into_iter().for_each(|(span, text)| edits.replace(span, text)),
                None if self.node.kind.parts().contains(&site.id) => {
                    edits.replace(site.span, site.with_payment.as_str());
                }
                None => edits.replace(site.span, format!("({})", site.with_payment)),
            }
        }
        edits.apply(self.tree.script, self.node.span)
    }

    /// Returns the decremented literals beside a count, if everything beside it is a literal.
    fn literals_moved(self, site: &AggregateSite<'_>) -> Option<Vec<(Span, String)>> {
        if site.aggregate.function != AggregateFunction::Count {
            return None;
        }
        let beside: Vec<NodeId> =
            self.node.kind.parts().into_iter().filter(|part| *part != site.id).collect();
        let is_direct = beside.len() < self.node.kind.parts().len();
        let is_shape = matches!(self.node.kind, NodeKind::Compare { .. } | NodeKind::Between { .. });
        if !is_direct || !is_shape {
            return None;
        }
        beside.into_iter().map(|id| self.one_less(id)).collect()
    }

    fn one_less(self, id: NodeId) -> Option<(Span, String)> {
        let number = self.short_number(id)?;
        let is_moved = number.fract() == 0.0 && number <= LITERAL_MAX;
        is_moved.then_some((self.tree.node(id)?.span, (number - 1.0).to_string()))
    }

    /// Returns a literal number of at most 15 significant digits as a double.
    fn short_number(self, id: NodeId) -> Option<f64> {
        match &self.tree.node(id)?.kind {
            NodeKind::Number(number) if number.is_short() => Some(number.to_f64()),
            _ => None,
        }
    }

    /// Returns the literal that the aggregate is compared with, if any.
    fn literal_beside(self, site: &AggregateSite<'_>) -> Option<ComparedLiteral> {
        let NodeKind::Compare { left, operator, right } = &self.node.kind else { return None };
        let number = |id: NodeId| self.short_number(id);
        if *left == site.id {
            number(*right).map(|number| ComparedLiteral { operator: *operator, number })
        } else if *right == site.id {
            number(*left).map(|number| ComparedLiteral { operator: operator.mirrored(), number })
        } else {
            None
        }
    }
}

struct ComparedLiteral {
    operator: Comparison,
    number: f64,
}

impl ComparedLiteral {
    fn holds_of(&self, value: f64) -> bool {
        match self.operator {
            Comparison::Equal => value == self.number,
            Comparison::NotEqual => value != self.number,
            Comparison::Less => value < self.number,
            Comparison::LessOrEqual => value <= self.number,
            Comparison::Greater => value > self.number,
            Comparison::GreaterOrEqual => value >= self.number,
        }
    }
}

struct FilterAndWindow<'a> {
    filter: &'a str,
    window: &'a str,
}

impl<'a> FilterAndWindow<'a> {
    fn new(tree: ParsedScript<'a>, aggregate: &AggregateExpr) -> Option<Self> {
        let window = aggregate.window.as_ref()?.span.text(tree.script);
        Some(Self { filter: tree.text(aggregate.filter), window })
    }

    fn ask(&self, function: &str) -> String {
        format!("{function}(when {}, {})", self.filter, self.window)
    }

    fn with_payment(&self, function: AggregateFunction, written: &str) -> String {
        match function {
            AggregateFunction::Sum => format!("{written} + amount"),
            AggregateFunction::Avg => {
                format!("({} + amount) / ({} + 1)", self.ask("sum"), self.ask("count"))
            }
            _ => format!("{written} + 1"),
        }
    }

    /// Returns the condition under which the payment has the smallest or largest amount.
    fn extreme_condition(&self, function: AggregateFunction) -> Option<String> {
        let operator = match function {
            AggregateFunction::Min => "<=",
            AggregateFunction::Max => ">=",
            _ => return None,
        };
        let (count, extreme) = (self.ask("count"), self.ask(function.as_str()));
        Some(format!("({count} == 0 or amount {operator} {extreme})"))
    }
}

const fn is_unknown(function: AggregateFunction) -> bool {
    matches!(function, AggregateFunction::Distinct | AggregateFunction::Stddev)
}

fn counted(function: AggregateFunction) -> String {
    format!(
        "in Watch this `{}` includes the payment itself; here it covers only payments accepted earlier",
        function.as_str()
    )
}

fn explanation(site: &AggregateSite<'_>) -> String {
    let is_extreme = site.with_payment == "amount";
    match (&site.condition, site.aggregate.function) {
        (Some(_), _) if is_extreme => {
            "the rewritten test uses the payment's own amount when it is the smallest or the largest".to_owned()
        }
        (Some(condition), _) => {
            let condition = condition.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("the payment is included only when `{condition}`; the rewritten test handles both cases")
        }
        (None, AggregateFunction::Count) => "the rewritten test allows for a count that is one lower".to_owned(),
        (None, _) => {
            "the rewritten test adds the payment's amount; like all arithmetic, the result is rounded to a double".to_owned()
        }
    }
}
