//! Time by sampling: which launches are timed, and what the others are estimated to take (ADR 0028).
//!
//! Launches with the same kernel and about the same shape are a group. The first of a group are timed, and then some at
//! growing distances, more of them the more their times differ. What is not timed is executed only.

mod model;

use crate::gpu::host::detail::Detail;
use crate::gpu::host::report::{LaunchReport, Sampling};
use model::{Model, Sample};
use pagemill_types::{GOLDEN_GAMMA, Picos};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(crate) use model::Work;

/// Launches that are alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupKey {
    pub(crate) module: u32,
    pub(crate) kernel: String,
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    /// Power of two of the number of blocks.
    pub(crate) blocks_log2: u32,
}

/// Samples of a group before any launch of it is left out.
const FIRST_SAMPLES: usize = 4;

/// Launches between two samples of a group, at first and at most.
const GAP_MIN: u64 = 8;
const GAP_MAX: u64 = 128;

/// The share of a group's time that its error may be: more samples are taken while it is above.
const TOLERANCE: f64 = 0.01;

/// Untimed launches may do this much more or less than those that were timed, before the next is timed.
const WORK_RANGE: f64 = 1.25;

/// Allowance for what untimed launches leave in caches and TLBs, as a share of their time; `validation/sampling` has the
/// runs that it is checked by.
const STATE_ALLOWANCE: f64 = 0.01;

/// Launches by which is judged how many groups take turns, and most launches that are timed in a row for that.
const RECENT: usize = 32;
const BURST_MAX: usize = 16;

/// Launches of a group in which nothing moved, or something.
#[derive(Debug, Default)]
struct Stratum {
    /// Those timed behind another timed launch, so that caches were as in a full run.
    samples: Vec<Sample>,
    /// Other timed ones, for want of better.
    cold: Vec<Sample>,
    untimed: Vec<Untimed>,
}

/// A launch that was not timed.
#[derive(Clone, Copy, Debug)]
struct Untimed {
    /// Its place among all launches.
    place: usize,
    work: Work,
    /// The least that it takes: from its start until all its pages were there.
    least: Picos,
}

impl Stratum {
    fn model(&self) -> Option<Model> {
        Model::fit(&self.samples).or_else(|| Model::fit(&self.cold))
    }

    fn works(&self) -> impl Iterator<Item = &Work> {
        self.untimed.iter().map(|untimed| &untimed.work)
    }
}

#[derive(Debug, Default)]
struct Group {
    still: Stratum,
    moving: Stratum,
    launches: u64,
    /// Launches since one was timed, and after how many the next is: `gap`, or up to half as many.
    since_timed: u64,
    gap: u64,
    next_after: u64,
    /// Whether anything moved in the last launch.
    moved: bool,
    /// Whether the last launch did more or less than those that were timed.
    surprised: bool,
}

impl Group {
    fn stratum(&self, moves: bool) -> &Stratum {
        if moves { &self.moving } else { &self.still }
    }

    fn stratum_mut(&mut self, moves: bool) -> &mut Stratum {
        if moves {
            &mut self.moving
        } else {
            &mut self.still
        }
    }

    fn is_due(&self) -> bool {
        let stratum = self.stratum(self.moved);
        stratum.samples.len() < FIRST_SAMPLES
            || self.since_timed >= self.next_after
            || self.surprised
            // Asked once in a distance, as it fits a model: half of the shortest distance on, an
            // error that is too large brings a sample forward.
            || self.since_timed == GAP_MIN / 2 && !is_precise(stratum)
    }

    /// The model of a stratum, or that of the other one.
    fn model(&self, moves: bool) -> Option<Model> {
        let own = self.stratum(moves).model();
        own.or_else(|| self.stratum(!moves).model())
    }
}

/// Whether the error of a stratum's untimed launches is a small part of its time.
fn is_precise(stratum: &Stratum) -> bool {
    let Some(model) = stratum.model() else {
        return false;
    };
    let timed: f64 = stratum.samples.iter().map(|sample| sample.time).sum();
    let untimed: f64 = stratum.works().map(|work| model.time(work)).sum();
    model.half_width(stratum.works()) <= TOLERANCE * (timed + untimed)
}

/// Chooses launches to time, and estimates the others.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    detail: Detail,
    groups: BTreeMap<GroupKey, Group>,
    /// Launches to time whatever their group.
    burst: usize,
    previous_was_timed: bool,
    /// The shapes of the last launches.
    recent: VecDeque<GroupKey>,
    /// Whether pages moved in a launch that was not timed, where that depends on the order of accesses.
    guessed_traffic: bool,
}

/// What decides, beside the samples, whether a launch is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Circumstances {
    /// Whether launches that are not timed move the same bytes.
    pub(crate) replays: bool,
    /// Whether pages may have to leave.
    pub(crate) is_full: bool,
}

impl Sampler {
    pub(crate) fn new(detail: Detail) -> Self {
        Self {
            detail,
            ..Self::default()
        }
    }

    /// Whether the next launch, one of `key`, is timed.
    pub(crate) fn chooses(&mut self, key: &GroupKey, now: Circumstances) -> bool {
        match self.detail {
            Detail::Full => return true,
            Detail::Pages => return false,
            Detail::Sampled => {}
        }
        self.recent.push_back(key.clone());
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        let group = self.groups.entry(key.clone()).or_default();
        // Which pages leave, and what a driver's batches bring, depends on when pages are asked for.
        if now.is_full || group.moved && !now.replays {
            return true;
        }
        if group.is_due() && self.burst == 0 {
            let kinds: BTreeSet<&GroupKey> = self.recent.iter().collect();
            // As many in a row as kernels take turns, and one more: the launch that counts finds
            // caches and TLBs as in a full run.
            self.burst = 1 + kinds.len().min(BURST_MAX);
        }
        let chosen = self.burst > 0;
        self.burst = self.burst.saturating_sub(1);
        chosen
    }

