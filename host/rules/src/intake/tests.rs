//! The rule pipeline from text to rule set, with a separate store, without HTTP and without a watched directory.

mod lists;
mod modules;
mod sources;
mod trees;
mod waiting;

use tempfile::TempDir;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_history::Past;
use tollgate_model::clock::SystemClock;
use tollgate_model::instruction::{
    ContentDigest, Instruction, InstructionRecord, QuarantineCause, RuleContent,
};
use tollgate_store::{ListRecord, StoredPast};
use tollgate_telemetry::holding::PaymentHolds;

use super::*;

impl Intake {
    pub(crate) async fn save(&self, script: &str) -> Result<ListedInstruction, IntakeError> {
        self.put(
            RuleContent::Script(script.to_owned()),
            None,
            InstructionChange::Add,
            PutUntil::InForce,
            Confirmation::Missing,
        )
        .await
    }

    async fn begin_save(&self, script: &str) -> Result<ListedInstruction, IntakeError> {
        self.put(
            RuleContent::Script(script.to_owned()),
            None,
            InstructionChange::Add,
            PutUntil::Reserved,
            Confirmation::Missing,
        )
        .await
    }

    async fn upload(
        &self,
        module: Vec<u8>,
        manifest: Option<Manifest>,
    ) -> Result<ListedInstruction, IntakeError> {
        self.put(
            RuleContent::Module(module),
            manifest,
            InstructionChange::Add,
            PutUntil::InForce,
            Confirmation::Missing,
        )
        .await
    }
}

pub(super) struct Fixture {
    pub(super) intake: Intake,
    registry: Arc<Registry>,
    store: Store,
    metrics: Arc<Metrics>,
    directory: TempDir,
}

impl Fixture {
    pub(super) async fn new() -> Self {
        Self::on(tempfile::tempdir().unwrap(), None).await
    }

    async fn with_sink(sink: Arc<dyn ScriptSink>) -> Self {
        Self::on(tempfile::tempdir().unwrap(), Some(sink)).await
    }

    async fn on(directory: TempDir, sink: Option<Arc<dyn ScriptSink>>) -> Self {
        let store = Store::open(directory.path()).await.unwrap();
        let history = Arc::new(History::over(Arc::new(StoredPast::of(&store))));
        Self::over(directory, store, history, sink).await
    }

    async fn over(
        directory: TempDir,
        store: Store,
        history: Arc<History>,
        sink: Option<Arc<dyn ScriptSink>>,
    ) -> Self {
        let registry = Arc::new(Registry::new(RuleSet::new(0, Vec::new(), Lists::default())));
        let metrics = Arc::new(Metrics::new());
        let sandbox = Sandbox::new().unwrap();
        let checks =
            tollgate_telemetry::readiness::ReadinessChecks::new(Arc::new(SystemClock), Arc::clone(&metrics));
        let deps = IntakeDeps {
            clock: Arc::new(SystemClock),
            history,
            registry: Arc::clone(&registry),
            store: store.clone(),
            metrics: Arc::clone(&metrics),
            breakers: Arc::new(tollgate_engine::evaluation::Breakers::new(std::time::Duration::ZERO).0),
            policy: tollgate_engine::policy::Policy::default(),
            artifacts: Arc::new(Artifacts::open(directory.path(), &sandbox, Compiler::in_this_process())),
            sandbox,
            currencies: std::collections::BTreeSet::new(),
            saves_per_minute: NonZeroU32::MAX,
            required: RequiredRules::new(&checks, 0),
            lists: ListGuard::new(&checks, tollgate_telemetry::config::ListsShrink::Hold),
            confirms_broad_rules: false,
            sources: crate::intake::NewSources::new(tollgate_telemetry::config::PartialSource::Hold),
            holds: PaymentHolds::new(&checks, tollgate_telemetry::config::WhenNotReady::Review),
            checks,
            sink,
        };
        let rules = RulesDirectory::by_default(directory.path().join("none"));
        let intake = Intake::start(deps, &rules).await.unwrap();
        Self { intake, registry, store, metrics, directory }
    }

