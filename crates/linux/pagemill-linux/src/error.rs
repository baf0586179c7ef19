use std::io;

/// A request to the kernel that failed: what was asked, what the kernel said, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}{}", hint_text(.hint))]
pub struct OsError {
    what: String,
    #[source]
    source: io::Error,
    hint: Option<String>,
}

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, OsError>;

fn hint_text(hint: &Option<String>) -> String {
    hint.as_ref()
        .map_or(String::new(), |hint| format!("; {hint}"))
}

impl OsError {
    /// An error of the kernel, in the course of `what`, such as `map 4 pages of 2 MiB`.
    pub fn new(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self {
            what: format!("cannot {}", what.into()),
            source: source.into(),
            hint: None,
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What the kernel said.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// The kernel's error number, if it was the kernel that failed.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }

    /// Whether there were too few free huge pages.
    pub fn is_out_of_pages(&self) -> bool {
        matches!(self.errno(), Some(libc::ENOMEM | libc::ENOSPC))
    }
}
