//! Where scenario and machine files are found: on disk, or compiled in.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::document::{Kind, Node, SourceText, parse_document};
use crate::error::{InputErrors, Problem};
use crate::names::nearest_few;

/// A file that was compiled in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// What it is asked for by: the file's name without `.toml`.
    pub name: &'static str,
    /// Its path in the source tree.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// What a file says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHead {
    /// Its `kind`.
    pub kind: String,
    /// Its `title`.
    pub title: String,
    /// Its `about`; may be empty.
    pub about: String,
}

impl BuiltIn {
    /// What the file says it is.
    ///
    /// # Errors
    /// The file is no TOML, or has no kind or no title.
    pub fn head(&self) -> Result<FileHead, InputErrors> {
        let source = SourceText::built_in(self.path, self.text);
        let table = parse_document(&source)?;
        let text = |key: &str| match table.get(key).map(|node| &node.kind) {
            Some(Kind::String(text)) => Some(text.clone()),
            _ => None,
        };
        let needed = |key: &str| {
            text(key).ok_or_else(|| Problem::new(format!("{} has no {key}", source.name())))
        };
        Ok(FileHead {
            kind: needed("kind")?,
            title: needed("title")?,
            about: text("about").unwrap_or_default(),
        })
    }
}

macro_rules! built_in {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(BuiltIn {
            name: $name,
            path: concat!($folder, "/", $name, ".toml"),
            text: include_str!(concat!("../../../../", $folder, "/", $name, ".toml")),
        }),*]
    };
}

/// The machines that every installation has.
pub const MACHINES: &[BuiltIn] = built_in!("machines": "a100-pcie4-x86",
    "bxi-2",
    "card-400g-ats",
    "card-400g-main-memory",
    "card-400g-on-demand",
    "card-400g",
    "chip-400g-main-memory",
    "connectx-5-gpu",
    "connectx-7-gpu",
    "connectx-7",
    "core2-duo",
    "efa-hpc6a",
    "gh200",
    "gtx1080ti",
    "gtx480-paper",
    "gtx480",
    "h100-sxm",
    "h100",
    "h200",
    "nfp-6000-broadwell",
    "on-die",
    "pager-epyc",
    "pdp",
    "pni-clos-2",
    "pni-clos-3",
    "pni-dragonfly",
    "pni",
    "qdr",
    "quadro-p4000",
    "rtx5090",
    "slingshot-11",
    "tofu-d",
    "v100-nvlink-p9",
    "v100-pcie",
    "v100-pcie3-x86",
    "v100-sxm2-switch",
    "zero-epyc",
    "zero-igpu",
    "zero-xeon");

/// The scenarios that every installation has.
pub const SCENARIOS: &[BuiltIn] = built_in!("scenarios": 
    "cachepm-dynamic",
    "cachepm-mrc",
    "cachepm-pairs",
    "cachepm-single",
    "expert-all-to-all",
    "microbench-bandwidth",
    "microbench-faults",
    "microbench-latency",
    "network-adversary",
    "network-bisection",
    "nic-connectx-7",
    "nic-gpu-memory",
    "nic-iommu",
    "nic-map",
    "nic-mpi",
    "nic-ports",
    "nic-puts",
    "pager-budgets",
    "pni-bandwidth",
    "pni-conflict",
    "pni-first-touch",
    "pni-latency",
    "pni-many-ports",
    "pni-mpi",
    "pni-prefetch-depth",
    "pni-random",
    "pni-replay",
    "policies",
    "policy-eviction",
    "policy-growth",
    "policy-prefetch",
    "ppm-96",
    "ppm-fig4",
    "ppm-fig5",
    "ppm-fig6",
    "ppm-fit",
    "ppm-oversubscribed",
    "ppm-ranges",
    "ppm-scale",
    "ppm-sensitivity-buffer",
    "ppm-sensitivity-fault",
    "ppm-sensitivity-latency",
    "ppm-sensitivity-tlb",
    "ppm-tlb",
    "quickstart",
    "real-batches",
    "real-fdtd-2d",
    "real-grace-hopper",
    "real-hotspot",
    "real-sgemm",
    "real-zero-copy",
    "smoke",
    "uvm-best",
    "uvm-on-demand",
    "uvm-partition",
    "uvm-zero-copy",
    "vector-add-scale",
    "zero-corunner",
    "zero-latency",
    "zero-startup");

