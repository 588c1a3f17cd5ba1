//! Child processes that end with this one.

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::waitpid;
pub use nix::unistd::Pid;

/// The two returns of a fork.
#[derive(Clone, Copy, Debug)]
pub enum Forked {
    /// This is the child.
    Child,
    /// This is the parent; the child's number follows.
    Parent(Pid),
}

/// Forks this process.
///
/// # Errors
/// `EINVAL` if this process has several threads: the child could inherit locks that nobody
/// releases. Errors of the system otherwise.
#[expect(unsafe_code, reason = "there is no safe fork")]
pub fn fork() -> nix::Result<Forked> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count());
    if threads > 1 {
        return Err(nix::errno::Errno::EINVAL);
    }
    // SAFETY: the process has one thread, so no lock is held by another thread and all memory is in
    // a consistent state.
    match unsafe { nix::unistd::fork() }? {
        nix::unistd::ForkResult::Child => Ok(Forked::Child),
        nix::unistd::ForkResult::Parent { child } => Ok(Forked::Parent(child)),
    }
}

/// Forks this process. The kernel kills the child when this process ends, however early and in
/// whatever way.
///
/// # Errors
/// As for [`fork`].
pub fn fork_together() -> nix::Result<Forked> {
    let parent = nix::unistd::getpid();
    let forked = fork()?;
    if matches!(forked, Forked::Child) {
        let asked = die_with_parent();
        // If the parent ended before the request took effect, the kernel would not kill this
        // process.
        if asked.is_err() || nix::unistd::getppid() != parent {
            leave(1);
        }
    }
    Ok(forked)
}

/// Forks this process into a new process namespace. When the child ends, the kernel kills all
/// processes in the namespace. Without process namespaces this is a plain fork.
///
/// (After `unshare` and a fork, this process could not start a second thread.)
///
/// # Errors
/// As for [`fork`].
#[expect(unsafe_code, reason = "there is no safe clone3")]
pub fn fork_into_namespace() -> nix::Result<Forked> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count());
    if threads > 1 {
        return Err(nix::errno::Errno::EINVAL);
    }
    // SAFETY: `clone_args` holds integers only, and 0 disables each option.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = u64::from(libc::CLONE_NEWPID.cast_unsigned());
    arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    // SAFETY: `arguments` has the given size and outlives the call. Without its own stack and
    // without shared memory the child is a copy as after fork(2), and with one thread no lock is
    // held by another one.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    match i32::try_from(pid) {
        Ok(0) => Ok(Forked::Child),
        Ok(child) if child > 0 => Ok(Forked::Parent(Pid::from_raw(child))),
        _ => fork(),
    }
}

/// Waits for the end of a child. Until its parent does so, a process that has ended keeps its
/// number and its entry in process lists.
pub fn reap(child: Pid) {
    // Any other error means that there is no such child.
    while waitpid(child, None) == Err(nix::errno::Errno::EINTR) {}
}

/// Asks the kernel to kill this process when its parent ends, in whatever way.
///
/// # Errors
/// The system refuses.
pub fn die_with_parent() -> nix::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
}

/// Prevents other processes, including those of the same user, from copying this process's
/// descriptors and reading its memory. Programs that it starts are not protected.
///
/// # Errors
/// The system refuses.
pub fn keep_others_out() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)
}

/// True if this process ignores a signal, as programs that `nohup` starts ignore SIGHUP.
pub(crate) fn ignores(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    // Signal n has bit n - 1 (proc_pid_status(5)).
    mask.is_some_and(|mask| mask & 1 << (signal as i32 - 1) != 0)
}

/// A choice of descriptors to close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Descriptors {
    /// Descriptors that a program would not inherit. Descriptors that the caller opened for the
    /// program stay open.
    Ours,
    /// All except standard input, output and error.
    All,
}

/// Closes descriptors of this process, except those in `kept`.
///
/// # Errors
/// The list of descriptors cannot be read.
///
/// # Safety
/// No owner of a closed descriptor may be used or dropped afterwards. The process must end with
/// [`leave`], without returning to code that holds such owners.
#[expect(unsafe_code, reason = "descriptors of unknown owners are closed")]
pub(crate) unsafe fn close_descriptors(which: Descriptors, kept: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut open: Vec<RawFd> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    // The list contains the descriptor that read it. That one is closed by now, so both calls below
    // fail and change nothing.
    for number in open {
        if number <= libc::STDERR_FILENO || kept.iter().any(|kept| kept.as_raw_fd() == number) {
            continue;
        }
        // SAFETY: both calls take any number. The caller promises that nothing relies on the
        // descriptor.
        unsafe {
            let flags = libc::fcntl(number, libc::F_GETFD);
            if which == Descriptors::All || flags & libc::FD_CLOEXEC != 0 {
                libc::close(number);
            }
        }
    }
    Ok(())
}

/// Makes a program start with no signal blocked, as a shell would. This process blocks some.
#[expect(unsafe_code, reason = "code between fork and exec is unsafe")]
pub fn as_if_from_a_shell(command: &mut Command) -> &mut Command {
    // SAFETY: setting the signal mask is async-signal-safe (signal-safety(7)), and nothing else is
    // done.
    unsafe { command.pre_exec(|| Ok(SigSet::empty().thread_set_mask()?)) }
}

/// Sets the name of this process in process lists, at most 15 bytes.
///
/// # Errors
/// The system refuses.
pub fn be_called(name: &str) -> nix::Result<()> {
    let name = std::ffi::CString::new(name).map_err(|_| nix::errno::Errno::EINVAL)?;
    nix::sys::prctl::set_name(&name)
}

/// Gives this thread a real-time priority, if this process has the privilege, so that packets leave
/// on time. Children do not inherit it. The kernel reserves 5 % of the time for other processes
/// (`sched_rt_runtime_us`). Returns true on success.
pub fn run_promptly() -> bool {
    schedule(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK)
}

/// Like [`run_promptly`], but threads that this thread starts inherit the priority.
pub fn run_all_promptly() -> bool {
    schedule(libc::SCHED_RR)
}

#[expect(unsafe_code, reason = "there is no safe sched_setscheduler")]
fn schedule(policy: libc::c_int) -> bool {
    // The kernel's `sched_param`. The function of musl, with which static programs are built,
    // always fails.
    // Any real-time priority comes before all ordinary processes (sched(7)), so the lowest is
    // enough.
    let lowest: libc::c_int = 1;
    // SAFETY: 0 stands for this thread, and `lowest` outlives the call.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const lowest) == 0 }
}

/// Ends this process at once. Buffers and files that it shares with its parent are not touched.
#[expect(unsafe_code, reason = "there is no safe way to end a process without its exit handlers")]
pub fn leave(code: i32) -> ! {
    // SAFETY: `_exit` takes any number and does not return.
    unsafe { libc::_exit(code) }
}
