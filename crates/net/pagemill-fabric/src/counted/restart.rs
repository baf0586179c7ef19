//! A rank starts itself again in QEMU's user mode, before its `main`.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use pagemill_linux::process::end_now;

use super::{COUNTS_VARIABLE, EMULATOR_VARIABLE, Slots, reader};
use crate::job::RANK_VARIABLES;

/// Before the program's `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn(c_int, *const *const c_char) = start;

extern "C" fn start(count: c_int, arguments: *const *const c_char) {
    let Some(emulator) = std::env::var_os(EMULATOR_VARIABLE).map(PathBuf::from) else {
        return;
    };
    let Ok(program) = std::fs::read_link("/proc/self/exe") else {
        return;
    };
    // QEMU itself has this library in front of it, too.
    if program == emulator
        || !RANK_VARIABLES
            .iter()
            .any(|name| std::env::var_os(name).is_some())
    {
        return;
    }
    let counts = std::env::var(COUNTS_VARIABLE).ok();
    if (counts.and_then(|text| text.parse().ok())).is_some_and(reader::open) {
        return;
    }
    let arguments: Vec<OsString> = (0..count.max(0) as usize)
        // SAFETY: the C library calls with `count` C strings.
        .map(|index| unsafe { CStr::from_ptr(*arguments.add(index)) })
        .map(|argument| OsString::from_vec(argument.to_bytes().to_vec()))
        .collect();
    let error = start_again(&emulator, &program, &arguments);
    end_now(
        &format!(
            "pagemill mpi: cannot start {} in {} ({error}), which counts its instructions",
            program.display(),
            emulator.display()
        ),
        1,
    );
}

/// Replaces this process; returns why it could not.
fn start_again(emulator: &Path, program: &Path, arguments: &[OsString]) -> std::io::Error {
    let made = counts().and_then(|counts| Ok((counts, own_file()?)));
    let (counts, library) = match made {
        Ok(made) => made,
        Err(error) => return error,
    };
    let mut command = Command::new(emulator);
    if let Some(name) = arguments.first() {
        command.arg("-0").arg(name);
    }
    command.args(["-cpu", "max", "-plugin"]);
    command.arg(plugin_option(&library, counts));
    command.arg(program).args(arguments.iter().skip(1));
    command.env(COUNTS_VARIABLE, counts.to_string());
    command.exec()
}

/// Memory for the counts, which stays open in QEMU.
fn counts() -> std::io::Result<RawFd> {
    // SAFETY: the name is a C string.
    let counts = unsafe { libc::memfd_create(c"pagemill-counts".as_ptr(), 0) };
    if counts < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is the new one.
    match unsafe { libc::ftruncate(counts, size_of::<Slots>() as libc::off_t) } {
        0 => Ok(counts),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// QEMU separates options by commas, and takes a double one for one in a name.
fn plugin_option(library: &Path, counts: RawFd) -> OsString {
    let mut option = Vec::new();
    for &byte in library.as_os_str().as_bytes() {
        option.push(byte);
        if byte == b',' {
            option.push(byte);
        }
    }
    option.extend_from_slice(format!(",counts={counts}").as_bytes());
    OsString::from_vec(option)
}

/// The file that this library was loaded from.
fn own_file() -> std::io::Result<PathBuf> {
    // SAFETY: a structure of pointers, for which zero is a value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    let own = std::ptr::from_ref(&START).cast();
    // SAFETY: the address is one of this library, and `found` has room for the answer.
    if unsafe { libc::dladdr(own, &raw mut found) } == 0 {
        return Err(std::io::Error::other("this library has no file"));
    }
    // SAFETY: the loader answered with a C string.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Ok(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
