//! Generates the declarations for AssemblyScript.

use std::fmt::Write as _;

use tollgate_guest_abi::ABI_VERSION;
use tollgate_guest_abi::imports::{IMPORTS, Import, MODULE, ValueType};

use crate::answers::ANSWERS;
use crate::{RUN_LIMITS, sentence};

pub(crate) fn declarations() -> String {
    let mut text = format!(
        "// What a rule module may ask of Tollgate, in AssemblyScript. A test writes this file from the table of imports;\n\
         // docs/abi.md explains it.\n\n\
         export const ABI_VERSION: i32 = {ABI_VERSION};\n"
    );
    let mut group = "";
    for answer in ANSWERS {
        if answer.group != group {
            group = answer.group;
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "/** {} */\nexport const {group}_{}: i32 = {};",
            sentence(answer.about),
            answer.name,
            answer.value
        );
    }
    text.push('\n');
    for (name, value, about) in RUN_LIMITS {
        let about = sentence(about);
        let _ = writeln!(text, "/** {about} */\nexport const {name}: i32 = {value};");
    }
    for import in IMPORTS {
        let Import { name, .. } = import;
        let about = sentence(import.about);
        let params: Vec<String> = import
            .params
            .iter()
            .zip(import.names)
            .map(|(param, param_name)| match *param_name {
                "pointer" => "pointer: usize".to_owned(),
                _ => format!("{param_name}: {}", type_name(*param)),
            })
            .collect();
        let result = import.result.map_or("void", type_name);
        let params = params.join(", ");
        let _ = write!(
            text,
            "\n/** {about} */\n@external(\"{MODULE}\", \"{name}\")\nexport declare function {name}({params}): {result};\n"
        );
    }
    text
}

const fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::I32 => "i32",
        ValueType::F64 => "f64",
    }
}
