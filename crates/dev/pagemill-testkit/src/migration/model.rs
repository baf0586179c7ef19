use pagemill_policy::migration::{FullSlotRule, MigrationSpec};
use pagemill_types::{PageRange, RangeSet};

/// What the model moves beside the requested units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Everything.
    WholePage,
    /// Every unit between the outermost valid ones.
    SingleRange,
    /// Narrow gaps beside the request, and one gap more when there are too many ranges.
    MultiRange,
}

/// One page as one `bool` a migration unit: the reference model of the migration policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitMap {
    unit_bytes: u32,
    valid: Vec<bool>,
}

impl UnitMap {
    /// A page with no unit in GPU memory.
    pub fn new(spec: &MigrationSpec) -> Self {
        let units = spec.page.bytes() / u64::from(spec.unit_bytes);
        Self {
            unit_bytes: spec.unit_bytes,
            valid: vec![false; units as usize],
        }
    }

    /// Makes `request`, in bytes, valid as `rule` says.
    pub fn request(&mut self, spec: &MigrationSpec, rule: Rule, request: PageRange) {
        let first = (request.start / self.unit_bytes) as usize;
        let last = ((request.end - 1) / self.unit_bytes) as usize;
        if self.valid[first..=last].iter().all(|&unit| unit) {
            return;
        }
        self.valid[first..=last].fill(true);
        match rule {
            Rule::WholePage => self.valid.fill(true),
            Rule::SingleRange => {
                let (start, end) = self.hull();
                self.valid[start..end].fill(true);
            }
            Rule::MultiRange => self.join_ranges(spec, first),
        }
    }

    fn join_ranges(&mut self, spec: &MigrationSpec, requested: usize) {
        let narrow = |gap: &(usize, usize)| (gap.1 - gap.0) as u64 * u64::from(spec.unit_bytes);
        for gap in self.gaps_beside(requested) {
            if narrow(&gap) < u64::from(spec.gap_threshold_bytes) {
                self.valid[gap.0..gap.1].fill(true);
            }
        }
        let too_many = spec
            .range_slots
            .is_some_and(|slots| self.runs(true).len() > slots as usize);
        if too_many {
            let candidates = match spec.when_full {
                FullSlotRule::SmallestGap => self.gaps(),
                FullSlotRule::NearestRange => self.gaps_beside(requested),
            };
            let smallest = candidates.into_iter().min_by_key(|gap| gap.1 - gap.0);
            let (start, end) = smallest.expect("two ranges have a gap between them");
            self.valid[start..end].fill(true);
        }
    }

    /// Gaps on either side of the range that holds unit `requested`.
    fn gaps_beside(&self, requested: usize) -> Vec<(usize, usize)> {
        let runs = self.runs(true);
        let own = runs
            .iter()
            .find(|run| run.0 <= requested && requested < run.1);
        let own = *own.expect("the requested unit is valid");
        self.gaps()
            .into_iter()
            .filter(|gap| gap.1 == own.0 || gap.0 == own.1)
            .collect()
    }

    fn gaps(&self) -> Vec<(usize, usize)> {
        let (start, end) = self.hull();
        self.runs(false)
            .into_iter()
            .filter(|gap| start < gap.0 && gap.1 < end)
            .collect()
    }

    fn hull(&self) -> (usize, usize) {
        let runs = self.runs(true);
        (runs[0].0, runs[runs.len() - 1].1)
    }

    /// Maximal runs of units whose validity is `wanted`.
    fn runs(&self, wanted: bool) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for unit in (0..self.valid.len()).filter(|&unit| self.valid[unit] == wanted) {
            match runs.last_mut() {
                Some(run) if run.1 == unit => run.1 += 1,
                _ => runs.push((unit, unit + 1)),
            }
        }
        runs
    }

    /// The valid bytes as ranges.
    pub fn ranges(&self) -> RangeSet {
        let bytes = |unit: usize| unit as u32 * self.unit_bytes;
        let runs = self.runs(true);
        runs.iter()
            .map(|run| PageRange {
                start: bytes(run.0),
                end: bytes(run.1),
            })
            .collect()
    }
}
