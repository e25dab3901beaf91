//! Rebuilds versions of the rule set from the stored data.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use chrono::DateTime;
use tollgate_engine::registry::{BoundRule, ListInForce, Lists, RuleSet, SERVICE_VERSION};
use tollgate_guest_abi::Semantics;
use tollgate_history::History;
use tollgate_model::instruction::{
    ContentDigest, Grant, InstructionId, InstructionRecord, InstructionSource, Origin, RuleOwner,
};
use tollgate_store::{MemberRecord, RuleSetParts};

use crate::intake::{Draft, Identity, IntakeError};
use crate::replay::{AuditDeps, AuditError, status_words, zones};

/// A rebuilt version, or the reason why it cannot be rebuilt.
#[derive(Debug, Clone)]
pub(super) enum RebuiltVersion {
    Whole(RebuiltRuleSet),
    /// The reason, for people.
    Broken(Arc<str>),
}

#[derive(Debug, Clone)]
pub(super) struct RebuiltRuleSet {
    pub(super) rule_set: Arc<RuleSet>,
    /// Whether another or an unrecorded version of the service ran it.
    pub(super) is_by_another_service: bool,
    /// Whether the limits of one of its modules were not recorded.
    pub(super) has_assumed_terms: bool,
}

/// The last version, with its rules and lists, most of which the next version shares.
#[derive(Debug, Default)]
pub(super) struct VersionCache {
    last: Option<(u64, RebuiltVersion)>,
    rules: HashMap<RuleKey, Arc<BoundRule>>,
    lists: HashMap<(ContentDigest, Semantics), ListInForce>,
}

/// Identifies a rule across versions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RuleKey {
    id: InstructionId,
    digest: ContentDigest,
    origin: Origin,
    is_quarantined: bool,
    owner: Option<RuleOwner>,
}

enum RebuildError {
    /// The stored data is unusable.
    Broken(String),
    Passing(AuditError),
}

impl<E: Into<AuditError>> From<E> for RebuildError {
    fn from(error: E) -> Self {
        Self::Passing(error.into())
    }
}

impl VersionCache {
    /// Returns a version, whose queries must already be registered.
    pub(super) fn edition(
        &mut self,
        deps: &AuditDeps,
        history: &History,
        version: u64,
    ) -> Result<RebuiltVersion, AuditError> {
        if let Some((known, edition)) = &self.last
            && *known == version
        {
            return Ok(edition.clone());
        }
        let edition = match self.make(deps, history, version) {
            Ok(made) => RebuiltVersion::Whole(made),
            Err(RebuildError::Broken(why)) => RebuiltVersion::Broken(why.into()),
            Err(RebuildError::Passing(error)) => return Err(error),
        };
        self.last = Some((version, edition.clone()));
        Ok(edition)
    }

    fn make(
        &mut self,
        deps: &AuditDeps,
        history: &History,
        version: u64,
    ) -> Result<RebuiltRuleSet, RebuildError> {
        let parts = deps.executor.block_on(deps.store.rule_set_parts(version))?;
        let Some(RuleSetParts {
            members,
            lists: named,
            service,
            semantics,
            zones,
            status_words: words,
            holds,
        }) = parts
        else {
            return Err(broken(format_args!("there never was a rule set {version}")));
        };
        if zones != zones::digest_of(history.zones()) {
            return Err(broken(format_args!("the zone data of rule set {version} is not stored")));
        }
        if !status_words::suit(words, history.status_words()) {
            return Err(broken(format_args!("the status words of rule set {version} are not stored")));
        }
        let (mut rules, mut known) = (Vec::with_capacity(members.len()), HashMap::new());
        for member in &members {
            let key = RuleKey::of_member(member);
            let rule = match self.rules.get(&key) {
                Some(rule) => Arc::clone(rule),
                None => Arc::new(rule_of(deps, history, member)?),
            };
            known.insert(key, Arc::clone(&rule));
            rules.push(rule);
        }
        let (mut lists, mut known_lists) = (Lists::default(), HashMap::new());
        for (name, digest) in &named {
            let key = (*digest, semantics);
            let list = match self.lists.get(&key) {
                Some(list) => list.clone(),
                None => list_of(deps, name, *digest, semantics)?,
            };
            lists.insert(name, list.clone());
            known_lists.insert(key, list);
        }
        (self.rules, self.lists) = (known, known_lists);
        let is_assumed = |member: &MemberRecord| {
            member.origin.is_none() && !member.is_script && member.quarantine.is_none()
        };
        Ok(RebuiltRuleSet {
            rule_set: Arc::new(
                RuleSet::new(version, rules, lists)
                    .meaning(semantics)
                    .in_zones(Arc::clone(history.zones()))
                    .with_status_words(Arc::clone(history.status_words()))
                    .holding(holds),
            ),
            is_by_another_service: service.as_deref() != Some(SERVICE_VERSION),
            has_assumed_terms: members.iter().any(is_assumed),
        })
    }
}

