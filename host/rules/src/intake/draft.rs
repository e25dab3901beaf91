//! A draft of an instruction: a script that is compiled, emitted and admitted, or an admitted module. It lacks an
//! identity and its data from the history.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tollgate_compiler::emit::{EmitError, EmittedModule, emit};
use tollgate_compiler::{CheckedRule, Compilation, CompileOptions, Diagnostic, compile};
use tollgate_engine::artifacts::Artifacts;
use tollgate_engine::registry::{BindError, BoundRule, Lists};
use tollgate_engine::sandbox::{AdmittedModule, Sandbox, manifest_of};
use tollgate_guest_abi::{ABI_VERSION, Cost, Manifest, Needs, RuleEntry, Semantics, Verdict};
use tollgate_history::{History, HistoryError, QueryEstimate};
use tollgate_model::calendar::ZoneData;
use tollgate_model::instruction::{
    ContentDigest, Grant, Instruction, InstructionId, InstructionRecord, InstructionSource, Quarantine,
    RuleContent,
};

use crate::intake::{IntakeDeps, IntakeError, admitting, granting};

/// An instruction without an identity.
#[derive(Debug)]
pub struct Draft {
    /// `None` if the author wrote a module.
    script: Option<String>,
    entry: RuleEntry,
    /// The checked rule; `None` for a module, or for a script compiled earlier.
    checked: Option<Arc<CheckedRule>>,
    bytes: Vec<u8>,
    module: AdmittedModule,
    cost: Cost,
    warnings: Vec<Diagnostic>,
    /// Cost of what it asks the history, if it was estimated.
    pub(super) estimate: Option<QueryEstimate>,
}

/// Names that a script can use.
#[derive(Debug, Clone, Copy)]
pub struct KnownNames<'a> {
    /// Named lists that are set.
    pub lists: &'a Lists,
    /// Available time zones.
    pub zones: &'a ZoneData,
    /// Words that payments have as currencies, besides those of ISO 4217.
    pub currencies: &'a BTreeSet<String>,
}

/// Properties of an instruction that remain when its content changes.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Id, never reused.
    pub id: InstructionId,
    /// Source of the instruction.
    pub source: InstructionSource,
    /// Time of the first save.
    pub created_at: DateTime<Utc>,
    /// Time of the last change to its script or module.
    pub updated_at: DateTime<Utc>,
    /// Quarantine, if the rule is not run.
    pub quarantine: Option<Quarantine>,
}

impl<'a> KnownNames<'a> {
    /// Returns the names known to a service, with these lists.
    pub(in crate::intake) fn new(deps: &'a IntakeDeps, lists: &'a Lists) -> Self {
        Self { lists, zones: deps.history.zones(), currencies: &deps.currencies }
    }

    /// Compiles a script.
    pub(in crate::intake) fn compile(&self, script: &str) -> Compilation {
        let lists: BTreeSet<String> = self.lists.names().map(str::to_owned).collect();
        let zones = Some(self.zones.names());
        compile(
            script,
            &CompileOptions { named_lists: Some(&lists), zones, currencies: Some(self.currencies) },
        )
    }
}

impl Draft {
    /// Compiles a script. It warns about names that are not among the known ones.
    ///
    /// # Errors
    /// [`IntakeError::Compile`], and [`IntakeError::Refused`] for a bug of the compiler.
    pub fn compile(
        artifacts: &Arc<Artifacts>,
        known: KnownNames<'_>,
        script: String,
    ) -> Result<Self, IntakeError> {
        let Compilation { rule, diagnostics } = known.compile(&script);
        let Some(rule) = rule else { return Err(IntakeError::Compile(diagnostics)) };
        let EmittedModule { bytes, .. } = emit(std::slice::from_ref(&rule)).map_err(|error| match error {
            EmitError::TooLarge { .. } => IntakeError::OverLimit(error.to_string()),
            error => IntakeError::Refused(error.to_string()),
        })?;
        let module =
            artifacts.admit_known(&bytes).map_err(|refusal| IntakeError::Refused(refusal.to_string()))?;
        let (script, entry, cost) = (Some(script), rule.entry.clone(), module.manifest.cost);
        let (checked, warnings) = (Some(Arc::new(rule)), diagnostics);
        Ok(Self { script, entry, checked, bytes, module, cost, warnings, estimate: None })
    }

