use crate::{WorkloadInfo, bfs, laplace3d, nn, ray, sto, vector_add, wp};

static REGISTRY: [WorkloadInfo; 7] = [
    vector_add::INFO,
    bfs::INFO,
    laplace3d::INFO,
    nn::INFO,
    ray::INFO,
    sto::INFO,
    wp::INFO,
];

/// Every built-in program.
pub fn registry() -> &'static [WorkloadInfo] {
    &REGISTRY
}

/// The program of that name.
pub fn find(name: &str) -> Option<&'static WorkloadInfo> {
    REGISTRY.iter().find(|info| info.name == name)
}