    fn history(&self) -> &History {
        &self.intake.pipeline.deps.history
    }

    /// Replaces script and module of a stored rule, as if an earlier version had admitted them.
    async fn pass_off(&self, name: &str, script: Option<&str>, module: Vec<u8>) {
        let current = self.registry.current();
        let rule = change::rules_of(&current).find(|rule| rule.instruction.record.name == name).unwrap();
        let before = (*rule.instruction).clone();
        let digest = ContentDigest::of_bytes(&module);
        let record =
            InstructionRecord { script: script.map(str::to_owned), module, ..(*before.record).clone() };
        let instruction = Arc::new(Instruction { record: Arc::new(record), digest, ..before });
        let rule = Arc::new(tollgate_engine::registry::BoundRule { instruction, ..(**rule).clone() });
        let change = change::RuleChange { replace: vec![rule], ..change::RuleChange::default() };
        change::bring_into_force(&self.intake.pipeline.deps, change).await.unwrap();
    }

    /// Restarts with the same store and directory.
    async fn again(self) -> Self {
        let Self { intake, registry, store, directory, .. } = self;
        drop((intake, registry));
        store.close().await;
        Self::on(directory, None).await
    }

    pub(super) fn rules_directory(&self) -> std::path::PathBuf {
        self.directory.path().join("none")
    }

    async fn take(&self, origin: TreeOrigin, files: &[(&str, &str)]) -> TreeReport {
        self.intake.take_tree(tree(origin, files)).await.unwrap()
    }

    async fn take_directory(&self, files: &[(&str, &str)]) -> TreeReport {
        self.take(TreeOrigin::Directory, files).await
    }

    /// Number of versions after the empty one of a new service.
    fn n_versions(&self) -> u64 {
        self.registry.current().version - 1
    }

    /// Name, id and script of every instruction in force, by name.
    fn in_force(&self) -> Vec<(String, i64, String)> {
        let rule_set = self.registry.current();
        let records = rule_set.rules.iter().map(|rule| &rule.rule.instruction.record);
        let mut found: Vec<_> =
            records.map(|record| (record.name.clone(), record.id.0, text(record))).collect();
        found.sort();
        found
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.in_force().into_iter().map(|(name, ..)| name).collect()
    }

    fn id(&self, name: &str) -> i64 {
        self.in_force().into_iter().find(|(known, ..)| known == name).unwrap().1
    }

    fn rule(&self, name: &str) -> Arc<tollgate_engine::registry::BoundRule> {
        let rule_set = self.registry.current();
        let found = rule_set.rules.iter().find(|rule| rule.rule.instruction.record.name == name);
        Arc::clone(&found.unwrap().rule)
    }
}

/// Script of an instruction, or a placeholder for its module.
fn text(record: &InstructionRecord) -> String {
    record.script.clone().unwrap_or_else(|| "a module".to_owned())
}

fn git(commit: &str) -> TreeOrigin {
    TreeOrigin::Git { commit: commit.to_owned() }
}

/// A tree of these files. The text `!` means an unreadable file, `…` a file being written, and `=` an unchanged file
/// that is not read again.
fn tree(origin: TreeOrigin, files: &[(&str, &str)]) -> RuleTree {
    let mut tree =
        RuleTree { origin, rules: Vec::new(), lists: Vec::new(), unreadable: Vec::new(), ignored: None };
    for (path, text) in files {
        let (path, text) = ((*path).to_owned(), text_of(text));
        if path.ends_with(".txt") {
            tree.lists.push(ListFile::new(path, text));
        } else {
            let content = text.map(RuleContent::Script);
            tree.rules.push(RuleFile { path, content });
        }
    }
    tree
}

fn text_of(text: &str) -> Result<String, UnreadableFile> {
    match text {
        "!" => Err(UnreadableFile::NotUtf8),
        "…" => Err(UnreadableFile::BeingWritten),
        "=" => Err(UnreadableFile::AsTaken),
        text => Ok(text.to_owned()),
    }
}

pub(super) fn rule(name: &str, condition: &str) -> String {
    format!("rule {name} {{ when {condition} then review score 0.5 reason \"{name}\" }}")
}
