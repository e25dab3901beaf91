//! Compilers for rules in other languages, from Debian and npm: `clang`, a `rustc` with the WebAssembly target, and
//! AssemblyScript's `asc`.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use tempfile::TempDir;

use crate::binary::{binary, target_directory};
use crate::programs::{Program, require};
use crate::repository;

/// Debian's compiler has the WebAssembly standard library. With rustup installed, the first `rustc` on the path is
/// another one.
const RUSTC: &str = "/usr/bin/rustc";
/// Path of the compiler in the folder of the npm installation.
const ASC: &str = "node_modules/assemblyscript/bin/asc.js";

/// The compilers for the examples of the author kit.
#[derive(Debug)]
pub struct Toolchain {
    asc: PathBuf,
}

impl Toolchain {
    /// Returns the compilers. npm installs AssemblyScript if it is missing.
    ///
    /// # Panics
    /// Panics if one is missing.
    #[must_use]
    pub fn get() -> &'static Self {
        static TOOLCHAIN: OnceLock<Toolchain> = OnceLock::new();
        [Program::Clang, Program::Node, Program::RustForWebAssembly].into_iter().for_each(require);
        TOOLCHAIN.get_or_init(|| Self { asc: assemblyscript() })
    }

    /// Builds the rule in this folder with `guest-abi/kit/<language>/build`.
    ///
    /// # Panics
    /// Panics if the build fails.
    #[must_use]
    #[track_caller]
    pub fn build(&self, language: &str, rule: &Path) -> Vec<u8> {
        let kit = repository::root().join("guest-abi/kit").join(language);
        let directory = TempDir::new().expect("a temporary folder can be made");
        let output = directory.path().join("rule.wasm");
        let built = Command::new(kit.join("build"))
            .arg(rule)
            .arg(&output)
            .env("RUSTC", RUSTC)
            .env("CLANG", "clang")
            .env("ASC", &self.asc)
            .env("TOLLGATE", binary())
            // Cargo's library path is meant for another compiler.
            .env_remove("LD_LIBRARY_PATH")
            .output()
            .expect("a script can be run");
        let said = [built.stdout, built.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        assert!(built.status.success(), "{} does not build:\n{}", rule.display(), said.concat());
        fs::read(output).expect("a module was built")
    }
}

pub(crate) fn knows_webassembly() -> bool {
    let library = ["--print", "target-libdir", "--target", "wasm32-unknown-unknown"];
    let output = Command::new(RUSTC).args(library).env_remove("LD_LIBRARY_PATH").output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Returns the compiler in the version of the kit's lock file, installed below the target directory.
fn assemblyscript() -> PathBuf {
    let kit = repository::root().join("guest-abi/kit/assemblyscript");
    let target = target_directory().unwrap_or_else(env::temp_dir);
    let installed = target.join("assemblyscript");
    let lock = |folder: &Path| fs::read(folder.join("package-lock.json")).ok();
    if lock(&installed) != lock(&kit) || !installed.join(ASC).exists() {
        // Install to a temporary folder first, so that the final folder is always complete.
        let fresh = TempDir::new_in(&target).expect("a temporary folder can be made");
        for name in ["package.json", "package-lock.json"] {
            fs::copy(kit.join(name), fresh.path().join(name)).expect("a file can be copied");
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(fresh.path());
        let output = npm.output().expect("npm can be run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "npm does not install AssemblyScript:\n{said}");
        fs::remove_dir_all(&installed).ok();
        fs::rename(fresh.keep(), &installed).expect("a folder can be moved beside itself");
    }
    installed.join(ASC)
}
