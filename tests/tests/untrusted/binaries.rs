//! Modules that the text format cannot express: bytes that are not a module, and modules that no tool would write.

use super::bytes::{HEADER, NO, body, custom, evaluating, leb, named, section, sections, vector};
use super::guest::{Expected, Guest, assembled, manifest_of, with_manifest};

/// Returns all modules of this file.
pub(crate) fn guests() -> Vec<Guest> {
    [no_modules(), framing(), sections_astray(), numbers(), manifests_astray()].concat()
}

fn refused(name: &str, check: &str, bytes: Vec<u8>) -> Guest {
    Guest { name: name.to_owned(), bytes, expected: Expected::refused(check) }
}

/// Returns a valid module with its manifest.
fn good(name: &str) -> Vec<u8> {
    with_manifest(&evaluating(&[], &NO), manifest_of(name).to_string().as_bytes())
}

fn no_modules() -> Vec<Guest> {
    let elf = [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 57]].concat();
    // The header of a wasmtime artifact, which is an ELF file with its own OS ABI.
    let artifact = [b"\x7fELF\x02\x01\x01\xc8".as_slice(), &[0; 56], b"wasmtime 48.0.8".as_slice()].concat();
    let noise: Vec<u8> = (0..4_096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    vec![
        refused("a0_nothing", "format", Vec::new()),
        refused("a0_one_byte", "format", vec![0]),
        refused("a0_half_a_header", "format", HEADER[..5].to_vec()),
        refused(
            "a0_text_of_a_module",
            "format",
            b"(module (func (export \"evaluate\") (result i64) i64.const 0))".to_vec(),
        ),
        refused("a0_a_script", "format", b"rule a { when amount > 1 then block }".to_vec()),
        refused("a0_json", "format", b"{\"abi_version\": 1}".to_vec()),
        refused("a0_zeroes", "format", vec![0; 4_096]),
        refused("a0_noise", "format", noise.clone()),
        refused("a0_noise_behind_a_header", "format or sections", [HEADER.as_slice(), &noise].concat()),
        refused(
            "a0_version_2",
            "format",
            [b"\0asm\x02\0\0\0".as_slice(), &good("a0_version_2")[8..]].concat(),
        ),
        refused(
            "a0_turned_header",
            "format",
            [b"msa\0\x01\0\0\0".as_slice(), &good("a0_turned_header")[8..]].concat(),
        ),
        refused("a0_component", "format or features or sections", assembled("a component", "(component)")),
        refused(
            "a0_component_with_a_module_inside",
            "format or features or sections",
            assembled("a component", "(component (core module))"),
        ),
        refused("a0_gzip", "format", [b"\x1f\x8b\x08\0\0\0\0\0\0\x03".as_slice(), &noise[..64]].concat()),
        refused("a19_elf_file", "format", elf),
        refused("a19_artifact_of_wasmtime", "format", artifact.clone()),
        refused(
            "a19_artifact_behind_a_header",
            "format or sections",
            [HEADER.as_slice(), &artifact].concat(),
        ),
        refused(
            "a8_module_of_a_megabyte",
            "size",
            with_manifest(
                &[evaluating(&[], &NO), custom("padding", &vec![0; 1_000_000])].concat(),
                manifest_of("a").to_string().as_bytes(),
            ),
        ),
    ]
}

/// Modules with wrong lengths.
fn framing() -> Vec<Guest> {
    let whole = good("a8_truncated");
    let cut = |length: usize| whole[..length].to_vec();
    let code_at = 8 + sections(&whole)[..3].concat().len();
    let lie = |length: &[u8]| {
        let content = &sections(&evaluating(&[], &NO))[3][2..].to_vec();
        [&whole[..code_at], &[10], length, content].concat()
    };
    let mut guests = vec![
        refused("a8_truncated_in_the_manifest", "format", cut(whole.len() - 1)),
        refused("a8_truncated_in_the_code", "format", cut(code_at + 4)),
        refused("a8_truncated_in_a_length", "format", [cut(code_at), vec![10, 0x80]].concat()),
        refused("a8_truncated_before_the_code", "format or features or manifest", cut(code_at)),
        refused("a8_byte_too_much", "format or sections", [whole.clone(), vec![0xff]].concat()),
        refused("a8_length_of_a_section_of_4_gib", "format", lie(&[0xff, 0xff, 0xff, 0xff, 0x0f])),
        refused("a8_length_of_a_section_too_short", "format or features", lie(&[3])),
        refused("a8_length_of_a_section_too_long", "format or features", lie(&[9])),
        refused("a8_length_of_six_bytes", "format", lie(&[0x86, 0x80, 0x80, 0x80, 0x80, 0x00])),
        refused("a8_length_over_32_bits", "format", lie(&[0x86, 0x80, 0x80, 0x80, 0x10])),
        refused(
            "a8_name_of_4_gib",
            "format",
            [HEADER.to_vec(), section(0, &[0xff, 0xff, 0xff, 0xff, 0x0f, b'a'])].concat(),
        ),
        refused(
            "a8_name_that_is_no_utf_8",
            "format",
            [HEADER.to_vec(), section(0, &[2, 0xc3, 0x28])].concat(),
        ),
        refused("a8_custom_section_without_a_name", "format", [HEADER.to_vec(), section(0, &[])].concat()),
        refused(
            "a8_a_million_types_announced",
            "format or features or types",
            [HEADER.to_vec(), section(1, &leb(1_000_000))].concat(),
        ),
        refused(
            "a8_a_million_bodies_announced",
            "format or features or functions",
            [&whole[..code_at], &section(10, &leb(1_000_000))].concat(),
        ),
    ];
    // A length may be encoded in more bytes than necessary.
    let padded = [
        &lie(&[0x86, 0x80, 0x80, 0x80, 0x00])[..],
        &custom("tollgate.manifest", manifest_of("a8_length_in_five_bytes").to_string().as_bytes()),
    ]
    .concat();
    guests.push(Guest {
        name: "a8_length_in_five_bytes".to_owned(),
        bytes: padded,
        expected: Expected::Harmless("approve".to_owned()),
    });
    guests
}

