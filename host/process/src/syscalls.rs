//! seccomp: the system calls that a confined process is refused.
//!
//! The filter lists refused calls, because a list of allowed calls would depend on the C library of each machine. It
//! refuses access beyond the memory of the process: other programs and processes, and sockets other than internet
//! streams. It also refuses unneeded kernel interfaces. A process that only computes is also refused files, sockets,
//! threads and executable memory.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition, SeccompFilter, SeccompRule,
};

use super::{ConfinementLevel, ProcessNeeds};

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

// Requests that choose which process gets a signal when a file or socket becomes readable. The numbers are those of
// every architecture that seccompiler supports.
const F_SETOWN: u64 = 8;
const F_SETSIG: u64 = 10;
const F_SETOWN_EX: u64 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
/// Bit that marks calls of the x32 ABI, which some kernels offer to every program.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
const PROT_EXEC: u64 = 4;

/// Calls refused whatever their arguments.
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
    // Incoming connections.
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Shared memory and messages.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_memfd_create,
    // Complex kernel interfaces, where kernel bugs are often found.
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
    // Another view of the file system.
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

/// Calls also refused to a process that only computes. It has its pipes and cannot acquire anything else.
const REFUSED_TO_COMPUTE: [i64; 23] = [
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_chdir,
    libc::SYS_inotify_init1,
    libc::SYS_getdents64,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_pipe2,
    libc::SYS_clone,
];

/// Older calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const OLD_AND_REFUSED_TO_COMPUTE: [i64; 13] = [
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_pipe,
];

pub(super) fn confine(reach: &ProcessNeeds<'_>) -> ConfinementLevel {
    let programs = match programs(reach) {
        Ok(programs) => programs,
        Err(error) => return ConfinementLevel::Missing(error.to_string()),
    };
    match programs.iter().try_for_each(|program| seccompiler::apply_filter(program)) {
        Ok(()) => ConfinementLevel::Whole,
        Err(error) => ConfinementLevel::Missing(error.to_string()),
    }
}

fn programs(reach: &ProcessNeeds<'_>) -> Result<[BpfProgram; 2], BackendError> {
    let mut refused: SyscallRules = REFUSED.into_iter().map(|call| (call, Vec::new())).collect();
    refused.insert(libc::SYS_socket, other_sockets()?);
    refused.insert(libc::SYS_clone, other_processes()?);
    // Resource limits of other processes.
    refused.insert(libc::SYS_prlimit64, vec![when(&[(0, Is::Ne, 0)])?]);
    // Signals to other processes, immediate or on readability. A process may signal itself, for example to abort.
    refused.insert(libc::SYS_tgkill, vec![when(&[(0, Is::Ne, u64::from(std::process::id()))])?]);
    refused.insert(libc::SYS_fcntl, one_of(1, &[F_SETOWN, F_SETOWN_EX, F_SETSIG])?);
    refused.insert(libc::SYS_ioctl, one_of(1, &[FIOSETOWN, SIOCSPGRP])?);
    if matches!(reach, ProcessNeeds::Nothing) {
        refused.extend(REFUSED_TO_COMPUTE.map(|call| (call, Vec::new())));
        #[cfg(target_arch = "x86_64")]
        refused.extend(OLD_AND_REFUSED_TO_COMPUTE.map(|call| (call, Vec::new())));
        for call in [libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_pkey_mprotect] {
            refused.insert(call, vec![when(&[(2, Is::MaskedEq(PROT_EXEC), PROT_EXEC)])?]);
        }
    }
    #[cfg(target_arch = "x86_64")]
    {
        refused.extend([libc::SYS_fork, libc::SYS_vfork].map(|call| (call, Vec::new())));
        // The same calls under their x32 numbers, and the calls that only x32 has.
        let others = refused.keys().copied().chain(512..=547).map(|call| call | X32).collect::<Vec<_>>();
        refused.extend(others.into_iter().map(|call| (call, Vec::new())));
    }
    // A filter cannot inspect the arguments of `clone3`. On `ENOSYS`, the C library falls back to `clone`.
    let unknown: SyscallRules = [(libc::SYS_clone3, Vec::new())].into();
    Ok([program(unknown, libc::ENOSYS)?, program(refused, libc::EPERM)?])
}

fn program(refused: SyscallRules, error: i32) -> Result<BpfProgram, BackendError> {
    let error = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(refused, SeccompAction::Allow, error, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// Matches sockets other than internet streams. For internet streams, Landlock restricts the destinations.
fn other_sockets() -> Result<Vec<SeccompRule>, BackendError> {
    const KIND: u64 = 0xf;
    let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP];
    let of_kind = |kind: i32| when(&[(1, Is::MaskedEq(KIND), u64::from(kind.unsigned_abs()))]);
    let family = |family: i32| u64::from(family.unsigned_abs());
    let others = when(&[(0, Is::Ne, family(libc::AF_INET)), (0, Is::Ne, family(libc::AF_INET6))]);
    kinds.into_iter().map(of_kind).chain([others]).collect()
}

/// Matches `clone` calls that create a process instead of a thread.
fn other_processes() -> Result<Vec<SeccompRule>, BackendError> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    Ok(vec![when(&[(0, Is::MaskedEq(thread), 0)])?])
}

/// Matches if this argument has one of these values.
fn one_of(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, BackendError> {
    values.iter().map(|value| when(&[(argument, Is::Eq, *value)])).collect()
}

/// Matches if all conditions on the arguments hold.
fn when(conditions: &[(u8, Is, u64)]) -> Result<SeccompRule, BackendError> {
    let of = |(argument, operator, value): &(u8, Is, u64)| {
        SeccompCondition::new(*argument, Length::Dword, operator.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(of).collect::<Result<_, _>>()?)
}
