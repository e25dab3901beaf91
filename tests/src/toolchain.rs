//! Compilers of rules in other languages, as Debian and npm have them: `clang`, a `rustc` that knows WebAssembly, and
//! AssemblyScript's `asc`.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

use tempfile::TempDir;

use crate::binary::{binary, target_directory};
use crate::repository;

/// Debian's, which has the standard library for WebAssembly; the first one on the path is another where rustup is.
const RUSTC: &str = "/usr/bin/rustc";
/// Where the compiler lies in the folder into which npm installed it.
const ASC: &str = "node_modules/assemblyscript/bin/asc.js";

/// What builds the examples of the author's kit.
#[derive(Debug)]
pub struct Toolchain {
    asc: PathBuf,
}

impl Toolchain {
    /// Found; where a compiler is not there, it is installed first, which takes root and apt, and npm for AssemblyScript.
    ///
    /// # Panics
    /// When one is missing and cannot be installed.
    #[must_use]
    pub fn get() -> &'static Self {
        static TOOLCHAIN: OnceLock<Toolchain> = OnceLock::new();
        TOOLCHAIN.get_or_init(|| {
            let missing = missing();
            assert!(
                missing.is_empty() || (install(&missing) && self::missing().is_empty()),
                "{} not there; install it to run these tests",
                missing.join(" ")
            );
            Self { asc: assemblyscript() }
        })
    }

    /// Builds the rule in this folder by `guest-abi/kit/<language>/build`.
    ///
    /// # Panics
    /// When it does not build.
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
            // Cargo's, for libraries of another compiler.
            .env_remove("LD_LIBRARY_PATH")
            .output()
            .expect("a script can be run");
        let said = [built.stdout, built.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        assert!(built.status.success(), "{} does not build:\n{}", rule.display(), said.concat());
        fs::read(output).expect("a module was built")
    }
}

/// Debian's packages that are not there.
fn missing() -> Vec<&'static str> {
    let mut packages = Vec::new();
    if !runs("clang", &["--version"]) {
        packages.push("clang");
    }
    if !runs("wasm-ld", &["--version"]) {
        packages.push("lld");
    }
    if !knows_webassembly() {
        packages.extend(["rustc", "libstd-rust-dev-wasm32"]);
    }
    if !runs("node", &["--version"]) {
        packages.push("nodejs");
    }
    if !runs("npm", &["--version"]) {
        packages.push("npm");
    }
    packages
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn knows_webassembly() -> bool {
    let library = ["--print", "target-libdir", "--target", "wasm32-unknown-unknown"];
    let output = Command::new(RUSTC).args(library).env_remove("LD_LIBRARY_PATH").output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

fn install(packages: &[&str]) -> bool {
    let script = "apt-get update -qq && apt-get install -y -qq --no-install-recommends \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).args(packages);
    command.status().is_ok_and(|status| status.success())
}

/// The compiler, as the kit's lock file names it, in a folder beside what cargo builds.
fn assemblyscript() -> PathBuf {
    let kit = repository::root().join("guest-abi/kit/assemblyscript");
    let target = target_directory().unwrap_or_else(env::temp_dir);
    let installed = target.join("assemblyscript");
    let lock = |folder: &Path| fs::read(folder.join("package-lock.json")).ok();
    if lock(&installed) != lock(&kit) || !installed.join(ASC).exists() {
        // In a folder of its own first: what is in place is whole.
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
