//! `pagemill doctor`: which real backends this machine has, and the command that would enable the others.

mod probes;
mod system;

use std::fmt::Write;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{TextFormat, print_json, print_text};
use system::System;

/// Without a subcommand: which real backends this machine has, and the command that would enable the others.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DoctorArguments {
    #[command(subcommand)]
    pub measured: Option<Measured>,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub format: TextFormat,
}

/// What can be measured here.
#[derive(Subcommand, Debug)]
pub enum Measured {
    /// Measure the GPU: managed memory larger than it, by pattern and strategy
    Gpu(crate::gpu::GpuBenchArguments),
    /// Measure what clearing huge pages costs, and what the pool gains
    Zero(crate::zero::BenchArguments),
    /// Measure what the pager costs, and write a machine file for simulations
    Pager(crate::pager::ProbeArguments),
    /// Test by timing whether pages of this machine have cache colors
    Color(crate::color::ProbeArguments),
}

/// Carries out the command.
pub fn doctor(arguments: &DoctorArguments) -> Result<(), Failure> {
    match &arguments.measured {
        Some(Measured::Gpu(arguments)) => crate::gpu::bench(arguments),
        Some(Measured::Zero(arguments)) => crate::zero::bench::bench(arguments),
        Some(Measured::Pager(arguments)) => crate::pager::probe::probe(arguments),
        Some(Measured::Color(arguments)) => crate::color::probe::probe(arguments),
        None => match arguments.format {
            TextFormat::Table => print_text(&table()),
            TextFormat::Json => print_json(&json()),
        },
    }
}

/// Whether a backend can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// As it is.
    Ready,
    /// In part, or after a setting is changed.
    Limited,
    /// Not at all.
    Missing,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Limited => "limited",
            Self::Missing => "missing",
        }
    }
}

/// What was found out about one backend.
#[derive(Debug)]
struct Backend {
    name: &'static str,
    status: Status,
    found: String,
    enable: Option<String>,
}

impl Backend {
    fn ready(name: &'static str, found: &str) -> Self {
        Self {
            name,
            status: Status::Ready,
            found: found.to_owned(),
            enable: None,
        }
    }

    fn limited(name: &'static str, found: &str, enable: &str) -> Self {
        Self {
            name,
            status: Status::Limited,
            found: found.to_owned(),
            enable: Some(enable.to_owned()),
        }
    }

    fn missing(name: &'static str, found: &str, enable: &str) -> Self {
        Self {
            name,
            status: Status::Missing,
            found: found.to_owned(),
            enable: Some(enable.to_owned()),
        }
    }
}

/// What this machine has, as text for people.
pub fn table() -> String {
    show_table(&examine(&System::this()))
}

/// What this machine has, as JSON.
pub fn json() -> Value {
    show_json(&examine(&System::this()))
}

fn examine(system: &System) -> Vec<Backend> {
    probes::PROBES.iter().map(|probe| probe(system)).collect()
}

fn show_table(backends: &[Backend]) -> String {
    let mut text =
        String::from("Real backends of this machine. The simulator needs none of them.\n\n");
    for Backend {
        name,
        status,
        found,
        enable,
    } in backends
    {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<15} {:<8} {found}", status.name());
        if let Some(enable) = enable {
            let _ = writeln!(text, "{:<15} enable:  {enable}", "");
        }
    }
    text
}

fn show_json(backends: &[Backend]) -> Value {
    let backends: Vec<Value> = backends
        .iter()
        .map(|backend| {
            json!({
                "name": backend.name,
                "status": backend.status.name(),
                "found": backend.found,
                "enable": backend.enable,
            })
        })
        .collect();
    json!({ "pagemill_version": env!("CARGO_PKG_VERSION"), "backends": backends })
}

#[cfg(test)]
mod tests;
