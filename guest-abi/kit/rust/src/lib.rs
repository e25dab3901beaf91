//! What a rule module may ask of Tollgate, in Rust.
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
//! Questions are asked by slot: [`Field`], [`Text`], [`List`], [`Pattern`], [`Aggregate`], [`Previous`] and [`Time`] are
//! places in the lists of that name below `needs` in the manifest, counted from 0. A slot that the manifest does not have
//! ends the evaluation with a failure, and so does a panic. What is missing is `None`.
//!
//! `docs/abi.md` has the contract behind it, and what each question costs.
#![no_std]
#![deny(missing_docs)]

pub mod border;
mod need;
mod reason;

pub use need::{Aggregate, Field, Kind, List, Pattern, Previous, Relations, Text, Time};
pub use reason::Reason;

/// Says the score of this match, in place of the manifest's, clamped to 0 to 1. A NaN or an infinity ends the evaluation.
pub fn set_score(score: f64) {
    // SAFETY: a number crosses the border, and no memory is touched.
    unsafe { border::set_score(0, score) }
}

/// Says the reason of this match, in place of the manifest's. One of more than [`border::REASON_BYTES_MAX`] bytes ends the
/// evaluation.
pub fn set_reason(reason: &str) {
    // SAFETY: the host reads as many bytes as the text has, before it returns.
    unsafe { border::set_reason(0, reason.as_ptr(), reason.len() as i32) }
}

/// Makes a module of a function `fn() -> bool`, which says whether the rule matches, and of a manifest, a file named from
/// where this stands.
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

/// A rule that panics has failed.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn end(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

// Elsewhere a rule is only looked at, by the compiler's lints and by tests of its parts.
#[cfg(not(target_arch = "wasm32"))]
extern crate std;