    /// Admits a module from another compiler with this grant.
    ///
    /// # Errors
    /// [`IntakeError::ModuleRefused`] and [`IntakeError::CompilerUnavailable`].
    pub fn upload(artifacts: &Artifacts, bytes: Vec<u8>, grant: Grant) -> Result<Self, IntakeError> {
        Self::of_module(admitting::admit(artifacts, &bytes, grant)?, bytes)
    }

    /// Creates a draft of a module that is admitted, with its bytes.
    ///
    /// # Errors
    /// [`IntakeError::ModuleRefused`] if it has more than one rule.
    pub fn of_module(module: AdmittedModule, bytes: Vec<u8>) -> Result<Self, IntakeError> {
        let entry = admitting::only_rule(&module.manifest)?;
        let cost = module.manifest.cost;
        let (script, checked, warnings) = (None, None, Vec::new());
        Ok(Self { script, entry, checked, bytes, module, cost, warnings, estimate: None })
    }

    /// Creates a draft of the content from this source.
    ///
    /// # Errors
    /// Those of [`Draft::compile`] and [`Draft::upload`], and [`IntakeError::NotGranted`].
    pub fn from_content(
        deps: &IntakeDeps,
        lists: &Lists,
        source: &InstructionSource,
        content: RuleContent,
    ) -> Result<Self, IntakeError> {
        match content {
            RuleContent::Script(script) => {
                Self::compile(&deps.artifacts, KnownNames::new(deps, lists), script)
            }
            RuleContent::Module(module) => {
                admitting::check_zones(&module, deps.history.zones())?;
                Self::upload(&deps.artifacts, module, granting::budget(deps, source)?)
            }
        }
    }

    /// Creates a draft of a script compiled earlier; its checked rule is not available.
    ///
    /// # Errors
    /// [`IntakeError::Refused`] if the module is not admitted.
    pub fn stored(artifacts: &Arc<Artifacts>, record: &InstructionRecord) -> Result<Self, IntakeError> {
        let module = artifacts
            .admit_known(&record.module)
            .map_err(|refusal| IntakeError::Refused(refusal.to_string()))?;
        let entry = module.manifest.rules.first().cloned();
        Ok(Self {
            script: record.script.clone(),
            entry: entry.ok_or_else(|| IntakeError::Refused("the module has no rule".to_owned()))?,
            checked: None,
            bytes: record.module.clone(),
            cost: module.manifest.cost,
            module,
            warnings: Vec::new(),
            estimate: None,
        })
    }

    /// Creates a placeholder for a module that is no longer admitted. It keeps the rule's name, identity and bytes, and
    /// is to be quarantined.
    ///
    /// # Errors
    /// [`IntakeError::Refused`] if the engine cannot compile anything.
    pub fn placeholder(sandbox: &Sandbox, record: &InstructionRecord) -> Result<Self, IntakeError> {
        let said = manifest_of(&record.module).ok().flatten();
        let entry =
            said.and_then(|manifest| manifest.rules.into_iter().next()).unwrap_or_else(|| RuleEntry {
                name: String::new(),
                description: None,
                verdict: Verdict::Review,
                score: 1.0,
                reason: "its module cannot be read".to_owned(),
            });
        let entry = RuleEntry { name: record.name.clone(), ..entry };
        let manifest = Manifest {
            abi_version: ABI_VERSION,
            semantics: Semantics::CURRENT,
            rules: vec![entry.clone()],
            needs: Needs::default(),
            cost: Cost::default(),
        };
        let module = sandbox
            .placeholder(manifest, ContentDigest::of_bytes(&record.module))
            .map_err(|refusal| IntakeError::Refused(refusal.to_string()))?;
        let (script, checked, bytes) = (record.script.clone(), None, record.module.clone());
        let (cost, warnings, estimate) = (Cost::default(), Vec::new(), None);
        Ok(Self { script, entry, checked, bytes, module, cost, warnings, estimate })
    }

    /// Returns the name of the rule.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// Returns the verdict of the rule.
    pub(super) const fn verdict(&self) -> Verdict {
        self.entry.verdict
    }

