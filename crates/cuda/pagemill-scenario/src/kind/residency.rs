//! `kind = "residency"`: the oversubscription benchmark on a GPU with unified memory.

use pagemill_pages::patterns::{UvmMachine, UvmPoint};
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_policy::residency::{AccessPattern, BLOCK_BYTES, STRATEGIES, Variant};
use pagemill_types::PageSize;

use super::input::PointInput;
use crate::document::{Kind, Node, Origin, Section};
use crate::error::Problem;
use crate::machine::{self, Machine};
use crate::quantity::{self, Wrong};
use crate::transfer::stripe;

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] = &[
    ("machine", "machine"),
    ("access.pattern", "pattern"),
    ("access.variant", "variant"),
    ("residency.strategy", "strategy"),
    ("residency.stripe", "stripe_bytes"),
    ("residency.factor", "oversubscription_factor"),
];

/// Share of GPU memory that the published benchmark takes away before random reads.
const RANDOM_BALLAST: f64 = 0.67;

/// One run of the benchmark on one machine.
#[derive(Debug)]
pub struct ResidencyPoint {
    /// The GPU, its link and its driver.
    pub machine: Machine<UvmMachine>,
    /// What runs.
    pub point: UvmPoint,
}

impl ResidencyPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let access = root.section("access").and_then(Access::read);
        let residency = root.section("residency");
        let point = match (access, residency) {
            (Some(access), Some(section)) => read_point(&access, section, input.seed),
            (None, Some(section)) => {
                section.abandon();
                None
            }
            _ => None,
        };
        let machine = input
            .machine
            .and_then(|file| machine::gpu::read(file, PageSize::MIB_2, input.reader));
        let (machine, point) = (machine?, point?);
        let Some(spec) = machine.spec.for_patterns() else {
            root.report(no_driver(&machine.name, root.origin_of("machine")));
            return None;
        };
        let machine = Machine {
            name: machine.name,
            title: machine.title,
            spec,
            settings: machine.settings,
        };
        if let Err(error) = machine.spec.check() {
            let text = format!("on {}, {error}", machine.name);
            root.report(Problem::at(root.origin_of("machine"), text));
            return None;
        }
        if let Err(error) = point.check(&machine.spec) {
            root.report(Problem::at(
                root.origin(),
                format!("on {}, {error}", machine.name),
            ));
            return None;
        }
        Some(Self { machine, point })
    }
}

/// A machine without a driver is asked for what only drivers do.
pub(crate) fn no_driver(machine: &str, origin: &Origin) -> Problem {
    Problem::at(
        origin,
        format!("{machine} has no unified-memory driver and no built-in access patterns"),
    )
    .help("use a machine with a [driver], such as a100-pcie4-x86: `pagemill list machines` shows them".to_owned())
}

/// `[access]`: what the kernel reads.
struct Access {
    pattern: AccessPattern,
    variant: Variant,
    random_page_bytes: u64,
}

impl Access {
    fn read(mut section: Section<'_>) -> Option<Self> {
        let pattern = section.required("pattern", |node| {
            let names = AccessPattern::ALL.map(AccessPattern::name);
            let found = quantity::choice("access patterns", &names)(node)?;
            AccessPattern::from_name(&found).ok_or_else(|| Wrong::new("this is no access pattern"))
        });
        let variant = section.or("variant", Variant::LockStep, |node| {
            let names = Variant::ALL.map(Variant::name);
            let found = quantity::choice("variants", &names)(node)?;
            Variant::from_name(&found).ok_or_else(|| Wrong::new("this is no variant"))
        });
        let random_page_bytes = section.or("random_page", BLOCK_BYTES, quantity::bytes);
        Some(Self {
            pattern: pattern?,
            variant: variant?,
            random_page_bytes: random_page_bytes?,
        })
    }
}

fn read_point(access: &Access, mut section: Section<'_>, seed: u64) -> Option<UvmPoint> {
    let strategy = section.required(
        "strategy",
        quantity::registered("residency strategies", &STRATEGIES),
    );
    let factor = section.required("factor", positive);
    let stripe_bytes = section.or("stripe", BLOCK_BYTES, stripe);
    let default_ballast = match access.pattern {
        AccessPattern::RandomWarp => RANDOM_BALLAST,
        _ => 0.0,
    };
    let ballast = section.or("ballast", default_ballast, quantity::probability);
    let loops = section.or("loops", 1, quantity::count(1..=1000));
    let reuse = section.or("reuse", false, quantity::boolean);
    let partial = read_partial(&mut section);
    Some(UvmPoint {
        pattern: access.pattern,
        variant: access.variant,
        strategy: strategy?,
        factor: factor?,
        ballast: ballast?,
        stripe_bytes: stripe_bytes?,
        random_page_bytes: access.random_page_bytes,
        loops: loops? as u32,
        reuse: reuse?,
        seed,
        partial: partial?,
    })
}

/// How partial pages migrate: many ranges in pages of 2 MiB.
fn read_partial(section: &mut Section<'_>) -> Option<MigrationSpec> {
    let policy = POLICIES.find("multi-range").ok()?;
    let mut spec = MigrationSpec::new(PageSize::MIB_2, policy);
    let unit = section.or("partial_unit", 1 << 10, quantity::bytes);
    let range_slots = section.or("partial_range_slots", 8, quantity::count(1..=4096));
    spec.unit_bytes = u32::try_from(unit?).unwrap_or(u32::MAX);
    spec.range_slots = Some(range_slots? as u32);
    if let Err(error) = spec.build() {
        section.report(Problem::at(
            section.origin_of("partial_unit"),
            error.to_string(),
        ));
        return None;
    }
    Some(spec)
}

fn positive(node: &Node) -> Result<f64, Wrong> {
    let number = match node.kind {
        Kind::Float(number) => number,
        Kind::Integer(number) => number as f64,
        _ => return Err(Wrong::new("a number is needed, such as 1.5")),
    };
    if number > 0.0 && number <= 64.0 {
        return Ok(number);
    }
    Err(Wrong::new("a number above 0 and at most 64 is needed"))
}
