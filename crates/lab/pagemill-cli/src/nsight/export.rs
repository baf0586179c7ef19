//! An export of Nsight Systems (`nsys export --type sqlite`) as events of unified memory, in the order of time.
//!
//! Tables and columns: NVIDIA, Nsight Systems User Guide, "SQLite Schema Reference". Kinds of copies, causes and memory kinds have the
//! numbers of CUPTI's activity API.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::tables::{
    ALLOCATIONS, COPIES, CPU_FAULTS, GPU_FAULTS, KERNELS, Recorded, Result, columns, find, quoted,
    said,
};

/// The copies of unified memory, as NVIDIA numbers them.
const UNIFIED_TO_GPU: i64 = 11;
const UNIFIED_TO_CPU: i64 = 12;
const UNIFIED_BETWEEN_GPUS: i64 = 13;

/// Memory kinds of managed memory: allocated, and of variables.
const MANAGED: &str = "(4, 6)";

/// What an export calls kinds of copies, memory and operations, where it says. Causes are not checked.
const NUMBERS: &[(&str, i64, &str)] = &[
    ("ENUM_CUDA_MEMCPY_OPER", UNIFIED_TO_GPU, "UVM_HTOD"),
    ("ENUM_CUDA_MEMCPY_OPER", UNIFIED_TO_CPU, "UVM_DTOH"),
    ("ENUM_CUDA_MEMCPY_OPER", UNIFIED_BETWEEN_GPUS, "UVM_DTOD"),
    ("ENUM_CUDA_MEM_KIND", 4, "MANAGED"),
    ("ENUM_CUDA_MEM_KIND", 6, "MANAGED_STATIC"),
    ("ENUM_CUDA_DEV_MEM_EVENT_OPER", 0, "OPR_ALLOCATION"),
    ("ENUM_CUDA_DEV_MEM_EVENT_OPER", 1, "OPR_DEALLOCATION"),
];

/// No address and no size is larger: virtual addresses have 57 bits.
const ADDRESS_MAX: u64 = 1 << 57;
/// Nothing that moves at once is larger: 1 TiB.
const MOVED_MAX: u64 = 1 << 40;
/// No time is later: 104 days.
const TIME_MAX_NS: u64 = 1 << 53;
/// No row counts more faults.
const FAULTS_MAX: u64 = 1 << 32;

/// Something that happened, in nanoseconds of the export's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub start_ns: u64,
    pub end_ns: u64,
    pub what: What,
}

/// What it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Managed memory was allocated, perhaps with the name of a variable.
    Allocated {
        address: u64,
        bytes: u64,
        name: Option<String>,
    },
    /// A kernel ran.
    Kernel { name: String },
    /// Threads of the GPU faulted on a page.
    GpuFault { address: u64, faults: u64 },
    /// The CPU faulted on a page.
    CpuFault { address: u64 },
    /// Pages moved.
    Moved {
        address: u64,
        bytes: u64,
        to_gpu: bool,
        why: Why,
    },
    /// The program copied.
    Copied,
    /// Managed memory was given back.
    Freed { address: u64, bytes: u64 },
}

/// Why pages moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Unknown,
    /// A call asked for it.
    Call,
    /// They were touched on the other side.
    Touch,
    /// The driver expected them to be needed.
    Ahead,
    /// Room was needed on the GPU.
    Eviction,
    /// Access counters reported them.
    Counter,
}

/// Whose events are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    pub process: Option<u32>,
    pub device: Option<u32>,
}

/// An export whose tables are there.
pub struct Export {
    connection: Connection,
    query: String,
    /// The GPU's name, if it says.
    pub gpu: Option<String>,
    pub recorded: Recorded,
}

