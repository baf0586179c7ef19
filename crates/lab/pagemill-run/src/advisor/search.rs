//! Which change is tried next, and which is kept.

use std::sync::atomic::Ordering;

use super::Question;
use super::allocations::{self, Allocation, Launched, weight};
use super::hints::{Change, Configuration, for_program, for_site};
use super::judge::Judge;
use super::trial::Trial;
use crate::made::{Made, made};
use crate::pool::PointError;

/// Runs of the unchanged program that show what its output changes by itself.
const UNCHANGED_RUNS: usize = 4;
/// A change is kept if it saves at least this share of the time.
const WORTH: f64 = 0.005;

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is part of the advice.
    Kept,
    /// It saves less than half a percent, or costs time.
    NoGain,
    /// Another change saves more in its place.
    Beaten,
    /// The program's results differ, in this line of standard output.
    OutputDiffers(usize),
    /// The program ended with another exit code.
    ExitCode(u8),
}

/// A change that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What was changed.
    pub change: Change,
    /// The program with it, other changes that were kept before included.
    pub configuration: Configuration,
    /// The program's time without it, other changes that were kept before included.
    pub before_ns: u64,
    /// And with it.
    pub after_ns: u64,
    /// What became of it.
    pub verdict: Verdict,
    /// Hints of the run that had no effect.
    pub unheeded_hints: u64,
}

impl Tried {
    /// Whether the program's results stay the same with it.
    pub fn is_sound(&self) -> bool {
        !matches!(
            self.verdict,
            Verdict::OutputDiffers(_) | Verdict::ExitCode(_)
        )
    }

    fn is_worth_it(&self) -> bool {
        self.is_sound() && self.after_ns as f64 <= self.before_ns as f64 * (1.0 - WORTH)
    }
}

/// Results of the runs.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The allocations, those with the most traffic first.
    pub allocations: Vec<Allocation>,
    /// The same one by one, in the order of each process.
    pub made: Vec<Vec<Made>>,
    /// The first launch of the program, before which all memory is placed.
    pub first_launch: Option<Launched>,
    /// Every change that was tried, in order.
    pub tried: Vec<Tried>,
    /// The program's time as it is.
    pub before_ns: u64,
    /// The program with all changes that are advised.
    pub best: Configuration,
    /// Its time with them.
    pub best_ns: u64,
    /// Runs that were made.
    pub runs: usize,
    /// GPU memory that the program got, if it is limited.
    pub capacity_bytes: Option<u64>,
    /// The most GPU memory that it would fill.
    pub peak_bytes: u64,
    /// Memory of it that never moves.
    pub fixed_bytes: u64,
    /// What of the output differs between runs of the unchanged program, in words.
    pub varies: Vec<String>,
    /// Whether anything that is printed could be compared.
    pub is_judged: bool,
}

impl Answer {
    /// The allocation that a call makes.
    pub fn allocation(&self, site: u64) -> Option<&Allocation> {
        self.allocations
            .iter()
            .find(|allocation| allocation.key == site)
    }

    /// What it is called.
    pub fn name_of(&self, site: u64) -> &str {
        self.allocation(site).map_or("", |own| &own.name)
    }
}

/// Is told how many runs are over, and what is tried now.
pub type Progress<'a> = dyn FnMut(usize, String) + 'a;

/// Runs a program with changes.
pub type Run<'a> = dyn FnMut(&Configuration) -> Result<Trial, PointError> + 'a;

/// Tries changes of the program, the most promising first: to the whole program, then to each allocation in the order of its
/// traffic, each on top of what was kept before. After that, again from the first allocation while that gains anything, on top of
/// the fastest of the program with hints and the program with the best placement of all memory.
pub fn search(
    question: &Question<'_>,
    run: &mut Run<'_>,
    progress: &mut Progress<'_>,
) -> Result<Answer, PointError> {
    progress(0, "the program as it is".to_owned());
    let first = run(&Configuration::default())?;
    let answer = first_answer(question, &first)?;
    let judge = Judge::new(&first.output, question.ignored);
    let mut search = Search {
        question,
        run,
        progress,
        exit_code: first.exit_code,
        judge,
        answer,
    };
    let placed = search.whole_program()?;
    let mut hinted = search.unchanged();
    search.each_allocation(&mut hinted)?;
    let mut branches: Vec<Branch> = [Some(hinted), placed].into_iter().flatten().collect();
    while let Some(branch) = fastest(&mut branches, |branch| !branch.is_exhausted) {
        search.each_allocation(branch)?;
    }
    Ok(search.end(branches))
}

