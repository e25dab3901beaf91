//! Host functions of the import table.

use tollgate_guest_abi::imports::{Call, MODULE, operand};
use tollgate_guest_abi::limits::{FUEL_PER_SEARCHED_BYTE, FUEL_PER_TEXT_BYTE, REASON_BYTES_MAX};
use tollgate_history::{AggregateValue, CostedAnswer};
use tollgate_model::assessment::RuleFailure;
use wasmtime::{Caller, Linker};

use crate::sandbox::guest_state::{CallCharges, GuestState};

/// An answer of the history, with the cost of what it read.
pub type HistoryAnswer<T> = Result<CostedAnswer<T>, RuleFailure>;

/// Host calls of a guest, one method per row of the import table, which defines their meaning. Arguments are slots in
/// the manifest of the running module.
///
/// # Errors
/// Every method returns [`RuleFailure::HostCall`] for a slot that is not in the manifest.
#[expect(missing_docs, reason = "each method is documented at its row of `guest_abi::imports::Call`")]
#[expect(clippy::missing_errors_doc, reason = "documented once above for all methods")]
pub trait HostCalls: 'static {
    fn number(&mut self, field: u32) -> Result<f64, RuleFailure>;
    fn symbol(&mut self, field: u32) -> Result<i32, RuleFailure>;
    fn kind(&mut self, field: u32) -> Result<i32, RuleFailure>;
    fn relate(&mut self, left: u32, right: u32) -> Result<i32, RuleFailure>;
    fn relate_text(&mut self, field: u32, text: u32) -> Result<i32, RuleFailure>;
    fn member(&mut self, field: u32, list: u32) -> Result<i32, RuleFailure>;
    fn member_number(&mut self, number: f64, list: u32) -> Result<i32, RuleFailure>;
    fn member_text(&mut self, text: u32, list: u32) -> Result<i32, RuleFailure>;
    fn matches(&mut self, field: u32, pattern: u32) -> Result<i32, RuleFailure>;
    fn matches_number(&mut self, number: f64, pattern: u32) -> Result<i32, RuleFailure>;
    /// Returns the answer if it is cached or available from a batch, and cost nothing.
    fn cached_aggregate(&mut self, aggregate: u32) -> Result<Option<AggregateValue>, RuleFailure>;
    /// Returns the answer and its cost in fuel, if that is at most `fuel_max`.
    fn aggregate(&mut self, aggregate: u32, fuel_max: u64) -> HistoryAnswer<AggregateValue>;
    /// As `aggregate`.
    fn previous(&mut self, previous: u32, fuel_max: u64) -> HistoryAnswer<bool>;
    fn time_part(&mut self, time: u32) -> Result<f64, RuleFailure>;
    fn comparable(&mut self, field: u32) -> Result<f64, RuleFailure>;
    /// As `aggregate`.
    fn relate_operands(&mut self, left: u32, right: u32, fuel_max: u64) -> HistoryAnswer<i32>;
    /// As `aggregate`.
    fn member_operand(&mut self, operand: u32, list: u32, fuel_max: u64) -> HistoryAnswer<i32>;
    /// `None` when the field is not a text.
    fn text(&mut self, field: u32) -> Result<Option<&str>, RuleFailure>;

    /// Returns the number of bytes a call with these slots will read, as far as it depends on the transaction. An array
    /// element counts as 16.
    fn bytes_read(&mut self, call: Call, slots: [u32; 2]) -> Result<usize, RuleFailure>;

    /// Returns the price of what a call with these slots will read, in fuel, besides the price of the call.
    fn price_of_reading(&mut self, call: Call, slots: [u32; 2]) -> Result<u64, RuleFailure>;
}

pub(super) fn define_all<H: HostCalls>(linker: &mut Linker<GuestState<H>>) -> wasmtime::Result<()> {
    Call::ALL.into_iter().try_for_each(|call| define(linker, call))
}

/// Defines a host function that forwards to `HostCalls`. `slots` are the arguments whose values the call may read.
macro_rules! ask {
    ($call:ident: $method:ident($($argument:ident: $type:ty),+), $slots:expr) => {
        |mut caller: Caller<'_, GuestState<H>>, $($argument: $type),+| {
            charge(&mut caller, Call::$call, $slots)?;
            let host = caller.data_mut().host()?;
            host.$method($($argument),+).map_err(wasmtime::Error::from)
        }
    };
}

