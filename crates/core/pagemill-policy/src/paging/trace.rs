//! What a pager met, in order, as bytes: the trace that a simulation replays.
//!
//! A trace starts with lines `name=value` and an empty line; events follow, in LEB128 numbers. Units are counted through all memory of
//! the program.

use std::fmt;

use super::{PagingSpec, READ_AHEADS, UNIT_BYTES};
use crate::migration::{MigrationSpec, POLICIES};
use crate::residency::{EVICTIONS, GROWTHS, PageMask};
use pagemill_types::PageSize;

/// The first line of every trace.
const MAGIC: &str = "pagemill pager trace 1\n";

const ENTER: u64 = 0;
const FAULT: u64 = 1;
const EVICTED: u64 = 2;
const DISCARD: u64 = 3;

/// One thing that a pager met or did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// Units from `first` on, the start of a 2 MiB block, are memory of the program.
    Enter {
        /// First unit.
        first: u64,
        /// How many, at most 512.
        units: u32,
    },
    /// A touch of a unit that was in no frame.
    Fault {
        /// The unit.
        unit: u64,
        /// Whether it was a write.
        is_write: bool,
        /// Time since the fault before was answered.
        think_ns: u64,
    },
    /// Units of a page left their frames.
    Evicted {
        /// First unit of the page.
        first: u64,
        /// Those whose bytes had changed, and were written to the store.
        changed: PageMask,
        /// Those that had only zeros.
        zero: PageMask,
    },
    /// The program gave up the bytes of units.
    Discard {
        /// First unit.
        first: u64,
        /// How many, within one page.
        units: u32,
        /// Whether they are memory of the program no longer.
        is_gone: bool,
    },
}

/// A trace in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The program, for people.
    pub program: String,
    /// How the recording pager was set.
    pub spec: PagingSpec,
    /// What happened, in order.
    pub events: Vec<TraceEvent>,
}

/// Why bytes are no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// They start with something else.
    Start,
    /// A line of the head is missing or wrong.
    Head {
        /// Its name.
        name: &'static str,
    },
    /// An event is cut off or impossible.
    Event {
        /// Where it starts, in bytes.
        at: usize,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => {
                f.write_str("this is no page trace: `pagemill pager run --record FILE` makes one")
            }
            Self::Head { name } => write!(
                f,
                "the head of the page trace has no usable line `{name}=`: record it again with this version"
            ),
            Self::Event { at } => {
                write!(f, "the page trace is damaged at byte {at}: record it again")
            }
        }
    }
}

impl std::error::Error for TraceError {}

impl Trace {
    /// The start of a trace of `program` under these rules.
    pub fn head(program: &str, spec: &PagingSpec) -> Vec<u8> {
        let program: String = program.chars().filter(|c| !c.is_control()).collect();
        let migration = &spec.migration;
        format!(
            "{MAGIC}program={program}\npage_bytes={}\npolicy={}\ngap_threshold_bytes={}\ngrowth={}\ndensity_percent={}\nread_ahead={}\n\
             eviction={}\nbudget_units={}\n\n",
            migration.page.bytes(),
            migration.policy.name,
            migration.gap_threshold_bytes,
            spec.growth.name,
            spec.density_percent,
            spec.read_ahead.name,
            spec.eviction.name,
            spec.budget_units,
        )
        .into_bytes()
    }

    /// Reads a trace. A last event that is cut off is left out: the program was killed while it was written.
    ///
    /// # Errors
    /// The bytes are something else.
    pub fn parse(bytes: &[u8]) -> Result<Self, TraceError> {
        let rest = bytes
            .strip_prefix(MAGIC.as_bytes())
            .ok_or(TraceError::Start)?;
        let end = (rest.windows(2).position(|pair| pair == b"\n\n")).ok_or(TraceError::Start)?;
        let head = std::str::from_utf8(&rest[..end]).map_err(|_| TraceError::Start)?;
        let (program, spec) = parse_head(head)?;
        let mut input = Input {
            bytes,
            at: MAGIC.len() + end + 2,
            is_cut: false,
        };
        let mut events = Vec::new();
        while input.at < bytes.len() {
            let at = input.at;
            match input.event() {
                Some(event) => events.push(event),
                None if input.is_cut => break,
                None => return Err(TraceError::Event { at }),
            }
        }
        Ok(Self {
            program,
            spec,
            events,
        })
    }
}

