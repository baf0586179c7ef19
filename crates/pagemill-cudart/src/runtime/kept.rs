//! Results, kept while the program runs so that they are there however it ends.

use super::Runtime;
use crate::results::{Journal, Results, ResultsError};

/// Where results are kept, and how far they were when all of them were written.
#[derive(Default)]
pub(super) struct Kept {
    journal: Option<Journal>,
    mark: [u64; 5],
}

impl Runtime {
    /// Writes what has happened since the last call to where results go. Launches are written each time, the rest only if
    /// there is time for it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_results(&mut self) -> Result<(), ResultsError> {
        let mark = [
            self.gpu.launches().len() as u64,
            self.failed.iter().map(|failed| failed.launches).sum(),
            self.gpu.findings().len() as u64,
            self.blocks.len() as u64,
            self.clocks.end_of_all().0,
        ];
        let is_new = self.kept.journal.is_none();
        if self.kept.mark == mark && !is_new {
            return Ok(());
        }
        let mut kept = std::mem::take(&mut self.kept);
        let Some(journal) = self.journal(&mut kept)? else {
            return Ok(());
        };
        let written = journal.add_launches(self.gpu.launches());
        if written.is_ok() && journal.has_time() {
            let mut results = self.results(self.gpu.so_far(self.clocks.end_of_all()));
            results.is_whole = false;
            journal.write(&results)?;
            kept.mark = mark;
        }
        self.kept = kept;
        written
    }

    /// Waits for everything and writes all results to where they go.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish_results(mut self) -> Result<(), ResultsError> {
        let mut kept = std::mem::take(&mut self.kept);
        if self.journal(&mut kept)?.is_none() {
            return Ok(());
        }
        let mut results = self.results(pagemill_sim::Report::default());
        results.report = self.finish();
        match kept.journal {
            Some(journal) => journal.finish(results),
            None => Ok(()),
        }
    }

    /// The journal, which is begun when it is needed first; `None` where results go nowhere.
    fn journal<'a>(&self, kept: &'a mut Kept) -> Result<Option<&'a mut Journal>, ResultsError> {
        if let (None, Some(folder)) = (&kept.journal, &self.setting.results) {
            kept.journal = Some(Journal::new(folder, std::process::id())?);
        }
        Ok(kept.journal.as_mut())
    }

    fn results(&self, report: pagemill_sim::Report) -> Results {
        let name = std::env::args_os().next();
        let program = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut results = Results::new(program, report, self.failed.clone());
        results.sites = self.sites();
        results.defects = self.defects();
        results
    }
}
