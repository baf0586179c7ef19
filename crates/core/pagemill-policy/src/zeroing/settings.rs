use std::fmt;

use super::Mode;

/// How many clean pages are held in stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watermarks {
    /// With fewer clean pages than this, clearing starts.
    pub low_pages: usize,
    /// Once started, clearing goes on until so many pages are clean.
    pub high_pages: usize,
}

/// What a [`super::Ledger`] goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Settings {
    /// When pages are cleared, and by whom.
    pub mode: Mode,
    /// The stock of clean pages; modes that do not clear ahead have none.
    pub watermarks: Watermarks,
    /// Most pages that an engine is asked to clear at once; at least 1.
    pub batch_pages: usize,
}

/// Why settings make no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// A batch of nothing would never end.
    EmptyBatch,
    /// The low watermark lies above the high one.
    Crossed(Watermarks),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyBatch => write!(f, "a batch of 0 pages clears nothing: use 1 or more"),
            Self::Crossed(marks) => write!(
                f,
                "the low watermark of {} pages lies above the high one of {}: exchange them",
                marks.low_pages, marks.high_pages
            ),
        }
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Checks what no type can.
    ///
    /// # Errors
    /// An empty batch, or watermarks that cross.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.batch_pages == 0 {
            return Err(SettingsError::EmptyBatch);
        }
        if self.watermarks.low_pages > self.watermarks.high_pages {
            return Err(SettingsError::Crossed(self.watermarks));
        }
        Ok(())
    }
}
