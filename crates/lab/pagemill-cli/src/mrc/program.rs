//! The program that is to be recorded.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// What a program that the emulator runs begins with.
const ELF: [u8; 4] = *b"\x7fELF";

/// The file of the program that the words call.
pub fn find_program(words: &[OsString]) -> Result<PathBuf, Failure> {
    let name = words.first().map_or(OsStr::new(""), OsString::as_os_str);
    let folder = std::env::current_dir()
        .map_err(|error| Failure::Run(format!("cannot tell the current folder: {error}")))?;
    let path = find(name, &folder)
        .ok_or_else(|| Failure::Usage(format!("there is no program {}", name.to_string_lossy())))?;
    let mut start = [0; 4];
    let read = std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_err() || start != ELF {
        return Err(Failure::Usage(format!(
            "{} is a script, or cannot be read: name the program that interprets it, with the script as its argument",
            path.display()
        )));
    }
    Ok(path)
}

/// As a shell would find it.
fn find(name: &OsStr, folder: &Path) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(folder.join(name)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|place| folder.join(place).join(name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let root = Path::new("/");
        assert!(find(OsStr::new("sh"), root).is_some());
        assert_eq!(find(OsStr::new("bin/sh"), root), Some("/bin/sh".into()));
        assert_eq!(find(OsStr::new("./no-such-program"), root), None);
        assert_eq!(find(OsStr::new("no-such-program-anywhere"), root), None);
    }
}
