//! A long array read by requests of 32, of 128, or of 32 and 96 bytes: what a link makes of each.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "line-reads";
const WORD_BYTES: u64 = 4;
const LINE_WORDS: u64 = 32;
/// Words of a sector.
const OFFSET_WORDS: u64 = 8;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "reads of an array, each thread its own lines, or each warp a line at a time, aligned or not",
    source: include_str!("../../../../workloads/line-reads/line-reads.cu"),
    ptx: include_str!("../../../../workloads/line-reads/line-reads.ptx"),
    parameters: &[
        Parameter::count(
            "lines",
            1 << 19,
            1,
            1 << 28,
            "lines of 128 bytes that are read",
        ),
        Parameter::count(
            "access",
            0,
            0,
            2,
            "0: each thread reads lines of its own; 1: each warp reads 128 bytes in a row; 2: the same, 32 bytes behind a line's start",
        ),
        Parameter::count("blocks", 160, 1, 1 << 20, "blocks of the grid"),
        Parameter::count("threads", 128, 32, 1024, "threads of a block").in_multiples_of(32),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let access = values.get("access");
    Ok(Box::new(LineReads {
        lines: values.get("lines"),
        merged: access > 0,
        offset: if access == 2 { OFFSET_WORDS } else { 0 },
        blocks: values.get_u32("blocks"),
        threads: values.get_u32("threads"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct LineReads {
    lines: u64,
    merged: bool,
    offset: u64,
    blocks: u32,
    threads: u32,
    seed: u64,
    read_results: bool,
}

impl LineReads {
    fn words(&self) -> u64 {
        self.lines * LINE_WORDS + self.offset
    }

    fn grid_threads(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.threads)
    }

    fn word(&self, index: u64) -> u32 {
        Random::new(self.seed, 0).below(index, 1 << 20) as u32
    }

    /// What each thread sums.
    fn expected(&self) -> Vec<u32> {
        let threads = self.grid_threads();
        let mut sums = vec![0u32; threads as usize];
        for index in 0..self.lines * LINE_WORDS {
            let unit = match self.merged {
                true => index,
                false => index / LINE_WORDS,
            };
            let sum = &mut sums[(unit % threads) as usize];
            *sum = sum.wrapping_add(self.word(index + self.offset));
        }
        sums
    }
}

impl Workload for LineReads {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("line-reads.ptx", INFO.ptx)?;
        let array = input(host, "words", WORD_BYTES * self.words(), |bytes| {
            fill(bytes, |index| self.word(index))
        })?;
        let sums = host.alloc("sums", WORD_BYTES * self.grid_threads())?;
        let mut args = vec![Arg::Buffer(array), Arg::U64(self.lines), Arg::Buffer(sums)];
        let kernel = match self.merged {
            true => "read_merged",
            false => "read_strided",
        };
        if self.merged {
            args.push(Arg::U64(self.offset));
        }
        let (grid, block) = ([self.blocks, 1, 1], [self.threads, 1, 1]);
        host.launch(module, kernel, grid, block, 0, &args)?;
        download_results(host, self.read_results, &[sums])?;
        let mut check = Check::bit_exact(NAME);
        let found = words::<u32>(host.gpu.host_bytes(sums));
        for ((index, expected), found) in (0..).zip(self.expected()).zip(found) {
            check.equal("sums", index, expected, found)?;
        }
        Ok(Checked {
            streamed_bytes: WORD_BYTES * LINE_WORDS * self.lines,
            ..check.finish()
        })
    }

    fn footprint_bytes(&self) -> u64 {
        WORD_BYTES * (self.words() + self.grid_threads())
    }
}