fn parse_head(head: &str) -> Result<(String, PagingSpec), TraceError> {
    let text = |name: &'static str| {
        let value = head.lines().find_map(|line| {
            let (found, value) = line.split_once('=')?;
            (found == name).then_some(value)
        });
        value.ok_or(TraceError::Head { name })
    };
    let wrong = |name| TraceError::Head { name };
    let number = |name| {
        let parsed = text(name)?.parse::<u32>();
        parsed.map_err(|_| wrong(name))
    };
    let page = PageSize::new(number("page_bytes")?.into()).map_err(|_| wrong("page_bytes"))?;
    let policy = POLICIES
        .find(text("policy")?)
        .map_err(|_| wrong("policy"))?;
    let mut migration = MigrationSpec::new(page, policy);
    migration.unit_bytes = UNIT_BYTES;
    migration.gap_threshold_bytes = number("gap_threshold_bytes")?;
    let spec = PagingSpec {
        migration,
        growth: GROWTHS.find(text("growth")?).map_err(|_| wrong("growth"))?,
        density_percent: number("density_percent")?,
        read_ahead: READ_AHEADS
            .find(text("read_ahead")?)
            .map_err(|_| wrong("read_ahead"))?,
        eviction: EVICTIONS
            .find(text("eviction")?)
            .map_err(|_| wrong("eviction"))?,
        budget_units: number("budget_units")?,
    };
    spec.check().map_err(|_| wrong("budget_units"))?;
    Ok((text("program")?.to_owned(), spec))
}

impl TraceEvent {
    /// Appends the event to `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Enter { first, units } => put(bytes, &[ENTER, *first, (*units).into()]),
            Self::Fault {
                unit,
                is_write,
                think_ns,
            } => put(bytes, &[FAULT, unit << 1 | u64::from(*is_write), *think_ns]),
            Self::Evicted {
                first,
                changed,
                zero,
            } => {
                put(bytes, &[EVICTED, *first]);
                put_mask(bytes, *changed);
                put_mask(bytes, *zero);
            }
            Self::Discard {
                first,
                units,
                is_gone,
            } => {
                let units = u64::from(*units) << 1 | u64::from(*is_gone);
                put(bytes, &[DISCARD, *first, units]);
            }
        }
    }
}

fn put(bytes: &mut Vec<u8>, numbers: &[u64]) {
    for number in numbers {
        let mut rest = *number;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
}

/// How many stretches, then the start and the length of each.
fn put_mask(bytes: &mut Vec<u8>, mask: PageMask) {
    put(bytes, &[mask.runs().into()]);
    for stretch in mask.stretches() {
        let length = stretch.end - stretch.start;
        put(bytes, &[stretch.start.into(), length.into()]);
    }
}

/// Unit numbers stay below: 256 GiB.
const UNITS_MAX: u64 = 1 << 26;

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether the bytes ended within a number.
    is_cut: bool,
}

impl Input<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else {
                self.is_cut = true;
                return None;
            };
            self.at += 1;
            let bits = u64::from(byte & 0x7f);
            // A tenth byte has room for one bit only: a number that would lose some is damage, not a cut.
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn unit(&mut self) -> Option<u64> {
        self.number().filter(|unit| *unit < UNITS_MAX)
    }

    fn count(&mut self) -> Option<u32> {
        let units = self.number().filter(|units| *units <= 512)?;
        Some(units as u32)
    }

    fn mask(&mut self) -> Option<PageMask> {
        let mut mask = PageMask::EMPTY;
        for _ in 0..self.count()? {
            let (start, length) = (self.count()?, self.count()?);
            let end = Some(start + length).filter(|end| *end <= 512)?;
            mask = mask.or(&PageMask::range(start..end));
        }
        Some(mask)
    }

    fn event(&mut self) -> Option<TraceEvent> {
        Some(match self.number()? {
            ENTER => TraceEvent::Enter {
                first: self.unit().filter(|unit| unit.is_multiple_of(512))?,
                units: self.count()?,
            },
            FAULT => {
                let unit = self.number()?;
                TraceEvent::Fault {
                    unit: Some(unit >> 1).filter(|unit| *unit < UNITS_MAX)?,
                    is_write: unit & 1 != 0,
                    think_ns: self.number()?,
                }
            }
            EVICTED => TraceEvent::Evicted {
                first: self.unit().filter(|unit| unit.is_multiple_of(16))?,
                changed: self.mask()?,
                zero: self.mask()?,
            },
            DISCARD => {
                let first = self.unit()?;
                let units = self.number().filter(|units| units >> 1 <= 512)?;
                TraceEvent::Discard {
                    first,
                    units: (units >> 1) as u32,
                    is_gone: units & 1 != 0,
                }
            }
            _ => return None,
        })
    }
}
