//! `kind = "coloring"`: tasks that share a cache, and which colors their pages have.

use std::path::{Path, PathBuf};

use pagemill_pages::shared_cache::{CopyTime, FlushScope, OnEnd, PlainOrder, SharedCacheMachine};
use pagemill_policy::coloring::quota::{QUOTA_POLICIES, QuotaPolicyEntry};
use pagemill_policy::coloring::{Color, ColorRange};
use pagemill_workloads::{CPU_PROGRAMS, CpuProgramInfo, Values};

use super::input::PointInput;
use crate::document::{Node, Section};
use crate::error::Problem;
use crate::machine::{self, Machine};
use crate::quantity::{self, Wrong, one_of, registered};
use crate::workload::read_values;

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] = &[
    ("machine", "machine"),
    ("workload.name", "workload"),
    ("partner.name", "partner"),
    ("coloring.pages", "pages"),
    ("coloring.colors", "colors"),
];

/// The task of a trace file.
pub const TRACE: &str = "trace";

/// No second task.
pub const NO_TASK: &str = "none";

/// One or two tasks on one machine.
#[derive(Debug)]
pub struct ColoringPoint {
    /// The cores and their caches.
    pub machine: Machine<SharedCacheMachine>,
    /// The task.
    pub task: TaskSource,
    /// The task beside it, where there is one.
    pub partner: Option<TaskSource>,
    /// Where their pages come from.
    pub pages: ColoringPages,
    /// Colors for the pages of a task alone.
    pub colors: ColorRange,
    /// Who divides colors between two tasks.
    pub policy: &'static QuotaPolicyEntry,
    /// What becomes of the colors of the task that ends first.
    pub on_end: OnEnd,
    /// When pages are copied to new colors.
    pub copy: CopyTime,
    /// What is flushed when colors change.
    pub flush: FlushScope,
    /// Seed of all randomness.
    pub seed: u64,
}

/// Where a task's references come from.
#[derive(Debug)]
pub enum TaskSource {
    /// A built-in program.
    Program {
        /// The program.
        info: &'static CpuProgramInfo,
        /// Its parameters.
        values: Values,
    },
    /// A task of a trace.
    Trace {
        /// The file.
        path: PathBuf,
        /// The task's number in it.
        task: u16,
    },
}

impl TaskSource {
    /// What rows call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Program { info, .. } => info.name,
            Self::Trace { .. } => TRACE,
        }
    }
}

/// Where pages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColoringPages {
    /// Frames of any color.
    Plain(PlainOrder),
    /// The colors that a task has.
    Colored,
}

const PAGES: [(&str, ColoringPages); 3] = [
    ("random", ColoringPages::Plain(PlainOrder::Random)),
    ("sequential", ColoringPages::Plain(PlainOrder::Sequential)),
    ("colored", ColoringPages::Colored),
];

impl ColoringPages {
    /// How scenarios call it.
    pub fn name(self) -> &'static str {
        let entry = PAGES.iter().find(|(_, pages)| *pages == self);
        entry.map_or("colored", |(name, _)| name)
    }
}

impl ColoringPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let task = root
            .section("workload")
            .map(|section| read_task(section, input.seed, false));
        let partner = match root.optional_section("partner") {
            Some(section) => read_task(section, input.seed, true),
            None => Some(None),
        };
        let machine = input
            .machine
            .and_then(|file| machine::coloring::read(file, input.reader));
        let settings = root.section("coloring").and_then(Settings::read);
        let (task, partner, machine, settings) = (task??, partner?, machine?, settings?);
        let palette = machine.spec.palette().ok()?;
        let most = palette.colors();
        let colors = settings.colors.unwrap_or(most.into());
        let colors = u16::try_from(colors).ok().filter(|colors| *colors <= most);
        let Some(colors) = colors.and_then(|colors| ColorRange::new(Color(0), colors)) else {
            root.report(Problem::at(
                root.origin(),
                format!(
                    "`coloring.colors` is more than {most}, which the shared cache of {} has",
                    machine.name
                ),
            ));
            return None;
        };
        Some(Self {
            machine,
            task: task?,
            partner,
            pages: settings.pages,
            colors,
            policy: settings.policy,
            on_end: settings.on_end,
            copy: settings.copy,
            flush: settings.flush,
            seed: input.seed,
        })
    }
}

/// The section `coloring`.
struct Settings {
    pages: ColoringPages,
    colors: Option<u64>,
    policy: &'static QuotaPolicyEntry,
    on_end: OnEnd,
    copy: CopyTime,
    flush: FlushScope,
}

impl Settings {
    fn read(mut section: Section<'_>) -> Option<Self> {
        let pages = section.required("pages", one_of("sources of pages", &PAGES));
        let colors = section.optional("colors", quantity::count(1..=u64::from(u16::MAX)));
        let policy = section.or(
            "policy",
            &QUOTA_POLICIES[0],
            registered("policies of quotas", &QUOTA_POLICIES),
        );
        let ends = [
            ("recolor", OnEnd::Recolor),
            ("when-due", OnEnd::WhenDue),
            ("keep", OnEnd::Keep),
        ];
        let on_end = section.or("on_end", OnEnd::Recolor, one_of("answers to an end", &ends));
        let copies = [("lazy", CopyTime::Lazy), ("eager", CopyTime::Eager)];
        let copy = section.or("copy", CopyTime::Lazy, one_of("times of copies", &copies));
        let flushes = [
            ("caches", FlushScope::Caches),
            ("translations", FlushScope::Translations),
        ];
        let flush = section.or(
            "flush",
            FlushScope::Caches,
            one_of("things to flush", &flushes),
        );
        Some(Self {
            pages: pages?,
            colors: colors?,
            policy: policy?,
            on_end: on_end?,
            copy: copy?,
            flush: flush?,
        })
    }
}

/// A task, or `Some(None)` for none where that is allowed; `None` when something is wrong, which is then noted.
fn read_task(mut section: Section<'_>, seed: u64, may_be_none: bool) -> Option<Option<TaskSource>> {
    let mut names: Vec<&str> = CPU_PROGRAMS.names();
    names.push(TRACE);
    if may_be_none {
        names.push(NO_TASK);
    }
    let Some(name) = section.required("name", quantity::choice("workloads", &names)) else {
        section.abandon();
        return None;
    };
    match CPU_PROGRAMS.find(&name).ok() {
        Some(info) => {
            let values = read_values(&mut section, info.parameters, info.defaults(), seed)?;
            Some(Some(TaskSource::Program { info, values }))
        }
        None if name == TRACE => {
            let path = section.required("file", existing_file);
            let task = section.or("task", 0, quantity::count(0..=u64::from(u16::MAX)));
            Some(Some(TaskSource::Trace {
                path: path?,
                task: task? as u16,
            }))
        }
        None => {
            // What the task would be, if there were one, may stand there in a sweep.
            section.abandon();
            Some(None)
        }
    }
}

/// A file that is there; a path is relative to the file that says so.
pub(super) fn existing_file(node: &Node) -> Result<PathBuf, Wrong> {
    let given = quantity::text(node)?;
    let folder = node.origin.source.folder().unwrap_or(Path::new(""));
    let path = folder.join(&given);
    if path.is_file() {
        return Ok(path);
    }
    Err(Wrong::new("there is no such file")
        .help("a path is relative to the file that names it".to_owned()))
}
