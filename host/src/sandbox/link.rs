//! The host's side of the import table.

use tollgate_guest_abi::imports::{Call, MODULE};
use wasmtime::{Caller, Linker};

use crate::assessment::RuleFailure;
use crate::sandbox::runner::Guests;

/// What a guest may ask, one method per row of the import table; the table says what each means. Arguments are slots of
/// the manifest of the module that is running.
///
/// # Errors
/// Every method answers [`RuleFailure::HostCall`] for a slot the manifest does not name.
#[expect(missing_docs, reason = "the rows of `guest_abi::imports::Call`, where each is explained")]
#[expect(clippy::missing_errors_doc, reason = "said once for all above")]
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
    fn aggregate(&mut self, aggregate: u32) -> Result<f64, RuleFailure>;
    fn previous(&mut self, previous: u32) -> Result<i32, RuleFailure>;
    fn time_part(&mut self, time: u32) -> Result<f64, RuleFailure>;
}

/// Links every row.
pub(super) fn define_all<H: HostCalls>(linker: &mut Linker<Guests<H>>) -> wasmtime::Result<()> {
    Call::ALL.into_iter().try_for_each(|call| define(linker, call))
}

/// A host function of one or two arguments that asks `HostCalls`.
macro_rules! ask {
    ($method:ident($($argument:ident: $type:ty),+)) => {
        |mut caller: Caller<'_, Guests<H>>, $($argument: $type),+| {
            caller.data_mut().host.$method($($argument),+).map_err(wasmtime::Error::from)
        }
    };
}

fn define<H: HostCalls>(linker: &mut Linker<Guests<H>>, call: Call) -> wasmtime::Result<()> {
    let name = call.import().name;
    match call {
        Call::Number => linker.func_wrap(MODULE, name, ask!(number(field: u32))),
        Call::Symbol => linker.func_wrap(MODULE, name, ask!(symbol(field: u32))),
        Call::Kind => linker.func_wrap(MODULE, name, ask!(kind(field: u32))),
        Call::Relate => linker.func_wrap(MODULE, name, ask!(relate(left: u32, right: u32))),
        Call::RelateText => linker.func_wrap(MODULE, name, ask!(relate_text(field: u32, text: u32))),
        Call::Member => linker.func_wrap(MODULE, name, ask!(member(field: u32, list: u32))),
        Call::MemberNumber => linker.func_wrap(MODULE, name, ask!(member_number(number: f64, list: u32))),
        Call::MemberText => linker.func_wrap(MODULE, name, ask!(member_text(text: u32, list: u32))),
        Call::Matches => linker.func_wrap(MODULE, name, ask!(matches(field: u32, pattern: u32))),
        Call::MatchesNumber => {
            linker.func_wrap(MODULE, name, ask!(matches_number(number: f64, pattern: u32)))
        }
        Call::Aggregate => linker.func_wrap(MODULE, name, ask!(aggregate(aggregate: u32))),
        Call::Previous => linker.func_wrap(MODULE, name, ask!(previous(previous: u32))),
        Call::TimePart => linker.func_wrap(MODULE, name, ask!(time_part(time: u32))),
        // Not yet.
        Call::Text | Call::SetScore | Call::SetReason => return Ok(()),
    }?;
    Ok(())
}
