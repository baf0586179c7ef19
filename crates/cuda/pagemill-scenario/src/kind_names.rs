//! The names of the kinds of scenario, which are those of machines too.

/// `kind = "gpu"`: a GPU program on a simulated GPU whose pages move.
pub(crate) const GPU: &str = "gpu";

/// `kind = "residency"`: the oversubscription benchmark on a GPU with unified memory.
pub(crate) const RESIDENCY: &str = "residency";

/// `kind = "nic"`: communication over simulated network interfaces.
pub(crate) const NIC: &str = "nic";

/// `kind = "cuda"`: a CUDA program on the GPU of `kind = "gpu"`.
pub(crate) const CUDA: &str = "cuda";

/// `kind = "mpi"`: an MPI program whose ranks have the interfaces of `kind = "nic"`.
pub(crate) const MPI: &str = "mpi";

/// `kind = "zeroing"`: huge page faults, and who clears the pages.
pub(crate) const ZEROING: &str = "zeroing";

/// `kind = "coloring"`: tasks that share a cache, and which colors their pages have.
pub(crate) const COLORING: &str = "coloring";

/// `kind = "pager"`: a program whose memory is paged.
pub(crate) const PAGER: &str = "pager";

/// The names of all kinds, of scenarios and of machines.
pub(crate) const NAMES: &[&str] = &[GPU, CUDA, RESIDENCY, NIC, MPI, ZEROING, COLORING, PAGER];
