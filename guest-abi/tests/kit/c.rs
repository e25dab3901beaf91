//! Generates the header for C.

use std::fmt::Write as _;

use tollgate_guest_abi::imports::{IMPORTS, Import, MODULE, ValueType};
use tollgate_guest_abi::{ABI_VERSION, EVALUATE_EXPORT, MANIFEST_SECTION};

use crate::answers::ANSWERS;
use crate::{RUN_LIMITS, sentence};

pub(crate) fn header() -> String {
    let mut text = format!(
        r#"/* What a rule module may ask of Tollgate, in C. A test writes this file from the table of imports; docs/abi.md explains it. */
#ifndef TOLLGATE_H
#define TOLLGATE_H

#include <stdint.h>

#define TOLLGATE_ABI_VERSION {ABI_VERSION}

/* Stands before the definition of `int64_t {EVALUATE_EXPORT}(void)`: bit 0 of what it returns is set when the rule matches. */
#define TOLLGATE_EVALUATE __attribute__((export_name("{EVALUATE_EXPORT}")))

/* Once in a module, outside of functions: puts in the file with the manifest. Its path is as from where the compiler runs,
 * or from a folder given with -I. */
#define TOLLGATE_MANIFEST(path) \
    __asm__(".section .custom_section.{MANIFEST_SECTION},\"\",@\n.incbin \"" path "\"\n.text\n")

#define TOLLGATE_IMPORT(name) __attribute__((import_module("{MODULE}"), import_name(name)))
"#
    );
    let mut group = "";
    for answer in ANSWERS {
        if answer.group != group {
            group = answer.group;
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "#define TOLLGATE_{group}_{} {} /* {} */",
            answer.name,
            answer.value,
            answer.about.replace('`', "")
        );
    }
    text.push('\n');
    for (name, value, about) in RUN_LIMITS {
        let _ = writeln!(text, "#define TOLLGATE_{name} {value} /* {} */", about.replace('`', ""));
    }
    for import in IMPORTS {
        let Import { name, .. } = import;
        let about = sentence(import.about);
        let params: Vec<String> = import
            .params
            .iter()
            .zip(import.names)
            .map(|(param, param_name)| match *param_name {
                "pointer" if import.result.is_none() => "const void *pointer".to_owned(),
                "pointer" => "void *pointer".to_owned(),
                _ => format!("{} {param_name}", type_name(*param)),
            })
            .collect();
        let result = import.result.map_or("void", type_name);
        let params = params.join(", ");
        let _ = write!(
            text,
            "\n/* {about} */\nTOLLGATE_IMPORT(\"{name}\") {result} tollgate_{name}({params});\n"
        );
    }
    text.push_str("\n#endif\n");
    text
}

const fn type_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::I32 => "int32_t",
        ValueType::F64 => "double",
    }
}
