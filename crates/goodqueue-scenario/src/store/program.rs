//! The program whose results are kept, as a checksum of the file that holds its code.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::checksum::Checksum;

/// A checksum of the file that holds this code: a program, or a library that an interpreter loaded.
/// The file is read once.
pub(super) fn checksum() -> io::Result<u64> {
    static KNOWN: OnceLock<u64> = OnceLock::new();
    match KNOWN.get() {
        Some(known) => Ok(*known),
        // The function of `get_or_init` cannot fail. Threads that read at the same time get the
        // same sum.
        None => read_checksum().map(|sum| *KNOWN.get_or_init(|| sum)),
    }
}

fn read_checksum() -> io::Result<u64> {
    let mut file = File::open(place()?)?;
    let mut bytes = Vec::new();
    let mut sum = Checksum::default();
    loop {
        bytes.clear();
        // A multiple of the 32 bytes that `Checksum` wants of all pieces but the last.
        if file.by_ref().take(1 << 20).read_to_end(&mut bytes)? == 0 {
            return Ok(sum.finish());
        }
        sum.add(&bytes);
    }
}

fn place() -> io::Result<PathBuf> {
    if !cfg!(target_os = "linux") {
        return std::env::current_exe();
    }
    // The kernel's own link to the program leads there even after the file was replaced.
    let program = PathBuf::from("/proc/self/exe");
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let here = checksum as *const () as usize;
    match file_at(&maps, here) {
        // A Python interpreter loads this code as a library, whose file counts then.
        Some(library) if fs::read_link(&program).ok().as_deref() != Some(library) => Ok(library.to_owned()),
        _ => Ok(program),
    }
}

/// Returns the file that is mapped at this address, from the text of `/proc/self/maps`.
fn file_at(maps: &str, address: usize) -> Option<&Path> {
    maps.lines().find_map(|line| {
        let mut fields = line.splitn(6, ' ');
        let (begin, end) = fields.next()?.split_once('-')?;
        let bound = |text: &str| usize::from_str_radix(text, 16).ok();
        // Behind permissions, offset, device and inode.
        let file = fields.nth(4)?.trim_start();
        let has_address = (bound(begin)?..bound(end)?).contains(&address);
        (has_address && file.starts_with('/')).then_some(Path::new(file))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_a_library_is_that_of_the_library_and_not_of_the_interpreter() {
        let maps = "1000-3000 r-xp 00000000 fe:00 17                     /usr/bin/python3\n\
                    4000-5000 rw-p 00000000 00:00 0 \n\
                    7000-9000 r-xp 00003000 fe:00 18                     /venv/lib of mine/_goodqueue.so\n";
        assert_eq!(file_at(maps, 0x1800), Some(Path::new("/usr/bin/python3")));
        assert_eq!(file_at(maps, 0x8fff), Some(Path::new("/venv/lib of mine/_goodqueue.so")));
        assert_eq!((file_at(maps, 0x4800), file_at(maps, 0x9000)), (None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_is_its_own_file() {
        assert_eq!(place().unwrap(), Path::new("/proc/self/exe"));
    }
}