/// The fastest of those that `is_meant`; of equals the first.
fn fastest(branches: &mut [Branch], is_meant: impl Fn(&Branch) -> bool) -> Option<&mut Branch> {
    let meant = branches.iter_mut().filter(|branch| is_meant(branch));
    meant.min_by_key(|branch| branch.time_ns)
}

fn first_answer(question: &Question<'_>, first: &Trial) -> Result<Answer, PointError> {
    let program = &question.spec.command[0];
    if first.exit_code != 0 {
        return Err(PointError::Failed(format!(
            "{}{program} ended with exit code {} when it was run as it is",
            String::from_utf8_lossy(&first.errors),
            first.exit_code
        )));
    }
    let allocations = allocations::of(&first.results);
    if allocations.is_empty() {
        return Err(PointError::Refused(format!(
            "{program} allocates no managed memory, so there is nothing to advise on: use cudaMallocManaged instead of cudaMalloc \
             and copies"
        )));
    }
    let reports = || first.results.iter().map(|results| &results.report);
    let time = first.time_ns();
    Ok(Answer {
        allocations,
        made: made(&first.results),
        first_launch: allocations::first_launch(&first.results),
        before_ns: time,
        best_ns: time,
        runs: 1,
        capacity_bytes: reports().find_map(|report| report.capacity_bytes),
        peak_bytes: reports()
            .map(|report| report.allocated.peak_bytes)
            .max()
            .unwrap_or(0),
        fixed_bytes: reports()
            .map(|report| report.allocated.fixed_peak_bytes)
            .max()
            .unwrap_or(0),
        ..Answer::default()
    })
}

/// Changes that were kept one on top of the other.
struct Branch {
    configuration: Configuration,
    /// The program's time with them.
    time_ns: u64,
    /// Their places in [`Answer::tried`].
    kept: Vec<usize>,
    /// Places of what was tried on top of them.
    tried: Vec<usize>,
    /// Whether nothing more was gained, or no runs are left.
    is_exhausted: bool,
}

struct Search<'a, 'b> {
    question: &'a Question<'a>,
    run: &'a mut Run<'b>,
    progress: &'a mut Progress<'b>,
    /// Of the program as it is.
    exit_code: u8,
    judge: Judge<'a>,
    answer: Answer,
}

impl Search<'_, '_> {
    /// The program as it is.
    fn unchanged(&self) -> Branch {
        Branch {
            configuration: Configuration::default(),
            time_ns: self.answer.before_ns,
            kept: Vec::new(),
            tried: Vec::new(),
            is_exhausted: false,
        }
    }

    /// Tries `change` on top of `before`; `None` once all runs are spent.
    fn attempt(
        &mut self,
        change: &Change,
        before: &mut Branch,
    ) -> Result<Option<usize>, PointError> {
        if self.answer.runs >= self.question.runs || self.is_stopped() {
            return Ok(None);
        }
        let trying = match change {
            Change::Mode(mode) => format!("{mode} for all memory"),
            Change::Hint(hint) => {
                format!("{} for {}", change.name(), self.answer.name_of(hint.site))
            }
        };
        (self.progress)(self.answer.runs, trying);
        let configuration = before.configuration.with(change);
        let trial = (self.run)(&configuration);
        if self.is_stopped() {
            // That run was ended as well.
            return Ok(None);
        }
        let trial = trial?;
        self.answer.runs += 1;
        let mut new = Tried {
            change: change.clone(),
            configuration,
            before_ns: before.time_ns,
            after_ns: trial.time_ns(),
            verdict: Verdict::NoGain,
            unheeded_hints: trial.unheeded_hints(),
        };
        if trial.exit_code != self.exit_code {
            new.verdict = Verdict::ExitCode(trial.exit_code);
        } else if new.is_worth_it()
            && let Some(line) = self.difference(&trial.output)?
        {
            new.verdict = Verdict::OutputDiffers(line);
        }
        self.answer.tried.push(new);
        let tried = self.answer.tried.len() - 1;
        before.tried.push(tried);
        Ok(Some(tried))
    }

