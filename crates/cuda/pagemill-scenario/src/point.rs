use std::fmt;

use pagemill_report::Value;

use crate::document::{Kind, Node};
use crate::kind::{
    self, coloring::ColoringPoint, cuda::CudaPoint, gpu::GpuPoint, mpi::MpiPoint, nic::NicPoint,
    pager::PagerPoint, residency::ResidencyPoint, zeroing::ZeroingPoint,
};
use crate::kind_names;
use crate::quantity::{Dimension, Quantity, parse_any};
use crate::sourced::{Setting, as_written};

/// One combination of the swept keys, checked and ready to run.
#[derive(Debug)]
pub struct Point {
    /// The place in the order of the sweep, from 0.
    pub index: usize,
    /// The swept keys and their values, in the order of the sweep. A key that this point does not have is left out.
    pub parameters: Vec<Parameter>,
    /// Distinguishes it from every other point, of this scenario or another, that has other results: 64 hexadecimal digits
    /// made of the version of pagemill, all values of scenario and machine, and `parameters`.
    pub digest: String,
    /// What to run.
    pub spec: PointSpec,
}

/// What a point runs: one variant for each `kind` of scenario.
#[derive(Debug)]
pub enum PointSpec {
    /// `kind = "gpu"`: a GPU program on a simulated GPU.
    Gpu(Box<GpuPoint>),
    /// `kind = "residency"`: the oversubscription benchmark on a GPU with unified memory.
    Residency(Box<ResidencyPoint>),
    /// `kind = "nic"`: communication over simulated network interfaces.
    Nic(Box<NicPoint>),
    /// `kind = "cuda"`: a CUDA program on a simulated GPU.
    Cuda(Box<CudaPoint>),
    /// `kind = "mpi"`: an MPI program over simulated network interfaces.
    Mpi(Box<MpiPoint>),
    /// `kind = "zeroing"`: huge page faults, and who clears the pages.
    Zeroing(Box<ZeroingPoint>),
    /// `kind = "coloring"`: tasks that share a cache, and which colors their pages have.
    Coloring(Box<ColoringPoint>),
    /// `kind = "pager"`: a program whose memory is paged.
    Pager(Box<PagerPoint>),
}

impl PointSpec {
    /// The `kind` of the scenario.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gpu(_) => kind_names::GPU,
            Self::Residency(_) => kind_names::RESIDENCY,
            Self::Nic(_) => kind_names::NIC,
            Self::Cuda(_) => kind_names::CUDA,
            Self::Mpi(_) => kind_names::MPI,
            Self::Zeroing(_) => kind_names::ZEROING,
            Self::Coloring(_) => kind_names::COLORING,
            Self::Pager(_) => kind_names::PAGER,
        }
    }

    /// The machine: its name, its title, and every value with its source.
    pub fn machine(&self) -> (&str, &str, &[Setting]) {
        match self {
            Self::Gpu(point) => point.machine.description(),
            Self::Residency(point) => point.machine.description(),
            Self::Nic(point) => point.machine.description(),
            Self::Cuda(point) => point.machine.description(),
            Self::Mpi(point) => point.machine.description(),
            Self::Zeroing(point) => point.machine.description(),
            Self::Coloring(point) => point.machine.description(),
            Self::Pager(point) => point.machine.description(),
        }
    }

    /// Keys that its row holds under a shorter name, swept or not: path, column.
    pub fn short_names(&self) -> &'static [(&'static str, &'static str)] {
        kind::short_names(self.kind())
    }
}

/// The value of a swept key at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The dotted key: `machine.link.bandwidth`.
    pub path: String,
    /// The key with the unit of `value`: `machine.link.bandwidth_bytes_per_second`.
    pub column: String,
    /// The value as it was written: `16 GB/s`.
    pub written: String,
    /// The value in the unit that `column` names.
    pub value: ParameterValue,
}

/// A value without its unit.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    /// A whole number of at least 0.
    Unsigned(u64),
    /// A negative whole number.
    Signed(i64),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// Words.
    Text(String),
}

