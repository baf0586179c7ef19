//! One run of the program, and what it left.

use std::fs::File;
use std::io::{Read, Seek};

use pagemill_scenario::{CudaPoint, CudaRun};
use pagemill_wire::Results;

use super::Configuration;
use crate::Stdout;
use crate::kind::cuda::{Finished, Streams, run_child};
use crate::pool::PointError;

/// What a run left.
#[derive(Debug)]
pub struct Trial {
    /// As a shell says it.
    pub exit_code: u8,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error.
    pub errors: Vec<u8>,
    /// One for each process that used the GPU.
    pub results: Vec<Results>,
}

impl Trial {
    /// Simulated time of all processes.
    pub fn time_ns(&self) -> u64 {
        self.results
            .iter()
            .map(|results| results.report.time_ns)
            .sum()
    }

    /// Hints that had no effect.
    pub fn unheeded_hints(&self) -> u64 {
        let reports = self.results.iter();
        reports.map(|results| results.report.unheeded_hints).sum()
    }
}

/// A program that is run again and again.
#[derive(Debug)]
pub struct Program<'a> {
    spec: &'a CudaPoint,
    gpu_memory_bytes: Option<u64>,
}

impl<'a> Program<'a> {
    /// That of `spec`, on a GPU with `gpu_memory_bytes` if that is said.
    pub fn new(spec: &'a CudaPoint, gpu_memory_bytes: Option<u64>) -> Self {
        Self {
            spec,
            gpu_memory_bytes,
        }
    }

    fn how(&self, configuration: &Configuration) -> CudaRun {
        CudaRun {
            gpu_memory_bytes: self.gpu_memory_bytes,
            mode: configuration.mode.map(str::to_owned),
            is_slower: configuration.is_slower,
            ..CudaRun::default()
        }
    }

    /// Runs it unseen.
    pub fn run(&self, configuration: &Configuration) -> Result<Trial, PointError> {
        let failed = |error: std::io::Error| PointError::Failed(error.to_string());
        let mut output = tempfile::tempfile().map_err(failed)?;
        let mut errors = tempfile::tempfile().map_err(failed)?;
        let again = |file: &File| file.try_clone().map_err(failed);
        let streams = Streams::hidden(Some(again(&output)?), again(&errors)?);
        let plan = configuration.plan();
        let how = self.how(configuration);
        let finished = run_child(self.spec, &how, Some(&plan), streams)?;
        let Finished {
            exit_code, results, ..
        } = finished;
        Ok(Trial {
            exit_code,
            output: read(&mut output).map_err(failed)?,
            errors: read(&mut errors).map_err(failed)?,
            results,
        })
    }

    /// Runs it as the user sees it.
    pub fn show(
        &self,
        configuration: &Configuration,
        stdout: Stdout,
    ) -> Result<(u8, u64), PointError> {
        let plan = configuration.plan();
        let how = self.how(configuration);
        let finished = run_child(self.spec, &how, Some(&plan), Streams::shown(stdout))?;
        let times = finished
            .results
            .iter()
            .map(|results| results.report.time_ns);
        Ok((finished.exit_code, times.sum()))
    }
}

/// All that was written to `file`.
pub fn read(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