    /// A launch was timed.
    pub(crate) fn note_timed(&mut self, key: GroupKey, report: &LaunchReport) {
        let is_warm = std::mem::replace(&mut self.previous_was_timed, true);
        if self.detail != Detail::Sampled {
            return;
        }
        let group = self.groups.entry(key).or_default();
        let work = work_of(report);
        let time = report.time().0 as f64;
        let is_first = group.launches == 0;
        group.launches += 1;
        group.moved = work.moved_bytes > 0;
        group.surprised = false;
        group.since_timed = 0;
        group.gap = match group.gap {
            0 => GAP_MIN,
            // Only a launch behind another timed one is a sample, so only that lets the distance grow.
            gap if is_warm => (2 * gap).min(GAP_MAX),
            gap => gap,
        };
        let stratum = group.stratum_mut(work.moved_bytes > 0);
        let sample = Sample { work, time };
        match is_warm && !is_first {
            true => stratum.samples.push(sample),
            false => stratum.cold.push(sample),
        }
        if stratum.samples.len() <= FIRST_SAMPLES {
            group.gap = GAP_MIN;
        }
        group.next_after = group.gap - spread(group.launches, group.gap / 2);
    }

    /// A launch was executed only, and its pages were all there after `least`. Returns the estimate of its time.
    pub(crate) fn note_untimed(
        &mut self,
        key: GroupKey,
        place: usize,
        report: &LaunchReport,
        least: Picos,
        now: Circumstances,
    ) -> Picos {
        self.previous_was_timed = false;
        self.guessed_traffic |= (now.is_full || !now.replays) && work_of(report).moved_bytes > 0;
        if self.detail != Detail::Sampled {
            return least;
        }
        let group = self.groups.entry(key).or_default();
        let work = work_of(report);
        let moves = work.moved_bytes > 0;
        group.launches += 1;
        group.since_timed += 1;
        group.moved = moves;
        group.surprised = is_beyond(&work, &group.stratum(moves).samples);
        let untimed = Untimed { place, work, least };
        let model = group.model(moves);
        group.stratum_mut(moves).untimed.push(untimed);
        estimate(model.as_ref(), &untimed)
    }

    /// The last estimates, from all samples, of the launches that were not timed: their places and times.
    pub(crate) fn estimates(&self) -> Vec<(usize, Picos)> {
        let mut all = Vec::new();
        for group in self.groups.values() {
            for moves in [false, true] {
                let model = group.model(moves);
                let untimed = group.stratum(moves).untimed.iter();
                all.extend(untimed.map(|one| (one.place, estimate(model.as_ref(), one))));
            }
        }
        all
    }

    /// What is said of the run; `None` where all of it was timed as always.
    pub(crate) fn finish(&self, launches: &[LaunchReport]) -> Option<Sampling> {
        if self.detail == Detail::Full {
            return None;
        }
        let mut squares: BTreeMap<String, f64> = BTreeMap::new();
        for (key, group) in &self.groups {
            *squares.entry(key.kernel.clone()).or_default() += group_squares(group);
        }
        // From squares of picoseconds to nanoseconds. Groups err independently, so it is the squares that add up.
        let error = |squares: f64| (squares.sqrt() / 1e3).ceil() as u64;
        let whole = (self.detail == Detail::Sampled).then(|| error(squares.values().sum()));
        let kernel_errors_ns = squares
            .into_iter()
            .map(|(kernel, squares)| (kernel, error(squares)));
        Some(Sampling {
            kernel_errors_ns: kernel_errors_ns.collect(),
            is_exact: !self.guessed_traffic,
            ..Sampling::over(self.detail, launches, whole)
        })
    }
}

/// The square of the error of a group's time. The allowance is the same for all launches of a group: it does not
/// average out.
fn group_squares(group: &Group) -> f64 {
    let mut squares = 0.0;
    let mut untimed = 0.0;
    for moves in [false, true] {
        let stratum = group.stratum(moves);
        let Some(model) = group.model(moves) else {
            continue;
        };
        let sum: f64 = stratum.works().map(|work| model.time(work)).sum();
        // Nothing to judge by: any time from none to double.
        let half = model.half_width(stratum.works()).min(sum);
        squares += half * half;
        untimed += sum;
    }
    let allowance = STATE_ALLOWANCE * untimed;
    squares + allowance * allowance
}

/// A number below `end` that looks random: launches that take turns in what they do are not met in step.
fn spread(seed: u64, end: u64) -> u64 {
    (seed.wrapping_mul(GOLDEN_GAMMA) >> 32) % end
}

/// What moved and was executed.
fn work_of(report: &LaunchReport) -> Work {
    let migration = &report.stats.memory.migration;
    Work {
        warp_instructions: report.stats.execution.warp_instructions,
        moved_bytes: migration.migrated_bytes + migration.populated_bytes + migration.remote_bytes,
    }
}

/// Whether a launch did more or less than any of `samples`.
fn is_beyond(work: &Work, samples: &[Sample]) -> bool {
    let done = work.warp_instructions as f64;
    let of = |sample: &Sample| sample.work.warp_instructions as f64;
    samples.iter().all(|sample| done > WORK_RANGE * of(sample))
        || samples.iter().all(|sample| done * WORK_RANGE < of(sample))
}

fn estimate(model: Option<&Model>, untimed: &Untimed) -> Picos {
    let modeled = model.map_or(0.0, |model| model.time(&untimed.work));
    Picos(modeled.round() as u64).max(untimed.least)
}

#[cfg(test)]
mod tests;
