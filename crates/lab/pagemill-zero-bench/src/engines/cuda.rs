//! NVIDIA GPUs. A discrete one writes host memory over its link, more slowly than one core does, but without the core.

use pagemill_gpu::{ClearError, GpuError, HostWriter};
use pagemill_linux::clock;

use pagemill_zero::engines::{Engine, EngineEntry, EngineError, Probe, Timing, bytes_of};

const NAME: &str = "cuda";

/// The first GPU of the driver.
pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "an NVIDIA GPU that writes registered host memory over its link",
    probe: look,
    open: || match HostWriter::open() {
        Ok(writer) => Ok(Box::new(Cuda { writer })),
        Err(error) => Err(look()
            .missing(NAME)
            .unwrap_or_else(|| failed("open its GPU", &error))),
    },
};

struct Cuda {
    writer: HostWriter,
}

fn look() -> Probe {
    match HostWriter::look() {
        Ok(gpu) => Probe::Ready(gpu.name),
        Err(error) => Probe::Missing {
            found: error.to_string(),
            enable: "or use --engine auto".to_owned(),
        },
    }
}

fn failed(what: &'static str, error: &GpuError) -> EngineError {
    EngineError::Device {
        engine: NAME,
        what,
        why: error.to_string(),
    }
}

impl Engine for Cuda {
    fn name(&self) -> &'static str {
        NAME
    }

    fn zero(&mut self, pages: &mut [&mut [u8]]) -> Result<Timing, EngineError> {
        let bytes = bytes_of(pages);
        let (cpu, wall) = (clock::process_cpu_ns(), clock::monotonic_ns());
        self.writer.zero(pages).map_err(|error| match error {
            ClearError::Stopped(error) => failed("clear", &error),
            ClearError::StillWriting(error) => EngineError::StillWriting {
                engine: NAME,
                why: error.to_string(),
            },
        })?;
        Ok(Timing {
            bytes,
            wall_ns: clock::monotonic_ns() - wall,
            cpu_ns: clock::process_cpu_ns() - cpu,
        })
    }
}
