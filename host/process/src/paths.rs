//! Landlock: restricts the files a process may open and the ports it may connect to.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, LandlockStatus, NetPort, RestrictionStatus, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::{ConfinementLevel, PathAccess, ProcessNeeds};

/// Newest Landlock ABI to request: files, TCP ports, signals and abstract sockets. Older kernels enforce a part of it.
const NEWEST: ABI = ABI::V6;

pub(super) fn confine(reach: &ProcessNeeds<'_>) -> ConfinementLevel {
    match restrict(reach) {
        Err(error) => ConfinementLevel::Missing(error.to_string()),
        Ok(status) => match status.ruleset {
            RulesetStatus::FullyEnforced => ConfinementLevel::Whole,
            RulesetStatus::PartiallyEnforced => ConfinementLevel::Partial,
            RulesetStatus::NotEnforced => ConfinementLevel::Missing(why(&status).to_owned()),
        },
    }
}

const fn why(status: &RestrictionStatus) -> &'static str {
    match status.landlock {
        LandlockStatus::NotEnabled => "the kernel supports it, but `lsm=` at boot does not name it",
        LandlockStatus::NotImplemented => "the kernel does not support it, or a system call filter blocks it",
        LandlockStatus::Available { .. } if !status.no_new_privs => "`no_new_privs` is refused",
        LandlockStatus::Available { .. } => "the kernel refuses it",
    }
}

fn restrict(reach: &ProcessNeeds<'_>) -> Result<RestrictionStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
        | AccessFs::Truncate;
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    if let ProcessNeeds::Paths { paths, port } = reach {
        for (path, access) in *paths {
            let access = match access {
                PathAccess::Read => read,
                PathAccess::Write => write,
            };
            rules = rules.add_rules(path_beneath_rules([path], access))?;
        }
        if let Some(port) = port {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
    }
    rules.restrict_self()
}