/// A table of events: its name, its place in the order of events of one time, its conditions, and what its columns are called
/// that stand for end, address, amount, cause and name.
struct Source {
    /// As the export calls it, once it is found there.
    table: String,
    order: u32,
    condition: String,
    columns: [&'static str; 5],
    has_device: bool,
}

fn sources() -> Vec<Source> {
    let source = |table: &str, order, condition: &str, columns, has_device| Source {
        table: table.to_owned(),
        order,
        condition: condition.to_owned(),
        columns,
        has_device,
    };
    let of_unified =
        format!("copyKind IN ({UNIFIED_TO_GPU}, {UNIFIED_TO_CPU}, {UNIFIED_BETWEEN_GPUS})");
    let managed =
        |operation: u32| format!("memKind IN {MANAGED} AND memoryOperationType = {operation}");
    let memory = ["start", "address", "bytes", "0", "name"];
    vec![
        source(ALLOCATIONS, 0, &managed(0), memory, false),
        source(
            KERNELS,
            1,
            "true",
            ["\"end\"", "0", "0", "0", "demangledName"],
            true,
        ),
        source(
            GPU_FAULTS,
            2,
            "true",
            ["\"end\"", "address", "numberOfPageFaults", "0", "NULL"],
            true,
        ),
        source(
            CPU_FAULTS,
            3,
            "true",
            ["start", "address", "1", "0", "NULL"],
            false,
        ),
        source(
            COPIES,
            4,
            &of_unified,
            [
                "\"end\"",
                "virtualAddress",
                "bytes",
                "migrationCause",
                "copyKind",
            ],
            true,
        ),
        source(
            COPIES,
            5,
            &format!("NOT {of_unified}"),
            ["\"end\"", "0", "bytes", "0", "NULL"],
            true,
        ),
        source(ALLOCATIONS, 6, &managed(1), memory, false),
    ]
}

impl Export {
    /// Opens `path` and chooses process and GPU.
    ///
    /// # Errors
    /// It is no such export, lacks a column, or has several processes or GPUs and none was chosen.
    pub fn open(path: &Path, choice: Choice) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // SQLite would say of a folder that it is no database.
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err("it is a folder: name the SQLite file".to_owned());
        }
        let connection = Connection::open_with_flags(path, flags).map_err(said)?;
        let mut there: Vec<Source> = Vec::new();
        for source in sources() {
            if let Some(table) = find(&connection, &source.table)? {
                source.check(&table, &columns(&connection, &table)?)?;
                there.push(Source { table, ..source });
            }
        }
        let recorded = Recorded::of(&connection)?;
        if !recorded.kernels && !recorded.copies {
            return Err(format!(
                "it has neither {KERNELS} nor {COPIES}: an export of Nsight Systems with CUDA's activity has; make one with `nsys profile \
                 --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true --cuda-memory-usage=true ./program` and `nsys export --type sqlite`"
            ));
        }
        check_numbers(&connection)?;
        let process = chosen(&connection, &there, Key::PROCESS, choice.process)?;
        let device = chosen(&connection, &there, Key::DEVICE, choice.device)?;
        let query = query(&connection, &there, process, device)?;
        let gpu = gpu_name(&connection, device);
        Ok(Self {
            connection,
            query,
            gpu,
            recorded,
        })
    }

    /// Calls `take` with each event in the order of their beginnings.
    ///
    /// # Errors
    /// A row cannot be read, which is named.
    pub fn for_each(&self, mut take: impl FnMut(Event) -> Result<()>) -> Result<()> {
        let mut statement = self.connection.prepare(&self.query).map_err(said)?;
        let mut rows = statement.query([]).map_err(said)?;
        while let Some(row) = rows.next().map_err(said)? {
            take(Line(row).event()?)?;
        }
        Ok(())
    }
}

impl Source {
    /// Refuses a table without a column that is needed.
    fn check(&self, table: &str, there: &BTreeSet<String>) -> Result<()> {
        let named = self.columns.iter().map(|column| column.trim_matches('"'));
        let is_column = |name: &&str| name.starts_with(char::is_alphabetic) && *name != "NULL";
        // The name of a variable came later than the table.
        let needed = named.filter(is_column).filter(|name| *name != "name");
        match needed.chain(["start"]).find(|name| !there.contains(*name)) {
            None => Ok(()),
            Some(name) => Err(format!(
                "its table {table} has no column {name}: export it again with Nsight Systems 2021.5 or later"
            )),
        }
    }
}

