//! Sets of patterns that are searched together.

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};

/// Limit for the automaton of a set, its NFA and its construction, in bytes each. The automaton then fits in the cache
/// of a core and is built within a few milliseconds.
const COMPILED_BYTES_MAX: usize = 64 * 1024;

/// Patterns with one automaton that finds all of them in a single pass over a text.
#[derive(Debug)]
pub struct PatternSet {
    automaton: dense::DFA<Vec<u32>>,
    start: StateID,
    /// Length of text beyond which each pattern is searched separately.
    text_bytes_max: usize,
}

impl PatternSet {
    /// Maximum number of patterns in a set.
    pub const PATTERNS_MAX: usize = 16;
    /// Text bytes per pattern up to which the set is faster than separate searches. Those spend most of their time
    /// starting and skip most of a long text. Measured break-even: 14, if all patterns are requested.
    const TEXT_BYTES_PER_PATTERN: usize = 8;

    /// Compiles patterns that [`CompiledPattern`](super::CompiledPattern) accepts. Returns `None` if separate searches
    /// are better.
    #[must_use]
    pub fn compile(patterns: &[&str]) -> Option<Self> {
        if patterns.len() > Self::PATTERNS_MAX {
            return None;
        }
        let bytes_max = Some(COMPILED_BYTES_MAX);
        let automaton = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::All)
                    .start_kind(StartKind::Unanchored)
                    .accelerate(false)
                    .dfa_size_limit(bytes_max)
                    .determinize_size_limit(bytes_max),
            )
            .thompson(thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(bytes_max))
            .build_many(patterns)
            .ok()?;
        // An empty match must not lie inside a character, which this byte-wise search cannot ensure.
        if automaton.has_empty() {
            return None;
        }
        let start = automaton.start_state(&start::Config::new().anchored(Anchored::No)).ok()?;
        Some(Self { automaton, start, text_bytes_max: patterns.len() * Self::TEXT_BYTES_PER_PATTERN })
    }

    /// Returns the patterns found in a text: bit `n` for pattern `n`. Returns `None` if separate searches are better.
    #[must_use]
    pub fn search(&self, text: &str) -> Option<u64> {
        if text.len() > self.text_bytes_max { None } else { self.search_all(text) }
    }

    fn search_all(&self, text: &str) -> Option<u64> {
        let (mut state, mut found) = (self.start, 0);
        for &byte in text.as_bytes() {
            state = self.automaton.next_state(state, byte);
            if self.automaton.is_special_state(state) {
                if self.automaton.is_dead_state(state) {
                    return Some(found);
                }
                if self.automaton.is_quit_state(state) {
                    return None;
                }
                found |= self.found_at(state);
            }
        }
        // The automaton reports a match one step after its end.
        Some(found | self.found_at(self.automaton.next_eoi_state(state)))
    }

    fn found_at(&self, state: StateID) -> u64 {
        if !self.automaton.is_match_state(state) {
            return 0;
        }
        let patterns = 0..self.automaton.match_len(state);
        patterns.fold(0, |found, n| found | 1 << self.automaton.match_pattern(state, n).as_usize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::CompiledPattern;
    use crate::transaction::Value;

    const TEXTS: [&str; 18] = [
        "",
        "a",
        "gift card",
        "GIFTCARD",
        "a gift\ncard, and crypto",
        "crypto\n",
        "\ncrypto",
        "invoice 4711",
        "4711",
        "47",
        "Straße",
        "STRASSE ſ K",
        "ä",
        "äöü",
        "casino poker gift card crypto 4711",
        "pokerpoker",
        "aaaaaaaaaaaaaaaaaaaaaaaab",
        "x\u{1F600}y",
    ];

    /// Searches every text with the set and with each pattern alone.
    #[track_caller]
    fn check(patterns: &[&str]) {
        let set = PatternSet::compile(patterns).expect("they are few and small");
        for text in TEXTS {
            let alone = patterns.iter().zip(0..).map(|(pattern, bit)| {
                let is_found = CompiledPattern::compile(pattern).unwrap().search(&Value::Text(text)).unwrap();
                u64::from(is_found) << bit
            });
            assert_eq!(set.search_all(text), Some(alone.sum()), "{patterns:?} in {text:?}");
        }
    }

    #[test]
    fn a_pattern_set_finds_the_same_as_each_pattern_alone() {
        check(&["(?i)(gift ?card)", "(?i)(crypto)", "(?i)(casino|poker)"]);
        check(&["^gift", "card$", "^4711$", "^crypto$", "(?m)^crypto$", r"\Acrypto", r"crypto\z"]);
        check(&["a+b", "a.*d", "(?s)a.*d", "(?s)^.+$", "^.+$", "[^a]"]);
        check(&["(?i)straße", "(?i)k", "(?i)s", "ä", "[ä-ü]{2}", "^.$", "^..$"]);
        check(&[r"[0-9]{2}", r"^[0-9]+$", r"(?-u:\b)4711(?-u:\b)", r"(?-u:\B)7"]);
        check(&["poker", "poke", "ker", "p", "r", "pokerp"]);
        check(&["one alone"]);
        check(&[]);
    }

    #[test]
    fn a_long_text_is_left_to_one_by_one() {
        let set = PatternSet::compile(&["a", "b"]).unwrap();
        assert_eq!(set.search(&"b".repeat(16)), Some(2));
        assert_eq!(set.search(&"b".repeat(17)), None);
    }

    #[test]
    fn patterns_unsuitable_for_one_automaton_form_no_set() {
        let many = vec!["a"; PatternSet::PATTERNS_MAX + 1];
        for patterns in [
            &["(a|b)*a(a|b){20}", "c"][..],
            &[r"\w+@\w+", "c"],
            &[r"\bword\b", "c"],
            &["x?", "c"],
            &[r"(?-u:\B)", "c"],
            &many,
        ] {
            assert!(PatternSet::compile(patterns).is_none(), "{patterns:?}");
        }
    }
}
