//! The process of the user's program: what it finds beside it, and how it ends.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

#[cfg(feature = "cuda")]
use pagemill_cudart::api::SHIMS;
use pagemill_linux::children::{self, AtKill};
use pagemill_linux::scratch::Scratch;
use pagemill_scenario::{CudaPoint, CudaRun};
use pagemill_wire::{ENVIRONMENT, LIBRARY, Plan, Results, START_LIBRARY, THREADS};

use super::advice::advice;
use super::streams::Streams;
use crate::pool::PointError;

#[cfg(not(feature = "cuda"))]
const SHIMS: [pagemill_wire::Shim; 0] = [];
const ABSENT: &str = "kind `cuda` is not in this command, which is built without the feature `cuda`: install the package \
                      pagemill, or build it with `cargo build -p pagemill-cli`";
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
const MODULE_PATH: &str = "PYTHONPATH";
/// The folder of [`MODULES`].
const MODULE_FOLDER: &str = "python";
/// What Python programs find in their path: the first is imported at their start.
const MODULES: [(&str, &str); 4] = [
    ("sitecustomize.py", include_str!("python/sitecustomize.py")),
    (
        "pagemill_convolution.py",
        include_str!("python/pagemill_convolution.py"),
    ),
    (
        "pagemill_parts.py",
        include_str!("python/pagemill_parts.py"),
    ),
    (
        "pagemill_torch.py",
        include_str!("python/pagemill_torch.py"),
    ),
];
const PTXAS: &str = "ptxas";
const XLA_FLAGS: &str = "--xla_gpu_enable_libnvptxcompiler=false --xla_gpu_enable_libnvjitlink=false --xla_gpu_autotune_level=0";
/// `exec` of a file that is no program.
const ENOEXEC: i32 = 8;

/// A program that has ended.
pub struct Finished {
    /// As in a shell: 128 plus the signal if one killed it.
    pub exit_code: u8,
    status: ExitStatus,
    /// One for each process that used the runtime; none only if the program failed.
    pub results: Vec<Results>,
}

/// Runs the program of `spec` with pagemill's runtime in its library path.
/// With a plan, its hints are given for the program, and the results say where its allocations are.
pub fn run(
    spec: &CudaPoint,
    run: &CudaRun,
    plan: Option<&Plan>,
    streams: Streams,
) -> Result<Finished, PointError> {
    if cfg!(not(feature = "cuda")) {
        return Err(PointError::Refused(ABSENT.to_owned()));
    }
    let failed = |error: &dyn std::fmt::Display| PointError::Failed(error.to_string());
    let folder = Scratch::new("cuda").map_err(|error| failed(&error))?;
    furnish(folder.path(), spec, run).map_err(PointError::Failed)?;
    if let Some(plan) = plan {
        let written = plan.write(folder.path());
        written.map_err(|error| {
            failed(&format!(
                "cannot write to {}: {error}",
                folder.path().display()
            ))
        })?;
    }
    let mut command = Command::new(&spec.command[0]);
    command
        .args(&spec.command[1..])
        .envs(environment(folder.path()));
    if let Some(threads) = run.threads {
        command.env(THREADS, threads.to_string());
    }
    streams.give_to(&mut command);
    let status = children::run(&mut command, AtKill::Kill)
        .map_err(|error| not_started(&spec.command[0], &error))?;
    let results = Results::read_all(folder.path()).map_err(|error| failed(&error))?;
    let finished = Finished {
        exit_code: children::exit_code(status),
        status,
        results,
    };
    let program = &spec.command[0];
    let said = match finished.results.is_empty() {
        true => without_results(program, status, folder.path())?,
        false => {
            let mut results = finished.results.iter();
            let ended = results.find_map(|results| finished.early_end(results));
            ended.map(|ended| {
                format!("{program} ended early ({ended}): the results have what it did until then")
            })
        }
    };
    if let Some(said) = said {
        // A closed standard error leaves no place for a message.
        let _ = writeln!(std::io::stderr(), "pagemill: {said}");
    }
    Ok(finished)
}