/// Finds the scenario called `given`: a path, or the name of a built-in scenario.
pub(crate) fn find_scenario(given: &str) -> Result<Arc<SourceText>, Problem> {
    let path = Path::new(given);
    if path.is_file() {
        return read(path).map_err(|error| unreadable(path, &error));
    }
    match find_built_in(SCENARIOS, given) {
        Some(built_in) => Ok(built_in),
        None => Err(no_scenario(path, given)),
    }
}

/// Finds the machine that `node` of a scenario in `folder` names: a path, or a name.
pub(crate) fn find_machine(
    given: &str,
    node: &Node,
    folder: Option<&Path>,
) -> Result<Arc<SourceText>, Problem> {
    if given.contains('/') || given.ends_with(".toml") {
        // Relative to the file that says so; what the command line says is relative to where it is given.
        let path = node
            .origin
            .source
            .folder()
            .unwrap_or(Path::new(""))
            .join(given);
        return read(&path).map_err(|error| {
            Problem::at(
                &node.origin,
                format!("cannot read the machine file {}: {error}", path.display()),
            )
            .help(format!(
                "a path is relative to the scenario; {}",
                machines_there_are(given, folder)
            ))
        });
    }
    let mut on_disk = machine_folders(folder)
        .into_iter()
        .map(|folder| folder.join(format!("{given}.toml")));
    if let Some(path) = on_disk.find(|path| path.is_file()) {
        return read(&path).map_err(|error| unreadable(&path, &error));
    }
    find_built_in(MACHINES, given).ok_or_else(|| {
        let help = machines_there_are(given, folder);
        Problem::at(&node.origin, format!("there is no machine \"{given}\"")).help(help)
    })
}

/// The folders that hold the machines of a scenario in `folder`: `machines/` in it, and beside it.
fn machine_folders(folder: Option<&Path>) -> Vec<PathBuf> {
    let Some(folder) = folder else {
        return Vec::new();
    };
    let above = match (folder.file_name(), folder.parent()) {
        (Some(_), Some(above)) => above.to_path_buf(),
        _ => folder.join(".."),
    };
    vec![folder.join("machines"), above.join("machines")]
}

fn machine_names(folder: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = MACHINES
        .iter()
        .map(|machine| machine.name.to_owned())
        .collect();
    names.extend(
        machine_folders(folder)
            .iter()
            .flat_map(|folder| toml_files(folder)),
    );
    names.sort();
    names.dedup();
    names
}

fn machines_there_are(given: &str, folder: Option<&Path>) -> String {
    let names = machine_names(folder);
    nearest_few(stem(given), "machines", names.iter().map(String::as_str))
}

/// The name in a path.
fn stem(given: &str) -> &str {
    let stem = Path::new(given).file_stem();
    stem.and_then(|stem| stem.to_str()).unwrap_or(given)
}

fn find_built_in(all: &[BuiltIn], name: &str) -> Option<Arc<SourceText>> {
    let found = all.iter().find(|built_in| built_in.name == name)?;
    Some(SourceText::built_in(found.path, found.text))
}

fn read(path: &Path) -> io::Result<Arc<SourceText>> {
    Ok(SourceText::file(path, std::fs::read_to_string(path)?))
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let problem = Problem::new(format!("cannot read {}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::InvalidData => {
            problem.help("scenario and machine files are UTF-8 text".to_owned())
        }
        _ => problem,
    }
}

fn no_scenario(path: &Path, given: &str) -> Problem {
    let built_in = SCENARIOS.iter().map(|scenario| scenario.name);
    let help = nearest_few(stem(given), "scenarios", built_in);
    if path.is_dir() {
        return Problem::new(format!("{given} is a folder, not a scenario file"))
            .help(nearby(path).or(Some(help)));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let is_name = folder.is_none() && path.extension().is_none();
    if is_name {
        return Problem::new(format!(
            "there is no scenario \"{given}\", neither a file nor built in"
        ))
        .help(help);
    }
    let folder = folder.unwrap_or(Path::new("."));
    let problem = Problem::new(format!("there is no file {}", path.display()));
    if folder.is_dir() {
        problem.help(nearby(folder).or(Some(help)))
    } else {
        problem.help(format!(
            "there is no folder {} either; {help}",
            folder.display()
        ))
    }
}

/// The scenario files in `folder`, as a help.
fn nearby(folder: &Path) -> Option<String> {
    let names = toml_files(folder);
    let list = names
        .iter()
        .take(20)
        .map(|name| format!("{name}.toml"))
        .collect::<Vec<_>>()
        .join(", ");
    (!names.is_empty()).then(|| format!("{} holds: {list}", folder.display()))
}

/// Names, without `.toml`, of the TOML files in `folder`, sorted.
fn toml_files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned()))
        .collect();
    names.sort();
    names
}
