//! Undo files: changes to the host are recorded before they are made, and are undone when the
//! process ends in any way.
//!
//! Nearly everything that the live path creates ends with a descriptor. Other changes (a setting
//! below `/proc/sys`, an address that moved) are first written to an *undo file*, which gets its
//! name only once it is complete and on the disk. A [`Guardian`], a process that only waits for the
//! end of this one, restores the host from this file, even after `kill -9`. If the guardian is
//! killed as well, the file remains, and `goodqueue shape --undo FILE` does the same.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use goodqueue_tc::input::Input;
use nix::sys::signal::SigSet;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, setsid};

use crate::error::LiveError;
use crate::netlink::{self, Netlink, Restorable};
use crate::process::{self, Forked};

/// The previous state of the host.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Undo {
    /// The command that changes the host.
    pub by: String,
    /// Number of the process that changes it.
    process: u32,
    steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    /// A setting below `/proc/sys/net`, and its value.
    Setting(String, String),
    /// An address or a route of an interface, as the kernel listed it.
    Restore { interface: String, index: u32, what: Restorable, words: String, message: Vec<u8> },
}

impl Undo {
    /// Creates an empty record. `by` names the command that will change the host.
    #[must_use]
    pub fn by(by: &str) -> Self {
        Self { by: by.to_owned(), process: std::process::id(), steps: Vec::new() }
    }

    /// True if no change has to be undone.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Records the value of a setting below `/proc/sys/net`.
    ///
    /// # Errors
    /// The setting cannot be read.
    pub fn note_setting(&mut self, key: &str) -> Result<(), LiveError> {
        let value = fs::read_to_string(format!("{SETTINGS}/{key}"))
            .map_err(|error| LiveError::system(format_args!("net/{key} cannot be read"), error))?;
        self.steps.push(Step::Setting(key.to_owned(), value.trim().to_owned()));
        Ok(())
    }

    /// Records an address or a route of an interface.
    pub(crate) fn note(
        &mut self,
        interface: &str,
        index: u32,
        what: Restorable,
        words: &str,
        message: &[u8],
    ) {
        self.steps.push(Step::Restore {
            interface: interface.to_owned(),
            index,
            what,
            words: words.to_owned(),
            message: message.to_vec(),
        });
    }