impl RuleKey {
    fn of_member(member: &MemberRecord) -> Self {
        Self {
            id: member.id,
            digest: member.digest,
            origin: origin_of(member),
            is_quarantined: member.quarantine.is_some(),
            owner: member.owner.clone(),
        }
    }
}

/// Returns the origin that was noted. For records without one, it is the origin that holds without a policy.
fn origin_of(member: &MemberRecord) -> Origin {
    let unnoted = if member.is_script { Origin::Compiler } else { Origin::Untrusted(Grant::default()) };
    member.origin.unwrap_or(unnoted)
}

fn rule_of(deps: &AuditDeps, history: &History, member: &MemberRecord) -> Result<BoundRule, RebuildError> {
    let MemberRecord { id, name, digest, .. } = member;
    let module = deps.executor.block_on(deps.store.module(*digest))?;
    let module = module.ok_or_else(|| broken(format_args!("the module of rule `{name}` is not stored")))?;
    if ContentDigest::of_bytes(&module) != *digest {
        return Err(broken(format_args!("the module of rule `{name}` does not match its digest")));
    }
    let record = InstructionRecord {
        id: *id,
        name: name.clone(),
        script: None,
        source: InstructionSource::Api,
        module,
        created_at: DateTime::default(),
        updated_at: DateTime::default(),
        quarantine: member.quarantine.clone(),
        origin: member.origin,
        owner: member.owner.clone(),
    };
    let draft = match origin_of(member) {
        _ if record.quarantine.is_some() => Draft::placeholder(&deps.sandbox, &record),
        Origin::Nobody => Draft::placeholder(&deps.sandbox, &record),
        Origin::Compiler => Draft::stored(&deps.artifacts, &record),
        Origin::Untrusted(grant) => Draft::upload(&deps.artifacts, record.module.clone(), grant),
    };
    let bound = draft.and_then(|draft| draft.bind(history, Identity::from_record(&record)));
    bound.map(|rule| rule.owned_by(record.owner.as_ref())).map_err(|error| match error {
        IntakeError::CompilerUnavailable(_) | IntakeError::Unavailable => {
            RebuildError::Passing(AuditError::Compiler(error.to_string()))
        }
        error => broken(format_args!("rule `{name}` cannot be run any more: {error}")),
    })
}

fn list_of(
    deps: &AuditDeps,
    name: &str,
    digest: ContentDigest,
    semantics: Semantics,
) -> Result<ListInForce, RebuildError> {
    let entries = deps.executor.block_on(deps.store.list_entries(digest))?;
    let entries = entries.ok_or_else(|| broken(format_args!("the list `{name}` is not stored")))?;
    let list = ListInForce::read(&entries, InstructionSource::Api, semantics);
    if list.digest == digest {
        Ok(list)
    } else {
        Err(broken(format_args!("the list `{name}` does not match its digest")))
    }
}

fn broken(why: fmt::Arguments<'_>) -> RebuildError {
    RebuildError::Broken(why.to_string())
}
