//! Cedar: a policy per rule, and one request per transaction with the fields in its context.

use cedar_policy::{
    Authorizer, Context, Entities, EntityUid, Policy, PolicyId, PolicySet, Request, RestrictedExpression,
};
use tollgate_benches::shape::Shape;

use crate::contestant::Peer;
use crate::facts::{COUNTS, FOUND, Facts, Patterns};
use crate::matched::Matched;

pub(crate) struct Cedar {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    payer: EntityUid,
    action: EntityUid,
    gate: EntityUid,
    patterns: Patterns,
}

impl Peer for Cedar {
    const NAME: &'static str = "cedar-policy";
    const REMARK: &'static str = "policies parsed once, one request per transaction, the rules that match are the reasons \
        of the response. Has no fractions: amounts are hundredths. Has no patterns: the host searches each once per \
        transaction. No schema, whose check of the request would come on top";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let mut policies = PolicySet::new();
        for (rule_index, rule) in rules.iter().enumerate() {
            let source = format!("permit(principal, action, resource) when {{ {} }};", condition(*rule));
            policies.add(Policy::parse(Some(PolicyId::new(rule_index.to_string())), source)?)?;
        }
        Ok(Self {
            authorizer: Authorizer::new(),
            policies,
            entities: Entities::empty(),
            payer: r#"Account::"payer""#.parse()?,
            action: r#"Action::"pay""#.parse()?,
            gate: r#"Gate::"gate""#.parse()?,
            patterns: Patterns::new(rules)?,
        })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        let (payer, action, gate) = (self.payer.clone(), self.action.clone(), self.gate.clone());
        let request = Request::new(payer, action, gate, context(facts, &self.patterns)?, None)?;
        let response = self.authorizer.is_authorized(&request, &self.policies, &self.entities);
        for policy in response.diagnostics().reason() {
            let rule_index: &str = policy.as_ref();
            matched.note(rule_index.parse()?, true);
        }
        Ok(())
    }
}

fn condition(rule: Shape) -> String {
    match rule {
        Shape::Comparison { limit, risk, currency } => format!(
            "context.amount > {} && context.risk >= {risk} && context.currency == {currency:?}",
            u64::from(limit) * 100
        ),
        Shape::List { status, countries } => {
            format!("context.status != {status:?} && {countries:?}.contains(context.country)")
        }
        Shape::Pattern { word } => format!("context.found{word}"),
        Shape::Aggregate { window, limit } => format!("context.count{window} > {limit}"),
    }
}

fn context(facts: &Facts<'_>, patterns: &Patterns) -> anyhow::Result<Context> {
    let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
    #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
    let whole = |number: f64| RestrictedExpression::new_long(number as i64);
    let fields = [
        ("amount", RestrictedExpression::new_long(facts.hundredths())),
        ("risk", whole(facts.risk)),
        ("currency", text(facts.currency)),
        ("status", text(facts.status)),
        ("country", text(facts.country)),
    ];
    let counts = COUNTS.into_iter().zip(facts.counts.map(whole));
    let found = FOUND.into_iter().zip(patterns.search(facts.description).map(RestrictedExpression::new_bool));
    let pairs = fields.into_iter().chain(counts).chain(found);
    Ok(Context::from_pairs(pairs.map(|(name, value)| (name.to_owned(), value)))?)
}
