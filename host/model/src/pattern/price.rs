//! Price of a search: few units per byte if the automaton is small, otherwise in proportion to the pattern.
//!
//! The regex engine builds the states of an automaton as it needs them. If all states fit its cache, a byte costs a
//! constant time. Otherwise it may have to follow every part of the pattern at each byte.

use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_syntax::hir::Hir;
use tollgate_guest_abi::limits::PATTERN_COMPILED_BYTES_MAX;
use tollgate_guest_abi::prices::{SEARCHED_BYTE, SEARCHED_BYTE_PER_KIB};

/// The largest automaton that counts as small, and the limit of its construction, in bytes each.
const SMALL_BYTES_MAX: usize = 128 * 1024;

/// Prices of each byte of a text, in fuel.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchPrice {
    per_ascii_byte: u64,
    /// For texts that are not ASCII; word boundaries then need the slow search.
    per_byte: u64,
}

impl SearchPrice {
    /// Returns the prices of a valid pattern.
    pub(super) fn of_pattern(pattern: &str) -> Self {
        let hir = regex_syntax::parse(pattern).ok();
        let slow = hir.as_ref().and_then(n_compiled_bytes).unwrap_or(PATTERN_COMPILED_BYTES_MAX);
        let slow = SEARCHED_BYTE_PER_KIB * slow.div_ceil(1024) as u64;
        let has_boundary = hir.as_ref().is_none_or(|hir| hir.properties().look_set().contains_word_unicode());
        if !is_small(pattern) {
            return Self { per_ascii_byte: slow, per_byte: slow };
        }
        Self { per_ascii_byte: SEARCHED_BYTE, per_byte: if has_boundary { slow } else { SEARCHED_BYTE } }
    }

    pub(super) fn of_text(self, text: &str) -> u64 {
        if text.is_ascii() { self.of_ascii(text.len()) } else { self.per_byte * text.len() as u64 }
    }

    pub(super) const fn of_ascii(self, n_bytes: usize) -> u64 {
        self.per_ascii_byte * n_bytes as u64
    }

    /// Returns the higher price of a byte.
    pub(super) const fn per_byte(self) -> u64 {
        if self.per_byte > self.per_ascii_byte { self.per_byte } else { self.per_ascii_byte }
    }
}

/// Returns the size of the compiled pattern.
fn n_compiled_bytes(hir: &Hir) -> Option<usize> {
    let compiled = NFA::compiler()
        .configure(thompson::Config::new().which_captures(WhichCaptures::None))
        .build_from_hir(hir)
        .ok()?;
    Some(compiled.memory_usage())
}

/// Returns whether the whole automaton of a pattern is small.
fn is_small(pattern: &str) -> bool {
    let limit = Some(SMALL_BYTES_MAX);
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .accelerate(false)
        .unicode_word_boundary(true)
        .dfa_size_limit(limit)
        .determinize_size_limit(limit);
    let thompson = thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(limit);
    dense::Builder::new().configure(config).thompson(thompson).build(pattern).is_ok()
}