fn sections_astray() -> Vec<Guest> {
    let parts = sections(&good("a7_sections"));
    let of = |order: &[usize]| {
        let picked: Vec<u8> = order.iter().flat_map(|index| parts[*index].clone()).collect();
        [HEADER.to_vec(), picked].concat()
    };
    let astray = "format or features or sections";
    let with = |extra: Vec<u8>| [of(&[0, 1, 2, 3]), extra, parts[4].clone()].concat();
    vec![
        refused("a7_code_before_functions", astray, of(&[0, 3, 1, 2, 4])),
        refused("a7_exports_before_functions", astray, of(&[0, 2, 1, 3, 4])),
        refused("a7_types_at_the_end", astray, of(&[1, 2, 3, 0, 4])),
        refused("a7_two_sections_of_types", astray, of(&[0, 0, 1, 2, 3, 4])),
        refused("a7_two_sections_of_functions", astray, of(&[0, 1, 1, 2, 3, 4])),
        refused("a7_two_sections_of_exports", astray, of(&[0, 1, 2, 2, 3, 4])),
        refused("a7_two_sections_of_code", astray, of(&[0, 1, 2, 3, 3, 4])),
        refused("a7_no_types", "format or features or exports", of(&[1, 2, 3, 4])),
        refused("a7_no_functions", "format or features or exports", of(&[0, 2, 3, 4])),
        refused("a7_no_code", "format or features", of(&[0, 1, 2, 4])),
        refused("a7_unknown_section", astray, with(section(14, &[0]))),
        refused("a7_section_127", astray, with(section(127, &[]))),
        refused(
            "a7_tags",
            astray,
            [of(&[0, 1]), section(13, &[1, 0, 0]), of(&[2, 3, 4])[8..].to_vec()].concat(),
        ),
        refused(
            "a7_start_of_no_function",
            "start or format or features",
            [of(&[0, 1, 2]), section(8, &[7]), of(&[3, 4])[8..].to_vec()].concat(),
        ),
        refused("a7_module_in_a_module", "format or features or sections", with(section(1, HEADER))),
    ]
}

