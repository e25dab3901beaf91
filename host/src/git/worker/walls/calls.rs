//! Which calls of the system are refused: seccomp.
//!
//! A list of what is refused, not of what is allowed: that would depend on the C library of each machine. Refused is
//! everything by which a process gets out of its own memory: other programs, other processes, other sockets than streams
//! of the internet, and the parts of the kernel that no fetch has any use for.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition, SeccompFilter, SeccompRule,
};

use super::super::message::Wall;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused whatever they are asked for.
const REFUSED: [i64; 63] = [
    // Other programs.
    libc::SYS_execve,
    libc::SYS_execveat,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    // To be spoken to.
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Memory shared with others.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_memfd_create,
    // The kernel's workshops, where its own mistakes are found.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    // Another view of the files.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    // The machine itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_personality,
];

pub(super) fn confine() -> Wall {
    let Ok(programs) = programs() else { return Wall::Missing };
    if programs.iter().all(|program| seccompiler::apply_filter(program).is_ok()) {
        Wall::Whole
    } else {
        Wall::Missing
    }
}

fn programs() -> Result<[BpfProgram; 2], BackendError> {
    let mut refused: Rules = REFUSED.into_iter().map(|call| (call, Vec::new())).collect();
    refused.insert(libc::SYS_socket, other_sockets()?);
    refused.insert(libc::SYS_clone, other_processes()?);
    // Limits of other processes.
    refused.insert(libc::SYS_prlimit64, vec![when(&[(0, Is::Ne, 0)])?]);
    #[cfg(target_arch = "x86_64")]
    refused.extend([(libc::SYS_fork, Vec::new()), (libc::SYS_vfork, Vec::new())]);
    // What it is asked for is out of a filter's sight; told that there is no such call, the C library takes `clone`.
    let unknown: Rules = [(libc::SYS_clone3, Vec::new())].into();
    Ok([program(unknown, libc::ENOSYS)?, program(refused, libc::EPERM)?])
}

fn program(refused: Rules, error: i32) -> Result<BpfProgram, BackendError> {
    let error = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(refused, SeccompAction::Allow, error, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// All but streams of the internet; where those lead is for Landlock to say.
fn other_sockets() -> Result<Vec<SeccompRule>, BackendError> {
    const KIND: u64 = 0xf;
    let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP];
    let of_kind = |kind: i32| when(&[(1, Is::MaskedEq(KIND), u64::from(kind.unsigned_abs()))]);
    let family = |family: i32| u64::from(family.unsigned_abs());
    let others = when(&[(0, Is::Ne, family(libc::AF_INET)), (0, Is::Ne, family(libc::AF_INET6))]);
    kinds.into_iter().map(of_kind).chain([others]).collect()
}

/// A thread is none.
fn other_processes() -> Result<Vec<SeccompRule>, BackendError> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    Ok(vec![when(&[(0, Is::MaskedEq(thread), 0)])?])
}

/// When all of these hold of the arguments.
fn when(conditions: &[(u8, Is, u64)]) -> Result<SeccompRule, BackendError> {
    let of = |(argument, operator, value): &(u8, Is, u64)| {
        SeccompCondition::new(*argument, Length::Dword, operator.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(of).collect::<Result<_, _>>()?)
}