    /// Writes the undo file: complete and on the disk, or not at all. Only this user can read it.
    ///
    /// # Errors
    /// The file exists, because its changes have not been undone, or it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), LiveError> {
        let failed = |error| {
            LiveError::system(format_args!("the undo file `{}` cannot be written", path.display()), error)
                .help("nothing was changed; choose another path with --undo-file")
        };
        if path.exists() {
            return Err(LiveError::new(format!("the undo file `{}` exists", path.display())).help(format!(
                "end the run that wrote it, or undo its changes first: goodqueue shape --undo {}",
                path.display()
            )));
        }
        let temporary = path.with_extension("tmp");
        // A process that was killed while it wrote left this file behind.
        let _ = fs::remove_file(&temporary);
        let written = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(self.text().as_bytes()).and_then(|()| file.sync_all()))
            // Unlike renaming, linking does not replace a file that appeared in the meantime.
            .and_then(|()| fs::hard_link(&temporary, path));
        let _ = fs::remove_file(&temporary);
        written.map_err(failed)?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            // The name must reach the disk as well.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }

    /// Returns the text of the undo file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "{FIRST_LINE}\n# {} made these changes; `goodqueue shape --undo FILE` undoes them.\nprocess {}\nboot {}\n",
            // A newline would end the remark, and `parse` would read the rest as a step.
            self.by.replace('\n', " "),
            self.process,
            boot()
        );
        for step in &self.steps {
            // Writing to a string cannot fail.
            let _ = match step {
                Step::Setting(key, value) => writeln!(text, "setting {key} {value}"),
                Step::Restore { interface, index, what, words, message } => {
                    let hex: String = message.iter().map(|byte| format!("{byte:02x}")).collect();
                    writeln!(text, "# {words}\n{} {interface} {index} {hex}", what.name())
                }
            };
        }
        text.push_str(LAST_LINE);
        text.push('\n');
        text
    }

    /// Reads an undo file.
    ///
    /// # Errors
    /// It is not an undo file, another user could have written it, or it is incomplete.
    pub fn read(path: &Path) -> Result<Self, LiveError> {
        let name = path.display();
        let unreadable =
            |error| LiveError::system(format_args!("the undo file `{name}` cannot be read"), error);
        let mut file = Input::open(path, LARGEST_FILE).map_err(unreadable)?;
        // Its contents are applied with all privileges, so no other user may have written them.
        let about = file.about().map_err(unreadable)?;
        if !about.is_file() {
            return Err(LiveError::new(format!("the undo file `{name}` is not a regular file")));
        }
        if about.uid() != nix::unistd::Uid::effective().as_raw() || about.mode() & 0o022 != 0 {
            return Err(LiveError::new(format!("`{name}` could have been written by another user"))
                .help("an undo file must belong to the user who runs this, and only that user may have write permission"));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unreadable)?;
        Self::parse(&text)
            .map_err(|(line, problem)| LiveError::new(format!("`{name}`, line {line}: {problem}")))
    }

    /// Returns the settings below `/proc/sys/net` that it restores, with their values.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Setting(key, value) => Some((key.as_str(), value.as_str())),
            Step::Restore { .. } => None,
        })
    }

    /// Parses the text of an undo file.
    ///
    /// # Errors
    /// The line and the problem, if this is not an undo file, is incomplete, or asks for anything
    /// other than an undo.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = (1..).zip(text.lines().map(str::trim));
        if lines.next().map(|line| line.1) != Some(FIRST_LINE) {
            return Err((1, "this is not an undo file of goodqueue".to_owned()));
        }
        let mut undo = Self::default();
        let mut words = String::new();
        for (number, line) in lines {
            let wrong = |what: &str| (number, what.to_owned());
            // The longest line has four fields.
            let mut fields = line.splitn(4, ' ');
            let mut field = || fields.next().unwrap_or_default();
            match field() {
                "" => {}
                LAST_LINE => return Ok(undo),
                // The remark in front of a step describes it.
                "#" => words = line.trim_start_matches(['#', ' ']).to_owned(),
                "boot" if field() != boot() => {
                    return Err(wrong(
                        "the machine has been rebooted since, which undid the changes: remove the file",
                    ));
                }
                "boot" => {}
                "process" => {
                    undo.process =
                        field().parse().map_err(|_| wrong("this is not the number of a process"))?;
                }
                "setting" => {
                    let key = field();
                    let value = field();
                    if !is_changed(key) || value.is_empty() || !value.bytes().all(|c| c.is_ascii_digit()) {
                        return Err(wrong("goodqueue does not change this setting"));
                    }
                    undo.steps.push(Step::Setting(key.to_owned(), value.to_owned()));
                }
                name => {
                    let what =
                        Restorable::named(name).ok_or_else(|| wrong("this kind of change is unknown"))?;
                    let interface = field().to_owned();
                    let index = field();
                    let hex = field();
                    let index = index.parse().map_err(|_| wrong("this is not the index of an interface"))?;
                    let message = bytes(hex).ok_or_else(|| wrong("these are not hexadecimal bytes"))?;
                    let words = std::mem::take(&mut words);
                    undo.steps.push(Step::Restore { interface, index, what, words, message });
                }
            }
        }
        Err((text.lines().count(), "the file ends too early".to_owned()))
    }

    /// Restores everything. Returns one sentence for each step: restored, or why not.
    #[must_use]
    pub fn apply(&self) -> Vec<Result<String, String>> {
        let mut netlink = Netlink::open().map_err(|error| error.to_string());
        self.steps
            .iter()
            .map(|step| match step {
                Step::Setting(key, value) => set(&format!("{SETTINGS}/{key}"), value)
                    .map(|()| format!("net/{key} is {value} again"))
                    .map_err(|error| format!("net/{key} cannot be set to {value}: {error}")),
                Step::Restore { interface, index, what, words, message } => {
                    let now = netlink::index_of(interface).map_err(|error| error.problem().to_owned())?;
                    if now != *index {
                        return Err(format!(
                            "`{interface}` has been replaced by another interface: {words} is not restored"
                        ));
                    }
                    netlink
                        .as_mut()
                        .map_err(|error| error.clone())?
                        .restore(*what, message)
                        .map(|()| format!("restored: {words}"))
                        .map_err(|error| format!("{words}: {}", error.problem()))
                }
            })
            .collect()
    }
}