/// Refuses an export whose numbers mean something else.
fn check_numbers(connection: &Connection) -> Result<()> {
    for (table, number, name) in NUMBERS {
        let Some(table) = find(connection, table)? else {
            continue;
        };
        let text = format!("SELECT name FROM {} WHERE id = ?1", quoted(&table));
        let said_name: rusqlite::Result<String> =
            connection.query_row(&text, [number], |row| row.get(0));
        match said_name {
            Ok(found) if !found.ends_with(name) => {
                return Err(format!(
                    "its table {table} calls {number} {found}, and pagemill takes it for {name}: this version of Nsight Systems is not known"
                ));
            }
            // An export lists what it needs.
            Ok(_) | Err(rusqlite::Error::QueryReturnedNoRows) => {}
            Err(error) => return Err(said(error)),
        }
    }
    Ok(())
}

/// A number by which rows belong to one of several.
#[derive(Clone, Copy)]
struct Key {
    column: &'static str,
    /// The number in words of SQL.
    value: &'static str,
    what: &'static str,
    option: &'static str,
}

impl Key {
    const PROCESS: Self = Self {
        column: "globalPid",
        value: "(globalPid >> 24) & 16777215",
        what: "processes",
        option: "--process",
    };
    const DEVICE: Self = Self {
        column: "deviceId",
        value: "deviceId",
        what: "GPUs",
        option: "--device",
    };

    fn is_of(self, source: &Source) -> bool {
        source.has_device || self.column != "deviceId"
    }
}

/// The one that was asked for, or the only one there is; none where rows do not say.
fn chosen(
    connection: &Connection,
    sources: &[Source],
    key: Key,
    asked: Option<u32>,
) -> Result<Option<u32>> {
    let mut found = BTreeSet::new();
    for source in sources.iter().filter(|source| key.is_of(source)) {
        if !columns(connection, &source.table)?.contains(key.column) {
            continue;
        }
        let text = format!(
            "SELECT DISTINCT {} FROM {} WHERE {} AND {} IS NOT NULL",
            key.value,
            quoted(&source.table),
            source.condition,
            key.column
        );
        let mut statement = connection.prepare(&text).map_err(said)?;
        let numbers = statement
            .query_map([], |row| row.get::<_, u32>(0))
            .map_err(said)?;
        for number in numbers {
            found.insert(number.map_err(said)?);
        }
    }
    let all = found
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    match asked {
        Some(asked) if found.contains(&asked) => Ok(Some(asked)),
        Some(asked) => Err(format!(
            "{} {asked}: the export has no events of it, only of {} {all}",
            key.option, key.what
        )),
        None if found.len() > 1 => Err(format!(
            "it has events of several {}: choose one with {} ({all})",
            key.what, key.option
        )),
        None => Ok(found.first().copied()),
    }
}

/// All events, ordered. The columns: order, start, end, address, amount, cause, name, table, row.
fn query(
    connection: &Connection,
    sources: &[Source],
    process: Option<u32>,
    device: Option<u32>,
) -> Result<String> {
    let mut parts = Vec::new();
    let strings = match find(connection, "StringIds")? {
        Some(table) => table,
        None if sources
            .iter()
            .any(|source| source.columns[4] == "demangledName") =>
        {
            return Err("it has kernels and no table StringIds, which names them".to_owned());
        }
        None => String::new(),
    };
    for source in sources {
        let there = columns(connection, &source.table)?;
        let [end, address, amount, cause, name] = source.columns;
        let name = match name {
            "demangledName" => {
                let id = match there.contains("mangledName") {
                    true => "coalesce(mangledName, demangledName)",
                    false => name,
                };
                format!("(SELECT value FROM {} WHERE id = {id})", quoted(&strings))
            }
            "name" if !there.contains("name") => "NULL".to_owned(),
            name => name.to_owned(),
        };
        let (table, order) = (&source.table, source.order);
        let mut part = format!(
            "SELECT {order}, start AS began, {end}, {address}, {amount}, {cause}, {name}, '{table}', rowid FROM {} WHERE {}",
            quoted(table),
            source.condition
        );
        for (key, number) in [(Key::PROCESS, process), (Key::DEVICE, device)] {
            if let (Some(number), true) = (number, key.is_of(source) && there.contains(key.column))
            {
                // Writing to a string cannot fail.
                let _ = write!(part, " AND {} = {number}", key.value);
            }
        }
        parts.push(part);
    }
    Ok(format!("{} ORDER BY 2, 1", parts.join(" UNION ALL ")))
}

