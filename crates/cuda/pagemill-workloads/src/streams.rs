//! Long arrays, an element for each thread: bandwidth by the warps that are there.

use pagemill_sim::{Arg, Buffer, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "streams";
const ELEMENT_BYTES: u64 = 8;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "streams of 8-byte elements: reads, writes, or both, with so many threads an SM",
    source: include_str!("../../../../workloads/streams/streams.cu"),
    ptx: include_str!("../../../../workloads/streams/streams.ptx"),
    parameters: &[
        Parameter::count(
            "elements",
            1 << 22,
            32,
            1 << 30,
            "8-byte elements of each array, a multiple of `threads`",
        )
        .in_multiples_of(32),
        Parameter::count("reads", 1, 0, 3, "arrays that are read: 0, 1 or 3"),
        Parameter::count("writes", 0, 0, 1, "arrays that are written"),
        Parameter::count("threads", 256, 32, 1024, "threads of a block").in_multiples_of(32),
        Parameter::bytes(
            "shared",
            0,
            0,
            1 << 20,
            "shared memory that a block takes: limits how many an SM holds",
        ),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let (reads, writes) = (values.get("reads"), values.get("writes"));
    let kernel = match (reads, writes) {
        (0, 1) => "stream_init",
        (1, 0) => "stream_read",
        (1, 1) => "stream_scale",
        (3, 1) => "stream_triad",
        _ => {
            let allowed = format!("1, or with writes = 1 also 0 or 3 (writes = {writes})");
            return Err(values.not_allowed("reads", reads, allowed));
        }
    };
    let (elements, threads) = (values.get("elements"), values.get("threads"));
    values.require(elements.is_multiple_of(threads), "elements", || {
        format!("a multiple of threads = {threads}")
    })?;
    Ok(Box::new(Streams {
        kernel,
        elements,
        reads,
        writes,
        threads: values.get_u32("threads"),
        shared_bytes: values.get_u32("shared"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct Streams {
    kernel: &'static str,
    elements: u64,
    reads: u64,
    writes: u64,
    threads: u32,
    shared_bytes: u32,
    seed: u64,
    read_results: bool,
}

impl Streams {
    /// Element `index` of array `array`: a small integer, so that results are exact.
    fn element(&self, array: u64, index: u64) -> f64 {
        Random::new(self.seed, array).below(index, 1000) as f64
    }

    fn expected(&self, index: u64) -> f64 {
        match self.reads {
            _ if self.writes == 0 => 0.0,
            0 => 0.25,
            1 => self.element(0, index) * 2.0,
            _ => self.element(0, index) * self.element(2, index) + self.element(1, index),
        }
    }

    fn written_bytes(&self) -> u64 {
        ELEMENT_BYTES * (self.elements * self.writes).max(1)
    }

    fn inputs(&self, host: &mut Host) -> Result<Vec<Buffer>, WorkloadError> {
        let names = ["b", "c", "d"];
        let arrays = (0..self.reads).zip(names);
        let made = arrays.map(|(array, name)| {
            input(host, name, ELEMENT_BYTES * self.elements, |bytes| {
                fill(bytes, |index| self.element(array, index))
            })
        });
        made.collect()
    }
}

impl Workload for Streams {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("streams.ptx", INFO.ptx)?;
        let inputs = self.inputs(host)?;
        let a = host.alloc("a", self.written_bytes())?;
        let args: Vec<Arg> = inputs.into_iter().chain([a]).map(Arg::Buffer).collect();
        let grid = [(self.elements / u64::from(self.threads)) as u32, 1, 1];
        for _ in 0..2 {
            let block = [self.threads, 1, 1];
            host.launch(module, self.kernel, grid, block, self.shared_bytes, &args)?;
        }
        download_results(host, self.read_results, &[a])?;
        let mut check = Check::bit_exact(NAME);
        for (index, found) in (0..).zip(words::<f64>(host.gpu.host_bytes(a))) {
            let expected = self.expected(index);
            check.equal("a", index, expected.to_bits(), found.to_bits())?;
        }
        Ok(Checked {
            streamed_bytes: ELEMENT_BYTES * self.elements * (self.reads + self.writes),
            ..check.finish()
        })
    }

    fn footprint_bytes(&self) -> u64 {
        ELEMENT_BYTES * self.elements * self.reads + self.written_bytes()
    }
}