impl Finished {
    /// How the process of `results` ended, if that was before the runtime did.
    pub fn early_end(&self, results: &Results) -> Option<String> {
        if results.is_whole {
            return None;
        }
        let is_child = results.parent == std::process::id();
        let ended = describe(self.status);
        Some(match self.status.code() {
            // The program that started it knows.
            _ if !is_child => "by a signal, _exit, quick_exit or exec".to_owned(),
            Some(_) => format!("{ended}, by _exit, quick_exit or exec"),
            None => ended,
        })
    }

    /// How a program ended that never used the runtime.
    pub fn end_without_results(&self) -> String {
        format!("{}, before its first CUDA call", describe(self.status))
    }
}

/// `signal 6 (SIGABRT)`, or `exit status 3`.
fn describe(status: ExitStatus) -> String {
    status.to_string().replacen(": ", " ", 1)
}

/// What to say of a program that left no results; an error if it was content.
fn without_results(
    program: &str,
    status: ExitStatus,
    folder: &Path,
) -> Result<Option<String>, PointError> {
    let advice = advice(folder);
    if status.success() {
        let advice = advice.unwrap_or_else(|| "nothing that it did needs a GPU".to_owned());
        return Err(PointError::Refused(format!(
            "{program} called neither the CUDA runtime nor the CUDA driver of pagemill: {advice}"
        )));
    }
    let ended = describe(status);
    let advice = advice.filter(|_| status.code().is_some());
    let rest = advice.map(|advice| format!(". If that is for want of a GPU: {advice}"));
    let rest = rest.unwrap_or_default();
    Ok(Some(format!(
        "{program} ended ({ended}) before it called the CUDA runtime or driver, so there are no results{rest}"
    )))
}

/// Why a program did not start: its name is refused where it names nothing that can be executed.
fn not_started(program: &str, error: &Error) -> PointError {
    let remedy = match error.kind() {
        ErrorKind::NotFound if program.contains('/') && Path::new(program).exists() => {
            "it asks for an interpreter or a loader that is not on this machine: see its first line, or `readelf -l`"
        }
        ErrorKind::NotFound if program.contains('/') => {
            "there is no such file: compile it, or correct the path after `--`"
        }
        ErrorKind::NotFound => {
            "no folder of PATH has it: give the path of a program in this folder as ./NAME"
        }
        ErrorKind::PermissionDenied if Path::new(program).is_dir() => {
            "it is a folder: name the program in it"
        }
        ErrorKind::PermissionDenied => {
            "it may not be executed: name the program that nvcc made, or permit it with `chmod +x`"
        }
        _ if error.raw_os_error() == Some(ENOEXEC) => {
            "it is no program of this machine: name what nvcc made here, or give a script a first line `#!/bin/sh`"
        }
        _ => return PointError::Failed(format!("cannot start {program}: {error}")),
    };
    PointError::Refused(format!("cannot start {program}: {error}; {remedy}"))
}

/// A stand-in for the PTX assembler, whose output is its input.
fn write_ptxas(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, include_str!("ptxas.sh"))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

/// Puts the libraries, the scenario and the machine into `folder`.
fn furnish(folder: &Path, spec: &CudaPoint, run: &CudaRun) -> Result<(), String> {
    let library = pagemill_linux::library::find(LIBRARY).map_err(|error| error.to_string())?;
    let machines = folder.join("machines");
    let machine = machines.join(format!("{}.toml", spec.machine.name));
    let write = || -> std::io::Result<()> {
        for shim in &SHIMS {
            std::fs::write(folder.join(shim.file_name), shim.bytes)?;
            // Some programs look for the name that linkers use.
            if let Some((name, _)) = shim.file_name.split_once(".so.") {
                let link = folder.join(format!("{name}.so"));
                if !link.exists() {
                    std::os::unix::fs::symlink(shim.file_name, link)?;
                }
            }
        }
        write_ptxas(&folder.join(PTXAS))?;
        let programs = folder.join("bin");
        std::fs::create_dir(&programs)?;
        std::os::unix::fs::symlink(folder.join(PTXAS), programs.join(PTXAS))?;
        let modules = folder.join(MODULE_FOLDER);
        std::fs::create_dir(&modules)?;
        for (name, text) in MODULES {
            std::fs::write(modules.join(name), text)?;
        }
        std::os::unix::fs::symlink(&library, folder.join(LIBRARY))?;
        std::fs::create_dir(&machines)?;
        let text = match run.is_slower {
            true => &spec.slower_machine_text,
            false => &spec.machine_text,
        };
        std::fs::write(&machine, text)?;
        std::fs::write(folder.join("scenario.toml"), spec.scenario_text(run))
    };
    write().map_err(|error| format!("cannot write to {}: {error}", folder.display()))
}

