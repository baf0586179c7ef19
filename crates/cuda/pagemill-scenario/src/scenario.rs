use std::sync::Arc;

use pagemill_nic::NicMachine;
use pagemill_report::{ClaimSpec, Plot, Selection};

use crate::digest::Identity;
use crate::document::{Kind, Node, Origin, Reader, SourceText, Table, parse_document};
use crate::error::{InputErrors, Problem};
use crate::files::find_scenario;
use crate::kind;
use crate::kind::input::PointInput;
use crate::kind_names;
use crate::machine::{self, Machine};
use crate::machine_files::{MachineFile, MachineFiles};
use crate::overrides::Override;
use crate::point::{Parameter, Point, PointSpec, parameters};
use crate::quantity;
use crate::statement::{Columns, Statements};
use crate::sweep::Sweep;

/// A scenario, read and checked: everything that runs, in order.
#[derive(Debug)]
pub struct Scenario {
    /// The file's name without `.toml`.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// What it shows, in a paragraph; may be empty.
    pub about: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// The points of the sweep, the last swept key fastest; at least one.
    pub points: Vec<Point>,
    /// Published statements to check on the rows.
    pub claims: Vec<ClaimSpec>,
    /// For each point of the scenario as it is written, without overrides, the columns that are swept there and their values:
    /// the rows that claims speak of.
    pub planned: Vec<Selection>,
    /// The overrides by which the points are others than those that claims speak of: `residency.ballast = 0.97`.
    pub changed: Vec<String>,
    /// How to draw the rows; empty leaves it to the reader of the rows.
    pub plots: Vec<Plot>,
    /// The scenario's text.
    pub source: Arc<SourceText>,
    /// The machines' texts, by the names that the scenario asks for them by.
    pub machines: Vec<(String, Arc<SourceText>)>,
}

/// Reads the scenario `given` (a path, or the name of a built-in scenario) with the `key=value` overrides `sets`.
///
/// # Errors
/// Everything that is wrong with the scenario, its machine and the overrides, each with its place.
pub fn load(given: &str, sets: &[String]) -> Result<Scenario, InputErrors> {
    let source = find_scenario(given)?;
    load_text(&source, sets)
}

/// Reads a scenario from its text.
///
/// # Errors
/// As [`load`].
pub fn load_text(source: &Arc<SourceText>, sets: &[String]) -> Result<Scenario, InputErrors> {
    load_given(source, sets, &[])
}

/// Reads a scenario from its text. Machines are those of `machines`, by the names that the scenario asks for them by, before
/// those that files have.
///
/// # Errors
/// As [`load`].
pub fn load_given(
    source: &Arc<SourceText>,
    sets: &[String],
    machines: &[(String, Arc<SourceText>)],
) -> Result<Scenario, InputErrors> {
    let mut table = parse_document(source)?;
    let sweep = read_sweep(&mut table, sets)?;
    let statements = Statements::take(&mut table);
    let (count, swept) = (sweep.points()?, sweep.swept_paths());

    let reader = Reader::default();
    let mut machines = MachineFiles::near(source, machines);
    let mut head = None;
    let mut specs = Vec::with_capacity(count);
    let mut identities = Vec::with_capacity(count);
    let mut swept_values: Vec<Vec<Option<Node>>> = Vec::with_capacity(count);
    for index in 0..count {
        let layers = sweep.layers(index);
        let Some(documents) = Documents::read(&table, layers, &mut machines, &reader) else {
            continue;
        };
        if let Some((this, spec)) = read_point(&reader, &documents, source) {
            head.get_or_insert(this);
            specs.push(spec);
            identities.push(documents.identity());
            swept_values.push(
                swept
                    .iter()
                    .map(|path| documents.at(path).cloned())
                    .collect(),
            );
        }
    }
    check_one_kind(&specs)?;
    let points = points(specs, identities, parameters(&swept, &swept_values));
    let columns = Columns::of(&points);
    let claims = statements.claims(&reader, &columns);
    let written = written(source, sets, &machines);
    let changed = changed(&table, sets, written.as_ref(), &statements.at_any(&reader));
    let planned = written.map_or_else(|| columns.planned(&points), |written| written.planned);
    let plots = statements.plots(&reader, &columns);
    reader.finish()?;
    let Head { title, about, seed } =
        head.ok_or_else(|| Problem::new("the scenario has no point".to_owned()))?;
    Ok(Scenario {
        name: source.stem(),
        title,
        about,
        seed,
        points,
        claims,
        planned,
        changed,
        plots,
        source: Arc::clone(source),
        machines: machines.sources(),
    })
}

