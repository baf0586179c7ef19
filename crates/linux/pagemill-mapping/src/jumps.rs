//! Jumps at the entries of the C library's own functions: whatever way a program comes to one, by its name, a handle, a plugin's own
//! search path, it comes to the preload library's.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::call::PAGE_BYTES;
use crate::kernel;
use crate::prologue::{self, JUMP_BYTES};

/// A function of the C library, and the one that takes its place.
pub struct Jump {
    name: &'static CStr,
    hook: *const (),
    /// Whether it does so for the C library's own calls, too. Most do not: its locks are taken in an order of its own.
    for_all: bool,
}

// SAFETY: an address of code.
unsafe impl Sync for Jump {}

impl Jump {
    /// By a name that ends with a zero byte.
    ///
    /// # Panics
    /// It does not end so, or has one before.
    pub const fn new(name: &'static str, hook: *const (), for_all: bool) -> Self {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Self {
                name,
                hook,
                for_all,
            },
            Err(_) => panic!("a name that ends with its only zero byte"),
        }
    }
}

/// A list of [`Jump`]s: functions that this library exports, each by its own name.
#[macro_export]
macro_rules! jumps {
    ($list:ident, $for_all:literal: $($name:ident),* $(,)?) => {
        #[cfg(not(target_arch = "x86_64"))]
        pub static $list: &[$crate::jumps::Jump] = &[];
        #[cfg(target_arch = "x86_64")]
        pub static $list: &[$crate::jumps::Jump] =
            &[$($crate::jumps::Jump::new(concat!(stringify!($name), "\0"), $name as *const (), $for_all)),*];
    };
}

/// Entries with a jump, and where the function goes on that was there.
static TAKEN: [[AtomicUsize; 2]; MOST] = [const { [const { AtomicUsize::new(0) }; 2] }; MOST];
const MOST: usize = 96;

/// A function as it was: what stands at the entry of one with a jump leads elsewhere.
pub fn original(function: usize) -> usize {
    let taken = TAKEN.iter().map(|pair| pair.each_ref());
    let mut taken = taken.map(|[entry, on]| (entry.load(Ordering::Acquire), on));
    let found = taken.find(|(entry, _)| *entry == function && function != 0);
    found.map_or(function, |(_, on)| on.load(Ordering::Relaxed))
}

/// The C library's function of a name, past all libraries that export another.
pub fn of_c_library(name: &CStr) -> Option<usize> {
    const HOW: c_int = libc::RTLD_NOW | libc::RTLD_NOLOAD;
    // SAFETY: the names end with zero bytes. The library is there already, or is not looked for; no handle is `RTLD_DEFAULT`.
    let found = unsafe { libc::dlsym(libc::dlopen(c"libc.so.6".as_ptr(), HOW), name.as_ptr()) };
    (!found.is_null()).then(|| found.expose_provenance())
}

/// Code of the module with this address; empty where there is none.
pub fn code_around(inside: usize) -> Range<usize> {
    struct Look(usize, Range<usize>);
    unsafe extern "C" fn look_at(
        info: *mut libc::dl_phdr_info,
        _: usize,
        look: *mut c_void,
    ) -> c_int {
        // SAFETY: the dynamic linker's description with so many headers, and what is given below.
        let (info, look, headers) = unsafe {
            let info = &*info;
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            (info, &mut *look.cast::<Look>(), headers)
        };
        let code = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
        let mut code = code.map(|header| {
            let start = (info.dlpi_addr + header.p_vaddr) as usize;
            start..start + header.p_memsz as usize
        });
        let found = code.find(|code| code.contains(&look.0));
        look.1 = found.clone().unwrap_or(0..0);
        c_int::from(found.is_some())
    }
    let mut look = Look(inside, 0..0);
    // SAFETY: the function is called with this value, before the call returns.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut look).cast()) };
    look.1
}

/// Bytes for what a jump leads to: a look at who calls, the instructions that the jump took, and at the end the hook's address.
const SLOT_BYTES: usize = 96;
const ROOM_BYTES: usize = (MOST + 1) * SLOT_BYTES / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES;

