//! The state of a store: the host, the output and the limits of its guests.

use tollgate_guest_abi::Semantics;
use tollgate_guest_abi::limits::{REASON_BYTES_MAX, TABLE_ELEMENTS_MAX};
use tollgate_model::assessment::{RuleFailure, RuleStatement};
use wasmtime::{Memory, ResourceLimiter};

use crate::sandbox::plain_text::cleaned;

/// The calls to the host that a module pays for, besides its instructions and the past transactions that these calls read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallCharges {
    /// None: a bound of their cost is known.
    Nothing,
    /// All, by the prices before [`Semantics::V4`](tollgate_guest_abi::Semantics::V4).
    BeforeV4,
    /// All.
    SinceV4,
    /// All, and the instance and its memory.
    SinceV5,
}

impl CallCharges {
    /// Returns what a rule pays for that runs alone, under semantics that have prices.
    #[must_use]
    pub const fn of_semantics(semantics: Semantics) -> Self {
        if semantics.prices_instances() { Self::SinceV5 } else { Self::SinceV4 }
    }
}

pub(super) struct GuestState<H> {
    /// Answers host calls; `None` while another store borrows it.
    pub(super) host: Option<H>,
    /// Host calls left in this run; `None` if they are not counted, because the guest cannot loop.
    pub(super) calls_left: Option<u32>,
    /// The calls that the guest pays for.
    pub(super) charges: CallCharges,
    /// Memory of the guest, if it has one.
    pub(super) memory: Option<Memory>,
    /// The number of rules the guest answers for.
    pub(super) n_rules: usize,
    /// Score and reason set in this run.
    pub(super) said: RuleStatement,
    pub(super) room: StoreLimits,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct StoreLimits {
    pub(super) n_instances: usize,
    pub(super) memory_bytes: u64,
}

impl<H> GuestState<H> {
    /// Creates the state of a store without a host.
    pub(super) fn new(room: StoreLimits) -> Self {
        Self {
            host: None,
            calls_left: None,
            charges: CallCharges::Nothing,
            memory: None,
            n_rules: 0,
            said: RuleStatement::default(),
            room,
        }
    }

    pub(super) fn host(&mut self) -> Result<&mut H, RuleFailure> {
        self.host.as_mut().ok_or(RuleFailure::Internal)
    }

    pub(super) fn set_score(&mut self, rule: u32, score: f64) -> Result<(), RuleFailure> {
        self.check_rule(rule)?;
        if !score.is_finite() {
            return Err(RuleFailure::InvalidOutput);
        }
        // The addition turns -0 into 0, which is formatted differently.
        self.said.score = Some(score.clamp(0.0, 1.0) + 0.0);
        Ok(())
    }

    /// Sets the reason of this match from the memory of the guest.
    pub(super) fn set_reason(
        &mut self,
        rule: u32,
        memory: &[u8],
        at: u32,
        n: u32,
    ) -> Result<(), RuleFailure> {
        self.check_rule(rule)?;
        let (at, n) = (at as usize, n as usize);
        if n > REASON_BYTES_MAX {
            return Err(RuleFailure::InvalidOutput);
        }
        let bytes = memory.get(at..at.saturating_add(n)).ok_or(RuleFailure::InvalidOutput)?;
        let reason = std::str::from_utf8(bytes).map_err(|_| RuleFailure::InvalidOutput)?;
        let mut reason = cleaned(reason);
        // U+FFFD may be longer than the character it replaces.
        reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
        self.said.reason = Some(reason);
        Ok(())
    }

    /// Only a module with one rule may set a score or a reason.
    fn check_rule(&self, rule: u32) -> Result<(), RuleFailure> {
        if rule == 0 && self.n_rules == 1 { Ok(()) } else { Err(RuleFailure::HostCall) }
    }
}

impl ResourceLimiter for StoreLimits {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired as u64 > self.memory_bytes { Err(RuleFailure::Memory.into()) } else { Ok(true) }
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired as u64 > TABLE_ELEMENTS_MAX { Err(RuleFailure::Memory.into()) } else { Ok(true) }
    }

    fn instances(&self) -> usize {
        self.n_instances
    }

    fn tables(&self) -> usize {
        1
    }

    fn memories(&self) -> usize {
        1
    }
}
