//! One thread follows pointers: the latency of what holds them, or one page fault after the other.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "pointer-chase";
/// No two pointers share a line.
const LINE_BYTES: u64 = 128;
/// The kernel adds addresses of pointers.
const POINTER_BYTES: u64 = 8;
/// Hops of a round of the kernel's loop.
const ROUND_HOPS: u64 = 32;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "pointer chase: each load needs the one before, in random order through a buffer, or up through it",
    source: include_str!("../../../../workloads/pointer-chase/pointer-chase.cu"),
    ptx: include_str!("../../../../workloads/pointer-chase/pointer-chase.ptx"),
    parameters: &[
        Parameter::bytes(
            "footprint",
            1 << 20,
            LINE_BYTES,
            1 << 32,
            "bytes of the buffer",
        )
        .in_multiples_of(LINE_BYTES),
        Parameter::bytes(
            "stride",
            LINE_BYTES,
            LINE_BYTES,
            1 << 32,
            "bytes from one pointer of the buffer to the next",
        )
        .in_multiples_of(LINE_BYTES),
        Parameter::flag("in_order", "1: each pointer leads to the next in memory"),
        Parameter::count("hops", 1 << 15, ROUND_HOPS, 1 << 31, "loads that are timed")
            .in_multiples_of(ROUND_HOPS),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(PointerChase {
        pointers: values.get("footprint").div_ceil(values.get("stride")),
        stride: values.get("stride"),
        in_order: values.flag("in_order"),
        hops: values.get("hops"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct PointerChase {
    pointers: u64,
    stride: u64,
    in_order: bool,
    hops: u64,
    seed: u64,
    read_results: bool,
}

impl PointerChase {
    /// For each pointer the next one: a single cycle through all of them, up through memory, or each order as likely as another
    /// (Sattolo).
    fn order(&self) -> Vec<u32> {
        if self.in_order {
            let next = (1..self.pointers).chain([0]);
            return next.map(|pointer| pointer as u32).collect();
        }
        let random = Random::new(self.seed, 0);
        let mut next: Vec<u32> = (0..self.pointers as u32).collect();
        for last in (1..self.pointers).rev() {
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
        let words_apart = self.stride / POINTER_BYTES;
        let chain = input(host, "chain", self.pointers * self.stride, |bytes| {
            fill(bytes, |word: u64| {
                let next = order[(word / words_apart) as usize];
                match word % words_apart {
                    0 => base + u64::from(next) * self.stride,
                    _ => 0,
                }
            });
        })?;
        let last = host.alloc("last", 8)?;
        let mut check = Check::bit_exact(NAME);
        let visits = self.pointers.next_multiple_of(ROUND_HOPS);
        for (launch, hops) in (0..).zip([visits, self.hops]) {
            let args = [Arg::Buffer(chain), Arg::U32(hops as u32), Arg::Buffer(last)];
            host.launch(module, "pointer_chase", [1; 3], [1; 3], 0, &args)?;
            let reached = (0..hops % self.pointers).fold(0, |at, _| order[at as usize]);
            let expected = chain.address.0 + u64::from(reached) * self.stride;
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
        self.pointers * self.stride + POINTER_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_visits_every_pointer_before_it_comes_back() {
        for (pointers, in_order) in [(1, false), (2, false), (3, true), (1000, false), (96, true)] {
            let program = PointerChase {
                pointers,
                stride: LINE_BYTES,
                in_order,
                hops: 32,
                seed: pointers,
                read_results: false,
            };
            let order = program.order();
            let mut at = 0;
            for visited in 1..=pointers {
                at = order[at as usize];
                assert_eq!(at == 0, visited == pointers, "{visited} of {pointers}");
            }
        }
    }
}
