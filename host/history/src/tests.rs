//! The history through its public interface.

mod elsewhere;
mod filled;
mod forgotten;
mod loaded;
mod parallel;
mod questions;
mod random;
mod settled;
mod shrunk;
mod spilled;
mod updated;

use std::sync::Arc;

use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, Comparison, Condition, FieldPath, Operand, Window,
};
use tollgate_model::transaction::Transaction;

use crate::History;
use crate::sample::Sample;
use crate::series::Series;

impl History {
    fn each_series(&self, show: impl FnMut(&Series)) {
        self.activation.lock().each_series(show);
    }
}

fn equal(field: &str, right: Operand) -> Condition {
    Condition::Compare { left: Operand::Field(FieldPath::parse(field)), operator: Comparison::Equal, right }
}

fn same(field: &str) -> Condition {
    equal(field, Operand::Current(FieldPath::parse(field)))
}

fn spec(function: AggregateFunction, filter: Condition, window: &str) -> AggregateSpec {
    AggregateSpec {
        function,
        value: FieldPath::parse("amount"),
        filter,
        window: Window::parse(window).unwrap(),
    }
}

fn count_of_same(field: &str, window: &str) -> AggregateSpec {
    spec(AggregateFunction::Count, same(field), window)
}

fn transaction(source: &'static str, amount: &'static str, at: i64) -> Arc<Transaction> {
    Arc::new(Sample { source: Some(source), amount, at, ..Sample::default() }.build())
}
