//! Child processes that do not outlive us.

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;

/// Which of the two we are after a fork.
#[derive(Clone, Copy, Debug)]
pub enum Forked {
    /// The new process.
    Child,
    /// The old one, and who the new one is.
    Parent(Pid),
}

/// Makes a copy of this process.
///
/// # Errors
/// The system's; `EINVAL` if this process has more than one thread, because a copy of one of several could find locks
/// taken for ever.
#[expect(unsafe_code, reason = "there is no safe fork")]
pub fn fork() -> nix::Result<Forked> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count());
    if threads > 1 {
        return Err(nix::errno::Errno::EINVAL);
    }
    // SAFETY: the process has one thread, so every lock and all of memory is in a state in which this thread left it.
    match unsafe { nix::unistd::fork() }? {
        nix::unistd::ForkResult::Child => Ok(Forked::Child),
        nix::unistd::ForkResult::Parent { child } => Ok(Forked::Parent(child)),
    }
}

/// Makes a copy of this process that is killed when this one ends, however early and in whatever way.
///
/// # Errors
/// As [`fork`].
pub fn fork_together() -> nix::Result<Forked> {
    let parent = nix::unistd::getpid();
    let forked = fork()?;
    if matches!(forked, Forked::Child) {
        let asked = die_with_parent();
        // If it ended before it was asked to take us along, nobody will.
        if asked.is_err() || nix::unistd::getppid() != parent {
            leave(1);
        }
    }
    Ok(forked)
}

/// Makes a copy of this process that is the first one of a process namespace: when it ends, all in there end. Where there
/// are no process namespaces it is a mere copy.
///
/// (`unshare` and a fork would do the same, but after it this process could have no second thread.)
///
/// # Errors
/// As [`fork`].
#[expect(unsafe_code, reason = "there is no safe clone3")]
pub fn fork_into_namespace() -> nix::Result<Forked> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count());
    if threads > 1 {
        return Err(nix::errno::Errno::EINVAL);
    }
    // SAFETY: `clone_args` holds integers only, for which 0 means "nothing of the kind".
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = u64::from(libc::CLONE_NEWPID.cast_unsigned());
    arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    // SAFETY: `arguments` outlives the call and has the size given. Without a stack of its own and without shared memory the
    // child is a copy as after fork(2), and with one thread there is no lock that another one holds.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    match i32::try_from(pid) {
        Ok(0) => Ok(Forked::Child),
        Ok(child) if child > 0 => Ok(Forked::Parent(Pid::from_raw(child))),
        _ => fork(),
    }
}

/// Asks the kernel to kill this process when its parent ends, however that comes about.
///
/// # Errors
/// The system's.
pub fn die_with_parent() -> nix::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
}

/// Keeps other processes, those of the same user included, from taking this process's descriptors and from reading its
/// memory. Programs that it starts are as accessible as any.
///
/// # Errors
/// The system's.
pub fn keep_others_out() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)
}

/// Which descriptors are closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Descriptors {
    /// Those that a program does not inherit. Those that the caller opened for the program stay open.
    Ours,
    /// All but standard input, output and error.
    All,
}

/// Closes descriptors of this process, except those in `kept`.
///
/// # Errors
/// The list of descriptors cannot be read.
///
/// # Safety
/// No owner of a closed descriptor is used or dropped afterwards: the process must end with [`leave`], without returning to
/// code that holds such owners.
#[expect(unsafe_code, reason = "descriptors of unknown owners are closed")]
pub(crate) unsafe fn close_descriptors(which: Descriptors, kept: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut open: Vec<RawFd> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    for number in open {
        if number <= libc::STDERR_FILENO || kept.iter().any(|kept| kept.as_raw_fd() == number) {
            continue;
        }
        // SAFETY: both calls take any number. The caller promises that nobody relies on the descriptor.
        unsafe {
            let flags = libc::fcntl(number, libc::F_GETFD);
            if which == Descriptors::All || flags & libc::FD_CLOEXEC != 0 {
                libc::close(number);
            }
        }
    }
    Ok(())
}

/// Lets a program begin with no signal blocked, as it would from a shell: ours are.
#[expect(unsafe_code, reason = "what is done between fork and exec is so")]
pub fn as_if_from_a_shell(command: &mut Command) -> &mut Command {
    // SAFETY: setting the signal mask is async-signal-safe (signal-safety(7)) and nothing else is done.
    unsafe { command.pre_exec(|| Ok(SigSet::empty().thread_set_mask()?)) }
}

/// Gives this process a name that lists of processes show: 15 bytes.
///
/// # Errors
/// The system's.
pub fn be_called(name: &str) -> nix::Result<()> {
    let name = std::ffi::CString::new(name).map_err(|_| nix::errno::Errno::EINVAL)?;
    nix::sys::prctl::set_name(&name)
}

/// Lets this thread run before others when a packet is due, if we have the right to ask for it. Its children do not
/// inherit it; the kernel keeps 5 % of the time for everybody else (`sched_rt_runtime_us`).
pub fn run_promptly() -> bool {
    schedule(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK)
}

/// The same for this thread and those that it starts.
pub fn run_all_promptly() -> bool {
    schedule(libc::SCHED_RR)
}

#[expect(unsafe_code, reason = "there is no safe sched_setscheduler")]
fn schedule(policy: libc::c_int) -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 is this thread, and `lowest` outlives the call.
    unsafe { libc::sched_setscheduler(0, policy, &raw const lowest) == 0 }
}

/// Ends this process at once: nothing that it has in common with its parent (buffers, files to remove) is touched.
#[expect(unsafe_code, reason = "there is no safe way to end a process without its exit handlers")]
pub fn leave(code: i32) -> ! {
    // SAFETY: `_exit` takes any number and does not return.
    unsafe { libc::_exit(code) }
}
