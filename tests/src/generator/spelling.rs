//! Alternative spellings of the same token.

use super::dice::Dice;

/// Spells a keyword, mostly in lower case.
pub(super) fn keyword(dice: &mut Dice, word: &str) -> String {
    match dice.below(40) {
        0 => word.to_uppercase(),
        1 => {
            let mut letters = word.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
        }
        _ => word.to_owned(),
    }
}

/// Returns the whitespace or comment between two tokens.
pub(super) fn gap(dice: &mut Dice) -> &'static str {
    match dice.below(60) {
        0 => "\n    ",
        1 => " // and \"more\"\n",
        2 => "\r\n\t",
        3 => " # so be it }\n",
        _ => " ",
    }
}

/// Quotes a text; single quotes are allowed for values.
pub(super) fn quoted(dice: &mut Dice, text: &str) -> String {
    if dice.chance(15) { format!("'{text}'") } else { format!("\"{text}\"") }
}
