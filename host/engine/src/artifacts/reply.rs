//! Wire format between the service and a module compiler.
//!
//! ```text
//!  question: execution (u8) │ length (u32, little-endian) │ module
//!  reply:    one line of JSON: walls, outcome │ artifact, with the length in that line │ end
//! ```

use serde::{Deserialize, Serialize};

use tollgate_process::Confinement;

/// Longest line of a reply, in bytes.
pub(super) const LINE_BYTES_MAX: usize = 8 * 1024;
/// Longest refusal, in characters.
pub(super) const WORDS_MAX: usize = 1_000;

/// The JSON line of a reply.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CompilerReply {
    pub(super) walls: Confinement,
    pub(super) outcome: CompilerOutcome,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CompilerOutcome {
    /// An artifact of this size follows the line.
    Compiled { artifact_bytes: u64 },
    /// The engine refuses the module, with this message.
    Refused(String),
}

/// Parses a complete reply; `None` if it is malformed or incomplete.
pub(super) fn read(mut said: Vec<u8>) -> Option<(CompilerReply, Vec<u8>)> {
    let end = said.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n')?;
    let artifact = said.split_off(end + 1);
    let reply: CompilerReply = serde_json::from_slice(&said).ok()?;
    let artifact_bytes = match &reply.outcome {
        CompilerOutcome::Compiled { artifact_bytes } => *artifact_bytes,
        CompilerOutcome::Refused(_) => 0,
    };
    (artifact.len() as u64 == artifact_bytes).then_some((reply, artifact))
}

/// Shortens a message about an untrusted module and replaces control characters, for terminals and logs.
pub(super) fn plain(words: &str) -> String {
    let is_plain = |character: &char| !character.is_control();
    words
        .chars()
        .map(|character| if is_plain(&character) { character } else { ' ' })
        .take(WORDS_MAX)
        .collect()
}