/// The value as rows hold it.
impl From<&ParameterValue> for Value {
    fn from(value: &ParameterValue) -> Self {
        match value {
            ParameterValue::Unsigned(number) => (*number).into(),
            ParameterValue::Signed(number) => (*number).into(),
            ParameterValue::Float(number) => (*number).into(),
            ParameterValue::Boolean(flag) => (*flag).into(),
            ParameterValue::Text(text) => text.as_str().into(),
        }
    }
}

impl fmt::Display for Point {
    /// `point 3 (transfer.mode = whole-page)`, counted from 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "point {}", self.index + 1)?;
        for (index, parameter) in self.parameters.iter().enumerate() {
            let before = if index == 0 { " (" } else { ", " };
            write!(f, "{before}{} = {}", parameter.path, parameter.written)?;
        }
        f.write_str(if self.parameters.is_empty() { "" } else { ")" })
    }
}

/// The parameters of every point. `values` holds, for each point, the value of each path.
pub(crate) fn parameters(
    paths: &[Vec<String>],
    values: &[Vec<Option<Node>>],
) -> Vec<Vec<Parameter>> {
    let dimensions: Vec<Option<Dimension>> = (0..paths.len())
        .map(|column| common_dimension(values.iter().filter_map(|point| point[column].as_ref())))
        .collect();
    let of_point = |point: &Vec<Option<Node>>| {
        let columns = paths.iter().zip(&dimensions).zip(point);
        columns
            .filter_map(|((path, dimension), node)| {
                Some(parameter(path, *dimension, node.as_ref()?))
            })
            .collect()
    };
    values.iter().map(of_point).collect()
}

/// The dimension that every value of a column has.
fn common_dimension<'a>(values: impl Iterator<Item = &'a Node>) -> Option<Dimension> {
    let mut dimensions = values.map(|node| quantity_of(node).map(|quantity| quantity.dimension));
    let first = dimensions.next()??;
    dimensions
        .all(|dimension| dimension == Some(first))
        .then_some(first)
}

fn quantity_of(node: &Node) -> Option<Quantity> {
    match &node.kind {
        Kind::String(text) => parse_any(text),
        _ => None,
    }
}

/// The value `node` of the key `path`, whose values have `dimension`.
pub(crate) fn parameter(path: &[String], dimension: Option<Dimension>, node: &Node) -> Parameter {
    let path = path.join(".");
    let quantity = dimension.and_then(|_| quantity_of(node));
    let suffix = quantity.map_or("", |quantity| number(quantity).0);
    let value = value_of(node, dimension.is_some());
    Parameter {
        column: format!("{path}{suffix}"),
        path,
        written: as_written(node),
        value,
    }
}

/// The value of `node`: in the unit of its dimension where its column has one, else as it is.
pub(crate) fn value_of(node: &Node, has_unit: bool) -> ParameterValue {
    match quantity_of(node).filter(|_| has_unit) {
        Some(quantity) => number(quantity).1,
        None => plain_value(node),
    }
}

fn number(quantity: Quantity) -> (&'static str, ParameterValue) {
    let amount = quantity.amount;
    match quantity.dimension {
        Dimension::Bytes => ("_bytes", ParameterValue::Unsigned(amount)),
        Dimension::Bandwidth => ("_bytes_per_second", ParameterValue::Unsigned(amount)),
        Dimension::Frequency => ("_hertz", ParameterValue::Unsigned(amount)),
        Dimension::Cycles => ("_cycles", ParameterValue::Unsigned(amount)),
        Dimension::Time if amount.is_multiple_of(1000) => {
            ("_ns", ParameterValue::Unsigned(amount / 1000))
        }
        Dimension::Time => ("_ns", ParameterValue::Float(amount as f64 / 1000.0)),
    }
}

fn plain_value(node: &Node) -> ParameterValue {
    match &node.kind {
        Kind::Integer(number) => {
            u64::try_from(*number).map_or(ParameterValue::Signed(*number), ParameterValue::Unsigned)
        }
        Kind::Float(number) => ParameterValue::Float(*number),
        Kind::Boolean(value) => ParameterValue::Boolean(*value),
        _ => ParameterValue::Text(as_written(node)),
    }
}
