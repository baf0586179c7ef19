//! Redirects what the allocator asks of the operating system to this library's `source.rs` and `fork.rs`.

fn main() {
    const FUNCTIONS: [&str; 5] = [
        "mmap",
        "madvise",
        "pthread_mutex_lock",
        "pthread_mutex_trylock",
        "pthread_mutex_unlock",
    ];
    for function in FUNCTIONS {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--wrap={function}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
