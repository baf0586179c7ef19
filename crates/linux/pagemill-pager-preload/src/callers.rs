//! Who calls `malloc`.

use std::ops::Range;
use std::sync::OnceLock;

use pagemill_mapping::jumps::{code_around, of_c_library};

/// Code of this library, the C library and the dynamic linker.
static LIBRARIES: OnceLock<[Range<usize>; 3]> = OnceLock::new();

/// From now on, [`is_library`] knows this library, and the others where the program has an allocator of its own. Called before memory is
/// paged.
pub fn find_libraries() {
    let around = |name| of_c_library(name).map_or(0..0, code_around);
    let mut others = [around(c"getppid"), around(c"__tls_get_addr")];
    if others[0].contains(&pagemill_mapping::next::malloc_address()) {
        // The C library's heap is not paged.
        others = [0..0, 0..0];
    }
    let [c_library, linker] = others;
    let own = code_around(find_libraries as fn() as usize);
    let _ = LIBRARIES.set([own, c_library, linker]);
}

/// Whether code at `address` allocates for the C library or this one, and must not use the program's allocator.
pub fn is_library(address: usize) -> bool {
    let libraries = LIBRARIES.get();
    libraries.is_some_and(|all| all.iter().any(|code| code.contains(&address)))
}
