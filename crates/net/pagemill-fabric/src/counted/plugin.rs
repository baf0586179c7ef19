//! In QEMU: counts instructions of each thread, by blocks of them as QEMU translates them.
//!
//! A block is counted where it is the program's, or that of a library of functions which the program called. The machine's `[messages]`
//! overheads stand for the MPI library, and how often it polls is not the same in two runs. The C library is not counted either: it
//! copies and allocates by numbers of instructions that depend on where the MPI library has left the heap, which differs too.
//!
//! QEMU's functions are looked up by name, since this library is in ranks and launchers as well, where they are not.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{SLOTS, Slot, Slots, reader};

/// The interface that QEMU is to speak. From version 9 on it no longer speaks the first; what is used here is the same in both.
#[unsafe(no_mangle)]
#[used]
static mut qemu_plugin_version: c_int = 1;

/// QEMU reads the version without a call, so it has to be right when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static SET_VERSION: extern "C" fn() = set_version;

extern "C" fn set_version() {
    if function(c"qemu_plugin_scoreboard_new").is_some() {
        // SAFETY: QEMU reads it later, in the same thread.
        unsafe { qemu_plugin_version = 2 };
    }
}

/// Names of objects that are not counted: the MPI library, what it needs, and the C library.
const LIBRARY: &[&str] = &[
    "libc.",
    "libc-",
    "ld-",
    "libpthread",
    "libdl",
    "librt.",
    "librt-",
    "[vdso]",
    "libmpi",
    "libopen-pal",
    "libopen-rte",
    "libompi",
    "libprrte",
    "libpmix",
    "libpagemill",
    "libfabric",
    "libevent",
    "libhwloc",
    "libucp",
    "libucs",
    "libuct",
    "libibverbs",
    "librdmacm",
    "libpsm",
    "libinfinipath",
    "libefa",
    "libmunge",
    "libnuma",
    "libmca_",
    "pmix_mca_",
    "libnl-",
    "mca_",
];

/// Names of objects that are counted where the program called them, not the MPI library.
const SHARED: &[&str] = &[
    "libm.",
    "libm-",
    "libgcc_s",
    "libatomic",
    "libuuid",
    "libz.",
    "libudev",
];

/// Whose a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum Owner {
    Program = 0,
    Library = 1,
    Caller = 2,
}

impl Owner {
    fn of_object(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_one_of = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
        if is_one_of(LIBRARY) {
            Self::Library
        } else if is_one_of(SHARED) {
            Self::Caller
        } else {
            Self::Program
        }
    }
}

/// Bits of a block's word that say whose it is; the number of instructions is above them.
const OWNER_BITS: u32 = 2;

type OnBlock = unsafe extern "C" fn(*mut c_void, unsafe extern "C" fn(c_uint, usize), c_int, usize);
type Instructions = unsafe extern "C" fn(*const c_void) -> usize;
type Instruction = unsafe extern "C" fn(*const c_void, usize) -> *mut c_void;
type Address = unsafe extern "C" fn(*const c_void) -> *mut c_void;

/// The functions of QEMU that are used at each block.
struct Qemu {
    on_block: OnBlock,
    instructions: Instructions,
    instruction: Instruction,
    address: Address,
}

static QEMU: OnceLock<Qemu> = OnceLock::new();

/// Where the counts are: those of the rank, and elsewhere in a child of `fork`.
static SLOTS_HERE: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

/// The objects in memory, and whether they may have changed.
static OBJECTS: Mutex<Vec<(Range<usize>, Owner)>> = Mutex::new(Vec::new());
static IS_CHANGED: AtomicBool = AtomicBool::new(true);