/// Puts a jump at each entry that has none.
///
/// # Errors
/// A function's first instructions cannot be moved, or the kernel refuses that code changes, or has no room near it.
pub fn install<'a>(
    jumps: impl Iterator<Item = &'a Jump>,
    library: &Range<usize>,
) -> Result<(), i32> {
    let room = room_near(library)?;
    let mut slots = (1..).map(|slot| room + slot * SLOT_BYTES);
    // SAFETY: the room is fresh, and its first words are what each slot compares with.
    unsafe {
        let bounds: *mut [usize; 2] = ptr::with_exposed_provenance_mut(room);
        bounds.write([library.start, library.len()]);
    }
    let put = |jump: &Jump| {
        let entry = of_c_library(jump.name).filter(|entry| library.contains(entry));
        let Some(entry) = entry.filter(|entry| original(*entry) == *entry) else {
            return Ok(());
        };
        let (Some(slot), Some(free)) = (slots.next(), free_place()) else {
            return Err(libc::ENOSPC);
        };
        let code: *const u8 = ptr::with_exposed_provenance(entry);
        // SAFETY: a function's code, behind which there is more: functions lie before the library's data.
        let code = unsafe { std::slice::from_raw_parts(code, 32) };
        let look = look_at_caller(jump.for_all, slot, room);
        let on = slot + look.len();
        let (moved, bytes) = prologue::moved(code, entry, on).ok_or(libc::ENOTSUP)?;
        let back = jump_to(entry + bytes, on + moved.len());
        let all = [look, moved, back].concat();
        assert!(
            all.len() <= SLOT_BYTES - size_of::<usize>(),
            "a slot has room"
        );
        // SAFETY: the slot is of the room, and has no other user.
        unsafe {
            ptr::copy_nonoverlapping(
                all.as_ptr(),
                ptr::with_exposed_provenance_mut(slot),
                all.len(),
            );
            let hook: *mut usize =
                ptr::with_exposed_provenance_mut(slot + SLOT_BYTES - size_of::<usize>());
            hook.write(jump.hook.expose_provenance());
        }
        write_code(entry, &jump_to(slot, entry))?;
        free[1].store(on, Ordering::Relaxed);
        free[0].store(entry, Ordering::Release);
        Ok(())
    };
    let put = jumps.into_iter().try_for_each(put);
    // Those that are there lead to it, also where one is missing.
    protect(room, ROOM_BYTES, libc::PROT_READ | libc::PROT_EXEC).and(put)
}

fn free_place() -> Option<&'static [AtomicUsize; 2]> {
    TAKEN
        .iter()
        .find(|[entry, _]| entry.load(Ordering::Relaxed) == 0)
}

/// Goes to the hook, unless the C library itself calls: the function's own instructions follow.
fn look_at_caller(for_all: bool, slot: usize, room: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut with_offset = |instruction: &[u8], target: usize| {
        out.extend(instruction);
        let end = slot + out.len() + 4;
        out.extend((target.wrapping_sub(end) as i32).to_le_bytes());
    };
    let hook = slot + SLOT_BYTES - size_of::<usize>();
    if !for_all {
        // mov (%rsp),%r11; sub start,%r11; cmp bytes,%r11; jb over the jump
        with_offset(&[0x4c, 0x8b, 0x1c, 0x24, 0x4c, 0x2b, 0x1d], room);
        with_offset(&[0x4c, 0x3b, 0x1d], room + size_of::<usize>());
        with_offset(&[0x72, 0x06, 0xff, 0x25], hook);
    } else {
        with_offset(&[0xff, 0x25], hook);
    }
    out
}

fn jump_to(target: usize, from: usize) -> Vec<u8> {
    let offset = target.wrapping_sub(from + JUMP_BYTES) as i32;
    [&[0xe9], &offset.to_le_bytes()[..]].concat()
}

/// Room that four bytes of an offset reach from the library and all its data.
fn room_near(library: &Range<usize>) -> Result<usize, i32> {
    const STEP: usize = 1 << 20;
    const STEPS: usize = 1000;
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let start = library.start / STEP * STEP;
    let places = (1..STEPS).map_while(|step| start.checked_sub(step * STEP));
    for place in places {
        let arguments = [place, ROOM_BYTES, access, flags as usize, usize::MAX, 0];
        // SAFETY: nothing is replaced.
        let answer = unsafe { kernel::perform(libc::SYS_mmap, arguments) };
        if answer as usize == place {
            return Ok(place);
        }
    }
    Err(libc::ENOMEM)
}

/// No other thread runs this code meanwhile; calls of the kernel's go on, which may be in the same page.
fn write_code(place: usize, code: &[u8]) -> Result<(), i32> {
    let start = place / PAGE_BYTES * PAGE_BYTES;
    let bytes = (place + code.len()).next_multiple_of(PAGE_BYTES) - start;
    let access = libc::PROT_READ | libc::PROT_EXEC;
    protect(start, bytes, access | libc::PROT_WRITE)?;
    // SAFETY: a function's first instructions, which have a copy, in pages that are writable now.
    unsafe {
        ptr::copy_nonoverlapping(
            code.as_ptr(),
            ptr::with_exposed_provenance_mut(place),
            code.len(),
        )
    };
    protect(start, bytes, access)
}

fn protect(start: usize, bytes: usize, access: c_int) -> Result<(), i32> {
    let arguments = [start, bytes, access as usize, 0, 0, 0];
    // SAFETY: the pages are the C library's or this one's, and stay readable.
    let answer = unsafe { kernel::perform(libc::SYS_mprotect, arguments) };
    match kernel::has_failed(answer) {
        true => Err(-answer as i32),
        false => Ok(()),
    }
}
