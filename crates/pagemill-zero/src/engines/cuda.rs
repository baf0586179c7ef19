use super::cpu::missing;
use super::engine::{EngineEntry, EngineError, Probe};

/// NVIDIA GPUs. Only looked for: a discrete GPU writes host memory over its link, more slowly than one core does.
pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "cuda",
    summary: "an NVIDIA GPU that writes registered host memory (found, not used)",
    probe: look,
    open: || {
        Err(missing("cuda", look()).unwrap_or(EngineError::Device {
            engine: "cuda",
            what: "open",
            why: "this version does not drive it; --engine opencl drives the same GPU where its OpenCL driver is installed".to_owned(),
        }))
    },
};

fn look() -> Probe {
    let driver = "/proc/driver/nvidia/version";
    match std::fs::read_to_string(driver) {
        Ok(text) => Probe::Ready(text.lines().next().unwrap_or_default().trim().to_owned()),
        Err(_) => Probe::Missing {
            found: format!("no {driver}"),
            enable: "install NVIDIA's driver".to_owned(),
        },
    }
}
