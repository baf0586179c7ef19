use crate::{
    WorkloadInfo, aes, bfs, cp, laplace3d, libor, mum, nn, pointer_chase, ray, sto, streams,
    vector_add, wp,
};

static REGISTRY: &[WorkloadInfo] = &[
    vector_add::INFO,
    aes::INFO,
    bfs::INFO,
    cp::INFO,
    laplace3d::INFO,
    libor::INFO,
    mum::INFO,
    nn::INFO,
    ray::INFO,
    sto::INFO,
    wp::INFO,
    pointer_chase::INFO,
    streams::INFO,
];

/// Every built-in program.
pub fn registry() -> &'static [WorkloadInfo] {
    REGISTRY
}

/// The program of that name.
pub fn find(name: &str) -> Option<&'static WorkloadInfo> {
    REGISTRY.iter().find(|info| info.name == name)
}
