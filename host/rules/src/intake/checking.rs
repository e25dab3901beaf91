//! Checks a script without saving it.

use std::collections::BTreeSet;

use tollgate_compiler::emit::emit;
use tollgate_compiler::{Compilation, Diagnostic};
use tollgate_engine::policy::named_lists;
use tollgate_engine::sandbox::manifest_of;
use tollgate_guest_abi::{Manifest, RuleEntry};
use tollgate_history::QueryEstimate;
use tollgate_model::instruction::{ContentDigest, InstructionId, InstructionSource};

use crate::intake::installing::check_name;
use crate::intake::precondition::Precondition;
use crate::intake::trial::Trial;
use crate::intake::{
    BroadMatch, Draft, Intake, IntakeError, KnownNames, RulePipeline, estimating, granting, off_the_executor,
};

/// Scripts that are checked at a time; others wait.
pub(super) const CHECKS_MAX: usize = 2;

/// The extent of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckScope {
    /// Errors, warnings and the cost of the script.
    Script,
    /// Also the cost of its questions, estimated with what is stored, which takes longer.
    Estimate,
}

/// The result of a check.
#[derive(Debug)]
pub struct ScriptCheck {
    /// Errors and warnings in the order of the script.
    pub diagnostics: Vec<Diagnostic>,
    /// The compiled rule; `None` if the script has an error.
    pub compiled: Option<CompiledScript>,
    /// Another reason why a save would be refused now.
    pub refusal: Option<IntakeError>,
    /// How many of the latest transactions it would have matched, if these are most; only with an estimate.
    pub would_have_matched: Option<BroadMatch>,
}

/// A rule that was compiled and is not saved.
#[derive(Debug)]
pub struct CompiledScript {
    /// The rule as it would be listed.
    pub entry: RuleEntry,
    /// Everything that its module needs.
    pub manifest: Manifest,
    /// Digest of its module.
    pub digest: ContentDigest,
    /// Cost of its questions; `None` unless it was asked for, the rule has questions and the history is restored.
    pub estimate: Option<QueryEstimate>,
}

impl CompiledScript {
    /// Returns the names of the lists that it uses.
    pub fn named_lists(&self) -> BTreeSet<&str> {
        named_lists(&self.manifest.needs)
    }
}

impl Intake {
    /// Compiles a script and tells what a save would answer. It changes nothing.
    ///
    /// `replaces` is the instruction whose place it would take.
    ///
    /// # Errors
    /// [`IntakeError::Refused`] for a bug of the compiler, and [`IntakeError::Unavailable`].
    pub async fn check(
        &self,
        script: String,
        replaces: Option<InstructionId>,
        scope: CheckScope,
    ) -> Result<ScriptCheck, IntakeError> {
        let pipeline = self.pipeline.clone();
        let _permit = self.pipeline.checks.acquire().await.map_err(|_| IntakeError::Unavailable)?;
        let (checked, trial) = off_the_executor(move || {
            let checked = pipeline.check(&script, replaces, scope)?;
            let trial = match (&checked.compiled, scope) {
                (Some(_), CheckScope::Estimate) => pipeline.trial_of_script(script)?,
                _ => None,
            };
            Ok((checked, trial))
        })
        .await?;
        let would_have_matched = match trial {
            Some(trial) => self.pipeline.run_trial(trial).await?,
            None => None,
        };
        Ok(ScriptCheck { would_have_matched, ..checked })
    }
}

impl RulePipeline {
    fn check(
        &self,
        script: &str,
        replaces: Option<InstructionId>,
        scope: CheckScope,
    ) -> Result<ScriptCheck, IntakeError> {
        let current = self.deps.registry.current();
        let Compilation { rule, diagnostics } = KnownNames::new(&self.deps, &current.lists).compile(script);
        let refused = |diagnostics, refusal| ScriptCheck {
            diagnostics,
            compiled: None,
            refusal,
            would_have_matched: None,
        };
        let Some(rule) = rule else { return Ok(refused(diagnostics, None)) };
        let bytes = match emit(std::slice::from_ref(&rule)) {
            Ok(emitted) => emitted.bytes,
            Err(error) => {
                let refusal = Some(IntakeError::OverLimit(error.to_string()));
                return Ok(refused(diagnostics, refusal));
            }
        };
        let manifest = manifest_of(&bytes).map_err(|refusal| IntakeError::Refused(refusal.to_string()))?;
        let manifest =
            manifest.ok_or_else(|| IntakeError::Refused("the module has no manifest".to_owned()))?;
        let asks = !(manifest.needs.aggregates.is_empty() && manifest.needs.previous.is_empty());
        let estimate = match scope {
            CheckScope::Estimate if asks && self.deps.history.knows_stored() => {
                Some(estimating::of_manifest(&manifest, &self.deps.history, &current.lists)?)
            }
            _ => None,
        };
        let refusal = self.would_save(&rule.entry.name, &manifest, estimate, replaces).err();
        let (entry, digest) = (rule.entry, ContentDigest::of_bytes(&bytes));
        let compiled = Some(CompiledScript { entry, manifest, digest, estimate });
        Ok(ScriptCheck { diagnostics, compiled, refusal, would_have_matched: None })
    }

    fn trial_of_script(&self, script: String) -> Result<Option<Trial>, IntakeError> {
        let current = self.deps.registry.current();
        let names = KnownNames::new(&self.deps, &current.lists);
        let draft = Draft::compile(&self.deps.artifacts, names, script)?;
        self.trial_of(&draft, &InstructionSource::Api)
    }

    /// Checks what a save checks of a compiled script.
    fn would_save(
        &self,
        name: &str,
        manifest: &Manifest,
        estimate: Option<QueryEstimate>,
        replaces: Option<InstructionId>,
    ) -> Result<(), IntakeError> {
        let (deps, source) = (&self.deps, InstructionSource::Api);
        let current = deps.registry.current();
        if let Some(id) = replaces {
            self.replaceable(&current, id, &source, &Precondition::None)?;
        }
        check_name(&current, name, &self.activating, replaces)?;
        granting::check(deps, &source, manifest)?;
        let Some(estimate) = estimate else { return Ok(()) };
        deps.policy.grant_for(&source)?.check_estimate(estimate)?;
        if deps.history.fits(&estimate) { Ok(()) } else { Err(IntakeError::NoRoom(Some(estimate))) }
    }
}
