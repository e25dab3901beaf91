//! The author kit: worked examples in three languages, built from source, uploaded and evaluated.

mod judged;
mod structure;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_tests::{Toolchain, needs, repository};

/// The rule in `guest-abi/kit/<language>/<rule>`, with its manifest and its cases.
struct Example {
    language: &'static str,
    rule: &'static str,
}

const EXAMPLES: [Example; 3] = [
    Example { language: "rust", rule: "iban_check" },
    Example { language: "c", rule: "card_number_in_text" },
    Example { language: "assemblyscript", rule: "payee_name" },
];

impl Example {
    fn folder(&self) -> PathBuf {
        repository::root().join("guest-abi/kit").join(self.language).join(self.rule)
    }

    fn module(&self) -> Vec<u8> {
        Toolchain::get().build(self.language, &self.folder())
    }
}

#[test]
fn every_example_is_built_uploaded_and_judges_as_its_cases_say() {
    needs!(Clang, Node, RustForWebAssembly);
    for example in &EXAMPLES {
        let module = example.module();
        println!("{}/{}: {} bytes", example.language, example.rule, module.len());
        assert!(module.len() < MODULE_BYTES_MAX, "{} is too large", example.rule);
        structure::check(&module, &example.folder());
        judged::check(&module, &example.folder());
    }
}

#[test]
fn the_examples_of_the_documentation_build_to_valid_modules() {
    needs!(Clang, Node, RustForWebAssembly);
    for (language, fence, source) in
        [("rust", "rust", "src/lib.rs"), ("c", "c", "rule.c"), ("assemblyscript", "ts", "rule.ts")]
    {
        let folder = TempDir::new().unwrap();
        let rule = folder.path().join("large");
        fs::create_dir_all(rule.join("src")).unwrap();
        fs::write(rule.join("manifest.json"), shown("json")).unwrap();
        fs::write(rule.join(source), shown(fence)).unwrap();
        let declarations = repository::root().join("guest-abi/kit/assemblyscript/tollgate.ts");
        fs::copy(declarations, folder.path().join("tollgate.ts")).unwrap();
        structure::check(&Toolchain::get().build(language, &rule), &rule);
    }
}

/// Returns the first code block of `docs/abi.md` in this language.
#[track_caller]
fn shown(language: &str) -> String {
    let page = repository::read(&repository::root().join("docs/abi.md"));
    let start = format!("```{language}");
    let lines = page.lines().map(str::trim_start).skip_while(|line| *line != start).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| *line != "```").collect();
    assert!(!lines.is_empty(), "the page shows nothing in {language}");
    lines.join("\n")
}