fn define<H: HostCalls>(linker: &mut Linker<GuestState<H>>, call: Call) -> wasmtime::Result<()> {
    let name = call.import().name;
    match call {
        Call::Number => linker.func_wrap(MODULE, name, ask!(Number: number(field: u32), [field, 0])),
        Call::Symbol => linker.func_wrap(MODULE, name, ask!(Symbol: symbol(field: u32), [field, 0])),
        Call::Kind => linker.func_wrap(MODULE, name, ask!(Kind: kind(field: u32), [field, 0])),
        Call::Relate => {
            linker.func_wrap(MODULE, name, ask!(Relate: relate(left: u32, right: u32), [left, right]))
        }
        Call::RelateText => linker.func_wrap(
            MODULE,
            name,
            ask!(RelateText: relate_text(field: u32, text: u32), [field, text]),
        ),
        Call::Member => {
            linker.func_wrap(MODULE, name, ask!(Member: member(field: u32, list: u32), [field, list]))
        }
        Call::MemberNumber => linker.func_wrap(
            MODULE,
            name,
            ask!(MemberNumber: member_number(number: f64, list: u32), [0, list]),
        ),
        Call::MemberText => {
            linker.func_wrap(MODULE, name, ask!(MemberText: member_text(text: u32, list: u32), [text, list]))
        }
        Call::Matches => {
            linker.func_wrap(MODULE, name, ask!(Matches: matches(field: u32, pattern: u32), [field, pattern]))
        }
        Call::MatchesNumber => linker.func_wrap(
            MODULE,
            name,
            ask!(MatchesNumber: matches_number(number: f64, pattern: u32), [0, pattern]),
        ),
        Call::Aggregate => linker.func_wrap(MODULE, name, aggregate::<H>),
        Call::Previous => linker.func_wrap(MODULE, name, previous::<H>),
        Call::TimePart => linker.func_wrap(MODULE, name, ask!(TimePart: time_part(time: u32), [time, 0])),
        Call::Text => linker.func_wrap(MODULE, name, text::<H>),
        Call::SetScore => linker.func_wrap(MODULE, name, set_score::<H>),
        Call::SetReason => linker.func_wrap(MODULE, name, set_reason::<H>),
        Call::Comparable => {
            linker.func_wrap(MODULE, name, ask!(Comparable: comparable(field: u32), [field, 0]))
        }
        Call::ComparableAggregate => linker.func_wrap(MODULE, name, comparable_aggregate::<H>),
        Call::RelateOperands => linker.func_wrap(MODULE, name, relate_operands::<H>),
        Call::MemberOperand => linker.func_wrap(MODULE, name, member_operand::<H>),
    }?;
    Ok(())
}

/// Charges the cost of a call, unless a bound of it is known.
#[inline]
fn charge<H: HostCalls>(
    caller: &mut Caller<'_, GuestState<H>>,
    call: Call,
    slots: [u32; 2],
) -> Result<(), wasmtime::Error> {
    match caller.data().charges {
        CallCharges::Nothing => Ok(()),
        charges => charge_fuel(caller, call, slots, charges),
    }
}

#[inline(never)]
fn charge_fuel<H: HostCalls>(
    caller: &mut Caller<'_, GuestState<H>>,
    call: Call,
    slots: [u32; 2],
    charges: CallCharges,
) -> Result<(), wasmtime::Error> {
    let guests = caller.data_mut();
    if let Some(calls_left) = &mut guests.calls_left {
        *calls_left = calls_left.checked_sub(1).ok_or(RuleFailure::HostCallLimit)?;
    }
    if matches!(charges, CallCharges::SinceV4 | CallCharges::SinceV5) {
        let reading = guests.host()?.price_of_reading(call, slots)?;
        return take_fuel(caller, call.import().fuel.saturating_add(reading));
    }
    let n_bytes = guests.host()?.bytes_read(call, slots)?;
    let per_byte = match call {
        Call::Matches | Call::MatchesNumber => FUEL_PER_SEARCHED_BYTE,
        _ => FUEL_PER_TEXT_BYTE,
    };
    take_fuel(caller, call.import().fuel_before_v4.saturating_add(n_bytes as u64 * per_byte))
}

fn aggregate<H: HostCalls>(caller: Caller<'_, GuestState<H>>, slot: u32) -> Result<f64, wasmtime::Error> {
    Ok(value_of(caller, Call::Aggregate, slot)?.nearest)
}

fn comparable_aggregate<H: HostCalls>(
    caller: Caller<'_, GuestState<H>>,
    slot: u32,
) -> Result<f64, wasmtime::Error> {
    Ok(value_of(caller, Call::ComparableAggregate, slot)?.comparable)
}

#[inline]
fn value_of<H: HostCalls>(
    mut caller: Caller<'_, GuestState<H>>,
    call: Call,
    slot: u32,
) -> Result<AggregateValue, wasmtime::Error> {
    charge(&mut caller, call, [0, 0])?;
    match caller.data_mut().host()?.cached_aggregate(slot)? {
        Some(answer) => Ok(answer),
        None => look_up(caller, |host, fuel_max| host.aggregate(slot, fuel_max)),
    }
}

