//! `pagemill report pages`: the page maps of a run as one page.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use pagemill_report::{PageMap, pages};

use crate::failure::Failure;
use crate::output::{note, print_text};

/// `run --out` and `cuda --out` record where pages are if pages migrate; their report.html shows the same map.
#[derive(Args, Debug)]
pub struct ViewArguments {
    /// A folder of results, or a page map
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,

    /// The HTML file to write [default: beside RESULT]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Open the page in the browser of the desktop
    #[arg(long)]
    pub open: bool,
}

/// Writes the page, says where it is, and opens it if that is wished.
pub fn view(arguments: &ViewArguments) -> Result<(), Failure> {
    let maps = maps(&arguments.result)?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => beside(&arguments.result),
    };
    let title = format!("Pages of {}", arguments.result.display());
    let mut page = Vec::new();
    pages::write_view(&title, &maps, &mut page).map_err(|error| Failure::Run(error.to_string()))?;
    std::fs::write(&out, page)
        .map_err(|error| Failure::Run(format!("cannot write {}: {error}", out.display())))?;
    print_text(&format!("{}\n", out.display()))?;
    if arguments.open {
        open(&out);
    }
    Ok(())
}

/// The maps of a folder of results, or of one file.
fn maps(result: &Path) -> Result<Vec<PageMap>, Failure> {
    let file = if result.is_dir() {
        result.join(pages::FILE)
    } else {
        result.to_path_buf()
    };
    let bytes = std::fs::read(&file).map_err(|error| {
        Failure::Usage(format!(
            "cannot read {}: {error}; `pagemill run SCENARIO --out DIR` and `pagemill cuda --out DIR` write {} where pages migrate",
            file.display(),
            pages::FILE
        ))
    })?;
    let wrong = |reason: String| Failure::Usage(format!("{}: {reason}", file.display()));
    if bytes.starts_with(pagemill_map::MAGIC) {
        let map = pagemill_map::Map::decode(&bytes).map_err(|error| wrong(error.to_string()))?;
        return Ok(vec![PageMap {
            title: map.title,
            data: bytes,
        }]);
    }
    let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    let maps = pages::read(&text).map_err(wrong)?;
    for map in &maps {
        pagemill_map::Map::decode(&map.data).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(maps)
}

/// `results-pages.html` for the folder `results`.
fn beside(result: &Path) -> PathBuf {
    let result = std::path::absolute(result).unwrap_or_else(|_| result.to_path_buf());
    let mut name = result.file_stem().unwrap_or_default().to_owned();
    name.push("-pages.html");
    result.with_file_name(name)
}

fn open(page: &Path) {
    let mut opener = Command::new("xdg-open");
    let opener = opener.arg(page).stdout(Stdio::null()).stderr(Stdio::null());
    if opener.status().is_ok_and(|status| status.success()) {
        return;
    }
    note("xdg-open cannot open it here; open the file in a browser");
}
