//! Computing between two calls of a program, as virtual time: not at all, as measured, by instructions, or as in an earlier run.
//!
//! A charge belongs to the number of *actions* before it: posted operations, their completions, readings of the clock. Every run
//! of a program has the same actions in the same order, however often it polls in between, so recorded charges replay exactly.
//! Charges during a wait are the exception: a replay makes them at its beginning, so that it may see two completions at once.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;

/// CPU time between two calls up to which it is the MPI library's own: the machine's `messages` overheads stand for that. An
/// estimate: at this border the library's work and the program's cannot be told apart.
const LIBRARY_NS: u64 = 5_000;

/// The same behind a poll that brought nothing: a program that waits has cold caches each time that it wakes.
const WAITING_NS: u64 = 100_000;

/// Picoseconds in a nanosecond.
const NANOSECOND_PS: f64 = 1e3;

/// The first line of a record.
const HEADER: &str = "rank,actions,compute_ps";

/// What becomes of computing.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mode {
    /// It takes no virtual time.
    #[default]
    None,
    /// It takes its CPU time, times a factor: 2 is a processor of half the speed.
    Measured(f64),
    /// It takes so many picoseconds for each instruction.
    Counted(u64),
    /// It takes what a record says, in picoseconds by number of actions.
    Recorded(BTreeMap<u64, u64>),
}

/// What a thread did between two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// CPU time; 0 if that is little, or unknown.
    pub cpu_ns: u64,
    /// Instructions of the program; 0 where they are not counted.
    pub instructions: u64,
}

/// The computing of one process.
#[derive(Debug, Default)]
pub struct Compute {
    mode: Mode,
    actions: u64,
    /// Whether nothing but polls that brought nothing lies behind.
    is_waiting: bool,
    charged: BTreeMap<u64, u64>,
    left_out_ns: u64,
}

impl Compute {
    /// Nothing has been computed yet.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// The program did something that every run does at the same place.
    pub fn act(&mut self) {
        self.actions += 1;
        self.is_waiting = false;
    }

    /// Whether what lies between two calls has to be known exactly.
    pub fn is_exact(&self) -> bool {
        matches!(self.mode, Mode::Measured(_) | Mode::Counted(_))
    }

    /// Actions count from here.
    pub fn start(&mut self) {
        self.actions = 0;
    }

    /// What the program did before this call; virtual picoseconds that it takes.
    pub fn charge(&mut self, gap: Gap) -> u64 {
        let cpu_ns = gap.cpu_ns;
        let library_ns = if self.is_waiting {
            WAITING_NS
        } else {
            LIBRARY_NS
        };
        let is_own = cpu_ns >= library_ns;
        self.is_waiting = true;
        let charge_ps = match &mut self.mode {
            Mode::None => {
                self.left_out_ns += if is_own { cpu_ns } else { 0 };
                0
            }
            Mode::Measured(factor) if is_own => (cpu_ns as f64 * NANOSECOND_PS * *factor) as u64,
            Mode::Measured(_) => 0,
            Mode::Counted(instruction_ps) => gap.instructions.saturating_mul(*instruction_ps),
            Mode::Recorded(charges) => due(charges, self.actions),
        };
        if charge_ps > 0 {
            *self.charged.entry(self.actions).or_default() += charge_ps;
        }
        charge_ps
    }

    /// CPU time in nanoseconds that took no virtual time, because none does.
    pub fn left_out_ns(&self) -> u64 {
        self.left_out_ns
    }

    /// Recorded charges that the program did not reach.
    pub fn unreached(&self) -> u64 {
        match &self.mode {
            Mode::Recorded(charges) => charges.len() as u64,
            _ => 0,
        }
    }

    /// The lines of a record that are `rank`'s.
    pub fn record(&self, rank: u32) -> String {
        let mut lines = String::new();
        for (actions, charge_ps) in &self.charged {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{rank},{actions},{charge_ps}");
        }
        lines
    }
}

/// Takes the charges of up to `actions` actions: one call can bring several completions that the recorded run took one by one.
fn due(charges: &mut BTreeMap<u64, u64>, actions: u64) -> u64 {
    let mut due_ps = 0;
    while let Some(charge) = charges
        .first_entry()
        .filter(|charge| *charge.key() <= actions)
    {
        due_ps += charge.remove();
    }
    due_ps
}

/// What all ranks of a job computed: a CSV file with a line for each charge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    ranks: BTreeMap<u32, BTreeMap<u64, u64>>,
}

impl Record {
    /// The charges of `rank`, in picoseconds by number of actions.
    pub fn of_rank(&self, rank: u32) -> BTreeMap<u64, u64> {
        self.ranks.get(&rank).cloned().unwrap_or_default()
    }

    /// Joins what the ranks recorded, in the order of ranks.
    pub fn text(parts: &[String]) -> String {
        let mut text = format!("{HEADER}\n");
        text.extend(parts.iter().map(String::as_str));
        text
    }
}

impl FromStr for Record {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err(format!(
                "its first line is not `{HEADER}`: `pagemill mpi --compute measured --compute-out FILE` writes one"
            ));
        }
        let mut record = Self::default();
        for (index, line) in lines.enumerate() {
            let words: Vec<Option<u64>> = line.split(',').map(|word| word.parse().ok()).collect();
            let [Some(rank), Some(actions), Some(charge_ps)] = words[..] else {
                return Err(format!(
                    "line {} is not three whole numbers: {line:?}",
                    index + 2
                ));
            };
            let rank = u32::try_from(rank).map_err(|_| format!("there is no rank {rank}"))?;
            let charges = record.ranks.entry(rank).or_default();
            if charges.insert(actions, charge_ps).is_some() {
                return Err(format!(
                    "line {} is the second one for rank {rank} after {actions} actions",
                    index + 2
                ));
            }
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests;
