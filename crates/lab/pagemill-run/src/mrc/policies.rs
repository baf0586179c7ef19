//! The miss-ratio curves of replacement policies: of caches of objects, and of processor caches with sets.

mod population;
mod rows;

use pagemill_policy::replacement::{CacheSpec, Keeps, ReplacementEntry};
use pagemill_report::ResultSet;
use pagemill_sim::object_cache::{HashSample, SmallestHashes};
use pagemill_trace::Reference;

use super::MrcError;
use population::Population;

/// Sizes, where none are asked for: shares of the bytes of all objects.
pub const DEFAULT_SHARES: [f64; 12] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9,
];

/// What is asked for.
#[derive(Clone, Debug)]
pub struct PolicyMrcSpec {
    /// Title of the results.
    pub title: String,
    /// The policies.
    pub policies: Vec<&'static ReplacementEntry>,
    /// Capacities.
    pub sizes: Vec<CacheSize>,
    /// Lines of a set, for policies with sets.
    pub ways: u32,
    /// Size of a line in bytes; references to memory are to lines.
    pub line_bytes: u32,
    /// Whether the references are to objects, and not to memory.
    pub are_objects: bool,
    /// Whether every object counts as 1 byte, so that capacities are numbers of objects.
    pub ignore_sizes: bool,
    /// Which objects are watched.
    pub watch: Watch,
    /// Whether all objects are watched beside a sample.
    pub exact: bool,
    /// Threads to use.
    pub jobs: usize,
}

/// A capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CacheSize {
    /// In bytes, or in objects where sizes are ignored.
    Bytes(u64),
    /// Of the bytes of all objects of a task; from above 0.
    Share(f64),
}

/// Which objects are watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Watch {
    /// All.
    All,
    /// This share, by hash; above 0 and below 1.
    Rate(f64),
    /// As many as can be with this limit for each task, by hash.
    Objects(usize),
}

/// The seed of samples: the same trace gives the same figures.
const SEED: u64 = 1;

impl PolicyMrcSpec {
    /// Whether the trace has to be surveyed before it is read.
    pub fn needs_survey(&self) -> bool {
        let has_share = self
            .sizes
            .iter()
            .any(|size| matches!(size, CacheSize::Share(_)));
        has_share || matches!(self.watch, Watch::Objects(_))
    }

    /// What is wrong with it.
    ///
    /// # Errors
    /// [`MrcError::Spec`].
    pub fn check(&self) -> Result<(), MrcError> {
        let refuse = |text: String| Err(MrcError::Spec(text));
        if self.policies.is_empty() || self.sizes.is_empty() {
            return refuse("at least one policy and one size are needed".to_owned());
        }
        if !self.line_bytes.is_power_of_two() {
            return refuse(format!(
                "a line of {} bytes is no power of two",
                self.line_bytes
            ));
        }
        let is_rate = |share: f64| share > 0.0 && share.is_finite();
        for size in &self.sizes {
            match *size {
                CacheSize::Bytes(0) => {
                    return refuse("a cache of 0 bytes holds nothing".to_owned());
                }
                CacheSize::Share(share) if !is_rate(share) => {
                    return refuse(format!("{share} is no share of all bytes"));
                }
                _ => {}
            }
        }
        match self.watch {
            Watch::Rate(rate) if !(is_rate(rate) && rate < 1.0) => {
                return refuse(format!("a sample of {rate} is not between 0 and 1"));
            }
            Watch::Objects(0) => return refuse("a sample of 0 objects shows nothing".to_owned()),
            _ => {}
        }
        self.check_sets()
    }

    /// Whether policies with sets can work here.
    fn check_sets(&self) -> Result<(), MrcError> {
        let with_sets = self
            .policies
            .iter()
            .filter(|entry| entry.keeps == Keeps::Lines);
        for entry in with_sets {
            let refuse = |why: &str| Err(MrcError::Spec(format!("{} {why}", entry.name)));
            if self.are_objects || self.ignore_sizes {
                return refuse(
                    "is for processor caches, whose lines have addresses; this trace is of objects, or sizes are ignored",
                );
            }
            if self.watch != Watch::All {
                return refuse(
                    "has sets, which a sample of lines does not fill as all lines do; leave --sample-rate and --sample-objects out",
                );
            }
            for size in &self.sizes {
                let CacheSize::Bytes(bytes) = *size else {
                    return refuse("needs sizes in bytes that are whole numbers of sets");
                };
                (entry.build)(&self.cache(bytes))
                    .map_err(|error| MrcError::Spec(error.to_string()))?;
            }
        }
        Ok(())
    }

    fn cache(&self, bytes: u64) -> CacheSpec {
        CacheSpec {
            bytes,
            ways: self.ways,
            line_bytes: self.line_bytes,
        }
    }

    fn sample(&self) -> HashSample {
        match self.watch {
            Watch::Rate(rate) => HashSample::of_rate(rate, SEED),
            Watch::All | Watch::Objects(_) => HashSample::of_rate(1.0, SEED),
        }
    }