/// What the program finds in its environment, with the libraries in `folder`. Variables of frameworks that the user has set
/// stay as they are.
pub fn environment(folder: &Path) -> Vec<(&'static str, OsString)> {
    let paths = |name: &str, first: PathBuf| {
        let before = std::env::var_os(name).unwrap_or_default();
        let before = std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty());
        let all: Vec<PathBuf> = std::iter::once(first.clone()).chain(before).collect();
        // A folder of the system's has no colon in its name; with one, the program would not find the library, and say so.
        std::env::join_paths(all).unwrap_or_else(|_| first.into())
    };
    let triton = || OsString::from("TRITON");
    let frameworks: [(&str, OsString); 15] = [
        // The state of the simulated machine is in the heap: huge pages save the processor its own translations.
        ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1".into()),
        // Triton: the assembler hands PTX on, and the driver is here.
        ("TRITON_PTXAS_PATH", folder.join(PTXAS).into()),
        ("TRITON_PTXAS_BLACKWELL_PATH", folder.join(PTXAS).into()),
        ("TRITON_LIBCUDA_PATH", folder.into()),
        // JAX: the folder of the toolkit, with the assembler in `bin`.
        ("CUDA_ROOT", folder.into()),
        // Its check of versions asks NVIDIA's profiler, which wants NVIDIA's own driver.
        ("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1".into()),
        // JAX: its pool grows with use, so that rows say what the program took, and `--check` keeps notes of no more.
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "false".into()),
        // tinygrad: its renderer of PTX.
        ("DEV", "CUDA:PTX".into()),
        // CuPy: PTX instead of machine code from the run-time compiler.
        ("CUPY_COMPILE_WITH_PTX", "1".into()),
        // PyTorch: products and convolutions by Triton, since the others are machine code.
        ("TORCHINDUCTOR_MAX_AUTOTUNE_GEMM", "1".into()),
        ("TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS", triton()),
        ("TORCHINDUCTOR_MAX_AUTOTUNE_CONV_BACKENDS", triton()),
        // No configuration is tried out for its time.
        ("TORCHINDUCTOR_DETERMINISTIC", "1".into()),
        ("TORCHINDUCTOR_NUM_DECOMPOSE_K_SPLITS", "0".into()),
        // Each process that compiles beside the program would import all of PyTorch.
        ("TORCHINDUCTOR_COMPILE_THREADS", "1".into()),
    ];
    let mut all = vec![
        (LIBRARY_PATH, paths(LIBRARY_PATH, folder.into())),
        (
            "LD_PRELOAD",
            paths("LD_PRELOAD", folder.join(START_LIBRARY)),
        ),
        (MODULE_PATH, paths(MODULE_PATH, folder.join(MODULE_FOLDER))),
        (ENVIRONMENT, folder.into()),
        ("XLA_FLAGS", xla_flags(std::env::var_os("XLA_FLAGS"))),
    ];
    all.extend(
        frameworks
            .into_iter()
            .filter(|(name, _)| std::env::var_os(name).is_none()),
    );
    all
}

/// Flags of XLA: PTX goes to the assembler, and no kernel is tried out for its time. Of two that contradict each other the
/// later counts, so the user's come last; a file of flags stays alone, as XLA reads one only where nothing else stands.
fn xla_flags(before: Option<OsString>) -> OsString {
    let mut all = OsString::from(XLA_FLAGS);
    match before {
        Some(own) if own.is_empty() => all,
        Some(own) if !own.as_encoded_bytes().trim_ascii_start().starts_with(b"-") => own,
        Some(own) => {
            all.push(" ");
            all.push(own);
            all
        }
        None => all,
    }
}

#[cfg(test)]
mod tests;
