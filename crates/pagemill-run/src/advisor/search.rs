//! Which change is tried next, and which is kept.

use super::Question;
use super::allocations::{self, Allocation, Launched, weight};
use super::hints::{Change, Configuration, for_program, for_site};
use super::judge::first_difference;
use super::trial::Trial;
use crate::pool::PointError;

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
    /// The program's results differ, from this line of standard output on.
    OutputDiffers(usize),
    /// The program ended with another exit code.
    ExitCode(u8),
}

/// A change that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What was changed.
    pub change: Change,
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
    fn is_sound(&self) -> bool {
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
}

/// How far the search is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Runs that are over.
    pub runs: usize,
    /// The most runs that there will be.
    pub most: usize,
    /// What is tried now.
    pub trying: String,
}

/// Runs a program with changes.
pub type Run<'a> = dyn FnMut(&Configuration) -> Result<Trial, PointError> + 'a;

/// Tries changes of the program, the most promising first: to the whole program, then to each allocation in the order of its
/// traffic, each on top of what was kept before; again from the first allocation while that gains anything.
pub fn search(
    question: &Question<'_>,
    run: &mut Run<'_>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Answer, PointError> {
    progress(&Progress {
        runs: 0,
        most: question.runs,
        trying: "the program as it is".to_owned(),
    });
    let first = run(&Configuration::default())?;
    let answer = first_answer(question, &first)?;
    let mut search = Search {
        question,
        run,
        progress,
        first,
        answer,
    };
    search.whole_program()?;
    while search.each_allocation()? {}
    Ok(search.end())
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

struct Search<'a, 'b> {
    question: &'a Question<'a>,
    run: &'a mut Run<'b>,
    progress: &'a mut dyn FnMut(&Progress),
    /// The program as it is.
    first: Trial,
    answer: Answer,
}

impl Search<'_, '_> {
    /// Tries `change` on top of `before`; `None` once all runs are spent.
    fn attempt(
        &mut self,
        change: &Change,
        before: &Configuration,
        before_ns: u64,
    ) -> Result<Option<usize>, PointError> {
        if self.answer.runs >= self.question.runs {
            return Ok(None);
        }
        let trying = match change {
            Change::Mode(mode) => format!("{mode} for all memory"),
            Change::Hint(hint) => format!("{} for {}", change.name(), self.name_of(hint.site)),
        };
        (self.progress)(&Progress {
            runs: self.answer.runs,
            most: self.question.runs,
            trying,
        });
        let trial = (self.run)(&before.with(change))?;
        self.answer.runs += 1;
        let verdict = if trial.exit_code != self.first.exit_code {
            Verdict::ExitCode(trial.exit_code)
        } else {
            let ignored = self.question.ignored;
            first_difference(&self.first.output, &trial.output, ignored)
                .map_or(Verdict::NoGain, Verdict::OutputDiffers)
        };
        self.answer.tried.push(Tried {
            change: change.clone(),
            before_ns,
            after_ns: trial.time_ns(),
            verdict,
            unheeded_hints: trial.unheeded_hints(),
        });
        Ok(Some(self.answer.tried.len() - 1))
    }

    fn name_of(&self, site: u64) -> String {
        let mut allocations = self.answer.allocations.iter();
        let found = allocations.find(|allocation| allocation.key == site);
        found.map_or_else(String::new, |allocation| allocation.name.clone())
    }

    /// Tries the placements of all memory.
    fn whole_program(&mut self) -> Result<(), PointError> {
        // A short search looks at allocations first.
        if self.question.runs < 2 * for_program(self.question.spec.transfer.mode).len() {
            return Ok(());
        }
        for change in for_program(self.question.spec.transfer.mode) {
            let before_ns = self.answer.before_ns;
            self.attempt(&change, &Configuration::default(), before_ns)?;
        }
        Ok(())
    }

    /// Tries every hint of every allocation on top of what is kept; whether anything was gained and there are runs left.
    fn each_allocation(&mut self) -> Result<bool, PointError> {
        let mut gained = false;
        let sites: Vec<Vec<Change>> = self
            .answer
            .allocations
            .iter()
            .filter(|allocation| weight(&allocation.traffic) > 0)
            .map(for_site)
            .collect();
        for changes in sites {
            let mut best: Option<usize> = None;
            let (before, before_ns) = (self.answer.best.clone(), self.answer.best_ns);
            for change in changes.iter().filter(|change| before.allows(change)) {
                if self.was_tried(change, before_ns) {
                    continue;
                }
                let Some(tried) = self.attempt(change, &before, before_ns)? else {
                    break;
                };
                best = self.better(best, tried);
            }
            gained |= self.keep(best);
        }
        Ok(gained && self.answer.runs < self.question.runs)
    }

    /// Whether a change was tried on top of the same other changes, which have the same time.
    fn was_tried(&self, change: &Change, before_ns: u64) -> bool {
        let mut tried = self.answer.tried.iter();
        tried.any(|tried| tried.change == *change && tried.before_ns == before_ns)
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

    fn keep(&mut self, best: Option<usize>) -> bool {
        let Some(best) = best else {
            return false;
        };
        let kept = &mut self.answer.tried[best];
        kept.verdict = Verdict::Kept;
        self.answer.best = self.answer.best.with(&kept.change);
        self.answer.best_ns = kept.after_ns;
        true
    }

    /// A placement of all memory is advised if it is faster than all hints together.
    fn end(mut self) -> Answer {
        let tried = &mut self.answer.tried;
        let is_mode =
            |tried: &Tried| matches!(tried.change, Change::Mode(_)) && tried.is_worth_it();
        let modes = (0..tried.len()).filter(|&at| is_mode(&tried[at]));
        let modes: Vec<usize> = modes.collect();
        let best = modes.iter().copied().min_by_key(|&at| tried[at].after_ns);
        for at in modes {
            tried[at].verdict = Verdict::Beaten;
        }
        if let Some(best) = best
            && tried[best].after_ns < self.answer.best_ns
        {
            for other in tried
                .iter_mut()
                .filter(|tried| tried.verdict == Verdict::Kept)
            {
                other.verdict = Verdict::Beaten;
            }
            tried[best].verdict = Verdict::Kept;
            self.answer.best = Configuration::default().with(&tried[best].change);
            self.answer.best_ns = tried[best].after_ns;
        }
        self.answer
    }
}

#[cfg(test)]
mod tests;
