use pagemill_policy::replacement::{Misses, Replacement, ReplacementEntry, Request};
use pagemill_sim::object_cache::{GROUPS, HashSample, LruSweep};
use rustc_hash::FxHashMap;

use super::PolicyMrcSpec;

/// Requests that wait before all caches see them: each cache then has its data near for many requests.
const BATCH: usize = if cfg!(test) { 50 } else { 1 << 16 };

/// Objects of a task that are watched, and the caches that they go to.
///
/// A sample at rate r goes to caches of r times the capacity ("miniature simulation"; Waldspurger et al., ATC 2017). Each of
/// its groups also goes to caches of its own, and how far their figures differ says how far off the sample may be.
pub struct Population {
    sample: HashSample,
    numbers: FxHashMap<u64, u32>,
    /// By number: the first size of the object, and its group.
    objects: Vec<(u32, u8)>,
    all: Part,
    groups: Vec<Part>,
    references: u64,
    bytes: u64,
    jobs: usize,
}

/// Requests, and the caches for them.
struct Part {
    waiting: Vec<Request>,
    caches: Vec<Caches>,
    rate: f64,
}

/// All capacities of a policy at once, or one.
enum Caches {
    Sweep(LruSweep),
    One {
        cache: Box<dyn Replacement>,
        misses: Misses,
    },
}

impl Caches {
    fn requests(&mut self, requests: &[Request]) {
        match self {
            Self::Sweep(sweep) => sweep.requests(requests),
            Self::One { cache, misses } => {
                let more = cache.requests(requests);
                misses.objects += more.objects;
                misses.bytes += more.bytes;
            }
        }
    }
}

/// Estimates of one policy, by capacity.
pub struct Estimates {
    /// What was counted.
    pub misses: Vec<Misses>,
    /// Of all requests.
    pub miss_ratios: Vec<f64>,
    /// Of the bytes of all requests.
    pub byte_miss_ratios: Vec<f64>,
}

impl Population {
    pub fn new(spec: &PolicyMrcSpec, sample: HashSample, capacities: &[u64]) -> Self {
        let rate = sample.rate();
        let part = |rate| Part::new(spec, rate, capacities);
        let groups = if rate < 1.0 { GROUPS } else { 0 };
        Self {
            sample,
            numbers: FxHashMap::default(),
            objects: Vec::new(),
            all: part(rate),
            groups: (0..groups).map(|_| part(rate / GROUPS as f64)).collect(),
            references: 0,
            bytes: 0,
            jobs: spec.jobs.max(1),
        }
    }

    /// A request of an object. `None` if there are too many objects.
    #[inline]
    pub fn request(&mut self, object: u64, bytes: u32) -> Option<()> {
        self.references += 1;
        self.bytes += u64::from(bytes);
        let Some(watched) = self.sample.watches(object) else {
            return Some(());
        };
        let next = self.objects.len();
        let number = match self.numbers.entry(object) {
            std::collections::hash_map::Entry::Occupied(known) => *known.get(),
            std::collections::hash_map::Entry::Vacant(new) => {
                // The largest number stands for none.
                let number = u32::try_from(next)
                    .ok()
                    .filter(|number| *number < u32::MAX)?;
                self.objects.push((bytes, watched.group as u8));
                *new.insert(number)
            }
        };
        let (bytes, group) = self.objects[number as usize];
        let request = Request {
            object: number,
            bytes,
            line: object,
        };
        self.all.waiting.push(request);
        if let Some(part) = self.groups.get_mut(usize::from(group)) {
            part.waiting.push(request);
        }
        if self.all.waiting.len() == BATCH {
            self.flush();
        }
        Some(())
    }

    /// Lets all caches see what waits. They do not see each other, so that threads change no figure.
    pub fn flush(&mut self) {
        let parts = std::iter::once(&mut self.all).chain(&mut self.groups);
        let mut work: Vec<Vec<(&mut Caches, &[Request])>> = Vec::new();
        work.resize_with(self.jobs, Vec::new);
        let mut place = 0;
        for part in parts {
            for caches in &mut part.caches {
                work[place % self.jobs].push((caches, &part.waiting));
                place += 1;
            }
        }
        let run = |work: Vec<(&mut Caches, &[Request])>| {
            for (caches, requests) in work {
                caches.requests(requests);
            }
        };
        let mut work = work.into_iter();
        let own = work.next();
        std::thread::scope(|scope| {
            for work in work.filter(|work| !work.is_empty()) {
                scope.spawn(move || run(work));
            }
            if let Some(own) = own {
                run(own);
            }
        });
        let parts = std::iter::once(&mut self.all).chain(&mut self.groups);
        parts.for_each(|part| part.waiting.clear());
    }