fn function(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// QEMU's first call, with `counts=DESCRIPTOR` as the option.
///
/// # Safety
/// As QEMU's documentation of plugins says: `options` are `count` C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    _information: *const c_void,
    count: c_int,
    options: *const *const c_char,
) -> c_int {
    let descriptor = (0..count.max(0) as usize)
        // SAFETY: the caller's options, of which there are `count`.
        .map(|index| unsafe { CStr::from_ptr(*options.add(index)) })
        .filter_map(|option| option.to_str().ok()?.strip_prefix("counts="))
        .find_map(|text| text.parse().ok());
    let installed = descriptor
        .ok_or_else(|| "it was given no counts".to_owned())
        .and_then(|descriptor| reader::map(descriptor).map_err(|error| error.to_string()))
        // SAFETY: this is the call in which QEMU takes registrations, and `id` is the plugin's.
        .and_then(|slots| unsafe { install(id, slots) });
    match installed {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("pagemill mpi: QEMU cannot count instructions: {error}");
            1
        }
    }
}

/// # Safety
/// Only within QEMU's first call, with the number that it gave.
unsafe fn install(id: u64, slots: &'static Slots) -> Result<(), String> {
    type OnTranslation = unsafe extern "C" fn(u64, *mut c_void);
    type Register<Callback> = unsafe extern "C" fn(u64, Callback);
    let find = |name: &CStr| {
        function(name)
            .ok_or_else(|| format!("it has no {} (version 7.2 has)", name.to_string_lossy()))
    };
    let translated = find(c"qemu_plugin_register_vcpu_tb_trans_cb")?;
    let syscall = find(c"qemu_plugin_register_vcpu_syscall_cb")?;
    let on_block = find(c"qemu_plugin_register_vcpu_tb_exec_cb")?;
    let instructions = find(c"qemu_plugin_tb_n_insns")?;
    let instruction = find(c"qemu_plugin_tb_get_insn")?;
    let address = find(c"qemu_plugin_insn_haddr")?;
    SLOTS_HERE.store(slots.as_ptr().cast_mut(), Ordering::Relaxed);
    // SAFETY: QEMU's functions of these names have these types in all versions of its interface, and this is the call for registrations.
    unsafe {
        let _ = QEMU.set(Qemu {
            on_block: std::mem::transmute::<*mut c_void, OnBlock>(on_block),
            instructions: std::mem::transmute::<*mut c_void, Instructions>(instructions),
            instruction: std::mem::transmute::<*mut c_void, Instruction>(instruction),
            address: std::mem::transmute::<*mut c_void, Address>(address),
        });
        std::mem::transmute::<*mut c_void, Register<OnTranslation>>(translated)(id, on_translation);
        std::mem::transmute::<*mut c_void, Register<OnSyscall>>(syscall)(id, on_syscall);
        libc::pthread_atfork(None, None, Some(leave_counts));
    }
    Ok(())
}

/// A child of `fork` has the parent's memory for counts, and is none of its threads.
unsafe extern "C" fn leave_counts() {
    let own: Box<[Slot]> = (0..SLOTS).map(|_| Slot::default()).collect();
    SLOTS_HERE.store(Box::leak(own).as_mut_ptr(), Ordering::Relaxed);
}

fn slot(processor: c_uint) -> Option<&'static Slot> {
    let slots = SLOTS_HERE.load(Ordering::Relaxed);
    // SAFETY: there are `SLOTS` of them, and they are never taken away.
    ((processor as usize) < SLOTS).then(|| unsafe { &*slots.add(processor as usize) })
}

/// QEMU has translated a block.
unsafe extern "C" fn on_translation(_id: u64, block: *mut c_void) {
    let Some(qemu) = QEMU.get() else { return };
    // SAFETY: the block is valid during this call and has an instruction, whose bytes QEMU has just read.
    unsafe {
        let instructions = (qemu.instructions)(block);
        let last = (qemu.instruction)(block, instructions - 1);
        let (start, end) = (
            (qemu.address)((qemu.instruction)(block, 0)),
            (qemu.address)(last),
        );
        let owner = match owner(start.addr()) {
            Owner::Program if instructions <= STUB_INSTRUCTIONS && is_stub_end(end.cast()) => {
                Owner::Caller
            }
            owner => owner,
        };
        let word = instructions << OWNER_BITS | owner as usize;
        // 0: the callback uses no registers of the emulated processor.
        (qemu.on_block)(block, on_execution, 0, word);
    }
}

/// Instructions of the longest stub: those of AArch64.
const STUB_INSTRUCTIONS: usize = 4;