    /// The line in which the output of a change differs from that of the program as it is, which runs again to show what differs by
    /// itself: on a slower GPU first, since a simulated time is the same in every run.
    fn difference(&mut self, output: &[u8]) -> Result<Option<usize>, PointError> {
        while let Some(line) = self.judge.difference(output) {
            let seen = self.judge.runs();
            if seen >= UNCHANGED_RUNS || self.answer.runs >= self.question.runs {
                return Ok(Some(line));
            }
            let unchanged = Configuration {
                is_slower: seen % 2 == 1,
                ..Configuration::default()
            };
            let trial = (self.run)(&unchanged);
            if self.is_stopped() {
                return Ok(Some(line));
            }
            let trial = trial?;
            self.answer.runs += 1;
            if trial.exit_code != self.exit_code {
                return Err(PointError::Failed(format!(
                    "{} ended with exit code {} when it was run as it is once more, after {}: what does not do the same in every run \
                     cannot be compared",
                    self.question.spec.command[0], trial.exit_code, self.exit_code
                )));
            }
            self.judge.learn(&trial.output);
        }
        Ok(None)
    }

    fn is_stopped(&self) -> bool {
        self.question.stop.load(Ordering::Relaxed)
    }

    /// Tries the placements of all memory; answers with the best that is worth it.
    fn whole_program(&mut self) -> Result<Option<Branch>, PointError> {
        let changes = for_program(self.question.spec.transfer.mode);
        // A short search looks at allocations first.
        if self.question.runs < 2 * changes.len() {
            return Ok(None);
        }
        let mut branch = self.unchanged();
        let gained = self.best_of(&changes, &mut branch)?;
        // What was tried in its place is not on top of it.
        branch.tried.clear();
        Ok(gained.then_some(branch))
    }

    /// Tries every hint of every allocation on top of what is kept; no more is to be tried if that gained nothing, or there are no
    /// runs left.
    fn each_allocation(&mut self, branch: &mut Branch) -> Result<(), PointError> {
        let mut gained = false;
        let sites: Vec<Vec<Change>> = self
            .answer
            .allocations
            .iter()
            .filter(|allocation| weight(&allocation.traffic) > 0)
            .map(for_site)
            .collect();
        for changes in sites {
            gained |= self.best_of(&changes, branch)?;
        }
        branch.is_exhausted = !gained || self.answer.runs >= self.question.runs;
        Ok(())
    }

    /// Tries each of `changes` that makes sense on top of `branch`, and keeps the best; whether there is one.
    fn best_of(&mut self, changes: &[Change], branch: &mut Branch) -> Result<bool, PointError> {
        let mut best: Option<usize> = None;
        for change in changes {
            if !branch.configuration.allows(change) || self.was_tried(change, branch) {
                continue;
            }
            let Some(tried) = self.attempt(change, branch)? else {
                break;
            };
            best = self.better(best, tried);
        }
        Ok(self.keep(best, branch))
    }

    /// Whether a change was tried on top of the same other changes, or of fewer that have the same time.
    fn was_tried(&self, change: &Change, before: &Branch) -> bool {
        let mut tried = before.tried.iter().map(|&tried| &self.answer.tried[tried]);
        tried.any(|tried| tried.change == *change && tried.before_ns == before.time_ns)
    }

    /// The better of two attempts, of which the other is beaten.
    fn better(&mut self, best: Option<usize>, new: usize) -> Option<usize> {
        let tried = &mut self.answer.tried;
        if !tried[new].is_worth_it() {
            return best;
        }
        match best {
            Some(best) if tried[best].after_ns <= tried[new].after_ns => {
                tried[new].verdict = Verdict::Beaten;
                Some(best)
            }
            _ => {
                if let Some(best) = best {
                    tried[best].verdict = Verdict::Beaten;
                }
                Some(new)
            }
        }
    }

    fn keep(&mut self, best: Option<usize>, branch: &mut Branch) -> bool {
        let Some(best) = best else {
            return false;
        };
        let kept = &mut self.answer.tried[best];
        kept.verdict = Verdict::Kept;
        branch.configuration = branch.configuration.with(&kept.change);
        branch.time_ns = kept.after_ns;
        branch.kept.push(best);
        true
    }

    /// Advises the fastest of `branches`.
    fn end(mut self, mut branches: Vec<Branch>) -> Answer {
        let Some(best) = fastest(&mut branches, |_| true) else {
            return self.answer;
        };
        for (place, tried) in self.answer.tried.iter_mut().enumerate() {
            if tried.verdict == Verdict::Kept && !best.kept.contains(&place) {
                tried.verdict = Verdict::Beaten;
            }
        }
        self.answer.varies = self.judge.varies();
        self.answer.is_judged = self.judge.has_results();
        self.answer.best = best.configuration.clone();
        self.answer.best_ns = best.time_ns;
        self.answer
    }
}

#[cfg(test)]
mod tests;