    pub fn references(&self) -> u64 {
        self.references
    }

    /// Objects that are watched.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    pub fn rate(&self) -> f64 {
        self.sample.rate()
    }

    /// The estimates of the policy in this place of the specification.
    pub fn estimates(&self, policy: usize, capacities: usize) -> Estimates {
        self.estimates_of(&self.all, policy, capacities)
    }

    /// Standard errors of the miss ratios, from how far the groups differ; `None` where all objects are watched.
    ///
    /// Groups are an eighth of the sample each, as if drawn alone: their mean varies as the sample does (the method of
    /// random groups; Wolter, Introduction to Variance Estimation, chapter 2).
    pub fn standard_errors(&self, policy: usize, capacities: usize) -> Option<Vec<f64>> {
        if self.groups.is_empty() {
            return None;
        }
        let of_groups: Vec<Vec<f64>> = self
            .groups
            .iter()
            .map(|part| self.estimates_of(part, policy, capacities).miss_ratios)
            .collect();
        let count = of_groups.len() as f64;
        let error = |capacity: usize| {
            let ratios = || of_groups.iter().map(|ratios| ratios[capacity]);
            let mean = ratios().sum::<f64>() / count;
            let squares: f64 = ratios().map(|ratio| (ratio - mean).powi(2)).sum();
            (squares / (count - 1.0) / count * (1.0 - self.rate())).sqrt()
        };
        Some((0..capacities).map(error).collect())
    }

    fn estimates_of(&self, part: &Part, policy: usize, capacities: usize) -> Estimates {
        let misses = part.misses(policy, capacities);
        // All requests are known. Those to watched objects are more or less than their share, and the difference is mostly
        // of requests to popular objects, which hit (the adjustment of SHARDS).
        let ratio = |count: u64, all: u64| {
            let expected = part.rate * all.max(1) as f64;
            (count as f64 / expected).min(1.0)
        };
        Estimates {
            miss_ratios: misses
                .iter()
                .map(|misses| ratio(misses.objects, self.references))
                .collect(),
            byte_miss_ratios: misses
                .iter()
                .map(|misses| ratio(misses.bytes, self.bytes))
                .collect(),
            misses,
        }
    }
}

impl Part {
    fn new(spec: &PolicyMrcSpec, rate: f64, capacities: &[u64]) -> Self {
        let scaled: Vec<u64> = capacities
            .iter()
            .map(|bytes| {
                if rate < 1.0 {
                    ((*bytes as f64 * rate).round() as u64).max(1)
                } else {
                    *bytes
                }
            })
            .collect();
        let caches = spec
            .policies
            .iter()
            .flat_map(|entry| caches(spec, entry, &scaled));
        Self {
            waiting: Vec::new(),
            caches: caches.collect(),
            rate,
        }
    }

    /// Misses of a policy by capacity.
    fn misses(&self, policy: usize, capacities: usize) -> Vec<Misses> {
        let mut found = Vec::new();
        for caches in &self.caches {
            match caches {
                Caches::Sweep(sweep) => found.extend(sweep.misses()),
                Caches::One { misses, .. } => found.push(*misses),
            }
        }
        found.split_off(policy * capacities)[..capacities].to_vec()
    }
}

/// The caches of a policy, in the order of capacities.
fn caches(spec: &PolicyMrcSpec, entry: &ReplacementEntry, capacities: &[u64]) -> Vec<Caches> {
    if entry.name == "lru" {
        return vec![Caches::Sweep(LruSweep::new(capacities))];
    }
    let one = |bytes: &u64| {
        let cache = (entry.build)(&spec.cache(*bytes)).ok()?;
        Some(Caches::One {
            cache,
            misses: Misses::default(),
        })
    };
    // The specification was checked: each can be built.
    capacities.iter().filter_map(one).collect()
}