/// The machine of kind `nic` called `given`: a path, or the name of a built-in machine.
///
/// # Errors
/// Everything that is wrong with the file, each with its place.
pub fn load_nic_machine(given: &str) -> Result<Machine<NicMachine>, InputErrors> {
    let argument = SourceText::argument(given);
    let node = Node {
        origin: Origin::new(&argument, 0..0),
        kind: Kind::String(given.to_owned()),
    };
    let file = MachineFiles::near(&argument, &[]).get(given, &node)?;
    let reader = Reader::default();
    let machine = machine::nic::read(&file, &reader);
    reader.finish()?;
    machine.ok_or_else(|| Problem::new(format!("machine {given} has no values")).into())
}

/// What a point is made of, and its place.
type Numbered = (usize, ((PointSpec, Identity), Vec<Parameter>));

/// The points in their order.
fn points(
    specs: Vec<PointSpec>,
    identities: Vec<Identity>,
    parameters: impl IntoIterator<Item = Vec<Parameter>>,
) -> Vec<Point> {
    let all = specs.into_iter().zip(identities).zip(parameters);
    let point = |(index, ((spec, identity), parameters)): Numbered| Point {
        index,
        digest: identity.digest(&parameters),
        parameters,
        spec,
    };
    all.enumerate().map(point).collect()
}

/// The scenario without `sets`, if there are any and it is whole without them.
fn written(
    source: &Arc<SourceText>,
    sets: &[String],
    machines: &MachineFiles<'_>,
) -> Option<Scenario> {
    match sets.is_empty() {
        true => None,
        false => load_given(source, &[], &machines.sources()).ok(),
    }
}

/// Sections and keys that say nothing of what is run, or what the machine is made of, whose values are there to be doubted.
const OUTSIDE_OF_CLAIMS: [&str; 5] = ["machine", "seed", "title", "about", "limits"];

/// The overrides of keys that the scenario does not sweep with other values than `table`, the scenario as it is written, has.
fn changed(
    table: &Table,
    sets: &[String],
    written: Option<&Scenario>,
    at_any: &[String],
) -> Vec<String> {
    let points = written.map_or(&[][..], |written| &written.points);
    let is_swept = |key: &str| {
        let mut parameters = points.iter().flat_map(|point| &point.parameters);
        // A list of workloads is swept by their keys.
        parameters.any(|swept| swept.path == key || swept.path.starts_with(&format!("{key}.")))
    };
    let sets = sets.iter().filter_map(|set| Override::parse(set).ok());
    let others = sets.filter(|set| {
        let key = set.path.join(".");
        let is_same = table.at(&set.path).map(ToString::to_string) == Some(set.value.to_string());
        !is_same
            && !OUTSIDE_OF_CLAIMS.contains(&set.path[0].as_str())
            && !at_any.contains(&key)
            && !is_swept(&key)
    });
    others
        .map(|set| format!("{} = {}", set.path.join("."), set.value))
        .collect()
}

