//! Generates the `border` module of the Rust crate.

use std::fmt::Write as _;

use tollgate_guest_abi::ABI_VERSION;
use tollgate_guest_abi::imports::{IMPORTS, Import, MODULE, ValueType};

use crate::answers::ANSWERS;
use crate::{RUN_LIMITS, sentence};

pub(crate) fn border() -> String {
    let mut text = format!(
        "//! The border as it is: functions of the host, and their answers. A test writes this file from the table of imports;\n\
         //! `docs/abi.md` explains it.\n\n\
         /// The version of the contract that these are of.\n\
         pub const ABI_VERSION: u32 = {ABI_VERSION};\n\n"
    );
    for answer in ANSWERS {
        let _ = writeln!(
            text,
            "/// {}\npub const {}_{}: i32 = {};",
            sentence(answer.about),
            answer.group,
            answer.name,
            answer.value
        );
    }
    text.push('\n');
    for (name, value, about) in RUN_LIMITS {
        let about = sentence(about);
        let _ = writeln!(text, "/// {about}\npub const {name}: usize = {value};");
    }
    let _ = write!(
        text,
        "\n#[cfg_attr(target_arch = \"wasm32\", link(wasm_import_module = \"{MODULE}\"))]\nextern \"C\" {{\n"
    );
    for import in IMPORTS {
        let Import { name, .. } = import;
        let about = sentence(import.about);
        let params: Vec<String> = import
            .params
            .iter()
            .zip(import.names)
            .map(|(param, param_name)| match *param_name {
                "pointer" if import.result.is_none() => "pointer: *const u8".to_owned(),
                "pointer" => "pointer: *mut u8".to_owned(),
                _ => format!("{param_name}: {}", type_name(*param)),
            })
            .collect();
        let result = import.result.map(|result| format!(" -> {}", type_name(result))).unwrap_or_default();
        let params = params.join(", ");
        let _ = write!(text, "    /// {about}\n    pub fn {name}({params}){result};\n");
    }
    text.push_str("}\n");
    text
}

const fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::I32 => "i32",
        ValueType::F64 => "f64",
    }
}
