//! Mutations of valid modules: bits, sections, and parts of the manifest.

use tollgate_tests::generator::dice::Dice;

use super::bytes::{HEADER, custom, section, sections};

/// Maximum number of changes to one module.
const CHANGES_MAX: usize = 4;

/// Returns a module after one to four changes.
pub(crate) fn broken(good: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut module = good[dice.below(good.len())].clone();
    for _ in 0..=dice.below(CHANGES_MAX) {
        module = match dice.below(12) {
            0..=3 => byte_changed(module, dice),
            4..=6 => code_changed(&module, dice),
            7 | 8 => manifest_changed(&module, dice),
            9 => length_changed(module, dice),
            _ => sections_changed(&module, good, dice),
        };
    }
    module
}

/// Flips, sets, inserts or removes one byte.
fn byte_changed(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let offset = dice.below(bytes.len());
    match dice.below(6) {
        0 | 1 => bytes[offset] ^= 1 << dice.below(8),
        2 => bytes[offset] = dice.pick([0x00, 0x01, 0x0b, 0x40, 0x7c, 0x7f, 0x80, 0xfc, 0xff]),
        3 => bytes[offset] = (dice.roll() & 0xff) as u8,
        4 => bytes.insert(offset, (dice.roll() & 0xff) as u8),
        _ => {
            bytes.remove(offset);
        }
    }
    bytes
}

/// Changes a byte of the code and keeps all lengths consistent, so that only an instruction or its operand is wrong.
fn code_changed(module: &[u8], dice: &mut Dice) -> Vec<u8> {
    framed(module, 10, |content| {
        // Usually after the counts and lengths of the first body.
        let mut content = content.to_vec();
        let offset = 4.min(content.len() - 1);
        let offset = offset + dice.below(content.len() - offset);
        content[offset] = match dice.below(3) {
            0 => content[offset] ^ (1 << dice.below(7)),
            1 => dice.pick([0x00, 0x01, 0x0c, 0x0f, 0x1a, 0x20, 0x41, 0x42, 0x7f]),
            _ => (dice.roll() & 0x7f) as u8,
        };
        section(10, &content)
    })
}

/// Changes a byte of the manifest, or repeats a part of it.
fn manifest_changed(module: &[u8], dice: &mut Dice) -> Vec<u8> {
    framed(module, 0, |content| {
        let name_length = 1 + usize::from(content[0]);
        let mut manifest = content.get(name_length..).unwrap_or_default().to_vec();
        if dice.chance(20) {
            let (a, b) = (dice.below(manifest.len()), dice.below(manifest.len()));
            let piece = manifest[a.min(b)..a.max(b)].to_vec();
            manifest.splice(a..a, piece);
        } else if dice.chance(40) {
            // Replaces digits.
            for byte in manifest.iter_mut().filter(|byte| byte.is_ascii_digit()) {
                if dice.chance(25) {
                    *byte = dice.pick([b'0', b'1', b'9', b'-', b'e']);
                }
            }
        } else {
            manifest = byte_changed(manifest, dice);
        }
        custom("tollgate.manifest", &manifest)
    })
}

/// Replaces the content of the first section with this id; a module without one is unchanged.
fn framed(module: &[u8], id: u8, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut parts = sections(module);
    if let Some(part) = parts.iter_mut().find(|part| part[0] == id) {
        let head = 2 + part[1..].iter().take_while(|byte| *byte & 0x80 != 0).count();
        if part.len() > head {
            *part = change(&part[head..]);
        }
    }
    [HEADER.to_vec(), parts.concat()].concat()
}

/// Truncates the module or appends bytes.
fn length_changed(mut module: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    if dice.chance(50) {
        module.truncate(dice.below(module.len() + 1));
    } else {
        module.extend((0..dice.below(16)).map(|n| (n * 7) as u8));
    }
    module
}

/// Swaps, duplicates, removes or empties sections, or takes them from another module.
fn sections_changed(module: &[u8], good: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut parts = sections(module);
    if parts.is_empty() {
        return module.to_vec();
    }
    let (offset, other) = (dice.below(parts.len()), dice.below(parts.len()));
    match dice.below(5) {
        0 => parts.swap(offset, other),
        1 => parts.insert(other, parts[offset].clone()),
        2 => drop(parts.remove(offset)),
        3 => parts[offset] = section(parts[offset][0], &[0]),
        _ => {
            let foreign = sections(&good[dice.below(good.len())]);
            parts[offset].clone_from(&foreign[dice.below(foreign.len())]);
        }
    }
    [HEADER.to_vec(), parts.concat()].concat()
}
