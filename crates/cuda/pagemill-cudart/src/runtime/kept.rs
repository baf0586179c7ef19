//! Results, kept while the program runs so that they are there however it ends.

use pagemill_ptx::Finding;
use pagemill_sim::Report;

use super::Runtime;
use pagemill_wire::{DefectFound, Journal, Results, ResultsError};

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
        let now = self.streams.end_of_all();
        let mark = [
            self.device.gpu.launches().len() as u64,
            self.failed.iter().map(|failed| failed.launches).sum(),
            self.device.gpu.findings().len() as u64,
            self.device.blocks.len() as u64,
            now.0,
        ];
        if self.kept.mark == mark && self.kept.journal.is_some() {
            return Ok(());
        }
        let Some(mut journal) = self.take_journal()? else {
            return Ok(());
        };
        let mut written = journal.add_launches(self.device.gpu.launches());
        if journal.has_time() {
            let mut results = self.results(self.device.gpu.so_far(now));
            results.is_whole = false;
            written = written.and(journal.write(&results));
            self.kept.mark = mark;
        }
        self.kept.journal = Some(journal);
        written
    }

    /// Waits for everything and writes all results to where they go.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish_results(mut self) -> Result<(), ResultsError> {
        let Some(journal) = self.take_journal()? else {
            return Ok(());
        };
        let mut results = self.results(Report::default());
        results.report = self.finish();
        journal.finish(results)
    }

    /// The journal, which is begun when it is needed first; `None` where results go nowhere.
    fn take_journal(&mut self) -> Result<Option<Journal>, ResultsError> {
        match (self.kept.journal.take(), &self.device.setting.results) {
            (None, Some(folder)) => Journal::new(folder, std::process::id()).map(Some),
            (journal, _) => Ok(journal),
        }
    }

    fn results(&self, report: Report) -> Results {
        let name = std::env::args_os().next();
        let program = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut results = Results::new(
            program,
            std::os::unix::process::parent_id(),
            report,
            self.failed.clone(),
        );
        (results.sites, results.defects) = (self.sites(), self.defects());
        results
    }

    /// All mistakes that were found.
    pub fn defects(&self) -> Vec<DefectFound> {
        self.device.gpu.findings().iter().map(found).collect()
    }
}

/// A finding as the program leaves it.
fn found(finding: &Finding) -> DefectFound {
    let [x, y, z] = finding.block;
    let at = match (finding.kernel.is_empty(), finding.thread) {
        (true, _) => String::new(),
        (false, Some([i, j, k])) => format!("block ({x}, {y}, {z}), thread ({i}, {j}, {k}): "),
        (false, None) => format!("block ({x}, {y}, {z}): "),
    };
    DefectFound {
        defect: finding.defect.name().to_owned(),
        kernel: finding.kernel.clone(),
        place: finding.place(),
        source: finding
            .source
            .as_ref()
            .map_or_else(String::new, |(file, _)| file.clone()),
        detail: format!("{at}{}", finding.detail),
        count: finding.count,
    }
}