/// Whether an instruction is the end of a stub through which one object calls another: a jump to a place that is looked up. Where a
/// program that does not move in memory takes a function's address, libraries call it through the program's stub.
///
/// # Safety
/// The instruction is in memory.
unsafe fn is_stub_end(instruction: *const u8) -> bool {
    // SAFETY: the caller's promise, for the first two bytes; a jump with a prefix has more.
    unsafe {
        if cfg!(target_arch = "x86_64") {
            let prefix = usize::from(instruction.read() == 0xf2);
            instruction.add(prefix).read() == 0xff && instruction.add(prefix + 1).read() == 0x25
        } else {
            instruction.cast::<u32>().read_unaligned() == 0xd61f_0220
        }
    }
}

/// A thread executes a block. Only it writes to its slot.
unsafe extern "C" fn on_execution(processor: c_uint, word: usize) {
    let Some(slot) = slot(processor) else { return };
    let owner = match word & ((1 << OWNER_BITS) - 1) {
        owner if owner == Owner::Caller as usize => {
            slot.is_library.load(Ordering::Relaxed) as usize & 1
        }
        owner => {
            slot.is_library.store(owner as u32, Ordering::Relaxed);
            owner & 1
        }
    };
    let executed = &slot.executed[owner];
    let instructions = (word >> OWNER_BITS) as u64;
    executed.store(
        executed.load(Ordering::Relaxed) + instructions,
        Ordering::Relaxed,
    );
}

type OnSyscall = unsafe extern "C" fn(u64, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

/// A thread calls the kernel, as each does before it can call MPI: its number there is noted, and whether code may have moved.
unsafe extern "C" fn on_syscall(
    _id: u64,
    processor: c_uint,
    number: i64,
    _address: u64,
    _length: u64,
    protection: u64,
    _flags: u64,
    _descriptor: u64,
    _offset: u64,
    _seventh: u64,
    _eighth: u64,
) {
    if let Some(slot) = slot(processor) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        slot.thread.store(thread, Ordering::Relaxed);
    }
    let makes_code = matches!(number, libc::SYS_mmap | libc::SYS_mprotect)
        && protection & libc::PROT_EXEC as u64 != 0;
    if makes_code || matches!(number, libc::SYS_munmap | libc::SYS_mremap) {
        IS_CHANGED.store(true, Ordering::Relaxed);
    }
}

/// Whose the code at `address` of QEMU's memory is.
fn owner(address: usize) -> Owner {
    let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_changed = IS_CHANGED.swap(false, Ordering::Relaxed);
    let find = |objects: &[(Range<usize>, Owner)]| {
        let found = objects.iter().find(|(range, _)| range.contains(&address));
        found.map(|(_, owner)| *owner)
    };
    if let (false, Some(owner)) = (is_changed, find(&objects)) {
        return owner;
    }
    *objects = objects_of(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default());
    find(&objects).unwrap_or(Owner::Program)
}

/// The objects in a text like that of `/proc/self/maps`. Code without a file is the program's, as that of a compiler at run time is.
fn objects_of(maps: &str) -> Vec<(Range<usize>, Owner)> {
    let object = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        Some((start..end, Owner::of_object(words.nth(4).unwrap_or(""))))
    };
    maps.lines().filter_map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_the_program_s_unless_it_is_a_library_for_messages_or_of_the_language() {
        let maps = "1000-2000 r-xp 00000000 08:01 7 /opt/solver\n\
                    2000-3000 r-xp 00000000 08:01 8 /usr/lib/libmpi.so.40.30.2\n\
                    3000-4000 r-xp 00000000 08:01 9 /usr/lib/openmpi/mca_pml_cm.so\n\
                    4000-5000 r-xp 00000000 08:01 9 /usr/lib/libc.so.6\n\
                    5000-6000 r-xp 00000000 08:01 9 /usr/lib/libm.so.6\n\
                    6000-7000 r-xp 00000000 00:00 0\n";
        let owners: Vec<Owner> = objects_of(maps).iter().map(|(_, owner)| *owner).collect();
        use Owner::{Caller, Library, Program};
        assert_eq!(
            owners,
            [Program, Library, Library, Library, Caller, Program]
        );
    }
}