    /// Admits the same module once more, for a rule that is run on its own.
    ///
    /// # Errors
    /// Those of [`Draft::stored`] and [`Draft::upload`].
    pub(super) fn admitted_again(
        &self,
        deps: &IntakeDeps,
        source: &InstructionSource,
    ) -> Result<Self, IntakeError> {
        let module = match self.script {
            Some(_) => deps
                .artifacts
                .admit_known(&self.bytes)
                .map_err(|refusal| IntakeError::Refused(refusal.to_string()))?,
            None => admitting::admit(&deps.artifacts, &self.bytes, granting::budget(deps, source)?)?,
        };
        let (script, entry, checked) = (self.script.clone(), self.entry.clone(), None);
        let (bytes, cost, warnings) = (self.bytes.clone(), self.cost, Vec::new());
        Ok(Self { script, entry, checked, bytes, module, cost, warnings, estimate: None })
    }

    /// Returns the manifest of the module.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.module.manifest
    }

    /// Returns whether the rule asks the history anything.
    #[must_use]
    pub fn asks_the_history(&self) -> bool {
        let Needs { aggregates, previous, .. } = &self.module.manifest.needs;
        !aggregates.is_empty() || !previous.is_empty()
    }

    /// Returns the draft with an estimate.
    #[must_use]
    pub fn costing(self, estimate: QueryEstimate) -> Self {
        Self { estimate: Some(estimate), ..self }
    }

    /// Returns the instruction that the draft becomes under an identity, and its module. Only the data from the history
    /// is missing.
    pub(super) fn under(self, identity: Identity) -> (Arc<Instruction>, AdmittedModule) {
        let manifest = &self.module.manifest;
        let instruction = Instruction {
            record: Arc::new(InstructionRecord {
                id: identity.id,
                name: self.entry.name.clone(),
                script: self.script,
                source: identity.source,
                module: self.bytes,
                created_at: identity.created_at,
                updated_at: identity.updated_at,
                quarantine: identity.quarantine,
                origin: Some(self.module.origin()),
                // Set when the rule becomes part of a version.
                owner: None,
            }),
            checked: self.checked,
            digest: self.module.digest,
            abi_version: manifest.abi_version,
            cost: self.cost,
            warnings: self.warnings,
            entry: self.entry,
        };
        (Arc::new(instruction), self.module)
    }

    /// Assigns an identity, and binds the rule to the history. This may take long, because the history back-fills missing
    /// data.
    ///
    /// # Errors
    /// [`IntakeError::OverLimit`] if the history accepts no more queries, [`IntakeError::Unavailable`] if the store
    /// cannot be read, and [`IntakeError::Refused`] for other needs that cannot be met.
    pub fn bind(self, history: &History, identity: Identity) -> Result<BoundRule, IntakeError> {
        let (instruction, module) = self.under(identity);
        bind(instruction, module, history)
    }
}

/// Binds an instruction and its module to the history.
///
/// # Errors
/// Those of [`Draft::bind`].
pub(super) fn bind(
    instruction: Arc<Instruction>,
    module: AdmittedModule,
    history: &History,
) -> Result<BoundRule, IntakeError> {
    BoundRule::bind(instruction, module, history).map_err(|error| match error {
        BindError::History(error) => of_history(error),
        error => IntakeError::Refused(error.to_string()),
    })
}

pub(super) fn of_history(error: HistoryError) -> IntakeError {
    match error {
        HistoryError::Past(_) | HistoryError::Spill(_) => {
            tracing::error!(error = %error, "the history of a new rule cannot be gathered");
            IntakeError::Unavailable
        }
        HistoryError::OverLimit => IntakeError::NoRoom(None),
        error => IntakeError::OverLimit(error.to_string()),
    }
}

impl Identity {
    /// Creates the identity of a new instruction.
    #[must_use]
    pub const fn new(id: InstructionId, source: InstructionSource, now: DateTime<Utc>) -> Self {
        Self { id, source, created_at: now, updated_at: now, quarantine: None }
    }

    /// Returns the identity of an existing instruction.
    #[must_use]
    pub fn from_record(record: &InstructionRecord) -> Self {
        Self {
            id: record.id,
            source: record.source.clone(),
            created_at: record.created_at,
            updated_at: record.updated_at,
            quarantine: record.quarantine.clone(),
        }
    }
}