fn previous<H: HostCalls>(mut caller: Caller<'_, GuestState<H>>, slot: u32) -> Result<i32, wasmtime::Error> {
    charge(&mut caller, Call::Previous, [0, 0])?;
    look_up(caller, |host, fuel_max| host.previous(slot, fuel_max)).map(i32::from)
}

fn relate_operands<H: HostCalls>(
    mut caller: Caller<'_, GuestState<H>>,
    left: u32,
    right: u32,
) -> Result<i32, wasmtime::Error> {
    charge(&mut caller, Call::RelateOperands, [left, right])?;
    if !asks_history(left) && !asks_history(right) {
        return Ok(caller.data_mut().host()?.relate_operands(left, right, 0)?.value);
    }
    look_up(caller, |host, fuel_max| host.relate_operands(left, right, fuel_max))
}

const fn asks_history(operand: u32) -> bool {
    (operand % 4).cast_signed() == operand::AGGREGATE
}

fn member_operand<H: HostCalls>(
    mut caller: Caller<'_, GuestState<H>>,
    operand: u32,
    list: u32,
) -> Result<i32, wasmtime::Error> {
    charge(&mut caller, Call::MemberOperand, [operand, list])?;
    look_up(caller, |host, fuel_max| host.member_operand(operand, list, fuel_max))
}

/// Queries the history and charges for what it reads. Every module pays for that, since it is unknown before.
fn look_up<H: HostCalls, T>(
    mut caller: Caller<'_, GuestState<H>>,
    ask: impl FnOnce(&mut H, u64) -> Result<CostedAnswer<T>, RuleFailure>,
) -> Result<T, wasmtime::Error> {
    let fuel_max = caller.get_fuel()?;
    let asked = ask(caller.data_mut().host()?, fuel_max);
    if asked.as_ref().is_err_and(|failure| *failure == RuleFailure::Fuel) {
        // What was left did not suffice, so it is used up.
        caller.set_fuel(0)?;
    }
    let CostedAnswer { value, fuel } = asked?;
    if fuel > 0 {
        take_fuel(&mut caller, fuel)?;
    }
    Ok(value)
}

fn take_fuel<H>(caller: &mut Caller<'_, GuestState<H>>, cost: u64) -> Result<(), wasmtime::Error> {
    let left = caller.get_fuel()?.checked_sub(cost);
    caller.set_fuel(left.unwrap_or(0))?;
    if left.is_some() { Ok(()) } else { Err(RuleFailure::Fuel.into()) }
}

/// Copies the longest prefix of whole characters that fits. Returns the length of the text in bytes.
fn text<H: HostCalls>(
    mut caller: Caller<'_, GuestState<H>>,
    field: u32,
    pointer: u32,
    capacity: u32,
) -> Result<i32, wasmtime::Error> {
    charge(&mut caller, Call::Text, [field, capacity])?;
    let memory = caller.data().memory.ok_or(RuleFailure::Memory)?;
    let (bytes, guests) = memory.data_and_store_mut(&mut caller);
    let (start, n_bytes_max) = (pointer as usize, capacity as usize);
    let room = bytes.get_mut(start..start.saturating_add(n_bytes_max)).ok_or(RuleFailure::Memory)?;
    let Some(text) = guests.host()?.text(field)? else { return Ok(-1) };
    let whole = text.floor_char_boundary(n_bytes_max);
    if let (Some(room), Some(written)) = (room.get_mut(..whole), text.as_bytes().get(..whole)) {
        room.copy_from_slice(written);
    }
    Ok(i32::try_from(text.len()).unwrap_or(i32::MAX))
}

fn set_score<H: HostCalls>(
    mut caller: Caller<'_, GuestState<H>>,
    rule: u32,
    score: f64,
) -> Result<(), wasmtime::Error> {
    charge(&mut caller, Call::SetScore, [0, 0])?;
    Ok(caller.data_mut().set_score(rule, score)?)
}

fn set_reason<H: HostCalls>(
    mut caller: Caller<'_, GuestState<H>>,
    rule: u32,
    pointer: u32,
    length: u32,
) -> Result<(), wasmtime::Error> {
    charge(&mut caller, Call::SetReason, [0, 0])?;
    if caller.data().charges != CallCharges::Nothing {
        let n_bytes = u64::from(length).min(REASON_BYTES_MAX as u64);
        take_fuel(&mut caller, n_bytes * FUEL_PER_TEXT_BYTE)?;
    }
    let memory = caller.data().memory.ok_or(RuleFailure::InvalidOutput)?;
    let (bytes, guests) = memory.data_and_store_mut(&mut caller);
    Ok(guests.set_reason(rule, bytes, pointer, length)?)
}
