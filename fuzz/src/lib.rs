//! What the fuzz targets do with arbitrary bytes: an answer or an error, never a panic, never much memory or time.

#![forbid(unsafe_code)]

mod board;
mod coordinator;
mod execute;
mod maps;
mod pager;

use pagemill_color::protocol as color;
use pagemill_color::{Task, TaskTable};
use pagemill_policy::coloring::quota::QUOTA_POLICIES;
use pagemill_ptx::Module;
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{InputErrors, SCENARIOS, load_given, load_text};
use pagemill_trace::Format;
use pagemill_zero_client::protocol as zero;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use board::board;
pub use coordinator::coordinator;
pub use execute::execute;
pub use maps::map;
pub use pager::pager;

/// References of a trace that are looked at.
const REFERENCES_MAX: usize = 1 << 16;

/// PTX: a module, or an error that names a line.
pub fn ptx(bytes: &[u8]) {
    if let Err(error) = Module::load_partly("fuzz", &String::from_utf8_lossy(bytes)) {
        assert!(error.line >= 1);
        assert!(!error.to_string().is_empty());
    }
}

/// A scenario in TOML.
pub fn scenario(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // Paths in a scenario name files of this machine.
    if !text.contains('/') {
        shown(load_text(&SourceText::given("fuzz.toml", &text), &[]).map(|_| ()));
    }
}

/// Kinds of machines, and scenarios that run on them.
const KINDS: [(&str, &str); 5] = [
    ("gpu", "smoke"),
    ("gpu", "uvm-best"),
    ("nic", "pni-latency"),
    ("zeroing", "zero-latency"),
    ("coloring", "cachepm-pairs"),
];

/// A machine in TOML, under scenarios of the kinds whose names it has in it; under the first where it has none.
pub fn machine(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('/') {
        return;
    }
    let machines = [("fuzz".to_owned(), SourceText::given("fuzz.toml", &text))];
    let is_named = |kind: &str| text.contains(&format!("\"{kind}\""));
    let no_kind = KINDS.iter().all(|(kind, _)| !is_named(kind));
    for (number, (kind, name)) in KINDS.iter().enumerate() {
        let is_run = is_named(kind) || no_kind && number == 0;
        if !is_run {
            continue;
        }
        let scenario = SCENARIOS.iter().find(|one| one.name == *name);
        let scenario = scenario.expect("it is built in");
        let source = SourceText::built_in(scenario.name, scenario.text);
        let sets = ["machine=fuzz".to_owned()];
        shown(load_given(&source, &sets, &machines).map(|_| ()));
    }
}

/// An error can be shown to its user.
fn shown(loaded: Result<(), InputErrors>) {
    if let Err(errors) = loaded {
        assert!(!errors.render(false).is_empty());
    }
}

/// A trace, in the format that is found, and in one that its last byte chooses.
pub fn trace(bytes: &[u8]) {
    read_trace(bytes, None);
    let Some((last, rest)) = bytes.split_last() else {
        return;
    };
    let columns = |text: &str| text.parse().ok().map(Format::Csv);
    let format = match last % 5 {
        0 => Some(Format::Lackey),
        1 => Some(Format::DrCacheSim),
        2 => Some(Format::ChampSim),
        3 => columns("address=1,bytes=2,header"),
        _ => columns("address=2,delimiter=space"),
    };
    read_trace(rest, format);
}

fn read_trace(bytes: &[u8], format: Option<Format>) {
    let Ok(mut trace) = pagemill_trace::open(bytes, format) else {
        return;
    };
    let (mut block, mut seen) = (Vec::new(), 0);
    while seen < REFERENCES_MAX && trace.next_block(&mut block).is_ok() && !block.is_empty() {
        seen += block.len();
    }
}

/// A fat binary of nvcc.
pub fn fatbin(bytes: &[u8]) {
    if let Err(error) = pagemill_cudart::ptx_images(bytes) {
        assert!(!error.to_string().is_empty());
    }
}

/// Results: JSON, or the rows of a point as Parquet. What is read can be written and read again.
pub fn results(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(set) = pagemill_report::read(text)
    {
        let mut again = Vec::new();
        pagemill_report::json::write(&set, &mut again).expect("memory takes it");
        let again = String::from_utf8(again).expect("JSON is UTF-8");
        pagemill_report::read(&again).expect("what was written is read");
    }
    let _ = pagemill_report::parquet::read_rows(bytes.to_vec());
}

/// The sockets' messages, from clients and from servers. The first byte chooses.
pub fn messages(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    match first % 4 {
        0 => same_again::<zero::Ask>(rest),
        1 => same_again::<zero::Answer>(rest),
        2 => same_again::<color::Answer>(rest),
        _ => {
            same_again::<color::Ask>(rest);
            coordinate(rest);
        }
    }
}

/// A message that is understood is understood as the same when it is sent on.
fn same_again<T: DeserializeOwned + Serialize>(bytes: &[u8]) {
    let Ok(message) = serde_json::from_slice::<T>(bytes) else {
        return;
    };
    let text = serde_json::to_vec(&message).expect("it came as JSON");
    let again: T = serde_json::from_slice(&text).expect("our own JSON is understood");
    assert_eq!(serde_json::to_vec(&again).expect("JSON"), text);
}

/// Lines of messages to a coordinator of 16 colors: no two tasks ever share one.
fn coordinate(bytes: &[u8]) {
    const COLORS: u16 = 16;
    let policy = QUOTA_POLICIES.find("best-quota").expect("it is registered");
    let mut task_table = TaskTable::new(COLORS, policy);
    for (number, line) in bytes.split(|byte| *byte == b'\n').take(40).enumerate() {
        let number = number as u64;
        match serde_json::from_slice::<color::Ask>(line) {
            Ok(color::Ask::Join {
                wish, has, pages, ..
            }) => {
                let Ok(wish) = wish.wish(COLORS) else {
                    continue;
                };
                let colors = has.and_then(color::Colors::range);
                let _ = task_table.join(
                    number,
                    Task {
                        wish,
                        colors,
                        pages,
                    },
                );
            }
            Ok(color::Ask::Holds { pages, .. }) => task_table.note_pages(number % 4, pages),
            Ok(color::Ask::Status {}) => task_table.reassign().clear(),
            Err(_) => {
                task_table.leave(number % 8);
            }
        }
    }
    task_table.reassign();
    no_color_is_shared(&task_table, COLORS);
}

fn no_color_is_shared(task_table: &TaskTable, colors: u16) {
    let ranges: Vec<_> = (0..64)
        .filter_map(|number| task_table.task(number)?.colors)
        .collect();
    for (index, range) in ranges.iter().enumerate() {
        assert!(range.end().0 <= colors);
        assert!(
            ranges[..index]
                .iter()
                .all(|other| other.overlap(*range) == 0)
        );
    }
}

/// A fuzz target: its name, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 12] = [
    ("ptx", ptx),
    ("execute", execute),
    ("scenario", scenario),
    ("machine", machine),
    ("trace", trace),
    ("fatbin", fatbin),
    ("results", results),
    ("map", map),
    ("messages", messages),
    ("coordinator", coordinator),
    ("pager", pager),
    ("board", board),
];
