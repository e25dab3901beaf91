//! Every host function with every wrong type, and names of functions that do not exist.

use tollgate_guest_abi::imports::{IMPORTS, ValueType};
use tollgate_tests::generator::dice::Dice;

use super::bytes::{HEADER, NO, body, leb, named, vector};
use super::guest::{manifest_of, with_manifest};

const TYPES: [u8; 4] = [0x7f, 0x7e, 0x7d, 0x7c];
const N_NAMES: usize = 500;

/// An import that must be refused, and a module that has it.
pub(crate) struct WrongImport {
    /// Printable description.
    pub(crate) what: String,
    pub(crate) bytes: Vec<u8>,
}

/// Parameters and results.
type Signature = (Vec<u8>, Vec<u8>);

/// Returns all wrong imports.
pub(crate) fn all() -> Vec<WrongImport> {
    let mut all = Vec::new();
    for row in &IMPORTS {
        let own = (row.params.iter().map(encoded).collect(), row.result.iter().map(encoded).collect());
        for signature in others(&own) {
            all.push(importing("tollgate", row.name, &signature));
        }
    }
    let mut dice = Dice::of_seed(6);
    for _ in 0..N_NAMES {
        let (module, name) = (random_name(&mut dice), random_name(&mut dice));
        all.push(importing(
            if dice.chance(50) { "tollgate" } else { &module },
            &name,
            &(vec![0x7f], vec![0x7c]),
        ));
    }
    all
}

const fn encoded(value_type: &ValueType) -> u8 {
    match value_type {
        ValueType::I32 => 0x7f,
        ValueType::F64 => 0x7c,
    }
}

/// Returns every signature one change away.
fn others(own: &Signature) -> Vec<Signature> {
    let mut others = Vec::new();
    for index in 0..own.0.len() {
        let mut fewer = own.clone();
        fewer.0.remove(index);
        others.push(fewer);
        for other in TYPES {
            let mut changed = own.clone();
            changed.0[index] = other;
            others.push(changed);
        }
    }
    for other in TYPES {
        others.push(([own.0.as_slice(), &[other]].concat(), own.1.clone()));
        others.push((own.0.clone(), vec![other]));
    }
    others.push((own.0.clone(), Vec::new()));
    others.push((own.1.clone(), own.0.iter().copied().take(1).collect()));
    others.retain(|other| other != own);
    others
}

fn importing(module: &str, name: &str, (params, results): &Signature) -> WrongImport {
    let signature =
        [vec![0x60], leb(params.len()), params.clone(), leb(results.len()), results.clone()].concat();
    let import = [named(module), named(name), vec![0, 1]].concat();
    let bytes = [
        HEADER.to_vec(),
        vector(1, &[vec![0x60, 0, 1, 0x7e], signature]),
        vector(2, &[import]),
        vector(3, &[vec![0]]),
        vector(7, &[[named("evaluate"), vec![0, 1]].concat()]),
        vector(10, &[body(&[], &NO)]),
    ]
    .concat();
    let what = format!("{}.{} {params:x?} -> {results:x?}", module.escape_debug(), name.escape_debug());
    WrongImport { what, bytes: with_manifest(&bytes, manifest_of("wrong_import").to_string().as_bytes()) }
}

/// Returns a name with characters that are typical of attacks.
fn random_name(dice: &mut Dice) -> String {
    let letters = [
        'a',
        'n',
        'u',
        '_',
        '.',
        '/',
        ' ',
        '\0',
        '\n',
        '\r',
        '\u{1b}',
        '"',
        '`',
        '<',
        '\u{202e}',
        '\u{feff}',
        'é',
        '\u{10ffff}',
    ];
    (0..dice.below(40)).map(|_| dice.pick(letters)).collect()
}
