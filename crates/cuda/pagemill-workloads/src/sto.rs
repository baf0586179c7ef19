//! MD5 of every window of a file: integer arithmetic, a dense read stream and a four times larger write stream.

mod md5;

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{Word, fill};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "sto";
const THREADS_PER_BLOCK: u32 = 128;
/// The kernel reads whole words.
const WORD_BYTES: u64 = 4;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "STO: MD5 of every window of a file, staged in shared memory, one thread a window",
    source: include_str!("../../../../workloads/sto/sto.cu"),
    ptx: include_str!("../../../../workloads/sto/sto.ptx"),
    parameters: &[
        Parameter::bytes(
            "file_bytes",
            192 << 10,
            WORD_BYTES,
            1 << 32,
            "size of the file; zeros follow it so that every position has a whole window",
        )
        .in_multiples_of(WORD_BYTES),
        Parameter::bytes("window_bytes", 256, WORD_BYTES, 4096, "size of a window")
            .in_multiples_of(WORD_BYTES),
        Parameter::bytes(
            "step_bytes",
            4,
            WORD_BYTES,
            64,
            "distance from one window to the next",
        )
        .in_multiples_of(WORD_BYTES),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let (file_bytes, step_bytes) = (values.get("file_bytes"), values.get("step_bytes"));
    values.require(file_bytes.is_multiple_of(step_bytes), "file_bytes", || {
        format!("a multiple of step_bytes = {step_bytes}")
    })?;
    Ok(Box::new(Sto {
        windows: file_bytes / step_bytes,
        window_bytes: values.get_u32("window_bytes"),
        step_bytes: values.get_u32("step_bytes"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct Sto {
    windows: u64,
    window_bytes: u32,
    step_bytes: u32,
    seed: u64,
    read_results: bool,
}

impl Sto {
    fn file_bytes(&self) -> u64 {
        self.windows * u64::from(self.step_bytes)
    }

    /// The file and the zeros that complete the last windows.
    fn input_bytes(&self) -> u64 {
        self.file_bytes() + u64::from(self.window_bytes.saturating_sub(self.step_bytes))
    }

    fn digest_bytes(&self) -> u64 {
        self.windows * 16
    }

    fn write_file(&self, bytes: &mut [u8]) {
        let (file, zeros) = bytes.split_at_mut(self.file_bytes() as usize);
        let random = Random::new(self.seed, 0);
        fill(file, |index| random.bits(index) as u32);
        zeros.fill(0);
    }

    fn shared_bytes(&self) -> u32 {
        (THREADS_PER_BLOCK - 1) * self.step_bytes + self.window_bytes
    }

    fn check(&self, file: &[u8], digests: &[u8]) -> Result<Checked, WorkloadError> {
        let mut check = Check::bit_exact(NAME);
        let windows = file
            .windows(self.window_bytes as usize)
            .step_by(self.step_bytes as usize);
        for (index, (window, found)) in (0..).zip(windows.zip(digests.chunks_exact(16))) {
            let found: [u8; 16] = std::array::from_fn(|byte| found[byte]);
            check.equal("digests", index, Digest(md5::digest(window)), Digest(found))?;
        }
        Ok(check.finish())
    }
}

/// Shown as tools print it.
#[derive(PartialEq)]
struct Digest([u8; 16]);

impl std::fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl Workload for Sto {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("sto.ptx", INFO.ptx)?;
        let file = input(host, "file", self.input_bytes(), |bytes| {
            self.write_file(bytes);
        })?;
        let digests = host.alloc("digests", self.digest_bytes())?;

        let blocks = self.windows.div_ceil(u64::from(THREADS_PER_BLOCK)) as u32;
        let args = [
            Arg::Buffer(file),
            Arg::Buffer(digests),
            Arg::U64(self.windows),
            Arg::U32(self.window_bytes / u32::BYTES as u32),
            Arg::U32(self.step_bytes / u32::BYTES as u32),
        ];
        host.launch(
            module,
            "sto_digests",
            [blocks, 1, 1],
            [THREADS_PER_BLOCK, 1, 1],
            self.shared_bytes(),
            &args,
        )?;
        download_results(host, self.read_results, &[digests])?;
        self.check(host.gpu.host_bytes(file), host.gpu.host_bytes(digests))
    }

    fn footprint_bytes(&self) -> u64 {
        self.input_bytes() + self.digest_bytes()
    }
}

#[cfg(test)]
mod tests;
