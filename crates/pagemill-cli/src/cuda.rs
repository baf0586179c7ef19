//! `pagemill cuda`: a scenario of kind "cuda" made of the command line.

use std::io::Write;
use std::path::Path;

use pagemill_scenario::document::SourceText;
use pagemill_scenario::load_text;

use crate::args::{CudaArguments, RunFormat};
use crate::failure::Failure;
use crate::run::{Results, Stdout, interrupt, run_scenario};

/// Runs the user's program, shows the report, and ends as the program did.
pub fn cuda(arguments: &CudaArguments) -> Result<(), Failure> {
    let text = scenario_text(arguments);
    if arguments.verbose {
        print_environment();
    }
    let scenario = load_text(&SourceText::built_in("cuda.toml", &text), &arguments.sets)?;
    let results = Results {
        format: arguments.format.unwrap_or(RunFormat::Table),
        stdout: match arguments.format {
            Some(_) => Stdout::Results,
            None => Stdout::Program,
        },
        out: arguments.out.as_deref(),
    };
    interrupt::programs_first();
    // Programs of a sweep share standard output, and often files: one after the other.
    run_scenario(&scenario, 1, &results)
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

fn scenario_text(arguments: &CudaArguments) -> String {
    // A JSON string is a TOML string.
    let string = |text: &str| serde_json::Value::from(text).to_string();
    let words: Vec<String> = arguments.command.iter().map(|word| string(word)).collect();
    let title = arguments.command.join(" ");
    let mode = match &arguments.mode {
        Some(policy) => format!("mode = {}\n", string(policy)),
        None => String::new(),
    };
    let memory = match (arguments.oversubscribe, arguments.gpu_memory_bytes) {
        (Some(factor), _) => format!("oversubscribe = {factor:?}\n"),
        (_, Some(bytes)) => format!("gpu_memory = \"{bytes} B\"\n"),
        _ => String::new(),
    };
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
