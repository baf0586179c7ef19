use crate::{WorkloadInfo, bfs, laplace3d, vector_add};

static REGISTRY: [WorkloadInfo; 3] = [vector_add::INFO, bfs::INFO, laplace3d::INFO];

/// Every built-in program.
pub fn registry() -> &'static [WorkloadInfo] {
    &REGISTRY
}

/// The program of that name.
pub fn find(name: &str) -> Option<&'static WorkloadInfo> {
    REGISTRY.iter().find(|info| info.name == name)
}
