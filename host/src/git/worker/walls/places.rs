//! Which files may be opened and which ports connected to: Landlock.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, NetPort, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::super::message::{Request, Task, Wall};

/// The newest that is asked for: files, TCP ports, signals and abstract sockets. Older kernels do what they can.
const NEWEST: ABI = ABI::V6;
/// Read by libgit2 whenever it opens a repository, and overruled at once; it cannot be told not to.
const CONFIGURATION: &str = "/etc/gitconfig";

pub(super) fn confine(request: &Request) -> Wall {
    match restrict(request) {
        Ok(RulesetStatus::FullyEnforced) => Wall::Whole,
        Ok(RulesetStatus::PartiallyEnforced) => Wall::Partial,
        Ok(RulesetStatus::NotEnforced) | Err(_) => Wall::Missing,
    }
}

fn restrict(request: &Request) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
        | AccessFs::Truncate;
    let mut places: Vec<(&Path, BitFlags<AccessFs>)> =
        vec![(&request.git_directory, write), (&request.objects, read), (Path::new(CONFIGURATION), read)];
    if let Some(neighbour) = &request.neighbour {
        // Who pushes to a path of this machine writes there.
        let is_written = matches!(request.task, Task::Push { .. });
        places.push((neighbour, if is_written { write } else { read }));
    }
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for (place, access) in places {
        rules = rules.add_rules(path_beneath_rules([place], access))?;
    }
    if let Some(port) = request.port {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}
