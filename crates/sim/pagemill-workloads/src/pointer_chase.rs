//! One thread follows pointers: the latency of what holds them.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "pointer-chase";
/// Each line holds one pointer.
const LINE_BYTES: u64 = 128;
/// Hops of a round of the kernel's loop.
const ROUND_HOPS: u64 = 32;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "pointer chase: each load needs the one before, in random order through a buffer",
    source: include_str!("../../../../workloads/pointer-chase/pointer-chase.cu"),
    ptx: include_str!("../../../../workloads/pointer-chase/pointer-chase.ptx"),
    parameters: &[
        Parameter::bytes(
            "footprint",
            1 << 20,
            LINE_BYTES,
            1 << 32,
            "bytes of the buffer, a pointer in each 128 of them",
        )
        .in_multiples_of(LINE_BYTES),
        Parameter::count("hops", 1 << 15, ROUND_HOPS, 1 << 31, "loads that are timed")
            .in_multiples_of(ROUND_HOPS),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(PointerChase {
        lines: values.get("footprint") / LINE_BYTES,
        hops: values.get("hops"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct PointerChase {
    lines: u64,
    hops: u64,
    seed: u64,
    read_results: bool,
}

impl PointerChase {
    /// For each line the next one: a single cycle through all of them, each order as likely as another (Sattolo).
    fn order(&self) -> Vec<u32> {
        let random = Random::new(self.seed, 0);
        let mut next: Vec<u32> = (0..self.lines as u32).collect();
        for last in (1..self.lines).rev() {
            let other = random.below(last, last);
            next.swap(last as usize, other as usize);
        }
        next
    }
}

impl Workload for PointerChase {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("pointer-chase.ptx", INFO.ptx)?;
        let order = self.order();
        let base = host.gpu.next_managed_address().0;
        let chain = input(host, "chain", self.lines * LINE_BYTES, |bytes| {
            let words_of_line = LINE_BYTES / 8;
            fill(bytes, |word: u64| {
                let next = order[(word / words_of_line) as usize];
                match word % words_of_line {
                    0 => base + u64::from(next) * LINE_BYTES,
                    _ => 0,
                }
            });
        })?;
        let last = host.alloc("last", 8)?;
        let mut check = Check::bit_exact(NAME);
        let visits = self.lines.next_multiple_of(ROUND_HOPS);
        for (launch, hops) in (0..).zip([visits, self.hops]) {
            let args = [Arg::Buffer(chain), Arg::U32(hops as u32), Arg::Buffer(last)];
            host.launch(module, "pointer_chase", [1; 3], [1; 3], 0, &args)?;
            let line = (0..hops % self.lines).fold(0, |line, _| order[line as usize]);
            let expected = chain.address.0 + u64::from(line) * LINE_BYTES;
            let found = words::<u64>(host.gpu.host_bytes(last)).next();
            check.equal("last", launch, Some(expected), found)?;
        }
        download_results(host, self.read_results, &[last])?;
        Ok(Checked {
            accesses: self.hops,
            ..check.finish()
        })
    }

    fn footprint_bytes(&self) -> u64 {
        self.lines * LINE_BYTES + 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_visits_every_line_before_it_comes_back() {
        for lines in [1, 2, 3, 1000] {
            let program = PointerChase {
                lines,
                hops: 32,
                seed: lines,
                read_results: false,
            };
            let order = program.order();
            let mut line = 0;
            for visited in 1..=lines {
                line = order[line as usize];
                assert_eq!(line == 0, visited == lines, "{visited} of {lines}");
            }
        }
    }
}