/// Writes a setting, unless it has the value already, which needs no privilege.
fn set(path: &str, value: &str) -> std::io::Result<()> {
    if fs::read_to_string(path)?.trim() == value {
        return Ok(());
    }
    fs::write(path, value)
}

/// Restores the host from the undo file at `path`, and removes the file on success.
///
/// # Errors
/// The file cannot be read, or a step failed. The file stays then.
pub fn undo(path: &Path) -> Result<Vec<String>, LiveError> {
    let outcomes = Undo::read(path)?.apply();
    let wrong: Vec<String> = outcomes.iter().filter_map(|outcome| outcome.clone().err()).collect();
    if !wrong.is_empty() {
        return Err(LiveError::new(format!("some changes could not be undone: {}", wrong.join("; ")))
            .help(format!("the undo file `{}` is kept", path.display())));
    }
    fs::remove_file(path)
        .map_err(|error| LiveError::system(format_args!("`{}` cannot be removed", path.display()), error))?;
    Ok(outcomes.into_iter().flatten().collect())
}

/// A process that waits for the end of this one and then restores the host from an undo file.
///
/// It has its own session, so signals from a terminal do not reach it. Its only capability is the
/// one to change the network. It inherits all descriptors that are open at its start.
#[derive(Debug)]
pub struct Guardian {
    pipe: Option<OwnedFd>,
    pid: Pid,
    path: PathBuf,
}

impl Guardian {
    /// Starts the guardian of the undo file at `path`. The file is written after this, so there is
    /// no moment in which nobody would undo its changes. The process must have one thread only.
    ///
    /// # Errors
    /// The system refuses the process.
    pub fn start(path: &Path) -> Result<Self, LiveError> {
        let failed = |error: std::io::Error| {
            LiveError::system("the process that undoes changes cannot be started", error)
        };
        let path = std::path::absolute(path).map_err(failed)?;
        let (read, write) = std::io::pipe().map_err(failed)?;
        let (ready_read, ready_write) = std::io::pipe().map_err(failed)?;
        let read = OwnedFd::from(read);
        let write = OwnedFd::from(write);
        let mut ready_read = File::from(OwnedFd::from(ready_read));
        let guarded = std::process::id();
        match process::fork().map_err(|errno| failed(errno.into()))? {
            Forked::Child => {
                // The pipe ends only when all copies of its writing end are closed.
                drop((write, ready_read));
                let ready = File::from(OwnedFd::from(ready_write));
                process::leave(i32::from(!guard(File::from(read), ready, guarded, &path)))
            }
            Forked::Parent(pid) => {
                // While a copy is open here, the end of the guardian would not show.
                drop((read, ready_write));
                // Fails if the guardian could not prepare itself. Nothing has to be undone then.
                ready_read.read_exact(&mut [0]).map_err(failed)?;
                Ok(Self { pipe: Some(write), pid, path })
            }
        }
    }

    /// Returns the path of the undo file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Guardian {
    /// Waits until the host is restored.
    fn drop(&mut self) {
        // Closing the pipe is the sign for the guardian to begin.
        self.pipe = None;
        let _ = waitpid(self.pid, None);
    }
}

fn guard(mut pipe: File, mut ready: File, guarded: u32, path: &Path) -> bool {
    // In a session of its own, a hangup or Ctrl-C of the terminal does not reach it.
    let _ = setsid();
    // Signals that ask for the end are ignored, because it ends as soon as the other process does.
    let _ = SigSet::all().thread_set_mask();
    let _ = process::be_called("gq-undo");
    let keep: caps::CapsHashSet = [caps::Capability::CAP_NET_ADMIN].into_iter().collect();
    // Effective capabilities must be permitted ones (capabilities(7)), so they go first.
    for set in [caps::CapSet::Effective, caps::CapSet::Permitted] {
        let _ = caps::set(None, set, &keep);
    }
    let _ = nix::sys::prctl::set_no_new_privs();
    if ready.write_all(&[1]).is_err() {
        return false;
    }
    drop(ready);
    // Nobody writes to the pipe. It ends with the other process.
    while pipe.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::Interrupted) {}
    // A process that is killed while it writes leaves the temporary file behind.
    let _ = fs::remove_file(path.with_extension("tmp"));
    // An undo file of another process is left alone.
    !Undo::read(path).is_ok_and(|undo| undo.process == guarded) || undo(path).is_ok()
}

