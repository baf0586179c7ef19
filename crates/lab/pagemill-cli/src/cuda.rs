//! `pagemill cuda`: a scenario of kind "cuda" made of the command line.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use pagemill_scenario::document::SourceText;
use pagemill_scenario::load_text;

use crate::failure::Failure;
use crate::output::{RunFormat, check_file};
use crate::run::{Results, Stdout, interrupt, run_scenario};
use crate::values;

/// The program is started with pagemill's CUDA libraries in its library path. It has to contain PTX, which nvcc includes by default;
/// its runtime may be shared or linked statically. The exit code is the program's.
#[derive(Args, Debug)]
pub struct CudaArguments {
    /// The machine, by name or by file
    #[arg(long, value_name = "MACHINE", default_value = pagemill_wire::DEFAULT_MACHINE)]
    pub machine: String,

    /// How managed memory gets to the GPU: a transfer mode of `pagemill list policies`. Without it, `on-demand` on machines
    /// that have a unified-memory driver, and `multi-range` on others
    #[arg(long, alias = "policy", value_name = "MODE")]
    pub mode: Option<String>,

    /// Set a value of the scenario or its machine; a list runs the program once for each
    ///
    /// Examples: --set machine.dram.capacity="2 GiB", --set transfer.page_size="64 KiB"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Give the GPU as much memory as the program has at its peak, divided by F
    ///
    /// The program runs twice: first without simulated time or output, to see how much it allocates. Standard input is read twice if it
    /// is a file, and is empty in the first run if it is not. With --set 'program.oversubscribe=[0.8, 1.5]', one row for each
    /// factor.
    #[arg(long, value_name = "F", value_parser = values::factor, allow_negative_numbers = true)]
    pub oversubscribe: Option<f64>,

    /// GPU memory for the program, such as 16GiB, instead of what the machine has
    #[arg(long = "gpu-memory", value_name = "SIZE", value_parser = values::size, conflicts_with = "oversubscribe")]
    pub gpu_memory_bytes: Option<u64>,

    /// Give the program managed memory where it asks for GPU memory, so that its pages move
    ///
    /// cudaMalloc, cuMemAlloc and memory pools; a program that fits no GPU runs unchanged. Memory of other processes, memory mapped by
    /// cuMemMap, arrays of textures and nodes of graphs stay on the GPU.
    #[arg(long)]
    pub managed: bool,

    /// Only execute the kernels, without simulated time: the fastest way to the program's results
    #[arg(long, conflicts_with = "oversubscribe")]
    pub functional: bool,

    /// Threads that run the blocks of a kernel without simulated time, where they cannot see each other [default: the number of
    /// cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Find bugs in kernels: out-of-bounds, freed and uninitialized memory, races, lanes that miss a barrier
    ///
    /// Each is a line of standard error, once for each source line, and the exit code is 1 if there are any. Compile with
    /// -lineinfo to see source lines. Without simulated time, as with --functional.
    #[arg(long, conflicts_with = "oversubscribe")]
    pub check: bool,

    /// How much to time: full (every launch), sampled (some of them, for an estimate with an error bar), or pages (page
    /// traffic alone, with a lower bound for time)
    #[arg(long, value_name = "DETAIL", value_parser = ["full", "sampled", "pages"], default_value = "full", conflicts_with_all = ["functional", "check"])]
    pub detail: String,

    /// Print the environment variables of the program to standard error
    #[arg(long)]
    pub verbose: bool,

    /// Write results to standard output in this form, and the program's output to standard error
    ///
    /// Without it, standard output is the program's, and a table goes to standard error.
    #[arg(long, value_enum)]
    pub format: Option<RunFormat>,

    /// Also write results.json, results.csv, results.parquet, report.html and timeline.pftrace there, and with --check findings.sarif
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Also write what moved before each launch to this file, for `pagemill gpu run --hints FILE -- PROGRAM`
    ///
    /// In modes where the GPU moves parts of pages by itself (whole-page, single-range, multi-range), exactly these parts are copied
    /// before the launch on a real GPU.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["functional", "check", "detail"])]
    pub hints: Option<PathBuf>,

    /// The program and its arguments, after `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// Runs the user's program, shows the report, and ends as the program did.
pub fn cuda(arguments: &CudaArguments) -> Result<(), Failure> {
    check_file(arguments.hints.as_deref())?;
    let text = scenario_text(arguments);
    if arguments.verbose {
        print_environment();
    }
    let scenario = load_text(&SourceText::of_options("cuda", &text), &arguments.sets)?;
    let results = Results {
        format: arguments.format.unwrap_or(RunFormat::Table),
        stdout: match arguments.format {
            Some(_) => Stdout::Results,
            None => Stdout::Program,
        },
        out: arguments.out.as_deref(),
        hints: arguments.hints.as_deref(),
    };
    interrupt::programs_first();
    // Programs of a sweep share standard output, and often files: one after the other.
    let threads = arguments.threads.map_or(0, NonZeroUsize::get);
    run_scenario(&scenario, (1, threads), &results)
}

/// Says on standard error what the program finds in its environment.
fn print_environment() {
    let mut err = std::io::stderr().lock();
    // A closed standard error leaves no place for a message.
    let _ = writeln!(
        err,
        "pagemill: the program's environment; FOLDER is a temporary folder:"
    );
    for (name, value) in pagemill_run::cuda_environment(Path::new("FOLDER")) {
        let _ = writeln!(err, "pagemill:   {name}={}", value.display());
    }
}

/// The lines of `[program]` about its memory.
pub fn memory_keys(managed: bool, oversubscribe: Option<f64>, gpu_memory: Option<u64>) -> String {
    let of_gpu = match (oversubscribe, gpu_memory) {
        (Some(factor), _) => format!("oversubscribe = {factor:?}\n"),
        (_, Some(bytes)) => format!("gpu_memory = \"{bytes} B\"\n"),
        _ => String::new(),
    };
    format!("managed = {managed}\n{of_gpu}")
}

fn scenario_text(arguments: &CudaArguments) -> String {
    // A JSON string is a TOML string.
    let string = |text: &str| serde_json::Value::from(text).to_string();
    let words: Vec<String> = arguments.command.iter().map(|word| string(word)).collect();
    let title = arguments.command.join(" ");
    let mode = match &arguments.mode {
        Some(policy) => format!("mode = {}\n", string(policy)),
        None => String::new(),
    };
    let memory = memory_keys(
        arguments.managed,
        arguments.oversubscribe,
        arguments.gpu_memory_bytes,
    );
    format!(
        "title = {}\nkind = \"cuda\"\nmachine = {}\ndetail = {}\n\n[program]\ncommand = [{}]\nfunctional = {}\ncheck = {}\n{memory}\n[transfer]\n{mode}",
        string(&title),
        string(&arguments.machine),
        string(&arguments.detail),
        words.join(", "),
        arguments.functional,
        arguments.check,
    )
}
