//! The tables of an export. Newer versions of Nsight Systems add a version to a table's name: `..._V2`.

use std::collections::BTreeSet;

use rusqlite::{Connection, ErrorCode};

/// With the reason why an export cannot be read.
pub type Result<T> = std::result::Result<T, String>;

/// Tables of events, without a version.
pub const KERNELS: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
pub const COPIES: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
pub const GPU_FAULTS: &str = "CUDA_UM_GPU_PAGE_FAULT_EVENTS";
pub const CPU_FAULTS: &str = "CUDA_UM_CPU_PAGE_FAULT_EVENTS";
pub const ALLOCATIONS: &str = "CUDA_GPU_MEMORY_USAGE_EVENTS";

/// What the profiler recorded. A table that is absent was not asked for, or had no rows; an export does not say which.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    pub kernels: bool,
    pub copies: bool,
    pub gpu_faults: bool,
    pub cpu_faults: bool,
    pub allocations: bool,
}

impl Recorded {
    pub fn of(connection: &Connection) -> Result<Self> {
        let is_there = |table| Ok::<bool, String>(find(connection, table)?.is_some());
        Ok(Self {
            kernels: is_there(KERNELS)?,
            copies: is_there(COPIES)?,
            gpu_faults: is_there(GPU_FAULTS)?,
            cpu_faults: is_there(CPU_FAULTS)?,
            allocations: is_there(ALLOCATIONS)?,
        })
    }

    /// What is missing, each with the option that has it recorded.
    pub fn missing(self) -> Vec<String> {
        let said = |what: &str, option: &str| format!("{what} (profile with {option})");
        let all = [
            (self.kernels, "kernels", "--trace=cuda"),
            (self.copies, "transfers", "--trace=cuda"),
            (
                self.gpu_faults,
                "faults of the GPU",
                "--cuda-um-gpu-page-faults=true",
            ),
            (
                self.cpu_faults,
                "faults of the CPU",
                "--cuda-um-cpu-page-faults=true",
            ),
            (self.allocations, "allocations", "--cuda-memory-usage=true"),
        ];
        let absent = all.into_iter().filter(|(is_there, ..)| !is_there);
        absent.map(|(_, what, option)| said(what, option)).collect()
    }
}

/// What the export calls a table, in whichever version; none if it is not there.
///
/// # Errors
/// Several versions have rows, or one that is not known.
pub fn find(connection: &Connection, table: &str) -> Result<Option<String>> {
    let mut statement = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        .map_err(said)?;
    let names = statement.query_map([], |row| row.get(0)).map_err(said)?;
    let names = names
        .collect::<rusqlite::Result<Vec<String>>>()
        .map_err(said)?;
    let (mut filled, mut empty) = (Vec::new(), None);
    for name in names {
        let Some(suffix) = suffix(&name, table) else {
            continue;
        };
        let is_known = is_version(suffix);
        match has_rows(connection, &name)? {
            true if is_known => filled.push(name),
            true => {
                return Err(format!(
                    "its table {name} is not known, only {table} and its versions (_V2, _V3, ...): its rows would be missing"
                ));
            }
            false if is_known => empty = Some(name),
            false => {}
        }
    }
    match &filled[..] {
        [] => Ok(empty),
        [name] => Ok(Some(name.clone())),
        several => Err(format!(
            "it has {} with rows in each, which may count twice: export it again with one version of Nsight Systems",
            several.join(" and ")
        )),
    }
}

/// What follows `table` in a name that may be one of its versions.
fn suffix<'a>(name: &'a str, table: &str) -> Option<&'a str> {
    let (start, rest) = name.split_at_checked(table.len())?;
    let may_be =
        rest.is_empty() || rest.starts_with(['_', 'V', 'v']) || rest.starts_with(char::is_numeric);
    (start.eq_ignore_ascii_case(table) && may_be).then_some(rest)
}

/// Nothing, or `_V` and a number.
fn is_version(suffix: &str) -> bool {
    let number = suffix
        .strip_prefix("_V")
        .or_else(|| suffix.strip_prefix("_v"));
    suffix.is_empty()
        || number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
        })
}

fn has_rows(connection: &Connection, name: &str) -> Result<bool> {
    let text = format!("SELECT EXISTS (SELECT 1 FROM {})", quoted(name));
    let found = connection.query_row(&text, [], |row| row.get(0));
    found.map_err(said)
}

/// A name as SQL has it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The columns of a table; none if it is not there.
pub fn columns(connection: &Connection, table: &str) -> Result<BTreeSet<String>> {
    let mut statement = connection
        .prepare("SELECT name FROM pragma_table_info(?1)")
        .map_err(said)?;
    let names = statement
        .query_map([table], |row| row.get(0))
        .map_err(said)?;
    names.collect::<rusqlite::Result<_>>().map_err(said)
}

/// A failure of SQLite, and what to do about it.
pub fn said(error: rusqlite::Error) -> String {
    if let Some(step) = error.sqlite_error_code().and_then(unreadable) {
        return format!("{error}: {step}");
    }
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message,
        other => other.to_string(),
    }
}

/// What to do about a file that SQLite cannot read; none where it can.
fn unreadable(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::NotADatabase => Some(
            "it is no SQLite file, or a damaged one; of a report of Nsight Systems, make one with \
             `nsys export --type sqlite -o program.sqlite program.nsys-rep`",
        ),
        ErrorCode::DatabaseCorrupt => Some(
            "it is damaged or cut short; copy it again, or export it again with `nsys export --type sqlite`",
        ),
        _ => None,
    }
}