/// True of the settings that goodqueue changes: the forwarding of one interface, and no path to
/// anything else.
fn is_changed(key: &str) -> bool {
    let mut parts = key.split('/');
    let family_is_known = ["ipv4", "ipv6"].map(Some).contains(&parts.next());
    let is_of_interfaces = parts.next() == Some("conf");
    let names_one = parts.next().is_some_and(|name| !["", ".", ".."].contains(&name));
    family_is_known
        && is_of_interfaces
        && names_one
        && parts.next() == Some("forwarding")
        && parts.next().is_none()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks(2)
        .map(|two| std::str::from_utf8(two).ok().and_then(|two| u8::from_str_radix(two, 16).ok()))
        .collect()
}

/// Returns the identifier of this boot of the machine.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Returns the default path of an undo file, below `/run`: the file disappears at the next boot, as
/// its changes do.
#[must_use]
pub fn default_path(name: &str) -> PathBuf {
    let run = Path::new("/run");
    let folder = if nix::unistd::access(run, nix::unistd::AccessFlags::W_OK).is_ok() {
        run.to_owned()
    } else {
        std::env::temp_dir()
    };
    folder.join(format!("goodqueue-{name}.undo"))
}

const SETTINGS: &str = "/proc/sys/net";
const FIRST_LINE: &str = "goodqueue undo 1";
const LAST_LINE: &str = "end";
/// Bytes of an undo file: enough for ten thousand routes.
const LARGEST_FILE: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Undo {
        let mut undo = Undo::by("a test");
        undo.steps.push(Step::Setting("ipv4/conf/lo/forwarding".to_owned(), "0".to_owned()));
        // The beginning of a `struct ifaddrmsg`: AF_INET, prefix length, IFA_F_PERMANENT,
        // RT_SCOPE_HOST.
        undo.note("lo", 1, Restorable::Address, "address 127.0.0.1/8 of lo", &[2, 8, 0x80, 254]);
        undo
    }

    #[test]
    fn an_undo_file_is_read_back_and_only_if_it_is_complete() {
        let folder = std::env::temp_dir().join(format!("goodqueue-undo-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("undo");
        some().write(&path).unwrap();
        let read = Undo::read(&path).unwrap();
        assert_eq!(read.steps, some().steps);
        let again = some().write(&path).unwrap_err().to_string();
        assert!(again.contains("exists") && again.contains("--undo"), "{again}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
        let text = fs::read_to_string(&path).unwrap();
        for end in 0..text.len() - LAST_LINE.len() - 1 {
            assert!(Undo::parse(&text[..end]).is_err(), "{end} bytes are incomplete");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn an_undo_file_can_do_nothing_but_undo() {
        let file = |line: &str| format!("{FIRST_LINE}\n{line}\n{LAST_LINE}\n");
        for line in [
            "setting core/bpf_jit_enable 1",
            "setting ipv4/conf/../../kernel/panic 1",
            "setting ipv4/conf/lo/forwarding $(reboot)",
            "setting ipv4/conf/lo/forwarding +1",
            "setting ipv4/conf/lo/forwarding",
            "setting ipv4/conf//forwarding 1",
            "setting ipv4/conf/./forwarding 1",
            "setting ipv4/conf/lo/accept_redirects 1",
            "setting ipv4/conf/lo/forwarding/x 1",
            "setting ipv4/conf/lo 1",
            "link lo 1 00",
            "address lo x 00",
            "address lo 1 0",
            "boot yesterday",
            "rm -rf /",
        ] {
            assert!(Undo::parse(&file(line)).is_err(), "{line}");
        }
        assert!(Undo::parse(&file("setting ipv4/conf/lo/forwarding 0")).is_ok());
    }

    #[test]
    fn a_file_that_other_users_may_write_is_not_applied() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("goodqueue-undo-open-{}", std::process::id()));
        some().write(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let refused = Undo::read(&path).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert!(refused.contains("another user"), "{refused}");
    }
}
