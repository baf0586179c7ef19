mod ledger;
mod record;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use ledger::{Lacking, Want};
use record::Record;

use super::{HugeSize, Stock};
use crate::process::Identity;
use crate::{OsError, Result};

/// Huge pages that were added to the kernel's stock. They are taken away again when this is dropped; if the process is
/// killed before, the next process that adds or reclaims pages finds them on record and gives them back.
#[derive(Debug)]
pub struct Reserve {
    size: HugeSize,
    /// `None` once given back.
    name: Option<String>,
    notes: Vec<String>,
}

impl Reserve {
    /// Makes sure that `pages` can be allocated now. Adds only what lacks.
    ///
    /// # Errors
    /// Only root may, and memory in pieces of that size must be there.
    pub fn available(size: HugeSize, pages: usize) -> Result<Self> {
        Self::take(size, Want::Available(pages))
    }

    /// Adds `pages`, whatever is there: for users of a stock that share it with others that have yet to take theirs.
    ///
    /// # Errors
    /// As [`Reserve::available`].
    pub fn more(size: HugeSize, pages: usize) -> Result<Self> {
        Self::take(size, Want::More(pages))
    }

    /// Gives back what processes that were killed have added, and says so.
    ///
    /// # Errors
    /// Only root may.
    pub fn reclaim(size: HugeSize) -> Result<Vec<String>> {
        Stock::check_settable(size)?;
        let mut notes = Vec::new();
        ledger::give_back_dead(&mut Record::open(size)?, &new_name()?, &mut notes)?;
        Ok(notes)
    }

    fn take(size: HugeSize, want: Want) -> Result<Self> {
        Stock::check_settable(size)?;
        let name = new_name()?;
        let mut notes = Vec::new();
        let taken = ledger::take(&mut Record::open(size)?, &name, want, &mut notes)?;
        taken.map_err(|lacking| out_of_memory(size, lacking))?;
        Ok(Self {
            size,
            name: Some(name),
            notes,
        })
    }

    /// What was found on record and done about it, for the user.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Gives the pages back, and says where the record and the machine disagree.
    ///
    /// # Errors
    /// The kernel refuses, or another process keeps the record locked: the pages stay on record for the next one.
    pub fn give_back(mut self) -> Result<Vec<String>> {
        self.end()
    }

    fn end(&mut self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        if let Some(name) = self.name.take() {
            ledger::give_back(&mut Record::open(self.size)?, &name, &mut notes)?;
        }
        Ok(notes)
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // Where this fails, the pages stay on record, and the next process gives them back.
        let _ = self.end();
    }
}

fn out_of_memory(size: HugeSize, lacking: Lacking) -> OsError {
    let Lacking {
        wanted_pages,
        found_pages,
    } = lacking;
    OsError::new(
        format!("add {wanted_pages} huge pages of {size}: the kernel found {found_pages}"),
        io::Error::from(io::ErrorKind::OutOfMemory),
    )
    .with_hint("free memory, or reserve them at boot with hugepages=")
}

/// A process may hold several reserves.
fn new_name() -> Result<String> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Ok(format!("{}/{number}", Identity::own()?))
}
