//! `pagemill advise zero`: which kind of pages a program should run on.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use pagemill_linux::children;
use pagemill_linux::hugetlb::{HugeSize, Reserve, Stock};
use pagemill_linux::transparent::TransparentPages;
use pagemill_report::table::{TableStyle, render};
use pagemill_report::{ResultSet, Value};
use pagemill_zero_bench::Costs;
use pagemill_zero_bench::advise::{
    Failed, Machine, PoolPlace, Program, Run, Setting, measure, result_set,
};
use pagemill_zero_client::{Client, socket_path};

use super::arguments::ZeroArguments;
use crate::failure::Failure;
use crate::output::TextFormat;
use crate::output::{self, note};
use crate::preload::find_library;
use crate::progress;
use crate::zero::LIBRARY;

/// Longer comparisons are announced, with the time that they will take.
const ANNOUNCED_NS: u64 = 2_000_000_000;

/// Metrics that are in the JSON only: the table would be too wide.
const LEFT_OUT: [&str; 4] = ["note", "pool_pages", "pool_refusals", "cleaner_cpu_ns"];

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Runs the program on every kind of pages, and says which to use.
pub fn advise(arguments: &ZeroArguments) -> Result<(), Failure> {
    // The program ends, and pages that were added to the stock go back to the kernel.
    let _ = ctrlc::set_handler(|| {
        IS_INTERRUPTED.store(true, Ordering::Relaxed);
        children::end_all();
    });
    let mut machine = machine(arguments)?;
    let program = Program::new(&arguments.program).map_err(failed)?;
    // Also brings what it reads into memory, so that the first setting pays for no disk.
    let spinner = progress::bar("{spinner} first run, as it is", 1);
    let first = program
        .run(Setting::AsIs, &machine, 0)
        .map_err(|error| match error {
            Failed::Start { .. } => {
                Failure::Usage(format!("{error}; name a program that this user can run"))
            }
            error => Failure::Run(format!("{error}; nothing was compared")),
        })?;
    spinner.finish_and_clear();
    let wanted_pages = arguments
        .pages
        .map_or_else(|| pages_of(&first), |pages| pages.get());
    let reserve = match arguments.reserve {
        true => Some(Reserve::available(HugeSize::Mib2, wanted_pages).map_err(failed)?),
        false => None,
    };
    machine.free_pages = Stock::read(HugeSize::Mib2).map_or(0, |stock| stock.available_pages());
    let pool_pages = wanted_pages.min(machine.free_pages);
    if (1..wanted_pages).contains(&machine.free_pages) {
        note(&format!(
            "warning: {} of {wanted_pages} huge pages that the program may need are free: add --reserve",
            machine.free_pages
        ));
    }
    let costs = Costs::measure().map_err(failed)?;
    let runs = arguments.runs as usize;
    let settings = Setting::ALL
        .iter()
        .filter(|one| machine.obstacle(**one).is_none());
    let bar = bar(runs * settings.count(), first.usage.wall_ns);
    let tried = measure(&program, &machine, pool_pages, runs, &mut |setting| {
        bar.inc(1);
        bar.set_message(setting.name());
    });
    bar.finish_and_clear();
    if let Some(Err(error)) = reserve.map(Reserve::give_back) {
        note(&format!("warning: {error}"));
    }
    if IS_INTERRUPTED.load(Ordering::Relaxed) {
        let text = "interrupted before every setting was tried; run it again, with fewer --runs if it takes too long";
        return Err(Failure::Run(text.to_owned()));
    }
    print(
        &result_set(&program.name(), &tried, &costs, wanted_pages),
        arguments.format,
    )
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Run(error.to_string())
}

fn machine(arguments: &ZeroArguments) -> Result<Machine, Failure> {
    let library = match find_library(arguments.library.as_deref(), LIBRARY) {
        Ok(library) => Ok(library),
        Err(Failure::Run(why)) => Err(why),
        Err(error) => return Err(error),
    };
    Ok(Machine {
        transparent: TransparentPages::read(),
        glibc: glibc(),
        free_pages: 0,
        library,
        pool: pool(arguments.socket.clone())?,
    })
}

/// The pool that is named has to be there; the usual one is used if it is.
fn pool(named: Option<PathBuf>) -> Result<PoolPlace, Failure> {
    let is_named = named.is_some();
    let socket = named.unwrap_or_else(socket_path);
    match Client::connect(&socket) {
        Ok(_) => Ok(PoolPlace::Served(socket)),
        Err(error) if is_named => Err(failed(error)),
        Err(_) => Ok(PoolPlace::Own),
    }
}

/// Version of the C library, as programs of this machine are expected to have it.
fn glibc() -> Option<(u32, u32)> {
    let version = pagemill_linux::library::glibc_version()?;
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Huge pages for all that the program had at once, and a quarter more for what rounding takes.
fn pages_of(run: &Run) -> usize {
    const PAGE_BYTES: u64 = 2 << 20;
    const SPARE_PAGES: u64 = 16;
    (run.usage.peak_bytes.div_ceil(PAGE_BYTES) * 5 / 4 + SPARE_PAGES) as usize
}

/// How far the runs are, on a terminal; a line beforehand everywhere, if they take long.
fn bar(runs: usize, run_ns: u64) -> ProgressBar {
    let all_ns = run_ns.saturating_mul(runs as u64);
    if all_ns > ANNOUNCED_NS {
        note(&format!(
            "running the program {runs} more times, which takes about {} s",
            all_ns.div_ceil(1_000_000_000)
        ));
    }
    progress::bar(
        "{bar:30} run {human_pos} of {human_len}, {elapsed} elapsed  {wide_msg}",
        runs as u64,
    )
}

fn print(set: &ResultSet, format: TextFormat) -> Result<(), Failure> {
    if format == TextFormat::Json {
        return output::print(|out| pagemill_report::json::write(set, out));
    }
    let mut shown = set.clone();
    // What they say is below the table.
    shown.summary.facts.clear();
    shown.rows.retain(|row| row.get("wall_ns").is_some());
    for row in &mut shown.rows {
        row.metrics
            .retain(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
    }
    let left_out = |name: &String| LEFT_OUT.contains(&name.as_str());
    shown.columns.retain(|column| !left_out(&column.name));
    let mut text = render(&shown, &TableStyle::for_stdout());
    for row in &set.rows {
        if let (Some(Value::Text(setting)), Some(Value::Text(note))) =
            (row.get("setting"), row.get("note"))
        {
            let is_tried = row.get("wall_ns").is_some();
            let what = if is_tried { "note on" } else { "not tried:" };
            text += &format!("{what} {setting}: {note}\n");
        }
    }
    output::print_text(&format!("{}\n\n{}\n", text.trim_end(), set.about))
}
