//! Rust bindings of the functions that a rule module may call in Tollgate.
//!
//! ```ignore
//! #![no_std]
//! use tollgate_rule::{rule, set_score, Field};
//!
//! rule!(is_large, "../manifest.json");
//!
//! /// The first of `needs.fields` in the manifest.
//! const AMOUNT: Field = Field(0);
//!
//! fn is_large() -> bool {
//!     let amount = AMOUNT.number().unwrap_or(0.0);
//!     set_score(amount / 100_000.0);
//!     amount > 10_000.0
//! }
//! ```
//!
//! [`Field`], [`Text`], [`List`], [`Pattern`], [`Aggregate`], [`Previous`] and [`Time`] are slots: indices, from 0,
//! into the lists of that name under `needs` in the manifest. A slot that the manifest does not have ends the
//! evaluation with a failure; so does a panic. Missing values are `None`.
//!
//! `docs/abi.md` specifies the contract and the cost of each call.
#![no_std]
#![deny(missing_docs)]

pub mod border;
mod need;
mod reason;

pub use need::{Aggregate, Field, Kind, List, Pattern, Previous, Relations, Text, Time};
pub use reason::Reason;

/// Sets the score of this match in place of the manifest's, clamped to 0 to 1. A NaN or an infinity ends the
/// evaluation.
pub fn set_score(score: f64) {
    // SAFETY: only numbers are passed; no memory is accessed.
    unsafe { border::set_score(0, score) }
}

/// Sets the reason of this match in place of the manifest's. More than [`border::REASON_BYTES_MAX`] bytes end the
/// evaluation.
pub fn set_reason(reason: &str) {
    // SAFETY: the host reads exactly the bytes of the text, before it returns.
    unsafe { border::set_reason(0, reason.as_ptr(), reason.len() as i32) }
}

/// Builds a module from a function `fn() -> bool`, which returns whether the rule matches, and a manifest. The manifest
/// is a file path relative to the calling source file.
#[macro_export]
macro_rules! rule {
    ($matches:path, $manifest:literal) => {
        #[used]
        #[cfg_attr(target_arch = "wasm32", link_section = "tollgate.manifest")]
        static MANIFEST: [u8; include_bytes!($manifest).len()] = *include_bytes!($manifest);

        #[no_mangle]
        extern "C" fn evaluate() -> i64 {
            i64::from($matches())
        }
    };
}

/// A panic in a rule is a trap, so the rule fails.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn end(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

// On other targets a rule is only linted and unit-tested.
#[cfg(not(target_arch = "wasm32"))]
extern crate std;
