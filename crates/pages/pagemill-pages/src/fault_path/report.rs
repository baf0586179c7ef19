use pagemill_types::Picos;

/// Spans of one kind: how many, how long on average, how much they vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    count: u64,
    sum: u128,
    squares: u128,
    longest: Picos,
}

impl Sample {
    pub(super) fn add(&mut self, span: Picos) {
        self.count += 1;
        self.sum += u128::from(span.0);
        self.squares += u128::from(span.0) * u128::from(span.0);
        self.longest = self.longest.max(span);
    }

    /// How many spans there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them together.
    pub fn total_ps(&self) -> f64 {
        self.sum as f64
    }

    /// The longest.
    pub fn longest(&self) -> Picos {
        self.longest
    }

    /// The mean in picoseconds; 0 of nothing.
    pub fn mean_ps(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// The standard deviation in picoseconds, of all spans (not an estimate from a sample).
    pub fn deviation_ps(&self) -> f64 {
        let count = u128::from(self.count.max(1));
        // Exact until the last step: n * sum of squares is at least the square of the sum.
        let spread = (count * self.squares).saturating_sub(self.sum * self.sum);
        (spread as f64).sqrt() / count as f64
    }
}

/// Faults by what they found. The names are those of the kernel module's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// A clean page.
    pub clean: u64,
    /// A dirty page, which the CPU cleared.
    pub cpu: u64,
    /// A page that the helper cleared while the fault waited.
    pub helper: u64,
    /// A page that was mapped before it was clean: its user can read what the former owner left.
    pub exposed: u64,
}

/// What a run cost, and whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPathReport {
    /// Each fault, on the CPU that faults.
    pub faults: Sample,
    /// From the start of each fault until its page is clean; zero if it was before.
    pub until_clean: Sample,
    /// Each loop of the co-runner, with the faults that interrupt it.
    pub loops: Sample,
    /// What the faults found.
    pub counts: FaultCounts,
    /// CPU time of the helper, with what it did before the start; nothing where no mode asks for one.
    pub helper_cpu: Picos,
    /// Pages that the helper cleared.
    pub helper_pages: u64,
    /// The end of the last fault or loop.
    pub end: Picos,
}