/// Numbers at the limits of the format.
fn numbers() -> Vec<Guest> {
    let coded = |name: &str, check: &str, code: &[u8]| {
        refused(name, check, with_manifest(&evaluating(&[], code), manifest_of(name).to_string().as_bytes()))
    };
    let of_locals = |name: &str, locals: &[(usize, u8)], check: &str| {
        refused(
            name,
            check,
            with_manifest(&evaluating(locals, &NO), manifest_of(name).to_string().as_bytes()),
        )
    };
    let announced = [HEADER.to_vec(), vector(1, &[vec![0x60, 0, 1, 0x7e]]), vector(3, &[vec![0]])].concat();
    let lying_body = vector(10, &[[leb(4), leb(1_000), vec![0; 3]].concat()]);
    vec![
        of_locals("a4_4_gib_of_locals", &[(4_294_967_295, 0x7e)], "locals or features"),
        of_locals(
            "a4_locals_in_two_heaps_of_2_gib",
            &[(2_147_483_648, 0x7e), (2_147_483_648, 0x7c)],
            "locals or features or format",
        ),
        of_locals("a4_50000_locals", &[(50_000, 0x7e)], "locals"),
        of_locals("a4_locals_of_no_type", &[(1, 0x10)], "format or features or locals"),
        coded(
            "a7_constant_of_eleven_bytes",
            "format or features",
            &[[0x42].as_slice(), &[0x80; 10], &[0]].concat(),
        ),
        coded(
            "a7_constant_over_64_bits",
            "format or features",
            &[[0x42].as_slice(), &[0x80; 9], &[0x02]].concat(),
        ),
        coded("a7_unknown_instruction", "format or features", &[0x42, 0, 0xff]),
        coded("a7_unknown_instruction_behind_a_prefix", "format or features", &[0x42, 0, 0xfc, 0x7f]),
        coded("a7_end_in_the_middle", "format or features", &[0x42, 0, 0x0b, 0x01]),
        coded("a7_block_without_an_end", "format or features", &[0x42, 0, 0x02, 0x40]),
        coded("a7_else_without_an_if", "format or features", &[0x42, 0, 0x05]),
        coded(
            "a4_branch_table_of_4_gib",
            "format or features or branches",
            &[0x41, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f, 0],
        ),
        coded("a7_call_of_function_4_gib", "format or features", &[0x10, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        coded(
            "a7_block_of_type_4_gib",
            "format or features or blocks",
            &[0x02, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x0b, 0x42, 0],
        ),
        refused(
            "a8_body_longer_than_its_section",
            "format or features",
            [announced.clone(), section(10, &[1, 0x7f, 0, 0x0b])].concat(),
        ),
        refused(
            "a8_body_of_nothing",
            "format or features",
            [announced.clone(), section(10, &[1, 0])].concat(),
        ),
        refused(
            "a8_body_that_ends_in_its_locals",
            "format or features",
            [announced.clone(), lying_body].concat(),
        ),
        refused(
            "a8_more_bodies_than_functions",
            "format or features or functions",
            [announced, vector(10, &[body(&[], &NO), body(&[], &NO)])].concat(),
        ),
    ]
}

/// Manifests that are not exactly one readable JSON text in the right place.
fn manifests_astray() -> Vec<Guest> {
    let module = evaluating(&[], &NO);
    let good = manifest_of("manifest").to_string();
    let with = |name: &str, manifest: &[u8]| refused(name, "manifest", with_manifest(&module, manifest));
    let twice = with_manifest(&with_manifest(&module, good.as_bytes()), good.as_bytes());
    let nested = [vec![b'['; 20_000], vec![b']'; 20_000]].concat();
    let in_front = [
        HEADER.to_vec(),
        custom("tollgate.manifest", manifest_of("manifest_in_front").to_string().as_bytes()),
        module[8..].to_vec(),
    ]
    .concat();
    let other_name = [module.clone(), custom("tollgate.manifest2", good.as_bytes())].concat();
    let nul_name =
        [module.clone(), section(0, &[named("tollgate.manifest\0"), good.as_bytes().to_vec()].concat())]
            .concat();
    vec![
        refused("manifest_missing", "manifest", module.clone()),
        refused("manifest_twice", "manifest", twice),
        refused("manifest_under_another_name", "manifest", other_name),
        refused("manifest_under_a_name_with_a_nul", "manifest", nul_name),
        Guest {
            name: "manifest_in_front".to_owned(),
            bytes: in_front,
            expected: Expected::Harmless("approve".to_owned()),
        },
        with("manifest_of_nothing", b""),
        with("manifest_of_null", b"null"),
        with("manifest_of_a_number", b"1"),
        with("manifest_of_a_list", format!("[{good}]").as_bytes()),
        with("manifest_nested_20000_deep", &nested),
        with("manifest_with_something_behind_it", format!("{good}{good}").as_bytes()),
        with("manifest_with_a_mark_in_front", format!("\u{feff}{good}").as_bytes()),
        with("manifest_with_a_nul_behind_it", format!("{good}\0").as_bytes()),
        with("manifest_cut_off", &good.as_bytes()[..good.len() - 1]),
        with("manifest_in_utf_16", &good.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        with(
            "manifest_with_bytes_that_are_no_utf_8",
            &[b"{\"abi_version\":1,\"rules\":[{\"name\":\"".as_slice(), &[0xff, 0xfe], b"\"}]}"].concat(),
        ),
        with(
            "manifest_with_an_unknown_member_that_is_no_utf_8",
            &[b"{\"x\":\"\xff\",".as_slice(), &good.as_bytes()[1..]].concat(),
        ),
        with(
            "manifest_with_an_unknown_member_of_1e400",
            format!("{{\"x\":1e400,{}", good.trim_start_matches('{')).as_bytes(),
        ),
        with("manifest_with_a_score_of_1e400", good.replacen("0.9", "1e400", 1).as_bytes()),
        with("manifest_with_a_score_of_nan", good.replacen("0.9", "NaN", 1).as_bytes()),
        with(
            "manifest_with_a_rule_named_twice",
            good.replacen("\"name\":", "\"name\":\"other\",\"name\":", 1).as_bytes(),
        ),
    ]
}
