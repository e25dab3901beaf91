//! Which files may be opened and which ports connected to: Landlock.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, NetPort, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::{Access, Reach, Wall};

/// The newest that is asked for: files, TCP ports, signals and abstract sockets. Older kernels do what they can.
const NEWEST: ABI = ABI::V6;

pub(super) fn confine(reach: &Reach<'_>) -> Wall {
    match restrict(reach) {
        Ok(RulesetStatus::FullyEnforced) => Wall::Whole,
        Ok(RulesetStatus::PartiallyEnforced) => Wall::Partial,
        Ok(RulesetStatus::NotEnforced) | Err(_) => Wall::Missing,
    }
}

fn restrict(reach: &Reach<'_>) -> Result<RulesetStatus, RulesetError> {
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
    if let Reach::Places { places, port } = reach {
        for (place, access) in *places {
            let access = match access {
                Access::Read => read,
                Access::Write => write,
            };
            rules = rules.add_rules(path_beneath_rules([place], access))?;
        }
        if let Some(port) = port {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
    }
    Ok(rules.restrict_self()?.ruleset)
}
