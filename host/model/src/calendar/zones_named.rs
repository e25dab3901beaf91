//! The time zones named anywhere in conditions.

use tollgate_guest_abi::{Condition, Needs, Operand, TimeSpec};

use crate::calendar::{UnknownZone, ZoneData};

/// Returns whether any of these conditions names a zone.
#[must_use]
pub fn filter_names_a_zone(conditions: &[Condition]) -> bool {
    let mut specs = Vec::new();
    conditions.iter().for_each(|condition| of_condition(condition, &mut specs));
    specs.iter().any(|spec| spec.zone.is_some())
}

/// Returns the first zone that a module needs and the data lacks.
#[must_use]
pub fn unknown_zone(needs: &Needs, zones: &ZoneData) -> Option<UnknownZone> {
    let mut specs: Vec<&TimeSpec> = needs.times.iter().collect();
    needs.aggregates.iter().for_each(|spec| of_condition(&spec.filter, &mut specs));
    specs.into_iter().filter_map(|spec| spec.zone.as_deref()).find_map(|name| zones.zone(name).err())
}

fn of_condition<'c>(condition: &'c Condition, specs: &mut Vec<&'c TimeSpec>) {
    let mut open = vec![condition];
    while let Some(condition) = open.pop() {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => open.extend(parts),
            Condition::Not(part) => open.push(part),
            Condition::Compare { left, operator: _, right } => {
                of_operand(left, specs);
                of_operand(right, specs);
            }
            Condition::In { value, .. } | Condition::Matches { value, .. } => of_operand(value, specs),
            Condition::Previous(_) => {}
        }
    }
}

fn of_operand<'c>(operand: &'c Operand, specs: &mut Vec<&'c TimeSpec>) {
    let mut open = vec![operand];
    while let Some(operand) = open.pop() {
        match operand {
            Operand::Time(spec) => specs.push(spec),
            Operand::Arithmetic { left, operator: _, right } => open.extend([&**left, &**right]),
            Operand::Negate(inner) => open.push(inner),
            Operand::Aggregate(_)
            | Operand::Number(_)
            | Operand::Text(_)
            | Operand::Boolean(_)
            | Operand::Field(_)
            | Operand::Current(_) => {}
        }
    }
}
