//! A command without CUDA or the network says so by name. What else it runs, the other files test.

use crate::common::run;

#[cfg(not(feature = "cuda"))]
#[test]
fn without_cuda_programs_are_refused() {
    let error = run(&["cuda", "--", "true"]).error(2);
    assert!(error.contains("without the feature `cuda`"), "{error}");
    assert!(error.contains("install the package pagemill"), "{error}");
}

#[cfg(not(feature = "net"))]
#[test]
fn without_the_network_mpi_is_refused() {
    let error = run(&["mpi", "mpirun", "-n", "2", "true"]).error(3);
    assert!(error.contains("without the feature `net`"), "{error}");
    assert!(error.contains("install the package pagemill"), "{error}");
}
