//! `pagemill report`: a static site of several runs, and what there is to see of one or two.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use pagemill_report::site::{SiteRun, write_index};
use pagemill_report::{ResultSet, html};

use crate::compare::results;
use crate::failure::Failure;
use crate::output::print_text;

/// The site filters and compares its runs in the browser; it needs no server and no network.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ReportArguments {
    #[command(subcommand)]
    pub part: Option<Part>,

    /// A folder with runs (results.json) at any depth
    #[arg(value_name = "DIR", required = true)]
    pub folder: Option<PathBuf>,

    /// The folder of the site; files of an earlier site are replaced
    #[arg(long, value_name = "DIR", required = true)]
    pub out: Option<PathBuf>,

    /// Title of the site
    #[arg(long, value_name = "TEXT", default_value = "Runs of pagemill")]
    pub title: String,
}

/// Reports of one run or two.
#[derive(Subcommand, Debug)]
pub enum Part {
    /// Compare two results, with the error of each point
    Compare(crate::compare::CompareArguments),
    /// Show where the pages of a run were, when and why: one HTML page that needs no network
    Pages(crate::view::ViewArguments),
    /// Say how the Python package reads a profile of Nsight Systems
    Nsight(NsightArguments),
}

/// Exit code 2: the message has the line that reads the profile.
#[derive(Args, Debug)]
pub struct NsightArguments {
    /// The export, a SQLite file; whatever follows it is ignored
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "EXPORT.sqlite"
    )]
    pub export: Vec<String>,
}

const RESULTS: &str = "results.json";
const REPORT: &str = "report.html";

/// A run that was found.
struct Found {
    /// Path from the folder that was asked for: `a`, `b/results`.
    name: String,
    folder: PathBuf,
    set: ResultSet,
}

/// Writes what was asked for.
pub fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    match (&arguments.part, &arguments.folder, &arguments.out) {
        (Some(Part::Compare(arguments)), _, _) => crate::compare::compare(arguments),
        (Some(Part::Pages(arguments)), _, _) => crate::view::view(arguments),
        (Some(Part::Nsight(arguments)), _, _) => Err(nsight(arguments)),
        (None, Some(folder), Some(out)) => site(folder, out, &arguments.title),
        // Both are required then.
        (None, _, _) => Err(Failure::Usage("a site needs DIR and --out".to_owned())),
    }
}

/// The line of Python that reads a profile.
fn nsight(arguments: &NsightArguments) -> Failure {
    let export = arguments.export.first();
    let export = export.map_or("program.sqlite", String::as_str);
    // As Python writes a text, which the shell leaves as it is.
    let export = format!("{export:?}").replace('\'', "'\\''");
    Failure::Usage(format!(
        "profiles of Nsight Systems are read by the Python package pagemill:\n  \
         python3 -c 'import pagemill; pagemill.nsight({export}).save(\"profiled\")'"
    ))
}

/// Writes the index and the report of each run.
fn site(folder: &Path, out: &Path, title: &str) -> Result<(), Failure> {
    let mut found = Vec::new();
    find(folder, folder, &mut found)?;
    if found.is_empty() {
        return Err(Failure::Usage(format!(
            "{} holds no {RESULTS}: make some with `pagemill run ... --out {}/NAME`",
            folder.display(),
            folder.display()
        )));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let index = write_site(out, title, &found)
        .map_err(|error| Failure::Run(format!("cannot write to {}: {error}", out.display())))?;
    print_text(&format!("{}\n", index.display()))
}

/// Every run below `folder`, however deep.
fn find(top: &Path, folder: &Path, found: &mut Vec<Found>) -> Result<(), Failure> {
    let unreadable = |path: &Path, error: io::Error| {
        Failure::Usage(format!("cannot read {}: {error}", path.display()))
    };
    let file = folder.join(RESULTS);
    if file.is_file() {
        let set = results(&file)?;
        let name = match folder
            .strip_prefix(top)
            .unwrap_or(folder)
            .display()
            .to_string()
        {
            name if name.is_empty() => set.scenario.clone(),
            name => name,
        };
        found.push(Found {
            name,
            folder: folder.to_path_buf(),
            set,
        });
        return Ok(());
    }
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(folder, error))?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_folder && !is_hidden {
            find(top, &entry.path(), found)?;
        }
    }
    Ok(())
}

/// The path of the index.
fn write_site(out: &Path, title: &str, found: &[Found]) -> io::Result<PathBuf> {
    fs::create_dir_all(out)?;
    let mut reports = Vec::new();
    for (number, run) in found.iter().enumerate() {
        let name = format!("run-{}.html", number + 1);
        let (theirs, ours) = (run.folder.join(REPORT), out.join(&name));
        if theirs.is_file() {
            // Its figures are not in results.json.
            fs::copy(&theirs, &ours)?;
        } else {
            html::write(&run.set, BufWriter::new(File::create(&ours)?))?;
        }
        reports.push(name);
    }
    let runs: Vec<SiteRun<'_>> = found
        .iter()
        .zip(&reports)
        .map(|(run, report)| SiteRun {
            name: &run.name,
            set: &run.set,
            report: Some(report),
        })
        .collect();
    let index = out.join("index.html");
    write_index(title, &runs, BufWriter::new(File::create(&index)?))?;
    Ok(index)
}
