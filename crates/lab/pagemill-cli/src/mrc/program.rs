//! The program that is to be recorded: where it is here, and how the guest's shell runs it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::shell::quoted;

/// A dynamically linked program with its arguments.
pub struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
    folder: PathBuf,
}

impl Program {
    /// The program that the words call.
    pub fn find(words: &[OsString]) -> Result<Self, Failure> {
        let (name, arguments) = words
            .split_first()
            .ok_or_else(|| Failure::Usage("no program to run".to_owned()))?;
        let folder = std::env::current_dir()
            .map_err(|error| Failure::Run(format!("cannot tell the current folder: {error}")))?;
        let path = find(name, &folder).ok_or_else(|| {
            Failure::Usage(format!("there is no program {}", name.to_string_lossy()))
        })?;
        let linked = Command::new("ldd").arg(&path).output();
        if !linked.is_ok_and(|linked| linked.status.success()) {
            return Err(Failure::Usage(format!(
                "{} is a script, or has no shared libraries: its malloc cannot be replaced; name a dynamically linked program",
                path.display()
            )));
        }
        Ok(Self {
            path,
            arguments: arguments.to_vec(),
            folder,
        })
    }

    /// Its name for people.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// What the guest needs to have: the program, and the files that its arguments name.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let named = self.arguments.iter().map(|word| self.folder.join(word));
        let named = named.filter(|path| path.is_file());
        std::iter::once(self.path.clone()).chain(named)
    }

    /// Shell commands that run it while it is watched. Its heap is in a space of the module, of all colors.
    pub fn script(&self, has_stdin: bool) -> Vec<u8> {
        let folder = quoted(self.folder.as_os_str());
        let mut script = b"export HOME=/tmp\nstty -F /dev/ttyS2 raw -echo\nmkdir -p ".to_vec();
        script.extend([&folder[..], b"\ncd ", &folder, b"\ncache_count begin\n"].concat());
        script.extend(b"LD_PRELOAD=/lib/libpagemill_color_preload.so ");
        for word in std::iter::once(self.path.as_os_str())
            .chain(self.arguments.iter().map(OsString::as_os_str))
        {
            script.extend(quoted(word));
            script.push(b' ');
        }
        let stdin = if has_stdin {
            "/suite/stdin"
        } else {
            "/dev/null"
        };
        script.extend(format!("<{stdin} >/dev/ttyS2 2>&1\ncode=$?\n").as_bytes());
        script.extend(b"cache_count end program\nexit $code\n");
        script
    }
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
