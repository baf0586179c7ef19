//! What the parts of a page fault cost.

use std::os::fd::AsFd;

use pagemill_linux::clock::thread_cpu_ns;
use pagemill_linux::process::Usage;
use pagemill_linux::{Backing, Mapping, OsError, memory_file};

use super::samples::Samples;

const PAGE_BYTES: usize = 4096;
const HUGE_BYTES: usize = 2 << 20;
/// Enough for a stable mean, little enough for a small machine.
const BYTES: usize = 32 << 20;
const ROUNDS: usize = 5;

/// What the parts of a page fault cost on this machine, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Into the kernel and back, for one fault.
    pub fault_ns: f64,
    /// Making one page-table entry.
    pub map_ns: f64,
    /// Finding and clearing a page of 4 KiB.
    pub clear_small_ns: f64,
    /// Finding and clearing a page of 2 MiB; `None` without transparent huge pages.
    pub clear_huge_ns: Option<f64>,
}

/// Where the kernel's time of a program went, by these costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Clearing pages.
    pub clearing_ns: f64,
    /// Entering and leaving the kernel.
    pub faulting_ns: f64,
    /// Making page-table entries.
    pub mapping_ns: f64,
}

impl Costs {
    /// Measures them: CPU time of touching memory that is fresh, and memory that is there but not mapped yet.
    ///
    /// # Errors
    /// There is too little memory.
    pub fn measure() -> Result<Self, OsError> {
        let file = memory_file("costs", BYTES as u64)?;
        let shared = Backing::File(file.as_fd());
        // The file's pages are there from now on.
        touch(&mut Mapping::new(shared, BYTES, false)?, PAGE_BYTES);
        let pages = (BYTES / PAGE_BYTES) as f64;
        let map = least(|| {
            let begun = thread_cpu_ns();
            let _mapped = Mapping::new(shared, BYTES, true)?;
            Ok(thread_cpu_ns() - begun)
        })? / pages;
        let present = least(|| Ok(touch(&mut Mapping::new(shared, BYTES, false)?, PAGE_BYTES)))?;
        let present = present / pages;
        let fresh = least(|| {
            let mut memory = Mapping::new(Backing::Anonymous, BYTES, false)?;
            memory.keep_usual_pages()?;
            Ok(touch(&mut memory, PAGE_BYTES))
        })? / pages;
        Ok(Self {
            fault_ns: (present - map).max(0.0),
            map_ns: map,
            clear_small_ns: (fresh - present).max(0.0),
            clear_huge_ns: huge()?.map(|huge| (huge - present).max(0.0)),
        })
    }

    /// Splits the kernel's time. An estimate: faults of files clear nothing, and are counted as if they did; where memory is
    /// populated, none is counted as entering the kernel.
    pub fn split(&self, usage: &Usage, huge_faults: u64, is_populated: bool) -> Parts {
        let huge = huge_faults.min(usage.minor_faults) as f64;
        let all = usage.minor_faults as f64;
        let clearing_ns =
            (all - huge) * self.clear_small_ns + huge * self.clear_huge_ns.unwrap_or_default();
        // Populated memory has no fault of its own, and there is no telling the others from it.
        let faulting_ns = match is_populated {
            true => 0.0,
            false => all * self.fault_ns,
        };
        let mapping_ns = all * self.map_ns;
        let sum = clearing_ns + faulting_ns + mapping_ns;
        let share = (usage.system_ns as f64 / sum.max(1.0)).min(1.0);
        Parts {
            clearing_ns: clearing_ns * share,
            faulting_ns: faulting_ns * share,
            mapping_ns: mapping_ns * share,
        }
    }
}

/// CPU time of the first touch of 2 MiB; `None` where that gets no huge page.
fn huge() -> Result<Option<f64>, OsError> {
    let mut times = Samples::default();
    for _ in 0..ROUNDS {
        let mut memory = Mapping::new(Backing::Anonymous, BYTES + HUGE_BYTES, false)?;
        let before = pagemill_linux::transparent::huge_faults();
        if !memory.ask_for_huge_pages() {
            return Ok(None);
        }
        let first = memory.address().next_multiple_of(HUGE_BYTES) - memory.address();
        let begun = thread_cpu_ns();
        for page in memory.bytes_mut()[first..first + BYTES].chunks_mut(HUGE_BYTES) {
            page[0] = 1;
        }
        times.push((thread_cpu_ns() - begun) as f64);
        let pages = (BYTES / HUGE_BYTES) as u64;
        if pagemill_linux::transparent::huge_faults() < before.map(|before| before + pages) {
            return Ok(None);
        }
    }
    Ok(Some(times.median() / (BYTES / HUGE_BYTES) as f64))
}

/// CPU time of touching every page.
fn touch(memory: &mut Mapping, page_bytes: usize) -> u64 {
    let begun = thread_cpu_ns();
    for page in memory.bytes_mut().chunks_mut(page_bytes) {
        page[0] = 1;
    }
    thread_cpu_ns() - begun
}

fn least(mut time: impl FnMut() -> Result<u64, OsError>) -> Result<f64, OsError> {
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        least = least.min(time()?);
    }
    Ok(least as f64)
}

#[cfg(test)]
mod tests;
