//! Versions of the rule set made anew out of what is stored of them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use chrono::DateTime;
use tollgate_engine::registry::{ListInForce, Lists, Rule, RuleSet, SERVICE_VERSION};
use tollgate_engine::sandbox::Grant;
use tollgate_guest_abi::Semantics;
use tollgate_history::History;
use tollgate_model::instruction::{
    ContentDigest, InstructionId, InstructionRecord, InstructionSource, Terms,
};
use tollgate_store::{MemberRecord, RuleSetParts};

use crate::audit::{AuditError, Means, zones};
use crate::intake::{Draft, Identity, IntakeError};

/// A version, or why there is none.
#[derive(Debug, Clone)]
pub(super) enum Edition {
    Whole(Made),
    /// For people.
    Broken(Arc<str>),
}

/// A version made anew.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) rule_set: Arc<RuleSet>,
    /// Whether another version of the service ran it, or nobody knows which one.
    pub(super) is_by_another_service: bool,
    /// Whether nobody noted what a module of it was granted.
    pub(super) has_assumed_terms: bool,
}

/// The versions in use: the last one, and the rules and lists of it, most of which the next one has too.
#[derive(Debug, Default)]
pub(super) struct Editions {
    last: Option<(u64, Edition)>,
    rules: HashMap<RuleKey, Arc<Rule>>,
    lists: HashMap<(ContentDigest, Semantics), ListInForce>,
}

/// By which a rule is the same in two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct RuleKey {
    id: InstructionId,
    digest: ContentDigest,
    terms: Terms,
    is_quarantined: bool,
}

/// Why a version is not made.
enum Obstacle {
    /// What is stored does not do.
    Broken(String),
    /// Another time it may.
    Passing(AuditError),
}

impl<E: Into<AuditError>> From<E> for Obstacle {
    fn from(error: E) -> Self {
        Self::Passing(error.into())
    }
}

impl Editions {
    /// The version of this number; its questions are asked already.
    pub(super) fn edition(
        &mut self,
        means: &Means,
        history: &History,
        version: u64,
    ) -> Result<Edition, AuditError> {
        if let Some((known, edition)) = &self.last
            && *known == version
        {
            return Ok(edition.clone());
        }
        let edition = match self.make(means, history, version) {
            Ok(made) => Edition::Whole(made),
            Err(Obstacle::Broken(why)) => Edition::Broken(why.into()),
            Err(Obstacle::Passing(error)) => return Err(error),
        };
        self.last = Some((version, edition.clone()));
        Ok(edition)
    }

    fn make(&mut self, means: &Means, history: &History, version: u64) -> Result<Made, Obstacle> {
        let parts = means.executor.block_on(means.store.rule_set_parts(version))?;
        let Some(RuleSetParts { members, lists: named, service, semantics, zones }) = parts else {
            return Err(broken(format_args!("there never was a rule set {version}")));
        };
        if zones != zones::digest_of(history.zones()) {
            return Err(broken(format_args!("the zone data of rule set {version} is not stored")));
        }
        let (mut rules, mut known) = (Vec::with_capacity(members.len()), HashMap::new());
        for member in &members {
            let key = RuleKey::of(member);
            let rule = match self.rules.get(&key) {
                Some(rule) => Arc::clone(rule),
                None => Arc::new(rule_of(means, history, member)?),
            };
            known.insert(key, Arc::clone(&rule));
            rules.push(rule);
        }
        let (mut lists, mut known_lists) = (Lists::default(), HashMap::new());
        for (name, digest) in &named {
            let key = (*digest, semantics);
            let list = match self.lists.get(&key) {
                Some(list) => list.clone(),
                None => list_of(means, name, *digest, semantics)?,
            };
            lists.insert(name, list.clone());
            known_lists.insert(key, list);
        }
        (self.rules, self.lists) = (known, known_lists);
        let is_assumed = |member: &MemberRecord| {
            member.terms.is_none() && !member.is_script && member.quarantine.is_none()
        };
        Ok(Made {
            rule_set: Arc::new(
                RuleSet::new(version, rules, lists).meaning(semantics).in_zones(Arc::clone(history.zones())),
            ),
            is_by_another_service: service.as_deref() != Some(SERVICE_VERSION),
            has_assumed_terms: members.iter().any(is_assumed),
        })
    }
}

impl RuleKey {
    fn of(member: &MemberRecord) -> Self {
        Self {
            id: member.id,
            digest: member.digest,
            terms: terms_of(member),
            is_quarantined: member.quarantine.is_some(),
        }
    }
}

/// Those that were noted; of what an earlier version of the service kept, those that hold where no policy says otherwise.
fn terms_of(member: &MemberRecord) -> Terms {
    let Grant { fuel, host_calls, memory_bytes } = Grant::default();
    member.terms.unwrap_or(if member.is_script {
        Terms::Compiler
    } else {
        Terms::Stranger { fuel, host_calls, memory_bytes }
    })
}

fn rule_of(means: &Means, history: &History, member: &MemberRecord) -> Result<Rule, Obstacle> {
    let MemberRecord { id, name, digest, .. } = member;
    let module = means.executor.block_on(means.store.module(*digest))?;
    let module = module.ok_or_else(|| broken(format_args!("the module of rule `{name}` is not stored")))?;
    if ContentDigest::of(&module) != *digest {
        return Err(broken(format_args!("the module of rule `{name}` is not what its digest says")));
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
        terms: member.terms,
    };
    let draft = match terms_of(member) {
        _ if record.quarantine.is_some() => Draft::stand_in(&means.sandbox, &record),
        Terms::Nobody => Draft::stand_in(&means.sandbox, &record),
        Terms::Compiler => Draft::stored(&means.sandbox, &record),
        Terms::Stranger { fuel, host_calls, memory_bytes } => {
            let grant = Grant { fuel, host_calls, memory_bytes };
            Draft::upload(&means.artifacts, record.module.clone(), grant)
        }
    };
    let bound = draft.and_then(|draft| draft.bind(history, Identity::of(&record)));
    bound.map_err(|error| match error {
        IntakeError::CompilerUnavailable(_) | IntakeError::Unavailable => {
            Obstacle::Passing(AuditError::Compiler(error.to_string()))
        }
        error => broken(format_args!("rule `{name}` cannot be run any more: {error}")),
    })
}

fn list_of(
    means: &Means,
    name: &str,
    digest: ContentDigest,
    semantics: Semantics,
) -> Result<ListInForce, Obstacle> {
    let entries = means.executor.block_on(means.store.list_entries(digest))?;
    let entries = entries.ok_or_else(|| broken(format_args!("the list `{name}` is not stored")))?;
    let list = ListInForce::read(&entries, InstructionSource::Api, semantics);
    if list.digest == digest {
        Ok(list)
    } else {
        Err(broken(format_args!("the list `{name}` is not what its digest says")))
    }
}

fn broken(why: fmt::Arguments<'_>) -> Obstacle {
    Obstacle::Broken(why.to_string())
}
