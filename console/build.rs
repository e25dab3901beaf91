//! Builds the console by Node, where it is there, and embeds the files.
//!
//! ```text
//!  package.json, src/ ──copy──▶ OUT_DIR/console ──npm ci, build.mjs──▶ OUT_DIR/files ──▶ table of files
//! ```
//!
//! Nothing is written into the sources. Without Node 18 or later, or without the registry of npm, the table holds one page
//! that says what to install. `TOLLGATE_CONSOLE=required` makes that an error; `off` builds no console at all.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

const MODE: &str = "TOLLGATE_CONSOLE";
/// Files and folders that the build reads.
const SOURCES: [&str; 6] =
    ["package.json", "package-lock.json", "tsconfig.json", "build.mjs", "build", "src"];
/// The page that the service shows in place of a console that was not built.
const MISSING: &str = "missing.html";
const NODE_MIN: u32 = 18;
/// Types that are text, and so worth compressing.
const TEXT: &str = "text/";

/// A file as the table has it.
struct EmbeddedFile {
    name: String,
    path: PathBuf,
    content_type: String,
    is_immutable: bool,
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={MODE}");
    for source in SOURCES.iter().chain([&MISSING]) {
        println!("cargo::rerun-if-changed={source}");
    }
    let sources = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var("OUT_DIR").unwrap_or_default());
    let mode = env::var(MODE).unwrap_or_default();
    let built =
        if mode == "off" { Err(io::Error::other("it is switched off")) } else { built(&sources, &out) };
    let files = match built {
        Ok(files) => files,
        Err(error) if mode == "required" => return Err(error),
        Err(error) => {
            println!("cargo::warning=the console is not part of this build: {error}");
            vec![missing(&sources)]
        }
    };
    fs::write(out.join("files.rs"), table(&files, &out)?)
}

/// Builds the console.
fn built(sources: &Path, out: &Path) -> io::Result<Vec<EmbeddedFile>> {
    let version = output(Command::new("node").arg("--version"))?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < NODE_MIN) {
        return Err(io::Error::other(format!("it needs Node {NODE_MIN} or later, and there is {version}")));
    }
    let (directory, files) = (out.join("console"), out.join("files"));
    fs::remove_dir_all(&directory).or_else(not_found)?;
    for source in SOURCES {
        copy(&sources.join(source), &directory.join(source))?;
    }
    let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    output(Command::new("npm").args(install).current_dir(&directory))?;
    output(Command::new("node").arg("build.mjs").arg(&files).current_dir(&directory))?;
    let listed: Value = serde_json::from_slice(&fs::read(files.join("files.json"))?)?;
    let text = |file: &Value, member: &str| file[member].as_str().unwrap_or_default().to_owned();
    let listed = listed.as_array().into_iter().flatten().map(|file| EmbeddedFile {
        path: files.join(text(file, "path")),
        name: text(file, "path"),
        content_type: text(file, "content_type"),
        is_immutable: file["immutable"].as_bool().unwrap_or_default(),
    });
    Ok(listed.collect())
}

fn missing(sources: &Path) -> EmbeddedFile {
    EmbeddedFile {
        name: "index.html".to_owned(),
        path: sources.join(MISSING),
        content_type: "text/html; charset=utf-8".to_owned(),
        is_immutable: false,
    }
}

/// Returns the source of the table.
fn table(files: &[EmbeddedFile], out: &Path) -> io::Result<String> {
    let mut text =
        "/// All files; there is at least `index.html`.\npub const FILES: &[ConsoleFile] = &[\n".to_owned();
    for (number, EmbeddedFile { name, path, content_type, is_immutable }) in files.iter().enumerate() {
        let gzip = if content_type.starts_with(TEXT) {
            let compressed = out.join(format!("{number}.gz"));
            fs::write(&compressed, gzip(&fs::read(path)?)?)?;
            format!("Some(include_bytes!({compressed:?}))")
        } else {
            "None".to_owned()
        };
        writeln!(
            text,
            "ConsoleFile {{ name: {name:?}, content_type: {content_type:?}, is_immutable: {is_immutable}, \
             bytes: include_bytes!({path:?}), gzip: {gzip} }},"
        )
        .map_err(io::Error::other)?;
    }
    text.push_str("];\n");
    Ok(text)
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Runs a command and returns what it prints.
fn output(command: &mut Command) -> io::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("`{name}` cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(io::Error::other(format!("`{name}` failed: {last}")))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        return fs::copy(from, to).map(drop);
    }
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

fn not_found(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
