//! Python frameworks that launch CUDA kernels, for tests of the driver API.

use anyhow::Result;

use crate::venv::Environment;

const ENVIRONMENT: Environment = Environment {
    name: "frameworks",
    what: "Python frameworks for CUDA",
    file: "frameworks-requirements.txt",
    requirements: include_str!("../frameworks-requirements.txt"),
};

/// Installs them under `target/venv/frameworks` unless they are there already.
pub fn provide() -> Result<()> {
    ENVIRONMENT.provide().map(|_| ())
}
