use std::io::{Error, Result, Write};
use std::path::PathBuf;

/// The files of resctrl. Paths are relative to its root.
pub trait Tree: Send + std::fmt::Debug {
    /// The text of a file.
    ///
    /// # Errors
    /// The kernel refuses.
    fn read(&self, path: &str) -> Result<String>;

    /// Writes `text` in one system call, as the kernel wants it.
    ///
    /// # Errors
    /// The kernel refuses.
    fn write(&self, path: &str, text: &str) -> Result<()>;

    /// Makes a group.
    ///
    /// # Errors
    /// The kernel refuses; `ENOSPC` if there are too many.
    fn make_folder(&self, name: &str) -> Result<()>;

    /// Removes a group. Its tasks go to the default group.
    ///
    /// # Errors
    /// The kernel refuses.
    fn remove_folder(&self, name: &str) -> Result<()>;

    /// Names of the groups, and of the other folders beside them.
    ///
    /// # Errors
    /// The kernel refuses.
    fn folders(&self) -> Result<Vec<String>>;
}

/// A mounted file system.
#[derive(Clone, Debug)]
pub struct Mounted {
    root: PathBuf,
}

impl Mounted {
    /// What is mounted at `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
}

impl Tree for Mounted {
    fn read(&self, path: &str) -> Result<String> {
        std::fs::read_to_string(self.root.join(path))
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .open(self.root.join(path))?;
        match file.write(text.as_bytes())? {
            written if written == text.len() => Ok(()),
            _ => Err(Error::from(std::io::ErrorKind::WriteZero)),
        }
    }

    fn make_folder(&self, name: &str) -> Result<()> {
        std::fs::create_dir(self.root.join(name))
    }

    fn remove_folder(&self, name: &str) -> Result<()> {
        std::fs::remove_dir(self.root.join(name))
    }

    fn folders(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}
