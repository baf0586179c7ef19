//! Where the libraries are that the command gives to other programs, and the emulator that it runs some in.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Folders as seen from the command's: cargo's own, whose libraries are always of the same build as the command; the command's;
/// and where packages put them.
const FOLDERS: [&str; 3] = ["deps", ".", "../lib/pagemill"];

/// There is no such library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoLibrary {
    name: String,
    searched: Vec<PathBuf>,
}

impl fmt::Display for NoLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let searched: Vec<String> = self
            .searched
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        write!(
            f,
            "{} is not in {}; `cargo build --release` makes it",
            self.name,
            searched.join(", ")
        )
    }
}

impl std::error::Error for NoLibrary {}

impl From<NoLibrary> for io::Error {
    fn from(error: NoLibrary) -> Self {
        Self::new(io::ErrorKind::NotFound, error)
    }
}

/// The library with the file name `name` that belongs to this command.
///
/// # Errors
/// It is in none of the places where cargo and packages put libraries, or this command's own place is not known.
pub fn find(name: &str) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?.canonicalize()?;
    Ok(find_of(&own, name)?)
}

/// As [`find`], for the command `executable`.
///
/// # Errors
/// It is in none of these places.
pub fn find_of(executable: &Path, name: &str) -> Result<PathBuf, NoLibrary> {
    let folder = executable.parent().unwrap_or(Path::new("."));
    let searched: Vec<PathBuf> = FOLDERS.map(|place| folder.join(place)).into();
    let places = searched.iter().map(|folder| folder.join(name));
    let found = places.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| NoLibrary {
        name: name.to_owned(),
        searched,
    })
}

/// QEMU's user mode for this computer's processor.
pub const EMULATOR: &str = if cfg!(target_arch = "aarch64") {
    "qemu-aarch64"
} else {
    "qemu-x86_64"
};

/// Where [`EMULATOR`] is.
///
/// # Errors
/// It is not in `PATH`, though `user` needs it.
pub fn emulator(user: &str) -> Result<PathBuf, String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(EMULATOR));
    let found = paths.find_map(|path| path.canonicalize().ok());
    found.ok_or_else(|| {
        format!("{user} needs {EMULATOR}, which is not in PATH: sudo apt-get install qemu-user")
    })
}

/// Version of glibc as text, `2.36`, if it is this machine's C library.
pub fn glibc_version() -> Option<&'static str> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the function returns a constant string that ends with a zero byte.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        version.to_str().ok()
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

#[cfg(test)]
mod tests;
