//! Programs and libraries of this process whose code makes system calls on memory by itself.

use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};

use crate::instructions::{self, Site};

/// Libraries that were ever loaded, and unloaded, as of the last look.
static LOADED: AtomicU64 = AtomicU64::new(0);
static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// Where the modules lie that were looked at.
static SEEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// A module with a call that no function of the C library makes for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its file.
    pub path: String,
    /// The call.
    pub site: Site,
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, site } = self;
        let offset = site.offset;
        match site.name {
            Some(name) => write!(f, "{path} calls `{name}` by an instruction of its own"),
            None => write!(f, "{path} makes system calls by an instruction of its own"),
        }?;
        write!(f, " (at {offset:#x} of its code)")
    }
}

/// One of the modules that were loaded since the last call of this function. The C library, the dynamic linker and the library that has
/// this function are none: what they call is known, and so is what a library calls whose file name starts with `known`.
pub fn find_new(known: Option<&str>) -> Option<Caller> {
    let [loaded, unloaded] = numbers();
    if LOADED.swap(loaded, Ordering::Relaxed) == loaded {
        return None;
    }
    let mut seen = match SEEN.try_lock() {
        Ok(seen) => seen,
        Err(TryLockError::Poisoned(seen)) => seen.into_inner(),
        // Another thread is looking.
        Err(TryLockError::WouldBlock) => return None,
    };
    if UNLOADED.swap(unloaded, Ordering::Relaxed) != unloaded {
        // Another may be in the place of one.
        seen.clear();
    }
    let addresses = [
        find_new as fn(Option<&str>) -> Option<Caller> as usize,
        address_of(c"gnu_get_libc_version"),
        address_of(c"__tls_get_addr"),
        address_of(c"pthread_create"),
    ];
    let mut look = Look {
        known: addresses,
        library: known,
        seen: &mut seen,
        found: None,
    };
    // SAFETY: the function is called with this value, before the call returns.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut look).cast()) };
    look.found
}

/// Libraries that were ever loaded, and unloaded.
fn numbers() -> [u64; 2] {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, sum: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker's description, and the numbers of `numbers`.
        unsafe { *sum.cast::<[u64; 2]>() = [(*info).dlpi_adds, (*info).dlpi_subs] };
        1
    }
    let mut sums = [0_u64; 2];
    // SAFETY: the function is called with these numbers, before the call returns.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut sums).cast()) };
    sums
}

fn address_of(name: &CStr) -> usize {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.addr()
}

struct Look<'a> {
    known: [usize; 4],
    library: Option<&'a str>,
    seen: &'a mut Vec<usize>,
    found: Option<Caller>,
}

/// Looks at a module that is new, while the dynamic linker keeps it.
unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _: usize, look: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker's description, and what `find_new` gave.
    let (info, look) = unsafe { (&*info, &mut *look.cast::<Look<'_>>()) };
    // SAFETY: so many program headers are there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr as usize;
    if look.found.is_some() || look.seen.contains(&info.dlpi_phdr.addr()) {
        return 0;
    }
    look.seen.push(info.dlpi_phdr.addr());
    let code = headers.iter().filter(|header| {
        header.p_type == libc::PT_LOAD
            && header.p_flags & (libc::PF_X | libc::PF_R) == libc::PF_X | libc::PF_R
    });
    let code: Vec<[usize; 2]> = code
        .map(|header| [base + header.p_vaddr as usize, header.p_filesz as usize])
        .collect();
    let has = |address: &usize| {
        (code.iter()).any(|[start, bytes]| (*start..start + bytes).contains(address))
    };
    // SAFETY: a name that ends with a zero byte, or none.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) });
    let name = name.map(CStr::to_string_lossy).unwrap_or_default();
    let file = name.rsplit('/').next().unwrap_or_default();
    if look
        .library
        .is_some_and(|library| file.starts_with(library))
    {
        return 0;
    }
    if look.known.iter().any(has) || name.starts_with("linux-vdso") {
        return 0;
    }
    for [start, bytes] in code {
        let code: *const u8 = std::ptr::with_exposed_provenance(start);
        // SAFETY: the module's code, which is mapped and readable as long as the module is loaded.
        let code = unsafe { std::slice::from_raw_parts(code, bytes) };
        if let Some(site) = instructions::find(code) {
            let program = || std::fs::read_link("/proc/self/exe").unwrap_or_default();
            let path = match name.is_empty() {
                true => program().display().to_string(),
                false => name.to_string(),
            };
            look.found = Some(Caller { path, site });
        }
    }
    0
}
