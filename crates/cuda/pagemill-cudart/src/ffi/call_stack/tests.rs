use super::*;

#[test]
fn the_c_library_asks_for_nothing() {
    for own in [
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/libpthread.so.0",
    ] {
        assert!(is_of_c(own), "{own}");
    }
    for other in [
        "/opt/cuda/lib64/libcurand.so.10",
        "/usr/lib/libcublas.so.12",
        "/srv/libcool.so",
    ] {
        assert!(!is_of_c(other), "{other}");
    }
}
