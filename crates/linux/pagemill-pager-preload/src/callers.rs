//! Who calls `malloc`.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// Code of this library, the C library and the dynamic linker: start and end of each.
static LIBRARIES: OnceLock<[[usize; 2]; 3]> = OnceLock::new();

/// From now on, [`is_library`] knows this library, and the others where the program has an allocator of its own. Called before memory is
/// paged.
pub fn find_libraries() {
    let own = range_around(find_libraries as fn() as usize);
    // A function of the C library that no other library replaces, and one of the dynamic linker.
    let c_library = range_around(address_of(c"__libc_memalign"));
    let linker = range_around(address_of(c"__tls_get_addr"));
    let is_plain = contains(c_library, pagemill_mapping::next::malloc_address());
    let _ = LIBRARIES.set(match is_plain {
        // The C library's heap is not paged.
        true => [own, [0; 2], [0; 2]],
        false => [own, c_library, linker],
    });
}

fn address_of(name: &CStr) -> usize {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.addr()
}

/// Addresses of the library that has this one.
fn range_around(inside: usize) -> [usize; 2] {
    let range = [0; 2];
    let mut found = Found { inside, range };
    // SAFETY: the function is called with this value, before the call returns.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut found).cast()) };
    found.range
}

/// Whether code at `address` allocates for the C library or this one, and must not use the program's allocator.
pub fn is_library(address: usize) -> bool {
    let libraries = LIBRARIES.get();
    libraries.is_some_and(|all| all.iter().any(|range| contains(*range, address)))
}

fn contains([start, end]: [usize; 2], address: usize) -> bool {
    start <= address && address < end
}

struct Found {
    inside: usize,
    range: [usize; 2],
}

/// Keeps the range of a library if it is the one that is looked for.
unsafe extern "C" fn look_at(
    info: *mut libc::dl_phdr_info,
    _bytes: usize,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the dynamic linker's description, and what `range_around` gave.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Found>()) };
    // SAFETY: so many program headers are there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let starts = loaded.clone().map(|header| header.p_vaddr as usize);
    let ends = loaded.map(|header| (header.p_vaddr + header.p_memsz) as usize);
    let base = info.dlpi_addr as usize;
    let range = [
        base + starts.min().unwrap_or(0),
        base + ends.max().unwrap_or(0),
    ];
    let is_it = contains(range, found.inside);
    if is_it {
        found.range = range;
    }
    c_int::from(is_it)
}
