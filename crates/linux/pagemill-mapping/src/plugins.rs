//! Plugins opened with `RTLD_DEEPBIND` look symbols up in their own libraries first, the C library among them, and would free what this
//! library's `malloc` has made by another `free`. What a preload library replaces is replaced for them, too: their other symbols are
//! their own.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::call::PAGE_BYTES;
use crate::kernel;
use crate::next::Next;

/// Whether there is, or may be, memory of another allocator: a plugin's constructors ran before its symbols were replaced.
static HAS_OTHERS: AtomicBool = AtomicBool::new(false);

/// Whether a plugin may have taken memory past this library.
pub fn has_others() -> bool {
    HAS_OTHERS.load(Ordering::Relaxed)
}

/// Address of the C library's `dlopen`.
pub extern "C" fn next_open() -> usize {
    static NEXT: Next = Next::new(c"dlopen");
    NEXT.get().expose_provenance()
}

/// `dlopen` with `RTLD_DEEPBIND`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C" fn open(name: *const c_char, flags: c_int) -> *mut c_void {
    type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    // SAFETY: a function of this name has this type.
    let next = unsafe { std::mem::transmute::<usize, Open>(next_open()) };
    HAS_OTHERS.store(true, Ordering::Relaxed);
    let mut modules: Vec<usize> = Vec::new();
    let list = (&raw mut modules).cast();
    // SAFETY: the functions are called before the calls return, with this list; the program makes the call between them.
    unsafe {
        libc::dl_iterate_phdr(Some(note), list);
        let opened = next(name, flags);
        if !opened.is_null() {
            libc::dl_iterate_phdr(Some(replace_in), list);
        }
        opened
    }
}

/// Adds a module to a list.
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, list: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker's description, and the list of `open`.
    unsafe { (*list.cast::<Vec<usize>>()).push((*info).dlpi_phdr.addr()) };
    0
}

/// Entries of a dynamic section that are looked for.
#[derive(Default)]
struct Dynamic {
    symbols: usize,
    names: usize,
    tables: [[usize; 2]; 2],
}

/// Addresses that a module has for functions: what `replace_in` reads and writes.
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// `R_X86_64_GLOB_DAT` and `R_X86_64_JUMP_SLOT`, or those of AArch64: the address of a symbol.
const OF_SYMBOL: [u64; 2] = if cfg!(target_arch = "x86_64") {
    [6, 7]
} else {
    [1025, 1026]
};

/// Replaces functions in a module that is not in a list.
unsafe extern "C" fn replace_in(
    info: *mut libc::dl_phdr_info,
    _: usize,
    list: *mut c_void,
) -> c_int {
    // SAFETY: the dynamic linker's description, and the list of `open`.
    let (info, list) = unsafe { (&*info, &*list.cast::<Vec<usize>>()) };
    // SAFETY: so many program headers are there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let part = |kind: u32| headers.iter().find(|header| header.p_type == kind);
    let base = info.dlpi_addr as usize;
    let Some(dynamic) = part(libc::PT_DYNAMIC) else {
        return 0;
    };
    if list.contains(&info.dlpi_phdr.addr()) {
        return 0;
    }
    let read_only = part(libc::PT_GNU_RELRO).map_or(0..0, |header| {
        let start = base + header.p_vaddr as usize;
        start..start + header.p_memsz as usize
    });
    // SAFETY: a module's dynamic section, which the dynamic linker has read.
    let dynamic = unsafe { read_dynamic(base + dynamic.p_vaddr as usize) };
    for [table, bytes] in dynamic.tables {
        let table: *const Relocation = std::ptr::with_exposed_provenance(table);
        for index in 0..bytes / size_of::<Relocation>() {
            // SAFETY: the table has so many entries.
            unsafe { replace_one(base, &dynamic, &*table.add(index), &read_only) };
        }
    }
    0
}

/// This library's function of a name, if other modules of the program have that one.
fn own_function(name: &CStr) -> Option<usize> {
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let own = next_open as extern "C" fn() -> usize as usize;
    let library = library_of(found.expose_provenance())?;
    (Some(library) == library_of(own)).then(|| found.addr())
}

/// Where the library with this address starts.
fn library_of(address: usize) -> Option<usize> {
    let mut about = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the dynamic linker fills the structure, or says that it did not.
    let about = unsafe {
        let address = std::ptr::with_exposed_provenance(address);
        (libc::dladdr(address, about.as_mut_ptr()) != 0).then(|| about.assume_init())
    };
    about.map(|about| about.dli_fbase.addr())
}

/// # Safety
/// `at` is the dynamic section of a loaded module.
unsafe fn read_dynamic(at: usize) -> Dynamic {
    const STRTAB: u64 = 5;
    const SYMTAB: u64 = 6;
    const RELA: u64 = 7;
    const RELASZ: u64 = 8;
    const PLTRELSZ: u64 = 2;
    const JMPREL: u64 = 23;
    let mut found = Dynamic::default();
    let mut entry: *const [u64; 2] = std::ptr::with_exposed_provenance(at);
    loop {
        // SAFETY: the section ends with an entry of zeros.
        let [tag, value] = unsafe { entry.read() };
        let value = value as usize;
        match tag {
            0 => return found,
            STRTAB => found.names = value,
            SYMTAB => found.symbols = value,
            RELA => found.tables[0][0] = value,
            RELASZ => found.tables[0][1] = value,
            JMPREL => found.tables[1][0] = value,
            PLTRELSZ => found.tables[1][1] = value,
            _ => {}
        }
        // SAFETY: this was not the last.
        entry = unsafe { entry.add(1) };
    }
}

/// Writes the address of this library's function where a module has another for the same name.
///
/// # Safety
/// The relocation is of the loaded module at `base`.
unsafe fn replace_one(
    base: usize,
    dynamic: &Dynamic,
    relocation: &Relocation,
    read_only: &Range<usize>,
) {
    if !OF_SYMBOL.contains(&(relocation.info & 0xffff_ffff)) {
        return;
    }
    let symbols: *const Symbol = std::ptr::with_exposed_provenance(dynamic.symbols);
    // SAFETY: the symbol of the relocation, and its name.
    let (symbol, name) = unsafe {
        let symbol = &*symbols.add((relocation.info >> 32) as usize);
        let names: *const c_char = std::ptr::with_exposed_provenance(dynamic.names);
        (symbol, CStr::from_ptr(names.add(symbol.name as usize)))
    };
    // What the module defines is its own.
    if symbol.section != 0 {
        return;
    }
    let Some(function) = own_function(name) else {
        return;
    };
    let place = base + relocation.offset as usize;
    let slot: *mut usize = std::ptr::with_exposed_provenance_mut(place);
    // SAFETY: the module's word for the function's address.
    if unsafe { slot.read() } == function {
        return;
    }
    let page = place / PAGE_BYTES * PAGE_BYTES;
    let protect = |access: c_int| {
        let arguments = [page, PAGE_BYTES, access as usize, 0, 0, 0];
        // SAFETY: the module's own page, which it reads and the dynamic linker writes.
        unsafe { kernel::perform(libc::SYS_mprotect, arguments) };
    };
    protect(libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: the module's word for the function's address, which is written whole.
    unsafe { slot.write_volatile(function) };
    if read_only.contains(&place) {
        protect(libc::PROT_READ);
    }
}