    /// Calls `visit` with each object that `reference` is to, and its bytes.
    #[inline]
    fn objects(&self, reference: &Reference, mut visit: impl FnMut(u64, u32)) {
        if self.are_objects {
            let bytes = if self.ignore_sizes {
                1
            } else {
                reference.bytes
            };
            visit(reference.address, bytes);
            return;
        }
        let bytes = if self.ignore_sizes {
            1
        } else {
            self.line_bytes
        };
        let shift = self.line_bytes.trailing_zeros();
        let last = reference
            .address
            .saturating_add(u64::from(reference.bytes.max(1)) - 1);
        for line in reference.address >> shift..=last >> shift {
            visit(line, bytes);
        }
    }
}

/// A first reading of the trace: how much there is, and which sample has the objects that are wanted.
pub struct Survey {
    spec: PolicyMrcSpec,
    tasks: Vec<Option<SmallestHashes>>,
}

impl Survey {
    /// Nothing touched yet.
    pub fn new(spec: &PolicyMrcSpec) -> Self {
        Self {
            spec: spec.clone(),
            tasks: Vec::new(),
        }
    }

    /// The next references of the trace.
    pub fn touch(&mut self, block: &[Reference]) {
        let Self { spec, tasks } = self;
        for reference in block {
            let hashes = of_task(tasks, reference.task, || {
                let limit = match spec.watch {
                    Watch::Objects(limit) => limit,
                    Watch::All | Watch::Rate(_) => usize::MAX,
                };
                SmallestHashes::new(limit, &spec.sample())
            });
            spec.objects(reference, |object, bytes| hashes.request(object, bytes));
        }
    }

    /// The sample of a task, and the bytes of all its objects.
    fn of(&self, task: u16) -> Option<(HashSample, f64)> {
        let hashes = self.tasks.get(usize::from(task))?.as_ref()?;
        Some((hashes.sample(), hashes.footprint_bytes()))
    }
}

/// What belongs to a task, made at its first reference.
fn of_task<T>(tasks: &mut Vec<Option<T>>, task: u16, make: impl FnOnce() -> T) -> &mut T {
    let place = usize::from(task);
    if place >= tasks.len() {
        tasks.resize_with(place + 1, || None);
    }
    tasks[place].get_or_insert_with(make)
}

/// One task of the trace.
struct Task {
    capacities: Vec<u64>,
    sampled: Population,
    exact: Option<Population>,
}

/// Misses of every policy and capacity, task by task, while references come.
pub struct PolicyMrc {
    spec: PolicyMrcSpec,
    survey: Option<Survey>,
    tasks: Vec<Option<Task>>,
}

impl PolicyMrc {
    /// Nothing touched yet. A survey is needed where [`PolicyMrcSpec::needs_survey`] says so, of the same trace.
    ///
    /// # Errors
    /// [`MrcError::Spec`] if there is no such cache or sample.
    pub fn new(spec: PolicyMrcSpec, survey: Option<Survey>) -> Result<Self, MrcError> {
        spec.check()?;
        if spec.needs_survey() && survey.is_none() {
            return Err(MrcError::Spec(
                "shares and limited samples need a first reading of the trace".to_owned(),
            ));
        }
        Ok(Self {
            spec,
            survey,
            tasks: Vec::new(),
        })
    }

    /// The next references of the trace.
    ///
    /// # Errors
    /// There are more objects than can be numbered.
    pub fn touch(&mut self, block: &[Reference]) -> Result<(), MrcError> {
        let Self {
            spec,
            survey,
            tasks,
        } = self;
        for reference in block {
            let task = of_task(tasks, reference.task, || {
                task(spec, survey.as_ref(), reference.task)
            });
            let mut is_full = false;
            spec.objects(reference, |object, bytes| {
                is_full |= task.sampled.request(object, bytes).is_none();
                if let Some(exact) = &mut task.exact {
                    is_full |= exact.request(object, bytes).is_none();
                }
            });
            if is_full {
                return Err(MrcError::Spec(
                    "the trace has more than 4 billion objects; sample it with --sample-objects"
                        .to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// The curves of all tasks.
    ///
    /// # Errors
    /// [`MrcError::Empty`] if nothing was touched.
    pub fn finish(mut self) -> Result<ResultSet, MrcError> {
        if self.tasks.is_empty() {
            return Err(MrcError::Empty);
        }
        for task in self.tasks.iter_mut().flatten() {
            task.sampled.flush();
            task.exact.iter_mut().for_each(Population::flush);
        }
        Ok(rows::result_set(&self.spec, &self.tasks))
    }
}

/// Empty caches for a task.
fn task(spec: &PolicyMrcSpec, survey: Option<&Survey>, number: u16) -> Task {
    let (sample, footprint) = survey
        .and_then(|survey| survey.of(number))
        .unwrap_or_else(|| (spec.sample(), 0.0));
    let mut capacities: Vec<u64> = spec
        .sizes
        .iter()
        .map(|size| match *size {
            CacheSize::Bytes(bytes) => bytes,
            CacheSize::Share(share) => ((footprint * share).round() as u64).max(1),
        })
        .collect();
    capacities.sort_unstable();
    capacities.dedup();
    let whole = || Population::new(spec, HashSample::of_rate(1.0, SEED), &capacities);
    let is_sample = sample.rate() < 1.0;
    Task {
        sampled: Population::new(spec, sample, &capacities),
        exact: (spec.exact && is_sample).then(whole),
        capacities,
    }
}

#[cfg(test)]
mod tests;