/// Rows of one scenario have the same columns.
fn check_one_kind(specs: &[PointSpec]) -> Result<(), Problem> {
    let mut kinds = specs.iter().map(PointSpec::kind);
    let Some(first) = kinds.next() else {
        return Ok(());
    };
    match kinds.find(|kind| *kind != first) {
        None => Ok(()),
        Some(other) => Err(Problem::new(format!(
            "the sweep mixes scenarios of the kinds \"{first}\" and \"{other}\""
        ))
        .help("write one scenario for each kind".to_owned())),
    }
}

fn read_sweep(table: &mut Table, sets: &[String]) -> Result<Sweep, InputErrors> {
    let mut problems = Vec::new();
    let mut sweep = match table.remove("sweep") {
        Some((
            _,
            Node {
                kind: Kind::Table(table),
                ..
            },
        )) => Sweep::of_table(&table, &mut problems),
        Some((key, node)) => {
            problems.push(
                Problem::at(&key.origin, format!("`sweep` is {node}: a table is needed")).help(
                    "write a section [sweep] with lines `\"key\" = [value, value]`".to_owned(),
                ),
            );
            Sweep::default()
        }
        None => Sweep::default(),
    };
    for argument in sets {
        if let Err(problem) = Override::parse(argument).and_then(|set| sweep.set(set)) {
            problems.push(problem);
        }
    }
    if problems.is_empty() {
        Ok(sweep)
    } else {
        Err(InputErrors::new(problems))
    }
}

/// What a scenario says about itself.
struct Head {
    title: String,
    about: String,
    seed: u64,
}

/// The scenario and the machine of one point, with everything laid over them.
struct Documents {
    scenario: Table,
    machine: Option<Arc<MachineFile>>,
}

impl Documents {
    /// Lays the values of a point over the scenario, then over the machine it names. Without a machine that can be
    /// read, the rest of the scenario can still be checked.
    fn read(
        scenario: &Table,
        layers: Vec<Override>,
        machines: &mut MachineFiles<'_>,
        reader: &Reader,
    ) -> Option<Self> {
        let is_machine = |layer: &Override| layer.path.len() > 1 && layer.path[0] == "machine";
        let (machine_layers, layers): (Vec<_>, Vec<_>) = layers.into_iter().partition(is_machine);
        let mut scenario = scenario.clone();
        for layer in layers {
            if let Err(problem) = scenario.put(&layer.path, &layer.key, layer.value) {
                reader.report(problem);
                return None;
            }
        }
        let machine = match scenario.get("machine") {
            Some(node) => machines
                .laid_over(node, machine_layers)
                .unwrap_or_else(|problem| {
                    reader.report(problem);
                    None
                }),
            None => None,
        };
        Some(Self { scenario, machine })
    }

    fn identity(&self) -> Identity {
        Identity::of(
            &self.scenario,
            self.machine.as_deref().map(|machine| &machine.table),
        )
    }

    fn at(&self, path: &[String]) -> Option<&Node> {
        if path.len() < 2 || path[0] != "machine" {
            return self.scenario.at(path);
        }
        self.machine.as_ref()?.value(&path[1..])
    }
}

fn read_point(
    reader: &Reader,
    documents: &Documents,
    source: &Arc<SourceText>,
) -> Option<(Head, PointSpec)> {
    let mut root = reader.root(&documents.scenario, "", Origin::new(source, 0..0));
    let title = root.required("title", quantity::text);
    let about = root.or("about", String::new(), quantity::text);
    let seed = root.or("seed", 1, quantity::any_count);
    root.required("machine", quantity::text);
    let Some(kind) = root.required(
        "kind",
        quantity::choice("kinds of scenario", kind_names::NAMES),
    ) else {
        root.abandon();
        return None;
    };
    let input = PointInput {
        machine: documents.machine.as_deref(),
        reader,
        // Whether the seed is wrong or not, the rest is read, so that its errors are all that is said of it.
        seed: seed.unwrap_or(1),
    };
    let spec = kind::read(&kind, &mut root, &input);
    Some((
        Head {
            title: title?,
            about: about?,
            seed: seed?,
        },
        spec?,
    ))
}
