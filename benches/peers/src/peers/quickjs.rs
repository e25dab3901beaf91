//! JavaScript: all rules in one function, called once per transaction with the fields as arguments.

use std::fmt::Write as _;

use rquickjs::function::Args;
use rquickjs::{Context, Function, Persistent, Runtime};
use tollgate_benches::shape::{Shape, WORDS};

use crate::contestant::Peer;
use crate::facts::{COUNTS, FOUND, Facts};
use crate::matched::Matched;

pub(crate) struct QuickJs {
    // Declared first, so that it is dropped before the context.
    judge: Persistent<Function<'static>>,
    context: Context,
    _runtime: Runtime,
}

impl Peer for QuickJs {
    const NAME: &'static str = "rquickjs";
    const REMARK: &'static str = "one function holds all rules, the fields are its arguments, it returns words of 32 \
        bits. Its own RegExp, each searched once per transaction. No limits of time or memory";

    fn prepare(rules: &[Shape]) -> anyhow::Result<Self> {
        let runtime = Runtime::new()?;
        let context = Context::full(&runtime)?;
        let source = source(rules)?;
        let judge = context.with(|ctx| {
            let function: Function<'_> = ctx.eval(source)?;
            Ok::<_, rquickjs::Error>(Persistent::save(&ctx, function))
        })?;
        Ok(Self { judge, context, _runtime: runtime })
    }

    fn judge(&mut self, facts: &Facts<'_>, matched: &mut Matched) -> anyhow::Result<()> {
        let words = self.context.with(|ctx| {
            let judge = self.judge.clone().restore(&ctx)?;
            let mut arguments = Args::new(ctx, 6 + facts.counts.len());
            arguments.push_args([facts.amount, facts.risk])?;
            arguments.push_args([facts.currency, facts.status, facts.country, facts.description])?;
            arguments.push_args(facts.counts)?;
            judge.call_arg::<Vec<i32>>(arguments)
        })?;
        let halves = words.chunks(2).map(|halves| match *halves {
            [low, high] => u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32,
            [low] => u64::from(low.cast_unsigned()),
            _ => 0,
        });
        matched.words_mut().iter_mut().zip(halves).for_each(|(word, halves)| *word = halves);
        Ok(())
    }
}

fn source(rules: &[Shape]) -> anyhow::Result<String> {
    let mut source = String::from("(() => {\n");
    for (name, word) in FOUND.iter().zip(WORDS) {
        writeln!(source, "const seek_{name} = /({word})/i;")?;
    }
    let parameters = COUNTS.join(", ");
    writeln!(source, "return (amount, risk, currency, status, country, description, {parameters}) => {{")?;
    for (word, name) in FOUND.iter().enumerate() {
        if rules.contains(&Shape::Pattern { word }) {
            writeln!(source, "const {name} = seek_{name}.test(description);")?;
        }
    }
    let mut words = Vec::new();
    for (number, word) in rules.chunks(32).enumerate() {
        writeln!(source, "let w{number} = 0;")?;
        for (bit, rule) in word.iter().enumerate() {
            writeln!(source, "if ({}) w{number} |= {};", condition(*rule), 1_i32 << bit)?;
        }
        words.push(format!("w{number}"));
    }
    writeln!(source, "return [{}]; }}; }})()", words.join(", "))?;
    Ok(source)
}

fn condition(rule: Shape) -> String {
    match rule {
        Shape::Comparison { limit, risk, currency } => {
            format!("amount > {limit} && risk >= {risk} && currency === {currency:?}")
        }
        Shape::List { status, countries } => {
            let any = countries.map(|country| format!("country === {country:?}")).join(" || ");
            format!("status !== {status:?} && ({any})")
        }
        Shape::Pattern { word } => format!("found{word}"),
        Shape::Aggregate { window, limit } => format!("count{window} > {limit}"),
    }
}