fn gpu_name(connection: &Connection, device: Option<u32>) -> Option<String> {
    let table = find(connection, "TARGET_INFO_GPU").ok()??;
    let text = format!("SELECT name FROM {} WHERE id = ?1", quoted(&table));
    let of_device = connection.query_row(&text, [device?], |row| row.get(0));
    // The table is newer than others and says nothing that is needed.
    of_device.ok()
}

/// A row of the query.
struct Line<'a>(&'a Row<'a>);

impl Line<'_> {
    /// Says of which row of the export `reason` is.
    fn wrong(&self, reason: &str) -> String {
        let place = || Ok::<(String, i64), rusqlite::Error>((self.0.get(7)?, self.0.get(8)?));
        match place() {
            Ok((table, number)) => format!("row {number} of {table}: {reason}"),
            Err(error) => said(error),
        }
    }

    fn number(&self, column: usize, name: &str, most: u64) -> Result<u64> {
        match self.0.get_ref(column).map_err(said)? {
            ValueRef::Integer(value) if u64::try_from(value).is_ok_and(|value| value <= most) => {
                Ok(value as u64)
            }
            other => Err(self.wrong(&format!("{name} is {}", shown(other)))),
        }
    }

    fn name(&self) -> Result<Option<String>> {
        match self.0.get_ref(6).map_err(said)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(text) => Ok(Some(String::from_utf8_lossy(text).into_owned())),
            other => Err(self.wrong(&format!("its name is {}", shown(other)))),
        }
    }

    fn event(&self) -> Result<Event> {
        let start_ns = self.number(1, "start", TIME_MAX_NS)?;
        let end_ns = self.number(2, "end", TIME_MAX_NS)?;
        if end_ns < start_ns {
            return Err(self.wrong(&format!(
                "it ends at {end_ns} ns, before it starts at {start_ns} ns"
            )));
        }
        Ok(Event {
            start_ns,
            end_ns,
            what: self.what()?,
        })
    }

    fn what(&self) -> Result<What> {
        let address = || self.number(3, "the address", ADDRESS_MAX);
        let bytes = |most: u64| self.number(4, "the number of bytes", most);
        Ok(match self.number(0, "order", u64::MAX)? {
            0 => What::Allocated {
                address: address()?,
                bytes: bytes(ADDRESS_MAX)?,
                name: self.name()?.filter(|name| !name.is_empty()),
            },
            1 => What::Kernel {
                name: (self.name()?).ok_or_else(|| self.wrong("StringIds has no name for it"))?,
            },
            2 => What::GpuFault {
                address: address()?,
                faults: self.number(4, "numberOfPageFaults", FAULTS_MAX)?,
            },
            3 => What::CpuFault {
                address: address()?,
            },
            4 => What::Moved {
                address: address()?,
                bytes: bytes(MOVED_MAX)?,
                to_gpu: self.is_to_gpu()?,
                why: why(self.0.get_ref(5).map_err(said)?)
                    .ok_or_else(|| self.wrong("its migrationCause is unknown"))?,
            },
            5 => What::Copied,
            _ => What::Freed {
                address: address()?,
                bytes: bytes(ADDRESS_MAX)?,
            },
        })
    }

    fn is_to_gpu(&self) -> Result<bool> {
        match self.number(6, "copyKind", u64::MAX)? as i64 {
            UNIFIED_TO_GPU => Ok(true),
            UNIFIED_TO_CPU => Ok(false),
            _ => Err(self.wrong("pages moved between GPUs, and a page map has one GPU")),
        }
    }
}

fn why(cause: ValueRef<'_>) -> Option<Why> {
    Some(match cause {
        ValueRef::Null | ValueRef::Integer(0) => Why::Unknown,
        ValueRef::Integer(1) => Why::Call,
        ValueRef::Integer(2) => Why::Touch,
        ValueRef::Integer(3) => Why::Ahead,
        ValueRef::Integer(4) => Why::Eviction,
        ValueRef::Integer(5) => Why::Counter,
        _ => return None,
    })
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "missing".to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => value.to_string(),
        ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        ValueRef::Blob(_) => "no number".to_owned(),
    }
}
