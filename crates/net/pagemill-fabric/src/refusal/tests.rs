use super::*;

#[test]
fn libraries_without_the_simulated_interface_are_refused_by_name() {
    for (text, name) in [
        (
            "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
            None,
        ),
        (
            "Open MPI v5.0.11, package: Open MPI root@x",
            Some("Open MPI 5.0.11"),
        ),
        (
            "MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7\nMPICH Device:    ch4:ofi\n",
            Some("MPICH 4.0.2"),
        ),
        (
            "Intel(R) MPI Library 2021.12 for Linux* OS\n",
            Some("Intel(R) MPI Library 2021.12 for Linux* OS"),
        ),
        ("", None),
    ] {
        assert_eq!(refused_library(text).as_deref(), name, "{text}");
    }
}
