//! The kinds of scenario: one module each, which turns a point's sections into a typed specification.

pub mod coloring;
pub mod cuda;
pub mod gpu;
pub(crate) mod input;
pub mod mpi;
pub mod nic;
pub mod pager;
pub mod residency;
pub mod zeroing;

use crate::document::Section;
use crate::kind_names::{COLORING, CUDA, GPU, MPI, NIC, PAGER, RESIDENCY, ZEROING};
use crate::point::PointSpec;
use input::PointInput;

/// Reads the sections of a point of `kind`, which is one of [`NAMES`](crate::kind_names::NAMES). `None` when something is wrong, which is then
/// noted.
pub(crate) fn read(
    kind: &str,
    root: &mut Section<'_>,
    input: &PointInput<'_>,
) -> Option<PointSpec> {
    match kind {
        GPU => gpu::GpuPoint::read(root, input).map(|point| PointSpec::Gpu(Box::new(point))),
        RESIDENCY => residency::ResidencyPoint::read(root, input)
            .map(|point| PointSpec::Residency(Box::new(point))),
        NIC => nic::NicPoint::read(root, input).map(|point| PointSpec::Nic(Box::new(point))),
        MPI => mpi::MpiPoint::read(root, input).map(|point| PointSpec::Mpi(Box::new(point))),
        CUDA => cuda::CudaPoint::read(root, input).map(|point| PointSpec::Cuda(Box::new(point))),
        ZEROING => zeroing::ZeroingPoint::read(root, input)
            .map(|point| PointSpec::Zeroing(Box::new(point))),
        COLORING => coloring::ColoringPoint::read(root, input)
            .map(|point| PointSpec::Coloring(Box::new(point))),
        PAGER => {
            pager::PagerPoint::read(root, input).map(|point| PointSpec::Pager(Box::new(point)))
        }
        _ => unreachable!("`{kind}` is in NAMES and has no reader"),
    }
}

/// Keys that rows of `kind` hold under a shorter name, swept or not: path, column.
pub(crate) fn short_names(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind {
        GPU => gpu::SHORT_NAMES,
        RESIDENCY => residency::SHORT_NAMES,
        NIC => nic::SHORT_NAMES,
        MPI => mpi::SHORT_NAMES,
        CUDA => cuda::SHORT_NAMES,
        ZEROING => zeroing::SHORT_NAMES,
        COLORING => coloring::SHORT_NAMES,
        PAGER => pager::SHORT_NAMES,
        _ => &[],
    }
}
