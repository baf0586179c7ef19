use pagemill_types::Registry;

use crate::{
    WorkloadInfo, aes, bfs, cp, fdtd_2d, hotspot, laplace3d, libor, line_reads, matrix_product,
    mum, nn, page_touch, pointer_chase, ray, sto, streams, vector_add, wp,
};

/// Every built-in GPU program, in the order of listings. A new program is one folder and one line here.
#[rustfmt::skip]
pub static WORKLOADS: Registry<WorkloadInfo> = Registry::new("workload", &[
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
    line_reads::INFO,
    page_touch::INFO,
    matrix_product::INFO,
    fdtd_2d::INFO,
    hotspot::INFO,
]);
