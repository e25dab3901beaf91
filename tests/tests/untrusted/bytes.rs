//! A writer of the binary format, for modules that no assembler would produce.

/// The eight bytes at the start of every module.
pub(crate) const HEADER: &[u8; 8] = b"\0asm\x01\0\0\0";

/// Encodes an unsigned number in the minimum number of bytes.
pub(crate) fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let group = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(group);
            return bytes;
        }
        bytes.push(group | 0x80);
    }
}

/// Encodes a section with this id.
pub(crate) fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [[id].as_slice(), &leb(content.len()), content].concat()
}

/// Encodes a section of counted items.
pub(crate) fn vector(id: u8, items: &[Vec<u8>]) -> Vec<u8> {
    section(id, &[leb(items.len()), items.concat()].concat())
}

/// Encodes a custom section.
pub(crate) fn custom(name: &str, data: &[u8]) -> Vec<u8> {
    section(0, &[named(name).as_slice(), data].concat())
}

/// Encodes a text with its length.
pub(crate) fn named(name: &str) -> Vec<u8> {
    [leb(name.len()).as_slice(), name.as_bytes()].concat()
}

/// Encodes a function body with its length, from groups of locals and instructions.
pub(crate) fn body(locals: &[(usize, u8)], code: &[u8]) -> Vec<u8> {
    let mut content = leb(locals.len());
    for (count, value_type) in locals {
        content.extend(leb(*count));
        content.push(*value_type);
    }
    content.extend(code);
    content.push(0x0b);
    [leb(content.len()), content].concat()
}

/// Encodes a module with one function, `evaluate`, from these locals and instructions.
pub(crate) fn evaluating(locals: &[(usize, u8)], code: &[u8]) -> Vec<u8> {
    [
        HEADER.to_vec(),
        vector(1, &[vec![0x60, 0, 1, 0x7e]]),
        vector(3, &[vec![0]]),
        vector(7, &[[named("evaluate"), vec![0, 0]].concat()]),
        vector(10, &[body(locals, code)]),
    ]
    .concat()
}

/// `i64.const 0`
pub(crate) const NO: [u8; 2] = [0x42, 0];

/// Returns the readable sections of a module, each with id and all bytes. Any remaining bytes come last.
pub(crate) fn sections(module: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = module.get(8..).unwrap_or_default();
    while let Some((length, n_bytes)) = length_at(rest.get(1..).unwrap_or_default()) {
        let end = (1 + n_bytes + length).min(rest.len());
        found.push(rest[..end].to_vec());
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        found.push(rest.to_vec());
    }
    found
}

fn length_at(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}
