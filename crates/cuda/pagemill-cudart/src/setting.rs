//! Which machine and which policy a program runs on: a scenario of kind "cuda".

use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use pagemill_scenario::document::SourceText;
use pagemill_scenario::{PointSpec, Scenario, load, load_text};
use pagemill_sim::{Detail, GpuMachine, Limits, TransferMode};
use pagemill_wire::{ENVIRONMENT, Plan, THREADS};

const DEFAULT_SCENARIO: &str = r#"
title = "A CUDA program"
kind = "cuda"
machine = "h100-sxm"
program.command = ["program"]
transfer = {}
"#;

/// What a runtime is made of.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The GPU and its link.
    pub machine: GpuMachine,
    /// The machine's name in a line.
    pub machine_title: String,
    /// How managed memory gets to the GPU.
    pub mode: TransferMode,
    /// Where a run is stopped, and how many events are kept.
    pub limits: Limits,
    /// Whether kernels are only executed, without time.
    pub functional: bool,
    /// How much of the launches is timed.
    pub detail: Detail,
    /// Whether mistakes of kernels are looked for.
    pub check: bool,
    /// Whether memory that programs ask of the GPU is managed.
    pub managed: bool,
    /// Hints to give for the program; `None` for those of its own alone.
    pub plan: Option<Plan>,
    /// Where results go; `None` for nowhere.
    pub results: Option<PathBuf>,
    /// Threads of the host for kernels without time.
    pub threads: usize,
}

/// Why there is no setting.
#[derive(Debug)]
pub struct SettingError(String);

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl std::error::Error for SettingError {}

impl Setting {
    /// What the environment says, or the default.
    ///
    /// # Errors
    /// Everything that is wrong with the scenario.
    pub fn from_environment() -> Result<Self, SettingError> {
        match std::env::var_os(ENVIRONMENT) {
            Some(folder) => Self::from_folder(Path::new(&folder)),
            None => Self::from_text(DEFAULT_SCENARIO),
        }
    }

    /// Reads `scenario.toml` in `folder`; results go to the same folder.
    ///
    /// # Errors
    /// Everything that is wrong with the scenario.
    pub fn from_folder(folder: &Path) -> Result<Self, SettingError> {
        let path = folder.join("scenario.toml");
        let given = path.to_str().ok_or_else(|| {
            SettingError(format!(
                "{ENVIRONMENT} names a folder that is no UTF-8: {}",
                folder.display()
            ))
        })?;
        let scenario = load(given, &[]).map_err(|errors| SettingError(errors.render(false)))?;
        Ok(Self {
            plan: Plan::read(folder).map_err(SettingError)?,
            results: Some(folder.to_path_buf()),
            ..Self::of(scenario)?
        })
    }

    /// Reads a scenario from its text; results go nowhere.
    ///
    /// # Errors
    /// Everything that is wrong with the scenario.
    pub fn from_text(text: &str) -> Result<Self, SettingError> {
        let source = SourceText::built_in("cuda.toml", text);
        let scenario =
            load_text(&source, &[]).map_err(|errors| SettingError(errors.render(false)))?;
        Self::of(scenario)
    }

    fn of(scenario: Scenario) -> Result<Self, SettingError> {
        let mut points = scenario.points.into_iter();
        match (points.next().map(|point| point.spec), points.next()) {
            (Some(PointSpec::Cuda(point)), None) => Ok(Self {
                machine: point.machine.spec,
                machine_title: point.machine.title,
                mode: point.transfer.simulated(),
                limits: point.limits,
                functional: point.functional,
                detail: point.detail,
                check: point.check,
                managed: point.managed,
                plan: None,
                results: None,
                threads: threads(std::env::var_os(THREADS))?,
            }),
            _ => Err(SettingError(format!(
                "{ENVIRONMENT} needs a scenario of kind \"cuda\" without a sweep; `pagemill cuda` writes one"
            ))),
        }
    }
}

/// How many threads `given` says.
fn threads(given: Option<OsString>) -> Result<usize, SettingError> {
    let Some(given) = given else {
        let cores = std::thread::available_parallelism();
        return Ok(cores.map_or(1, NonZeroUsize::get));
    };
    let number = given.to_str().and_then(|text| text.parse::<usize>().ok());
    number.filter(|&number| number > 0).ok_or_else(|| {
        SettingError(format!(
            "{THREADS} is {given:?}; use a number of threads, at least 1"
        ))
    })
}

#[cfg(test)]
mod tests;
